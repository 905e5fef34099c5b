package main

import (
	"runtime"

	"github.com/spf13/cobra"

	"tachograph/sample"
)

func versionCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		Run: func(*cobra.Command, []string) {
			a.stdout.Printf("replay %s (%s, %s/%s)\n", sample.Version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
		},
	}
}
