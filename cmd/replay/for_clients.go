package main

import (
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"tachograph/store/query"
)

// forClients are the commands that clients of a server may run: those that only read archives,
// print and end. The overview is the command without a name.
var forClients = map[string]bool{
	"replay": true, "at": true, "why": true, "diff": true, "ps": true, "top": true, "net": true, "energy": true, "threads": true, "stacks": true,
	"rates": true, "values": true, "ranges": true, "plot": true, "find": true, "events": true, "deaths": true, "explain": true,
	"summary": true, "info": true, "metrics": true, "verify": true, "version": true, "help": true,
	cobra.ShellCompRequestCmd: true, cobra.ShellCompNoDescRequestCmd: true,
}

// notForClients refuses what a client of a server may not run.
func notForClients(cmd *cobra.Command, args []string) error {
	if !forClients[cmd.Name()] {
		return fmt.Errorf("a server does not run %q for its clients: it only answers questions about its archives", cmd.CommandPath())
	}
	if !cmd.HasParent() && len(args) > 0 {
		return fmt.Errorf("%q is no command%s", args[0], query.Suggest(args[0], slices.Sorted(maps.Keys(forClients))))
	}
	for _, name := range []string{"follow", "symbols", "force"} {
		if f := cmd.Flags().Lookup(name); f != nil && f.Changed {
			return fmt.Errorf("a server does not take --%s from its clients", name)
		}
	}
	if f := cmd.Flags().Lookup("output"); f != nil && f.Changed && f.Value.String() != "-" {
		return fmt.Errorf("a server writes no files for its clients: write --output - and lead the output to a file")
	}
	return nil
}
