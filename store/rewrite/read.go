package rewrite

import (
	"errors"
	"iter"
	"math"
	"slices"
	"strings"

	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/archive"
	"tachograph/store/chunk"
	"tachograph/store/fault"
)

// ReadOptions select what is read; the zero value selects everything.
type ReadOptions struct {
	// Hosts are IDs or names; nil: all.
	Hosts []string
	// From and To are wall clocks, both inclusive; 0 means no limit.
	From, To int64
	// Metrics and Instance select metrics and instances; nil: all. A group without a selected
	// metric is left out, and so is a tick without such a group.
	Metrics  func(*metric.Desc) bool
	Instance func(indom string, in *metric.Instance) bool
	// Classes are the classes whose ticks are read; nil: all.
	Classes []metric.Class
	// Standing, if set, selects classes of an archive for which Read also yields how things
	// stood where the window begins: the last values read before it, in that boot.
	Standing func(*archive.Info, metric.Class) bool
	// NoEvents leaves events out.
	NoEvents bool
	// Complete, if set, receives a copy of each description that is used, and may add what older
	// archives left out of it.
	Complete func(*metric.Host, *metric.Desc)
	// Note, if set, is called once for each thing that cannot be read.
	Note func(store.Loss)
}

// Read reads archives, finished or being written, their journals included: files, directories,
// or bundles. The items of an archive come in the order of time, and so do the archives. An
// error means that nothing of paths can be read, and ends the sequence; all other losses go to
// Note.
func Read(opt ReadOptions, paths ...string) iter.Seq2[archive.Item, error] {
	return func(yield func(archive.Item, error) bool) {
		r, err := store.Open(paths...)
		if err != nil {
			yield(archive.Item{}, err)
			return
		}
		defer r.Close()
		for it := range ReadFrom(opt, r) {
			if !yield(it, nil) {
				return
			}
		}
	}
}

// ReadFrom is Read of what a Reader has open. The Reader must not be used for anything else
// meanwhile.
func ReadFrom(opt ReadOptions, r *store.Reader) iter.Seq[archive.Item] {
	return func(yield func(archive.Item) bool) { opt.readAll(r, yield) }
}

func (opt *ReadOptions) readAll(r *store.Reader, yield func(archive.Item) bool) {
	for _, l := range r.Losses() {
		opt.note(l)
	}
	same := archive.Sameness{Complete: opt.Complete}
	before := make(map[string][]*archive.File) // the files of each boot
	for _, a := range r.Files() {
		if !opt.wants(&a.Info) {
			continue
		}
		info := a.Info
		info.Damage = nil
		boot := info.Host.ID + "\x00" + info.BootID
		same.Enter(boot)
		if opt.Standing != nil {
			before[boot] = append(before[boot], a)
			if !opt.stand(before[boot], &info, &same, yield) {
				return
			}
		}
		if !opt.read(a, &info, &same, yield) {
			return
		}
	}
}

func (opt *ReadOptions) note(l store.Loss) {
	if opt.Note != nil {
		opt.Note(l)
	}
}

// wants reports whether the archive's host is selected.
func (opt *ReadOptions) wants(in *archive.Info) bool {
	return opt.Hosts == nil || slices.ContainsFunc(opt.Hosts, func(h string) bool { return h == in.Host.ID || h == in.Host.Name })
}

func (opt *ReadOptions) from() int64 {
	if opt.From == 0 {
		return math.MinInt64
	}
	return opt.From
}

func (opt *ReadOptions) to() int64 {
	if opt.To == 0 {
		return math.MaxInt64
	}
	return opt.To
}

// read yields the selected contents of one archive.
func (opt *ReadOptions) read(a *archive.File, info *archive.Info, same *archive.Sameness, yield func(archive.Item) bool) bool {
	for _, text := range a.Info.Damage {
		opt.note(damage(&a.Info, text))
	}
	from, to := max(opt.from(), a.Covered), opt.to()
	var churn, events uint64
	d := archive.NewDrain(&archive.Draining{
		File: a, Info: info, Same: same,
		After: func(metric.Class) int64 { return 0 },
		Chunk: func(in *chunk.Info) bool {
			return in.To >= from && in.From <= to && (opt.Classes == nil || slices.Contains(opt.Classes, in.Class))
		},
		Pass: func(_ metric.Class, at metric.Stamp, then *metric.Stamp) bool {
			return at.Wall <= to && (at.Wall >= from || then == nil || then.Wall >= from) && !a.Hides(at.Wall)
		},
		Metric: opt.Metrics,
		Batch:  func(h *chunk.EventHead) bool { return !opt.NoEvents && h.To >= from && h.From <= to },
		Churn:  &churn, Events: &events,
	})
	var c clipper
	var f rowFilter
	for {
		next, ok := d.Next()
		switch {
		case !ok:
			return true
		case next.Lost != nil:
			opt.note(Lost(&a.Info, next.Lost))
		case next.Event != nil:
			if w := next.Event.At.Wall; w >= from && w <= to && !a.Hides(w) && !yield(archive.Item{Archive: info, Event: next.Event}) {
				return false
			}
		default:
			t := c.clip(next.Tick, from, to)
			if t == nil {
				continue
			}
			if opt.Instance != nil {
				t = f.filter(t, opt.Instance)
			}
			if (len(t.Blocks) > 0 || opt.Metrics == nil && opt.Instance == nil) && !yield(archive.Item{Archive: info, Tick: t}) {
				return false
			}
		}
	}
}

