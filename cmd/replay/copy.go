package main

import (
	"errors"
	"fmt"
	"strings"

	"tachograph/cmd/internal/cli"
	"tachograph/cmd/replay/internal/human"
	"tachograph/store"
	"tachograph/store/rewrite"
)

// copyOptions opens the archives and returns the options to copy them: all of them, or the part
// in the window.
func copyOptions(a *app, args []string) (opt rewrite.CopyOptions, err error) {
	if err := a.load(args...); err != nil {
		return opt, err
	}
	w, err := a.Window()
	if err != nil {
		return opt, err
	}
	opt.Hosts, opt.To = w.Hosts, w.To
	if a.From != "" {
		opt.From = w.From
	}
	return opt, nil
}

// copyArchives writes a file from the open archives, with a progress bar if that takes long.
func copyArchives(a *app, dst string, opt rewrite.CopyOptions) (*rewrite.Report, error) {
	r, ok := a.Archive.(*store.Reader)
	if !ok {
		return nil, errors.New("only archives can be copied")
	}
	if err := a.spare(dst); err != nil {
		return nil, err
	}
	ctx, stop := a.untilEnded()
	defer stop()
	bar := a.newLateBar("writing " + dst)
	opt.Context, opt.Progress = ctx, bar.show
	report, err := rewrite.CopyFrom(dst, opt, r)
	bar.clear()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return report, err
}

// copied describes what a file made of archives holds.
func copied(c *clock, r *rewrite.Report) string {
	var values, events uint64
	hosts := make(map[string]bool)
	var names []string
	for _, w := range r.Archives {
		values, events = values+w.Values, events+w.Events
		if !hosts[w.Host.ID] {
			hosts[w.Host.ID] = true
			names = append(names, w.Host.Name)
		}
	}
	from, to := r.Archives[0].From, r.Archives[0].To
	for _, w := range r.Archives {
		from, to = min(from, w.From), max(to, w.To)
	}
	text := fmt.Sprintf("%s, %s to %s, %s, %s, %s", strings.Join(names, ", "), c.Show(from), c.Show(to),
		cli.Count(values, "value"), cli.Count(events, "event"), human.Bytes(float64(r.Bytes)))
	if n := len(r.Archives); n > 1 {
		text += fmt.Sprintf(", a bundle of %d archives", n)
	}
	return text
}

// missing warns of what a copy lacks, and returns errNo if it lacks anything.
func missing(a *app, r *rewrite.Report) error {
	told := make(map[string]bool)
	for _, in := range a.Archive.Archives() {
		for _, text := range in.Damage {
			told[text] = true // reported when the archive was opened
		}
	}
	lost := len(a.Losses) > 0 // archives that could not be opened at all
	for _, l := range r.Lost {
		lost = true
		if !told[l.What] {
			told[l.What] = true
			a.warn(l.Path + ": " + l.What + "; it is not in the copy")
		}
	}
	for _, text := range r.Conflicts {
		a.warn("two archives disagree, and the first is believed: " + text)
	}
	if lost || len(r.Conflicts) > 0 {
		return errNo
	}
	return nil
}
