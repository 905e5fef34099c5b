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

// splitBy are the words that --by takes, besides a length of time.
var splitBy = []string{"boot", "host", "day", "hour"}

func splitCommand(a *app) *cobra.Command {
	s := &splitting{a: a}
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
		RunE: func(_ *cobra.Command, args []string) error { return s.run(args) },
	}
	cmd.Flags().StringVarP(&s.dir, "output", "o", "", "directory to write to")
	cmd.Flags().StringVar(&s.by, "by", "", "boot, host, day, hour or a length of time")
	return cmd
}

// splitting takes archives apart.
type splitting struct {
	a       *app
	dir, by string
}

func (s *splitting) run(args []string) error {
	a := s.a
	if err := a.noRows("split writes archives; other commands answer"); err != nil {
		return err
	}
	switch {
	case len(args)+len(a.Sources) == 0:
		return errors.New("split needs an archive to take apart")
	case s.by == "":
		return fmt.Errorf("split needs to know by what: --by %s, or a length of time", strings.Join(splitBy, ", --by "))
	case s.dir == "":
		return errors.New("split needs a directory for the pieces: -o DIR")
	}
	copying, err := copyOptions(a, args)
	if err != nil {
		return err
	}
	opt := rewrite.SplitOptions{CopyOptions: copying, ByHost: s.by == "host"}
	if s.by != "host" && s.by != "boot" {
		if opt.Edges, err = edges(s.by, a.Zone()); err != nil {
			return err
		}
	}
	r, ok := a.Archive.(*store.Reader)
	if !ok {
		return errors.New("only archives can be split")
	}
	ctx, stop := a.untilEnded()
	defer stop()
	bar := a.newLateBar("writing to " + s.dir)
	opt.Context, opt.Progress = ctx, bar.show
	report, err := rewrite.Split(s.dir, opt, r)
	bar.clear()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return err
	}
	for _, w := range report.Archives {
		a.stdout.Printf("%s  %s to %s, %s, %s\n", w.Name, a.Show(w.From), a.Show(w.To), cli.Count(w.Values, "value"), cli.Count(w.Events, "event"))
	}
	a.stdout.Printf("%s in %s, %s\n", cli.Count(len(report.Archives), "archive"), s.dir, human.Bytes(float64(report.Bytes)))
	return missing(a, report)
}

// edges returns a function that gives the end of the piece that contains an instant. Pieces end
// at midnight, and within days if they are shorter.
func edges(by string, zone *time.Location) (func(int64) int64, error) {
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
