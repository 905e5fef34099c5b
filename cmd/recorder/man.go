package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"tachograph/sample"
)

// manCommand writes manual pages; packagers call it, so it is not in the help.
func (a *app) manCommand() *cobra.Command {
	return &cobra.Command{
		Use: "man DIR", Short: "Write the manual pages into a directory", Hidden: true,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usageError{fmt.Errorf("man takes one argument, the directory to write to")}
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return fmt.Errorf("the manual pages cannot be written: %w", err)
			}
			root := c.Root()
			root.DisableAutoGenTag = true
			header := &doc.GenManHeader{Title: "RECORDER", Section: "1", Source: "Tachograph " + sample.Release, Manual: "Tachograph"}
			if err := doc.GenManTree(root, header, args[0]); err != nil {
				return fmt.Errorf("the manual pages cannot be written: %w", err)
			}
			return nil
		},
	}
}
