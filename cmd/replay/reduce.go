package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tachograph/cmd/internal/cli"
	"tachograph/cmd/replay/internal/human"
	"tachograph/store"
	"tachograph/store/archive"
	"tachograph/store/disk"
	"tachograph/store/layout"
	"tachograph/store/reduce"
	"tachograph/store/rewrite"
)

// reduction makes a small archive of archives.
type reduction struct {
	a         *app
	keep      time.Duration
	dst       string
	processes string
}

func reduceCommand(a *app) *cobra.Command {
	r := &reduction{a: a}
	cmd := &cobra.Command{
		Use:   "reduce [ARCHIVE...] --keep STEP -o NEW",
		Short: "Make a small archive of minima, means, maxima and totals, for years",
		Long: `reduce makes an archive with one reading for each step of time, which sums up the
step's readings: the smallest, largest, mean, first and last value of a level; and the
last value of a counter with how steeply it rose, so that rates and totals of whole
steps stay exact over resets. Texts and settings have a reading of their own wherever
they changed, breaks stay breaks, and all events are kept.

You ask the new archive like any other, and it says that it is of steps. Over whole
steps, ranges answers as before, but without percentiles, which steps do not have. The
smallest, largest and mean value of a step have names of their own, such as
reduced.max.mem.util.free, for plots, expressions and find. The plain name has the
step's last value.

Every process stays in the archive, with its total use and its largest memory.
--processes top=100 keeps only those that were among the first hundred in something,
none keeps none. One process called (others) has what the rest used.

Archives of several boots become a bundle, which is one file and read as one. Steps are
whole seconds that divide a day. You can reduce a reduced archive again, to longer steps.`,
		Example: `  replay reduce --keep 1m -o 2026-11.tacho /var/lib/tachograph
  replay reduce --keep 5m --processes top=50 -o year.tacho *.tacho`,
		RunE: func(cmd *cobra.Command, args []string) error { return r.run(args) },
	}
	fl := cmd.Flags()
	fl.DurationVar(&r.keep, "keep", 0, "length of a step: 10s, 1m, 5m, 1h, ...")
	fl.StringVarP(&r.dst, "output", "o", "", "the new archive; must not exist")
	fl.StringVar(&r.processes, "processes", "all", "processes to keep: all, top=N or none")
	return cmd
}

// top returns how many processes are kept; -1 for all.
func (r *reduction) top() (int, error) {
	switch r.processes {
	case "all":
		return -1, nil
	case "none":
		return 0, nil
	}
	if text, ok := strings.CutPrefix(r.processes, "top="); ok {
		if n, err := strconv.Atoi(text); err == nil && n > 0 {
			return n, nil
		}
	}
	return 0, fmt.Errorf("--processes is all, none or top=N with a number above 0, not %q", r.processes)
}

func (r *reduction) run(args []string) error {
	a := r.a
	switch {
	case r.keep == 0:
		return errors.New("reduce needs the length of a step: --keep 1m")
	case r.dst == "":
		return errors.New("reduce needs a name for the new archive: -o NEW.tacho")
	}
	if err := reduce.Check(r.keep, nil); err != nil {
		return err
	}
	if _, err := r.top(); err != nil {
		return err
	}
	if _, err := os.Lstat(r.dst); err == nil {
		return fmt.Errorf("%s exists already, and nothing is written over; name another or remove it", r.dst)
	}
	paths, err := a.Locate(args)
	if err != nil {
		return err
	}
	a.Paths = paths
	if err := a.spare(r.dst); err != nil {
		return err
	}
	from, err := store.Open(paths...)
	if err != nil {
		return err
	}
	defer from.Close()
	a.leaveOut(from.Losses()...)
	files := slices.DeleteFunc(from.Files(), func(f *archive.File) bool { return f.Info.Empty })
	if len(files) == 0 {
		return nothing("nothing was recorded in %s", strings.Join(paths, ", "))
	}
	var infos []*archive.Info
	for _, file := range files {
		infos = append(infos, &file.Info)
		if len(file.Hidden) > 0 && slices.ContainsFunc(files, func(o *archive.File) bool { return o.Info.Step != file.Info.Step && o.Info.BootID == file.Info.BootID }) {
			return fmt.Errorf("of some of what %s covers there are other archives that tell more: reduce either it or them", file.Info.Path)
		}
	}
	if err := reduce.Check(r.keep, infos); err != nil {
		return err
	}
	defer a.collector.reducing()()
	ctx, stop := a.untilEnded()
	defer stop()
	boots := reduce.Boots(files)
	made, err := r.boots(ctx, boots)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return err
	}
	var before, after int64
	for _, info := range infos {
		before += info.Bytes
	}
	for _, path := range made {
		if st, err := os.Stat(path); err == nil {
			after += st.Size()
		}
	}
	a.stdout.Printf("%s: %s of %s in steps of %s, %s of what had %s\n", r.dst, cli.Count(len(boots), "archive"),
		human.Duration(time.Duration(infos[len(infos)-1].To-infos[0].From)), human.Duration(r.keep), human.Bytes(float64(after)), human.Bytes(float64(before)))
	if len(a.Losses) > 0 {
		return errNo
	}
	return nil
}

