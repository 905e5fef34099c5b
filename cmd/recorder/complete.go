package main

import (
	"strings"

	"github.com/spf13/cobra"

	"tachograph/cmd/internal/completion"
)

// completions tells shells what may stand where.
func (a *app) completions(root *cobra.Command) {
	for _, c := range root.Commands() {
		switch c.Name() {
		case "metrics", "probe":
			c.ValidArgsFunction = a.metricWords
		case "completion":
		default:
			c.ValidArgsFunction = completion.Nothing
		}
	}
	completion.Register(root, map[string]completion.Func{
		"archive": completion.Files, "config": completion.Files, "log-file": completion.Files, "root": completion.Files, "recorder": completion.Files,
		"log-format": completion.Fixed("text", "json"),
		"for":        completion.Fixed("10s", "1m", "10m", "1h"),
		"output":     completion.Files,
		"rate":       completion.Fixed("10", "49", "99", "499"),
		"wait":       completion.Fixed("1s", "5s"),
		"speed":      completion.Fixed("0", "1", "10", "60"),
		"socket":     completion.Fixed("unix:", "tcp:127.0.0.1:"), "listen": completion.Fixed("unix:", "tcp:127.0.0.1:44321"),
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
