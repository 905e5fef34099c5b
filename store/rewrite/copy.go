package rewrite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"sync"
	"time"

	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/archive"
	"tachograph/store/fault"
	"tachograph/store/layout"
)

// CopyOptions select what is copied, and how. Of ReadOptions, Complete is not used: an archive
// describes metrics as its sources do.
type CopyOptions struct {
	ReadOptions
	// Boots are boot IDs; nil: all.
	Boots []string
	// Mapping changes what is copied; nil: nothing changes.
	Mapping Mapping
	// Progress, if set, is called with the bytes done and the bytes in all.
	Progress func(done, total int64)
	// Context, if set, cancels the copy, which then leaves nothing behind.
	Context context.Context
}

// ended returns the reason to stop the copy, or nil.
func (opt *CopyOptions) ended() error {
	if opt.Context == nil {
		return nil
	}
	return opt.Context.Err()
}

// whole reports whether everything in a window is copied unchanged.
func (opt *CopyOptions) whole() bool {
	return opt.Mapping == nil && opt.Metrics == nil && opt.Instance == nil
}

// A Report describes a finished copy.
type Report struct {
	Path     string
	Archives []Written // one, or the members of a bundle, in the order of time
	Bytes    int64     // of the file
	// Twice counts the ticks and events that were in more than one source and are counted once.
	// Conflicts list the values that differ between two sources, of which the first was
	// believed.
	Twice     uint64
	Conflicts []string
	// Lost is what could not be read.
	Lost []store.Loss
}

// Written is an archive that was made.
type Written struct {
	Name          string // of a member of a bundle
	ID            string
	Host          metric.Host
	Boot          string
	From, To      int64
	Ticks, Values uint64
	Events        uint64
	Copied        int // chunks that were copied as they are
}

// Copy copies archives into one new file, dst, which must not exist: an archive if everything is
// from one boot, and else a bundle.
//
// Of a window, the copy holds the blocks of values that were read in it, and its events. So that
// it can be read like the sources, it also has, from before the window and the same boot, the
// last block of everything: a rate at the first sample needs the sample before, and values that
// are read each minute or once are still needed. It also has the events of the hour before that
// part rates. Neither is shown when a window is asked for, nor counted when the preceding part
// is beside the copy.
func Copy(dst string, opt CopyOptions, paths ...string) (*Report, error) {
	r, err := store.OpenWhole(paths...)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return CopyFrom(dst, opt, r)
}

// CopyFrom is Copy of what a Reader has open. The Reader must not be used for anything else
// meanwhile.
func CopyFrom(dst string, opt CopyOptions, r *store.Reader) (*Report, error) {
	report := &Report{Path: dst}
	opt.Note = report.noting(opt.Note)
	for _, l := range r.Losses() {
		opt.note(l)
	}
	boots := opt.boots(r.Files())
	p := &progress{tell: opt.Progress}
	for _, b := range boots {
		p.total += b.bytes()
	}
	switch len(boots) {
	case 0:
		return nil, opt.nothing()
	case 1:
		written, err := boots[0].write(dst, &opt, report, p)
		if err != nil {
			return nil, err
		}
		if written == nil {
			return nil, opt.nothing()
		}
		report.Archives = []Written{*written}
	default:
		if err := writeBundle(dst, boots, &opt, report, p); err != nil {
			return nil, err
		}
	}
	if st, err := os.Stat(dst); err == nil {
		report.Bytes = st.Size()
	}
	return report, nil
}

// nothing returns the error for a copy that would be empty.
func (opt *CopyOptions) nothing() error {
	what := "nothing of what is wanted was recorded"
	if opt.From != 0 || opt.To != 0 {
		what = fmt.Sprintf("nothing of what is wanted was recorded in the window (%s)", fault.Span(opt.From, opt.To))
	}
	return &fault.Error{Kind: fault.NotFound, Err: errors.New(what)}
}

// A bootFiles holds the archives of a boot.
type bootFiles struct {
	files []*archive.File // in the order of time
}

// boots groups the files to copy by boot, in the order of time.
func (opt *CopyOptions) boots(files []*archive.File) []*bootFiles {
	var out []*bootFiles
	of := make(map[[3]string]*bootFiles)
	for _, f := range files {
		in := &f.Info
		if !opt.wants(in) || opt.Boots != nil && !slices.Contains(opt.Boots, in.BootID) || in.From > opt.to() {
			continue
		}
		key := [3]string{in.Host.ID, in.BootID, fmt.Sprint(in.Step)} // reduced archives are kept apart
		b := of[key]
		if b == nil {
			b = &bootFiles{}
			of[key] = b
			out = append(out, b)
		}
		b.files = append(b.files, f)
	}
	return slices.DeleteFunc(out, func(b *bootFiles) bool {
		return !slices.ContainsFunc(b.files, func(f *archive.File) bool { return f.Info.To >= opt.from() })
	})
}

func (b *bootFiles) bytes() (n int64) {
	for _, f := range b.files {
		for _, ref := range f.Chunks {
			n += ref.Info.Size
		}
	}
	return n
}

