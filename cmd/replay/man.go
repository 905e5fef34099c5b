package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"tachograph/sample"
)

// manCommand writes manual pages; packagers call it, so it is not in the help.
func manCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:    "man DIR",
		Short:  "Write the manual pages into a directory",
		Hidden: true,
		Args:   needOne("the directory to write to"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return fmt.Errorf("the manual pages cannot be written: %w", err)
			}
			root := cmd.Root()
			root.DisableAutoGenTag = true
			header := &doc.GenManHeader{Title: "REPLAY", Section: "1", Source: "Tachograph " + sample.Release, Manual: "Tachograph"}
			if err := doc.GenManTree(root, header, args[0]); err != nil {
				return fmt.Errorf("the manual pages cannot be written: %w", err)
			}
			return nil
		},
	}
}
