package main

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"tachograph/cmd/replay/internal/serve/ask"
)

// alsoForClients are the commands that clients of a server may run besides those that answer questions:
// these, too, only print and end.
var alsoForClients = []string{"version", "help", cobra.ShellCompRequestCmd, cobra.ShellCompNoDescRequestCmd}

// forClients returns the commands that clients of a server may run.
func forClients(root *cobra.Command) (names []string) {
	for _, q := range ask.Questions() {
		names = append(names, cmp.Or(q.Command, root.Name()))
	}
	return append(names, alsoForClients...)
}

// notForClients refuses what a client of a server may not run.
func notForClients(cmd *cobra.Command, args []string) error {
	names := forClients(cmd.Root())
	if !slices.Contains(names, cmd.Name()) {
		return fmt.Errorf("a server does not run %q for its clients: it only answers questions about its archives", cmd.CommandPath())
	}
	if !cmd.HasParent() && len(args) > 0 {
		return noCommand(args[0], "no command", names)
	}
	for _, name := range []string{"symbols", "debuginfod", "force"} {
		if f := cmd.Flags().Lookup(name); f != nil && f.Changed {
			return fmt.Errorf("a server does not take --%s from its clients", name)
		}
	}
	if f := cmd.Flags().Lookup("output"); f != nil && f.Changed && f.Value.String() != "-" {
		return fmt.Errorf("a server writes no files for its clients: write --output - and lead the output to a file")
	}
	return nil
}
