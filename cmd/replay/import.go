package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

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
	i := &importing{a: a}
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
		RunE: func(_ *cobra.Command, args []string) error { return i.run(args) },
	}
	cmd.Flags().StringVar(&i.format, "format", "", "what made the archives: pcp")
	cmd.Flags().StringVarP(&i.dst, "output", "o", "", "the new archive; must not exist")
	return cmd
}

// importing makes an archive of what another tool recorded.
type importing struct {
	a           *app
	format, dst string
}

func (i *importing) run(bases []string) error {
	switch {
	case i.format == "":
		return fmt.Errorf("import needs a format: --format %s", strings.Join(importFormats, ", "))
	case i.format != "pcp":
		return fmt.Errorf("import has no format %q: it has %s", i.format, strings.Join(importFormats, ", "))
	case len(bases) == 0:
		return errors.New("import needs an archive of PCP: what its files begin with before .meta")
	case i.dst == "":
		return errors.New("import needs a name for the new archive: -o NEW.tacho")
	}
	a := i.a
	ctx, stop := a.untilEnded()
	defer stop()
	bar := a.newLateBar("reading " + filepath.Base(bases[0]))
	made, err := newArchives(i.dst)
	if err != nil {
		return err
	}
	defer made.clear()
	r, err := pcpimport.Import(ctx, pcpimport.Options{
		Recorder: pcp.Imported + "replay " + sample.Version(),
		Create:   made.create,
		Progress: bar.show,
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
	a.stdout.Printf("%s: %s in %s, %s, of %s (%d of them known here), host %s\n", i.dst,
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
