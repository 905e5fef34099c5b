package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"tachograph/cmd/replay/internal/browse"
	"tachograph/store/query"
)

func browseCommand(a *app) *cobra.Command {
	b := &browsing{a: a}
	cmd := &cobra.Command{
		Use:   "browse [ARCHIVE...]",
		Short: "Travel through time on the whole screen",
		Long: `browse shows a recording on the whole screen: a timeline above, with what is worth
a mark, and below it the moment under the cursor: the machine, its processes, disks,
network, sensors and events.

Arrows move by samples, comma and full stop by minutes, < and > by hours; b takes a
time, e goes to the next event, x to the peak of the chosen lane, / filters processes,
Enter shows the life of one, K the stacks that were sampled then, m marks two moments to
see what differs, ? shows all keys.
The mouse works: click or drag on the timeline, click the head of a column or a row.

It begins at the end of the recording, or at --at, with all of it on the timeline or,
with --from and --to, a part. With --follow it goes on with what
is being recorded, also where nothing has been so far: at the end it moves with it,
elsewhere it stays and says how far behind it is. When it ends it prints the command
that shows the last moment again.`,
		Example: `  replay browse
  replay browse HOST-20261120T000000Z.tacho --at 03:12
  replay browse --at 'last boot'
  replay browse --follow`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := notArchives(args); err != nil {
				return err
			}
			if err := canBrowse(&a.page); err != nil {
				return err
			}
			return b.run(cmd, args)
		},
	}
	cmd.Flags().StringVar(&b.at, "at", "", "the moment to begin with (default: the end of the recording)")
	cmd.Flags().BoolVarP(&b.follow, "follow", "f", false, "go on with what is being recorded: at the end, F returns there")
	return cmd
}

// notArchives refuses an argument that is neither a file nor looks like a path, and suggests
// --at.
func notArchives(args []string) error {
	for _, s := range args {
		if _, err := os.Lstat(s); err != nil && !strings.ContainsAny(s, "/.") {
			return fmt.Errorf("there is no archive %q; a moment is given with --at", s)
		}
	}
	return nil
}

// canBrowse returns an error that says why browse cannot draw on the whole screen.
func canBrowse(p *page) error {
	const instead = "replay at TIME prints a moment"
	if err := p.noRows("browse draws on the whole screen; " + instead); err != nil {
		return err
	}
	switch term := os.Getenv("TERM"); {
	case p.width == 0:
		return fmt.Errorf("browse draws on a terminal, and its output is none; %s", instead)
	case term == "" || term == "dumb":
		return fmt.Errorf("browse needs a terminal that can be drawn on, and TERM is %q; %s", term, instead)
	}
	return nil
}

func (b *browsing) run(cmd *cobra.Command, args []string) error {
	a := b.a
	opt := browse.Options{
		ASCII: a.ascii, Color: a.color, Now: a.Now, Parse: b.instant,
		Sentence: func(c *query.Change) string {
			return sentence(c, sides{clock: a.TimeOfDay})
		},
		Command: func(args ...string) string { return strings.Join(a.commandLine(cmd, args), " ") },
	}
	ctx, stop := a.untilEnded()
	defer stop()
	if b.follow {
		if err := b.goOn(ctx, &opt, args); err != nil {
			return err
		}
		return b.show(ctx, opt)
	}
	if err := a.load(args...); err != nil {
		return err
	}
	open, err := b.host()
	if err != nil {
		return err
	}
	opt.Open = func(context.Context) (browse.Opened, error) { return open() }
	return b.show(ctx, opt)
}
