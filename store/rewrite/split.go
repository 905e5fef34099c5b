package rewrite

import (
	"fmt"
	"os"
	"slices"

	"tachograph/store"
	"tachograph/store/fault"
)

// SplitOptions select what is split, and into which archives.
type SplitOptions struct {
	CopyOptions
	// ByHost makes one file of each host: a bundle if the host has several boots.
	ByHost bool
	// Edges, if set, returns the first wall clock after wall at which a piece ends and the next
	// one begins.
	Edges func(wall int64) int64
}

// mostPieces is how many archives are made at a time: each is a file.
const mostPieces = 10000

// Split splits what a Reader has open into archives in the directory dir, which is made if it
// does not exist: one for each boot or, within each boot, one for each span between edges.
// Nothing is lost or repeated, and each piece is complete in itself: it begins with how things
// stood. In the end either all of them exist or none; if a Split is killed, the next Split into
// the same directory finishes or undoes it. The Reader must not be used for anything else
// meanwhile.
func Split(dir string, opt SplitOptions, r *store.Reader) (report *Report, err error) {
	report = &Report{Path: dir}
	opt.Note = report.noting(opt.Note)
	for _, l := range r.Losses() {
		opt.note(l)
	}
	p, err := newPieces(dir)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			p.remove()
			_ = os.Remove(dir) // if it is empty
		}
	}()
	if opt.ByHost {
		err = opt.byHost(p, r, report)
	} else {
		err = opt.byTime(p, r, report)
	}
	if err == nil && len(p.names) == 0 {
		err = opt.nothing()
	}
	if err != nil {
		return nil, err
	}
	return report, p.publish()
}

// byTime makes an archive of each boot or, within each boot, of each span between edges.
func (opt *SplitOptions) byTime(p *pieces, r *store.Reader, report *Report) error {
	for _, b := range opt.boots(r.Files()) {
		told := false // whether the damage of the files was reported
		progress := &progress{tell: opt.Progress, total: b.bytes()}
		windows, err := b.windows(opt)
		if err != nil {
			return err
		}
		for _, w := range windows {
			one := opt.CopyOptions
			one.From, one.To = w[0], w[1]
			if told {
				one.Note = report.later(one.Note)
			}
			told = true
			written, err := b.write(p.scratch(), &one, report, progress)
			if err != nil {
				return err
			}
			if written == nil {
				continue
			}
			size, err := p.made(written)
			if err != nil {
				return err
			}
			report.Archives, report.Bytes = append(report.Archives, *written), report.Bytes+size
		}
	}
	return nil
}

// byHost makes a file of each host.
func (opt *SplitOptions) byHost(p *pieces, r *store.Reader, report *Report) error {
	for _, h := range r.Hosts() {
		if opt.Hosts != nil && !slices.Contains(opt.Hosts, h.ID) && !slices.Contains(opt.Hosts, h.Name) {
			continue
		}
		one := opt.CopyOptions
		one.Hosts = []string{h.ID}
		got, err := CopyFrom(p.scratch(), one, r)
		if fault.Of(err) == fault.NotFound {
			continue
		}
		if err != nil {
			return err
		}
		whole := got.Archives[0]
		for _, w := range got.Archives[1:] {
			whole.From, whole.To = min(whole.From, w.From), max(whole.To, w.To)
			whole.Ticks, whole.Values, whole.Events = whole.Ticks+w.Ticks, whole.Values+w.Values, whole.Events+w.Events
		}
		size, err := p.made(&whole)
		if err != nil {
			return err
		}
		report.Archives, report.Bytes = append(report.Archives, whole), report.Bytes+size
		report.Twice, report.Conflicts = report.Twice+got.Twice, append(report.Conflicts, got.Conflicts...)
	}
	return nil
}

// noting returns a function that adds losses to the report and passes them on to note.
func (r *Report) noting(note func(store.Loss)) func(store.Loss) {
	return func(l store.Loss) {
		r.Lost = append(r.Lost, l)
		if note != nil {
			note(l)
		}
	}
}

// later returns a function that passes losses on to note, except those that were reported for
// the same files before.
func (r *Report) later(note func(store.Loss)) func(store.Loss) {
	return func(l store.Loss) {
		if !slices.ContainsFunc(r.Lost, func(o store.Loss) bool { return o.What == l.What && o.Path == l.Path }) {
			note(l)
		}
	}
}

// windows returns the windows of the pieces of a boot.
func (b *bootFiles) windows(opt *SplitOptions) ([][2]int64, error) {
	from, to := b.files[0].Info.Begin(), int64(0)
	for _, f := range b.files {
		from, to = min(from, f.Info.Begin()), max(to, f.Info.To)
	}
	if opt.Edges == nil {
		return [][2]int64{{opt.From, opt.To}}, nil
	}
	from, to = max(from, opt.from()), min(to, opt.to())
	var out [][2]int64
	for at := from; at <= to; {
		if len(out) == mostPieces {
			return nil, fmt.Errorf("that is more than %d pieces: make them longer", mostPieces)
		}
		end := max(opt.Edges(at), at+1)
		w := [2]int64{at, end - 1}
		if len(out) == 0 {
			w[0] = opt.From // includes what happened before the first tick
		}
		if end > to {
			w[1] = opt.To
		}
		out = append(out, w)
		at = end
	}
	return out, nil
}
