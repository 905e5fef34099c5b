package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"tachograph/cmd/internal/cli"
	"tachograph/cmd/internal/manual"
	"tachograph/cmd/internal/visible"
	"tachograph/sample"
)

// run executes one command line and returns the exit status.
func (a *app) run(args []string) int {
	root := a.root()
	root.SetArgs(args)
	root.SetOut(a.out)
	root.SetErr(a.err)
	err := root.Execute()
	switch {
	case err == nil:
		return cli.Yes
	case errors.Is(err, errNo):
		return cli.No
	}
	text := strings.TrimSpace(err.Error())
	// cobra lists what may have been meant, one per line.
	if what, meant, ok := strings.Cut(text, "\n\nDid you mean this?\n\t"); ok {
		text = what + "; did you mean " + strings.ReplaceAll(meant, "\n\t", ", ")
	}
	for line := range strings.Lines(text) {
		fmt.Fprintf(a.err, "recorder: %s\n", visible.Text(strings.TrimRight(line, "\n")))
	}
	if no := (noError{}); errors.As(err, &no) {
		return cli.No
	}
	return cli.Failed
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "recorder",
		Short: "Record the metrics of this machine into local archives",
		Long: "recorder samples what the kernel knows about this machine and its processes\n" +
			"into archives that replay reads, on this machine or another one.",
		Version:       sample.Version(),
		SilenceErrors: true, SilenceUsage: true,
	}
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return fmt.Errorf("%w (see %s --help)", cli.FlagError(err), c.CommandPath())
	})
	root.AddCommand(
		a.runCommand(), a.probeCommand(), a.metricsCommand(), a.checkCommand(), a.sampleCommand(), a.rotateCommand(), a.reloadCommand(),
		a.statusCommand(), a.installCommand(a.root), a.uninstallCommand(a.root), a.pmdaCommand(), a.versionCommand(), manCommand(a.root),
	)
	root.AddCommand(a.controlCommands()...)
	root.AddCommand(cli.CompletionCommand(), cli.StatusTopic())
	root.SetHelpCommand(manual.HelpCommand())
	root.SetHelpFunc(manual.Help)
	a.completions(root)
	return root
}
