package main

import (
	_ "embed"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"tachograph/cmd/internal/manual"
	"tachograph/config"
	"tachograph/launchd"
	"tachograph/store"
	"tachograph/store/journal"
)

// replayPage is the manual page of replay, as replay man writes it.
//
//go:embed pages/replay.1
var replayPage string

// manCommand writes manual pages; packagers call it, so it is not in the help.
func manCommand(root func() *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use: "man DIR", Short: "Write the manual pages into a directory", Hidden: true,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("man takes one argument, the directory to write to")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return manual.Write(args[0], manualPages(root())) },
	}
}

// manualPages returns the manual pages of both programs and of the files that they read and
// write. It adds to the help of root, which is the recorder's command.
func manualPages(root *cobra.Command) []manual.Page {
	root.Long += "\n\nThe configuration is " + launchd.LinuxLayout().Config + ", on a Mac\n" + launchd.MacLayout().Config + ",\nwhere recorder install puts it."
	return []manual.Page{
		manual.OfProgram(root, "replay(1)", "tachograph.toml(5)", "tachograph-archive(5)"),
		{Name: "replay", Section: 1, Text: replayPage},
		manual.OfText("tachograph.toml", 5, "configuration of the recorder", strings.ReplaceAll(config.DefaultText, "\t", "    ")),
		manual.OfMarkdown("tachograph-archive", 5, "format of archives", store.Format),
		manual.OfMarkdown("tachograph-journal", 5, "format of the journals of archives", journal.Format),
		manual.OfExpressions(),
	}
}
