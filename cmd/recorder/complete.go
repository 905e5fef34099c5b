package main

import (
	"strings"

	"github.com/spf13/cobra"

	"tachograph/cmd/internal/cli"
)

// completions registers what shells can complete.
func (a *app) completions(root *cobra.Command) {
	for _, c := range root.Commands() {
		switch c.Name() {
		case "metrics", "probe":
			c.ValidArgsFunction = a.metricWords
		case "completion":
		default:
			c.ValidArgsFunction = cli.CompleteNothing
		}
	}
	cli.RegisterCompletion(root, map[string]cli.Completer{
		"archive": cli.CompleteFiles, "config": cli.CompleteFiles, "log-file": cli.CompleteFiles, "root": cli.CompleteFiles, "recorder": cli.CompleteFiles,
		"log-format": cli.CompleteFixed("text", "json"),
		"for":        cli.CompleteFixed("10s", "1m", "10m", "1h"),
		"output":     cli.CompleteFiles,
		"rate":       cli.CompleteFixed("10", "49", "99", "499"),
		"wait":       cli.CompleteFixed("1s", "5s"),
		"speed":      cli.CompleteFixed("0", "1", "10", "60"),
		"socket":     cli.CompleteFixed("unix:", "tcp:127.0.0.1:"), "listen": cli.CompleteFixed("unix:", "tcp:127.0.0.1:44321"),
	})
}

// metricWords offers the metrics that this machine may have.
func (a *app) metricWords(_ *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var list []cobra.Completion
	for _, d := range a.catalog() {
		if strings.HasPrefix(d.Name, typed) && d.Unsupported == "" {
			list = append(list, cobra.CompletionWithDesc(d.Name, d.Help))
		}
	}
	return list, cobra.ShellCompDirectiveNoFileComp
}