// about returns what the copy says about itself: what the last source says.
func (b *bootFiles) about(opt *CopyOptions) About {
	last := b.files[len(b.files)-1]
	in := &last.Info
	a := About{Host: in.Host, Boot: in.BootID, TimeZone: in.TimeZone, Recorder: in.Recorder, Config: in.Config, Intervals: in.Intervals}
	if in.Step > 0 {
		a.Reduced = &layout.Reduction{Step: in.Step, Of: in.Of}
	}
	for _, f := range b.files {
		if f.Info.To < opt.from() {
			continue // the blocks that stand bring their descriptions
		}
		for _, d := range f.Descs {
			if d != nil && (opt.Metrics == nil || opt.Metrics(d)) {
				a.Catalog = append(a.Catalog, d)
			}
		}
	}
	if m := opt.Mapping; m != nil {
		a.Host, a.Boot, a.TimeZone, a.Config = m.Host(a.Host), m.Boot(a.Boot), m.Zone(a.TimeZone), m.Config(a.Config)
		for i, d := range a.Catalog {
			a.Catalog[i] = m.Desc(d)
		}
	}
	return a
}

// since returns the wall clock from which on the copy holds what was recorded; 0 if neither the
// window nor the first source has such a beginning.
func (b *bootFiles) since(opt *CopyOptions) int64 {
	first := b.files[0]
	if opt.From > first.Info.From {
		return max(first.Info.Since, opt.From)
	}
	return first.Info.Since
}

// until returns the wall clock up to which the copy holds what was recorded; 0 if neither the
// window nor the last source has such an end.
func (b *bootFiles) until(opt *CopyOptions) int64 {
	last := &b.files[0].Info
	for _, f := range b.files {
		if f.Info.To > last.To {
			last = &f.Info
		}
	}
	if opt.To != 0 && opt.To < last.To {
		return opt.To
	}
	return last.Until
}

// write makes an archive of b; nil if that would be empty.
func (b *bootFiles) write(path string, opt *CopyOptions, report *Report, p *progress) (*Written, error) {
	about := b.about(opt)
	w, err := Create(path, about)
	if err != nil {
		return nil, err
	}
	defer w.Abort()
	c := &copier{bootFiles: b, opt: opt, w: w, report: report, progress: p, from: opt.from(), to: opt.to()}
	w.since, w.until = b.since(opt), b.until(opt)
	if err := c.ticks(); err != nil {
		return nil, err
	}
	if err := c.events(); err != nil {
		return nil, err
	}
	if !c.any {
		return nil, nil
	}
	written := &c.written
	written.ID, written.Host, written.Boot = w.about.ID, w.about.Host, w.about.Boot
	if err := w.Finish(); err != nil {
		return nil, err
	}
	written.Ticks, written.Values, written.Events = w.ticks, w.values, w.counted
	written.From, written.To = cmp.Or(w.since, c.first), cmp.Or(w.until, c.last)
	return written, nil
}

// A copier makes one archive of what several archives hold of one boot.
type copier struct {
	*bootFiles
	opt      *CopyOptions
	w        *Writer
	from, to int64
	progress *progress

	mu      sync.Mutex // guards the fields below: classes are copied side by side
	report  *Report
	written Written
	any     bool
	first   int64 // wall clocks
	last    int64
	// kept are the domains and keys of the instances that were copied, if only some are.
	kept map[[2]string]bool
}

// saw notes that something in the window was copied.
func (c *copier) saw(from, to int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.any {
		c.any, c.first, c.last = true, from, to
	}
	c.first, c.last = min(c.first, from), max(c.last, to)
}

func (c *copier) lost(f *archive.File, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.opt.note(Lost(&f.Info, err))
}

// ticks copies all classes, side by side: chunks share nothing.
func (c *copier) ticks() error {
	for _, f := range c.files {
		for _, text := range f.Info.Damage {
			c.opt.note(damage(&f.Info, text))
		}
	}
	errs := make([]error, metric.NumClasses)
	var group sync.WaitGroup
	for class := range metric.NumClasses {
		if c.opt.Classes != nil && !slices.Contains(c.opt.Classes, class) {
			continue
		}
		j := c.job(class)
		if len(j.parts) == 0 {
			continue
		}
		group.Go(func() { errs[class] = j.run() })
	}
	group.Wait()
	return errors.Join(errs...)
}

// A progress adds up what several goroutines have done.
type progress struct {
	mu          sync.Mutex
	done, total int64
	tell        func(done, total int64)
	told        time.Time
}

func (p *progress) add(n int64) {
	if p.tell == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done += n
	if now := time.Now(); now.Sub(p.told) > 50*time.Millisecond {
		p.told = now
		p.tell(p.done, p.total)
	}
}

// minWall and maxWall are the earliest and latest wall clocks.
const (
	minWall = math.MinInt64
	maxWall = math.MaxInt64
)

// byTime compares parts by the continuous clock, which is never set.
func byTime(a, b part) int {
	return cmp.Or(cmp.Compare(a.ref.Info.First.Cont, b.ref.Info.First.Cont), cmp.Compare(a.file, b.file))
}
