package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"tachograph/sample"
)

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: noArgs,
		RunE: func(c *cobra.Command, args []string) error {
			_, err := fmt.Fprintf(a.out, "recorder %s (%s, %s/%s)\n", sample.Version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}