// boots reduces the archives of each boot. The result is one file, a bundle if there are
// several boots.
func (r *reduction) boots(ctx context.Context, boots [][]*archive.File) (made []string, err error) {
	if len(boots) == 1 {
		return []string{r.dst}, r.boot(ctx, r.dst, boots[0])
	}
	disk.Clear(r.dst)
	scratch, remove, err := disk.MkdirScratch(r.dst)
	if err != nil {
		return nil, fmt.Errorf("cannot write %s: %w", r.dst, cli.Cause(err))
	}
	defer remove()
	for _, files := range boots {
		first, last := &files[0].Info, &files[len(files)-1].Info
		name := ""
		for n := 0; ; n++ {
			name = layout.FinishedName(last.Host.Name, first.From, last.To, n)
			if !slices.Contains(made, filepath.Join(scratch, name)) {
				break
			}
		}
		if err := r.boot(ctx, filepath.Join(scratch, name), files); err != nil {
			return nil, err
		}
		made = append(made, filepath.Join(scratch, name))
	}
	return []string{r.dst}, together(ctx, r.dst, made)
}

func (r *reduction) boot(ctx context.Context, path string, files []*archive.File) error {
	var of []string
	if slices.ContainsFunc(files, func(o *archive.File) bool { return len(o.Hidden) > 0 }) {
		var paths []string
		for _, file := range files {
			if !slices.Contains(paths, file.Info.Path) {
				paths, of = append(paths, file.Info.Path), append(of, file.Info.ID)
			}
		}
		merged, done, err := r.merged(ctx, path, paths, files[0].Info.BootID)
		if err != nil {
			return err
		}
		defer done()
		files = merged.Files()
	}
	bar := r.a.newBar("reducing " + files[0].Info.Path)
	defer bar.clear()
	opt := reduce.Options{Step: r.keep, Of: of, Progress: bar.show, Note: func(err error) {
		bar.clear()
		r.a.leaveOut(rewrite.Lost(&files[0].Info, err))
	}}
	n, err := r.top()
	switch {
	case err != nil:
		return err
	case n == 0:
		opt.Process = func(string) bool { return false }
	case n > 0:
		some, err := reduce.Biggest(ctx, files, n)
		if err != nil {
			return err
		}
		opt.Process = func(key string) bool { return some[key] }
	}
	return reduce.Archive(ctx, path, files, opt)
}

// merged joins the archives of a boot in a file beside dst, as merge does: what several of them
// hold is in it once. done removes the file.
func (r *reduction) merged(ctx context.Context, dst string, paths []string, boot string) (read *store.Reader, done func(), err error) {
	disk.Clear(dst)
	dir, remove, err := disk.MkdirScratch(dst)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot write %s: %w", dst, cli.Cause(err))
	}
	path := filepath.Join(dir, "merged"+layout.FinishedSuffix)
	report, err := rewrite.Copy(path, rewrite.CopyOptions{Context: ctx, Boots: []string{boot}}, paths...)
	if err == nil {
		r.a.leaveOut(report.Lost...)
		read, err = store.Open(path)
	}
	if err != nil {
		remove()
		return nil, nil, err
	}
	return read, func() { _ = read.Close(); remove() }, nil
}