// A clipper leaves blocks outside a window out of ticks: the blocks of a tick are read one after
// the other, and a window may begin or end between them.
type clipper struct{ tick metric.Tick }

// clip returns the part of t that was read between from and to; nil if that is nothing.
func (c *clipper) clip(t *metric.Tick, from, to int64) *metric.Tick {
	inside := func(at metric.Stamp) bool { return at.Wall >= from && at.Wall <= to }
	n := 0
	for _, b := range t.Blocks {
		if inside(b.At) {
			n++
		}
	}
	switch {
	case n == len(t.Blocks) && (n > 0 || inside(t.At)):
		return t
	case n == 0:
		return nil
	}
	c.tick = metric.Tick{Class: t.Class, At: t.At, Blocks: c.tick.Blocks[:0]}
	for _, b := range t.Blocks {
		if inside(b.At) {
			c.tick.Blocks = append(c.tick.Blocks, b)
		}
	}
	return &c.tick
}

// damage returns a sentence about an archive's damage as a loss.
func damage(in *archive.Info, text string) store.Loss {
	return store.Loss{Loss: fault.Loss{What: text}, Path: in.Path, Archive: in, Kind: fault.Damaged}
}

// Lost returns the loss of a part of an archive.
func Lost(in *archive.Info, err error) store.Loss {
	l := damage(in, strings.ReplaceAll(err.Error(), "\n", "; "))
	if c := (*archive.ChunkError)(nil); errors.As(err, &c) {
		l.From, l.To = c.From, c.To
	}
	if k := fault.Of(err); k != fault.Other {
		l.Kind = k
	}
	return l
}

// A rowFilter makes ticks that hold only some rows of others.
type rowFilter struct {
	tick   metric.Tick
	blocks []metric.Block
	keep   []int
}

func (f *rowFilter) filter(t *metric.Tick, want func(string, *metric.Instance) bool) *metric.Tick {
	f.tick = metric.Tick{Class: t.Class, At: t.At, Blocks: f.tick.Blocks[:0]}
	f.blocks = slices.Grow(f.blocks[:0], len(t.Blocks))[:len(t.Blocks)]
	for i, b := range t.Blocks {
		f.keep = f.keep[:0]
		for k, in := range b.Rows {
			if in == nil || want(b.Group.Indom, in) {
				f.keep = append(f.keep, k)
			}
		}
		switch {
		case len(f.keep) == 0 && len(b.Rows) > 0:
			continue
		case len(f.keep) < len(b.Rows):
			f.cut(&f.blocks[i], b)
			b = &f.blocks[i]
		}
		f.tick.Blocks = append(f.tick.Blocks, b)
	}
	return &f.tick
}

// cut makes to a block of those rows of b that are kept.
func (f *rowFilter) cut(to *metric.Block, b *metric.Block) {
	to.Group, to.At, to.Rows = b.Group, b.At, to.Rows[:0]
	for _, k := range f.keep {
		to.Rows = append(to.Rows, b.Rows[k])
	}
	to.Cols = slices.Grow(to.Cols[:0], len(b.Cols))[:len(b.Cols)]
	for c := range b.Cols {
		from, col := &b.Cols[c], &to.Cols[c]
		col.Words, col.Bits = from.Words, col.Bits[:0]
		for _, k := range f.keep {
			col.Bits = append(col.Bits, from.Bits[k])
		}
		if from.Miss == nil {
			col.Miss = nil
			continue
		}
		col.Miss = col.Miss[:0]
		for _, k := range f.keep {
			col.Miss = append(col.Miss, from.Miss[k])
		}
	}
}
