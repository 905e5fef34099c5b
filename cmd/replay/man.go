package main

import (
	"github.com/spf13/cobra"

	"tachograph/cmd/internal/manual"
)

// manCommand writes manual pages; packagers call it, so it is not in the help.
func manCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:    "man DIR",
		Short:  "Write the manual pages into a directory",
		Hidden: true,
		Args:   needOne("the directory to write to"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return manual.Write(args[0], []manual.Page{manualPage(cmd.Root()), manual.OfExpressions()})
		},
	}
}

// manualPage returns the manual page of replay.
func manualPage(root *cobra.Command) manual.Page {
	return manual.OfProgram(root, "recorder(1)", "tachograph-expressions(7)", "tachograph-archive(5)")
}

// expressionsTopic is the help topic that "replay help expressions" prints.
func expressionsTopic(*app) *cobra.Command {
	return &cobra.Command{Use: "expressions", Short: "What expressions are made of", Long: manual.Expressions}
}
