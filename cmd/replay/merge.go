package main

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tachograph/cmd/internal/cli"
	"tachograph/cmd/internal/when"
	"tachograph/cmd/replay/internal/human"
	"tachograph/store"
	"tachograph/store/rewrite"
)

func mergeCommand(a *app) *cobra.Command {
	var dst string
	cmd := &cobra.Command{
		Use:   "merge ARCHIVE... -o NEW",
		Short: "Put archives together, without loss",
		Long: `merge makes one file of archives, also of those that are being written: one archive of
all of a boot, and a bundle of several boots or hosts. A bundle is a tar file of archives,
which replay reads like an archive and tar unpacks.

Every value, event, name and life is in it. What several archives hold, because one
was given twice or snapshots overlap, is counted once. Where they disagree, merge says
so and takes the first, and the exit status is 1. It is 1 as well where something cannot
be read.

An ARCHIVE is a file or a directory. With --from and --to only that window is put
together, with --host only some hosts.`,
		Example: `  replay merge monday.tacho tuesday.tacho -o week.tacho
  replay merge web1/ web2/ --from yesterday -o fleet.tacho`,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case !a.table():
				return fmt.Errorf("merge writes an archive; other commands answer as %s", a.format)
			case len(args)+len(a.archives) == 0:
				return errors.New("merge needs the archives to put together")
			case dst == "" || dst == "-":
				return errors.New("merge needs a name for the new file: -o NEW.tacho")
			}
			opt, err := a.copyOptions(args)
			if err != nil {
				return err
			}
			report, err := a.copy(dst, opt)
			if err != nil {
				return err
			}
			text := dst + ": " + a.copied(report)
			if report.Twice > 0 {
				text += fmt.Sprintf(", %s in several of them counted once", cli.Count(report.Twice, "reading"))
			}
			a.stdout.Println(text)
			return a.missing(report)
		},
	}
	cmd.Flags().StringVarP(&dst, "output", "o", "", "the new file; must not exist")
	return cmd
}

// copyOptions opens the archives and returns the options to copy them: all of them, or the part
// in the window.
func (a *app) copyOptions(args []string) (opt rewrite.CopyOptions, err error) {
	if err := a.load(args...); err != nil {
		return opt, err
	}
	w, err := a.window()
	if err != nil {
		return opt, err
	}
	opt.Hosts, opt.To = w.Hosts, w.To
	if a.from != "" {
		opt.From = w.From
	}
	return opt, nil
}

// splitBy are the words that --by takes, besides a length of time.
var splitBy = []string{"boot", "host", "day", "hour"}

func splitCommand(a *app) *cobra.Command {
	var dir, by string
	cmd := &cobra.Command{
		Use:   "split ARCHIVE... --by boot|host|day|hour|DURATION -o DIR",
		Short: "Take archives apart, without loss",
		Long: `split writes what archives hold into several, in a directory: of each boot one, of each
host one (a bundle, where it has several boots), or of each day, hour or length of time
(10m, 6h) of each boot. Days begin at midnight in the zone of the machine, or in --tz.

The pieces together answer every question as before, and each answers by itself: it begins
with the last values before it, which replay counts once where it reads the piece before
as well. replay merge puts them together again. Archives that are being written can be split, too.

split makes the directory if it does not exist. It writes either all pieces or none: if it
is killed on the way, the next split into the same directory undoes or finishes its work.`,
		Example: `  replay split week.tacho --by day -o days
  replay split fleet.tacho --by host -o hosts
  replay split /var/db/tachograph --by 6h --from -2d -o pieces`,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case !a.table():
				return fmt.Errorf("split writes archives; other commands answer as %s", a.format)
			case len(args)+len(a.archives) == 0:
				return errors.New("split needs an archive to take apart")
			case by == "":
				return fmt.Errorf("split needs to know by what: --by %s, or a length of time", strings.Join(splitBy, ", --by "))
			case dir == "":
				return errors.New("split needs a directory for the pieces: -o DIR")
			}
			return a.split(args, by, dir)
		},
	}
	cmd.Flags().StringVarP(&dir, "output", "o", "", "directory to write to")
	cmd.Flags().StringVar(&by, "by", "", "boot, host, day, hour or a length of time")
	return cmd
}

func (a *app) split(args []string, by, dir string) error {
	copying, err := a.copyOptions(args)
	if err != nil {
		return err
	}
	opt := rewrite.SplitOptions{CopyOptions: copying, ByHost: by == "host"}
	if by != "host" && by != "boot" {
		if opt.Edges, err = a.edges(by); err != nil {
			return err
		}
	}
	r, ok := a.archive.(*store.Reader)
	if !ok {
		return errors.New("only archives can be split")
	}
	ctx, stop := a.untilEnded()
	defer stop()
	bar, start := a.newBar("writing to "+dir), time.Now()
	opt.Context = ctx
	opt.Progress = func(done, total int64) {
		if time.Since(start) > time.Second {
			bar.show(done, total)
		}
	}
	report, err := rewrite.Split(dir, opt, r)
	bar.clear()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return err
	}
	for _, w := range report.Archives {
		a.stdout.Printf("%s  %s to %s, %s, %s\n", w.Name, a.show(w.From), a.show(w.To), cli.Count(w.Values, "value"), cli.Count(w.Events, "event"))
	}
	a.stdout.Printf("%s in %s, %s\n", cli.Count(len(report.Archives), "archive"), dir, human.Bytes(float64(report.Bytes)))
	return a.missing(report)
}

// edges returns a function that gives the end of the piece that contains an instant. Pieces end
// at midnight, and within days if they are shorter.
func (a *app) edges(by string) (func(int64) int64, error) {
	var length time.Duration
	switch by {
	case "day":
		length = 24 * time.Hour
	case "hour":
		length = time.Hour
	default:
		d, err := when.Duration(by)
		if err != nil {
			return nil, fmt.Errorf("--by %s: it is neither of %s nor a length of time such as 6h", by, strings.Join(splitBy, ", "))
		}
		if d < time.Second {
			return nil, fmt.Errorf("--by %s: pieces are a second long at least", by)
		}
		length = d
	}
	if length > 24*time.Hour {
		n := int64(length)
		return func(wall int64) int64 { return wall - mod(wall, n) + n }, nil
	}
	zone := a.zone()
	return func(wall int64) int64 {
		if wall > math.MaxInt64/2 || wall < -math.MaxInt64/2 {
			return math.MaxInt64
		}
		t := time.Unix(0, wall).In(zone)
		midnight := time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, zone)
		next := time.Date(t.Year(), t.Month(), t.Day()+1, 0, 0, 0, 0, zone)
		edge := midnight.Add((t.Sub(midnight)/length + 1) * length)
		if length == 24*time.Hour || edge.After(next) {
			edge = next
		}
		return edge.UnixNano()
	}, nil
}

func mod(x, n int64) int64 { return (x%n + n) % n }
