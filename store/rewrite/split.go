package rewrite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"tachograph/store"
	"tachograph/store/fault"
	"tachograph/store/layout"
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
// them are there in the end, or none. Nothing else is asked of the Reader meanwhile.
func Split(dir string, opt SplitOptions, r *store.Reader) (report *Report, err error) {
	report = &Report{Path: dir}
	opt.Note = report.noting(opt.Note)
	for _, l := range r.Losses() {
		opt.note(l)
	}
	if err := os.Mkdir(dir, 0o750); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, &fault.Error{Op: "split", Path: dir, Err: err}
	}
	if opt.ByHost {
		return opt.byHost(dir, r, report)
	}
	var made []string
	defer func() {
		if err != nil {
			opt.unmake(dir, made)
		}
	}()
	for _, b := range opt.boots(r.Files()) {
		told := false // what is wrong with the files
		p := &progress{tell: opt.Progress, total: b.bytes()}
		pieces, err := b.pieces(&opt)
		if err != nil {
			return nil, err
		}
		for _, w := range pieces {
			one := opt.CopyOptions
			one.From, one.To = w[0], w[1]
			if told {
				one.Note = report.later(one.Note)
			}
			told = true
			path, written, err := b.piece(dir, &one, report, p)
			if err != nil {
				return nil, err
			}
			if written == nil {
				continue
			}
			made = append(made, path)
			report.Archives = append(report.Archives, *written)
			if st, err := os.Stat(path); err == nil {
				report.Bytes += st.Size()
			}
		}
	}
	if len(made) == 0 {
		return nil, opt.nothing()
	}
	return report, nil
}

// byHost makes a file of each host.
func (opt *SplitOptions) byHost(dir string, r *store.Reader, report *Report) (_ *Report, err error) {
	var made []string
	defer func() {
		if err != nil {
			opt.unmake(dir, made)
		}
	}()
	for _, h := range r.Hosts() {
		if opt.Hosts != nil && !slices.Contains(opt.Hosts, h.ID) && !slices.Contains(opt.Hosts, h.Name) {
			continue
		}
		one := opt.CopyOptions
		one.Hosts = []string{h.ID}
		scratch := filepath.Join(dir, fmt.Sprintf(".piece-%d-%d", os.Getpid(), time.Now().UnixNano()))
		got, err := CopyFrom(scratch, one, r)
		if fault.Of(err) == fault.NotFound {
			continue
		}
		if err != nil {
			return nil, err
		}
		whole := got.Archives[0]
		for _, w := range got.Archives[1:] {
			whole.From, whole.To = min(whole.From, w.From), max(whole.To, w.To)
			whole.Ticks, whole.Values, whole.Events = whole.Ticks+w.Ticks, whole.Values+w.Values, whole.Events+w.Events
		}
		path, err := name(dir, scratch, &whole)
		if err != nil {
			_ = os.Remove(scratch)
			return nil, err
		}
		made = append(made, path)
		report.Archives, report.Bytes = append(report.Archives, whole), report.Bytes+got.Bytes
		report.Twice, report.Conflicts = report.Twice+got.Twice, append(report.Conflicts, got.Conflicts...)
	}
	if len(made) == 0 {
		return nil, opt.nothing()
	}
	return report, nil
}

// unmake removes what was made before something failed.
func (opt *SplitOptions) unmake(dir string, made []string) {
	for _, path := range made {
		_ = os.Remove(path)
	}
	_ = os.Remove(dir) // if there is nothing else in it
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

// pieces are the windows of the pieces of a boot.
func (b *bootFiles) pieces(opt *SplitOptions) ([][2]int64, error) {
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

// piece makes an archive of a window, called after what it holds; nil if that is nothing.
func (b *bootFiles) piece(dir string, opt *CopyOptions, report *Report, p *progress) (string, *Written, error) {
	scratch := filepath.Join(dir, fmt.Sprintf(".piece-%d-%d", os.Getpid(), time.Now().UnixNano()))
	written, err := b.write(scratch, opt, report, p)
	if err != nil || written == nil {
		return "", nil, err
	}
	path, err := name(dir, scratch, written)
	if err != nil {
		_ = os.Remove(scratch)
	}
	return path, written, err
}

// name gives a file the name that it has by what it holds, another one if that is taken.
func name(dir, scratch string, written *Written) (string, error) {
	for n := 0; ; n++ {
		written.Name = layout.FinishedName(written.Host.Name, written.From, written.To, n)
		path := filepath.Join(dir, written.Name)
		err := rename(scratch, path)
		if fault.Of(err) == fault.Exists && n < 1000 {
			continue
		}
		return path, err
	}
}
