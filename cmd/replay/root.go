package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"tachograph/cmd/internal/cli"
	"tachograph/cmd/internal/manual"
	"tachograph/cmd/replay/internal/out"
	"tachograph/sample"
)

// commands are the subcommands, in the order of the help text.
func commands() []func(*app) *cobra.Command {
	return []func(*app) *cobra.Command{
		browseCommand, atCommand, whyCommand, diffCommand, psCommand, topCommand, netCommand, energyCommand, threadsCommand, stacksCommand,
		ratesCommand, valuesCommand, rangesCommand, plotCommand, findCommand, eventsCommand, deathsCommand,
		explainCommand, reportCommand, snapshotCommand, exportCommand, importCommand, summaryCommand, infoCommand, metricsCommand,
		verifyCommand, repairCommand, mergeCommand, splitCommand, reduceCommand, serveCommand, mcpCommand, pushCommand,
		versionCommand, manCommand, expressionsTopic,
	}
}

// command builds the command tree.
func (a *app) command() *cobra.Command {
	root := &cobra.Command{
		Use:   "replay [ARCHIVE...]",
		Short: "Ask what a machine did",
		Long: `replay answers questions about what recorder has recorded: on this machine or
on any other, finished or still being written.

Without a subcommand it prints an overview of the window.

An ARCHIVE is a file, or a directory whose archives form one timeline for each
host. Without one, replay reads where recorder writes by default.

Times are "2026-11-20 03:12", 03:12 or 3:12am (the latest that the archive
covers), "yesterday 03:12", "monday noon", "20 minutes ago", -2h, now, start and
end of the archive, "last boot" (shutdown, panic, sleep, wake), with an offset if
you like (end-10m); @unix-seconds and RFC 3339. They are read and shown in the
zone of the machine that was recorded; --tz names another.`,
		Args:          cobra.ArbitraryArgs,
		Version:       sample.Version(),
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := notCommand(cmd, args); err != nil {
				return err
			}
			return a.overview(cmd, args)
		},
	}
	f := root.PersistentFlags()
	f.StringArrayVar(&a.Sources, "archive", nil, "archive file or directory to read (repeatable)")
	f.String("from-server", "", "ask a running replay serve: unix:PATH, http://HOST:PORT or https://HOST:PORT")
	f.String("server-token-file", "", "file with the token that the server wants")
	f.String("server-ca", "", "file with the certificate of who signed the server's")
	f.StringArrayVar(&a.Hosts, "host", nil, "only hosts whose name matches (repeatable)")
	f.StringVar(&a.From, "from", "", "begin of the window")
	f.StringVar(&a.To, "to", "", "end of the window; +10m counts from --from")
	f.StringVar(&a.format, "format", "table", "table, csv or json (one object a line)")
	f.BoolVar(&a.spreadsheet, "spreadsheet", false, "with --format csv: an apostrophe before text that a spreadsheet would compute")
	f.BoolVar(&a.UTC, "utc", false, "show and read times in UTC, as --tz UTC")
	f.StringVar(&a.TZ, "tz", "", "zone to show and read times in: a name such as Europe/Berlin, local or +02:00 (default: the archive's)")
	f.StringVar(&a.colorFlag, "color", colorAuto, "mark what is out of the ordinary in colour: auto (on a terminal), always or never")
	f.BoolVar(&a.showCommand, "show-command", false, "print the command line that gives this answer again")
	f.StringArrayVar(&a.Derived, "derived", nil, "file of derived metrics, NAME = EXPRESSION a line (repeatable)")
	root.PersistentPreRunE = func(cmd *cobra.Command, args []string) error {
		for _, name := range serverFlags {
			// Of a command line that names a server none of these is left.
			if cmd.Flags().Changed(name) {
				return fmt.Errorf("--%s needs --from-server with an address: unix:PATH, http://HOST:PORT or https://HOST:PORT", name)
			}
		}
		if a.Given != nil {
			if err := notForClients(cmd, args); err != nil {
				return err
			}
		}
		if _, err := out.ParseFormat(a.format); err != nil {
			return err
		}
		if err := a.checkColor(); err != nil {
			return err
		}
		a.style()
		if n := cmd.Flags().Lookup("number"); n != nil && strings.HasPrefix(n.Value.String(), "-") {
			return fmt.Errorf("--number %s: write how many, or 0 for all", n.Value)
		}
		return a.Check()
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return fmt.Errorf("%w (%s --help lists the flags)", cli.FlagError(err), cmd.CommandPath())
	})
	for _, c := range commands() {
		root.AddCommand(c(a))
	}
	root.AddCommand(cli.CompletionCommand(), cli.StatusTopic())
	root.SetHelpCommand(manual.HelpCommand())
	root.SetHelpFunc(manual.Help)
	return root
}

// notCommand refuses arguments that are neither a file nor a command, and suggests the command
// that was probably meant.
func notCommand(cmd *cobra.Command, args []string) error {
	var names []string
	for _, c := range cmd.Commands() {
		names = append(names, c.Name())
	}
	for _, s := range args {
		if _, err := os.Lstat(s); err != nil && !strings.ContainsAny(s, "/.") {
			return noCommand(s, "neither a command nor an archive", names)
		}
	}
	return nil
}
