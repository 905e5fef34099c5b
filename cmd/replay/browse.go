package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tachograph/cmd/replay/internal/browse"
	"tachograph/cmd/replay/internal/moment"
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
	switch term := os.Getenv("TERM"); {
	case !p.table():
		return fmt.Errorf("browse draws on the whole screen; %s as %s", instead, p.format)
	case p.width == 0:
		return fmt.Errorf("browse draws on a terminal, and its output is none; %s", instead)
	case term == "" || term == "dumb":
		return fmt.Errorf("browse needs a terminal that can be drawn on, and TERM is %q; %s", term, instead)
	}
	return nil
}

// browsing shows what was recorded of one host or, with --follow, what is still being recorded.
type browsing struct {
	a      *app
	at     string // where the cursor begins; "" for the end
	follow bool
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

// host returns a function that opens the chosen host.
func (b *browsing) host() (open func() (browse.Opened, error), err error) {
	a := b.a
	w, err := a.Window()
	if err != nil {
		return nil, err
	}
	host, note, err := oneHost(a.Archive, w)
	if err != nil {
		return nil, err
	}
	a.Choose(host)
	defs, err := a.Definitions()
	if err != nil {
		return nil, err
	}
	o := browse.Opened{Zone: a.Zone(), From: w.From, To: w.To, Note: note}
	if b.at != "" {
		if o.At, err = a.Instant("at", b.at); err != nil {
			return nil, err
		}
	}
	return func() (browse.Opened, error) {
		r, err := moment.Open(a.Archive, host, defs)
		if err == nil {
			o.Engine = r
		}
		return o, err
	}, nil
}

// instant parses a time that the user types while looking at the moment at.
func (b *browsing) instant(text string, at int64) (int64, error) {
	t, err := b.a.Reference().Beside(text, time.Unix(0, at))
	return t.UnixNano(), err
}

// show runs the browser and then prints the command that shows the last moment again.
func (b *browsing) show(ctx context.Context, opt browse.Options) error {
	a := b.a
	answer, err := browse.Run(ctx, opt)
	if answer.Busy {
		a.Close = nil // Reads still under way end with the process.
	}
	if err == nil && answer.At != 0 {
		a.stdout.Println("# " + opt.Command("browse", "--at", a.In(answer.At).Format(time.RFC3339Nano)))
	}
	return err
}

// oneHost chooses the host to show: of the hosts that w accepts, the one recorded last.
func oneHost(a query.Archive, w query.Window) (host, note string, err error) {
	last := int64(0)
	names := make(map[string]string)
	for _, info := range a.Archives() {
		if !w.Wants(info.Host.ID) {
			continue
		}
		names[info.Host.ID] = info.Host.Name
		if info.To >= last || host == "" {
			host, last = info.Host.ID, info.To
		}
	}
	if host == "" {
		return "", "", errors.New("nothing was recorded of this host")
	}
	if n := len(names) - 1; n > 0 {
		note = fmt.Sprintf("this is %s, recorded last; --host shows one of the other %d", names[host], n)
	}
	return host, note, nil
}
