package rewrite

import (
	"fmt"
	"os"
	"slices"

	"tachograph/store"
	"tachograph/store/fault"
)

// SplitOptions say into what archives are split.
type SplitOptions struct {
	CopyOptions
	// ByHost makes one file of each host: a bundle where that has several boots.
	ByHost bool
	// Edges, if set, returns the first wall clock after wall at which a piece ends: the
	// piece behind it begins there.
	Edges func(wall int64) int64
}

// mostPieces is how many archives are made at a time: each is a file.
const mostPieces = 10000

// Split makes archives in the directory dir, which is made if it is not there, of what a Reader
// has open: of each boot one, or of each boot those between edges. Nothing is lost and nothing
// told twice, and each piece stands for itself: it begins with how things stood. Either all of
// them are there in the end, or none; what was killed on the way the next Split into the same
// directory finishes or undoes. Nothing else is asked of the Reader meanwhile.
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
			_ = os.Remove(dir) // if there is nothing else in it
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

// byTime makes an archive of each boot, or of each boot those between edges.
func (opt *SplitOptions) byTime(p *pieces, r *store.Reader, report *Report) error {
	for _, b := range opt.boots(r.Files()) {
		told := false // what is wrong with the files
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

// noting notes losses in the report and tells them on.
func (r *Report) noting(note func(store.Loss)) func(store.Loss) {
	return func(l store.Loss) {
		r.Lost = append(r.Lost, l)
		if note != nil {
			note(l)
		}
	}
}

// later tells on what is lost, but not again what was told of the same files.
func (r *Report) later(note func(store.Loss)) func(store.Loss) {
	return func(l store.Loss) {
		if !slices.ContainsFunc(r.Lost, func(o store.Loss) bool { return o.What == l.What && o.Path == l.Path }) {
			note(l)
		}
	}
}

// windows are those of the pieces of a boot.
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
			w[0] = opt.From // with what happened before the first tick
		}
		if end > to {
			w[1] = opt.To
		}
		out = append(out, w)
		at = end
	}
	return out, nil
}
