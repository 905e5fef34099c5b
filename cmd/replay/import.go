package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tachograph/cmd/internal/cli"
	"tachograph/cmd/replay/internal/format/pcpimport"
	"tachograph/sample"
	"tachograph/sample/pcp"
	"tachograph/store/disk"
	"tachograph/store/layout"
	"tachograph/store/rewrite"
)

// importFormats are the formats of other tools that import reads.
var importFormats = []string{"pcp"}

func importCommand(a *app) *cobra.Command {
	var format, dst string
	cmd := &cobra.Command{
		Use:   "import --format pcp BASE... -o NEW",
		Short: "Make an archive of what other tools recorded",
		Long: `import reads archives of Performance Co-Pilot, as pmlogger writes them on Linux and
on macOS and as replay export --format pcp does, and makes an archive that replay
answers from: versions 2 and 3, of several volumes, compressed (gz, xz, lzma, bz2,
zst), without an index, up to where a part was cut off. A BASE is what the files
begin with, or one of them; archives of one host become one timeline.

Values are taken over exactly, in PCP's types and units. A metric that replay knows by
its name answers what replay asks of it (ps, top, rates); all others keep their
names, units and help. What is neither a number nor a string is left out, and listed.

An archive of replay holds one boot. import finds the boots of PCP's values by
kernel.all.uptime or kernel.all.boottime; where neither was recorded, it takes the time
between two marks for one boot. With several boots NEW is a bundle. What PCP does not
say stays unknown: a mark becomes a gap, and no sleep of the machine is known.`,
		Example: `  replay import --format pcp 20261121 20261122 -o two-days.tacho
  replay import --format pcp /var/log/pcp/pmlogger/web1/20261122.0.xz -o web1.tacho`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if format == "" {
				return fmt.Errorf("import needs a format: --format %s", strings.Join(importFormats, ", "))
			}
			if format != "pcp" {
				return fmt.Errorf("import has no format %q: it has %s", format, strings.Join(importFormats, ", "))
			}
			if len(args) == 0 {
				return errors.New("import needs an archive of PCP: what its files begin with before .meta")
			}
			if dst == "" {
				return errors.New("import needs a name for the new archive: -o NEW.tacho")
			}
			return a.importPCP(args, dst)
		},
	}
	cmd.Flags().StringVar(&format, "format", "", "what made the archives: pcp")
	cmd.Flags().StringVarP(&dst, "output", "o", "", "the new archive; must not exist")
	return cmd
}

func (a *app) importPCP(bases []string, dst string) error {
	ctx, stop := a.untilEnded()
	defer stop()
	bar, start := a.newBar("reading "+filepath.Base(bases[0])), time.Now()
	made, err := newArchives(dst)
	if err != nil {
		return err
	}
	defer made.clear()
	r, err := pcpimport.Import(ctx, pcpimport.Options{
		Recorder: pcp.Imported + "replay " + sample.Version(),
		Create:   made.create,
		Progress: func(done, total int64) {
			if time.Since(start) > time.Second {
				bar.show(done, total)
			}
		},
	}, bases...)
	bar.clear()
	if err == nil {
		err = made.finish(ctx)
	}
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return err
	}
	for _, n := range r.Notes {
		a.complain("damage: " + n)
	}
	for _, n := range r.Left {
		a.complain("replay: " + n)
	}
	a.stdout.Printf("%s: %s in %s, %s, of %s (%d of them known here), host %s\n", dst,
		cli.Count(r.Values, "value"), cli.Count(r.Ticks, "tick"), cli.Count(r.Events, "event"), cli.Count(r.Metrics, "metric"), r.Known, r.Host.Name)
	if len(r.Notes) > 0 {
		return errNo
	}
	return nil
}

// archives are the archives that an import makes, one for each boot. In the end they become one
// file: an archive, or a bundle of several.
type archives struct {
	dst   string
	dir   string // the directory in which they are made
	paths []string
	clear func() // removes what is not finished
}

// newArchives prepares to make a file called dst, which must not exist.
func newArchives(dst string) (*archives, error) {
	if _, err := os.Lstat(dst); err == nil {
		return nil, fmt.Errorf("%s exists, and nothing is written over: name another with -o", dst)
	}
	disk.Clear(dst)
	dir, remove, err := disk.MkdirScratch(dst)
	if err != nil {
		return nil, fmt.Errorf("cannot write %s: %w", dst, cli.Cause(err))
	}
	return &archives{dst: dst, dir: dir, clear: remove}, nil
}

func (m *archives) create(about rewrite.About) (pcpimport.Writer, error) {
	path := filepath.Join(m.dir, strconv.Itoa(len(m.paths)+1)+layout.FinishedSuffix)
	m.paths = append(m.paths, path)
	return rewrite.Create(path, about)
}

// finish makes the file out of the archives.
func (m *archives) finish(ctx context.Context) error {
	if len(m.paths) == 1 {
		if err := os.Link(m.paths[0], m.dst); err == nil {
			return nil
		}
		// On file systems where a file cannot have two names, it is copied.
	}
	return together(ctx, m.dst, m.paths)
}
