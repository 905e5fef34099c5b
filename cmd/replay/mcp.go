package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"tachograph/cmd/replay/internal/assistant"
	"tachograph/cmd/replay/internal/serve/ask"
	"tachograph/sample"
)

func mcpCommand(a *app) *cobra.Command {
	showArgs, printConfig := false, false
	cmd := &cobra.Command{
		Use:   "mcp [ARCHIVE...]",
		Short: "Let an assistant ask: a server of the Model Context Protocol",
		Long: `mcp serves the questions that replay answers as tools of the Model Context
Protocol, on standard input and output, for assistants that start it: overview,
why, moment, top, process, diff, series, find, events, stacks, search, explain.
It only reads, and only the archives named here.

Answers are small: at most 50 rows or about 4 KB, with the call that gives the
rest, the times that were not recorded, and the command that gives the same
answer to people. Names of processes and hosts are in them as they were
recorded; command lines are left out unless --show-args is given.

--print-config prints what a client's configuration needs.`,
		Example: `  replay mcp --print-config demo.d
  replay mcp demo.d`,
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, name := range []string{"from", "to", "host", "format", "spreadsheet", "utc", "tz", "show-command"} {
				if cmd.Flags().Changed(name) {
					return fmt.Errorf("mcp has no use for --%s: each question of the assistant says what of the archives is meant", name)
				}
			}
			paths, err := a.Locate(args)
			if err != nil {
				return err
			}
			for i := range paths {
				paths[i] = absolute(paths[i])
			}
			if printConfig {
				return a.mcpConfig(paths, showArgs)
			}
			a.collector.later()
			if err := canOpen(paths); err != nil {
				return err
			}
			return a.serveAssistant(paths, showArgs)
		},
	}
	cmd.Flags().BoolVar(&showArgs, "show-args", false, "let the assistant read the command lines of processes, where the recorder kept them")
	cmd.Flags().BoolVar(&printConfig, "print-config", false, "print what a client's configuration needs, and end")
	return cmd
}

// serveAssistant answers an assistant until its input ends, or a signal or a broken pipe ends it.
func (a *app) serveAssistant(paths []string, showArgs bool) error {
	a.collector.serving()
	ctx, stop := a.untilEnded()
	defer stop()
	questions := ask.New(a.answers(paths, a.Derived, a.Now), ask.DefaultLimits)
	server := assistant.New(questions, assistant.Options{Version: sample.Version(), ShowArgs: showArgs})
	err := server.Serve(ctx, a.stdin, a.stdout.Unwrap())
	if errors.Is(err, io.EOF) && ctx.Err() == nil {
		return nil
	}
	if ctx.Err() != nil {
		return context.Canceled
	}
	return err
}

// mcpConfig prints the entry for this server as clients have it in their configuration.
func (a *app) mcpConfig(paths []string, showArgs bool) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	args := []string{"mcp"}
	for _, p := range paths {
		args = append(args, "--archive", p)
	}
	for _, p := range a.Derived {
		args = append(args, "--derived", absolute(p))
	}
	if showArgs {
		args = append(args, "--show-args")
	}
	type server struct {
		Command string   `json:"command"`
		Args    []string `json:"args"`
	}
	text, err := json.MarshalIndent(map[string]map[string]server{"mcpServers": {"tachograph": {program, args}}}, "", "  ")
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(text)) {
		a.stdout.Println(strings.TrimSuffix(line, "\n"))
	}
	return nil
}
