package follow

import (
	"errors"
	"io"
	"io/fs"
	"slices"

	"tachograph/sample/metric"
	"tachograph/store/archive"
	"tachograph/store/fault"
	"tachograph/store/journal"
)

// toEnd moves the position to the present end. It records in base the standing values there, as
// far as the journal has them.
func (v *volume) toEnd(base *standing) {
	for range archive.LoadTries {
		*base = standing{}
		for c := range v.f.want {
			v.f.pos.Ticks[c] = v.last(metric.Class(c))
		}
		v.f.pos.Churn, v.f.pos.Events = v.churn, v.events
		v.drain = nil
		for rec := v.record(); rec != nil; rec = v.record() {
			if rec.Kind == journal.KindTick && v.f.opt.Base && v.f.want[rec.Tick.Class] {
				base.add(v.show(rec.Tick, v.gens[0].groups))
			}
			v.take(rec)
		}
		v.f.queue = nil // drop the errors about the past
		if v.drain == nil {
			return
		}
	}
}

// standAt records in base the standing values at a position, as far as the journal has them. It
// reads the journal separately for this.
func (v *volume) standAt(pos Position, base *standing) {
	beyond := false
	for c := range v.f.want {
		beyond = beyond || v.f.want[c] && pos.Ticks[c] > v.last(metric.Class(c))
	}
	if !beyond {
		return
	}
	follow := v.journal
	for _, g := range v.gens {
		apart := &journal.Generation{File: g.file, Number: g.Number, Old: g.Old}
		groups := make(map[*metric.Group]*metric.Group)
		for {
			rec, err := follow.Next(apart)
			if err != nil {
				break // reading on will report the error
			}
			t := rec.Tick
			if rec.Kind != journal.KindTick {
				if rec.Kind == journal.KindDescribe {
					v.known.Learn(rec.Descs)
				}
				continue
			}
			if v.f.want[t.Class] && t.At.Cont <= pos.Ticks[t.Class] && pos.Ticks[t.Class] != 0 {
				base.add(v.show(t, groups))
			}
		}
		follow.Missing(apart)
		base.intern(&v.f.same)
	}
}

// intern replaces the instances with those that the follower delivers.
func (s *standing) intern(same *archive.Sameness) {
	for c := range s.class {
		for _, b := range s.class[c].list {
			for i, in := range b.Rows {
				if in == nil {
					continue
				}
				mine := same.Intern(b.Group.Indom, in.Key)
				if mine != in && (mine.Rev == 0 || mine.Name != in.Name || !slices.Equal(mine.Labels, in.Labels)) {
					mine.Name, mine.Labels = in.Name, in.Labels
					mine.Rev++
				}
				b.Rows[i] = mine
			}
		}
	}
}

// base returns the items of the standing values at the position: those from the journal, and
// for the other groups those from chunks.
func (v *volume) base(base *standing) (items []archive.Item) {
	for c := range v.f.want {
		if limit := v.f.pos.Ticks[c]; v.f.want[c] && limit != 0 {
			v.standing(metric.Class(c), limit, base)
		}
	}
	for _, t := range base.ticks() {
		items = append(items, archive.Item{Archive: v.info, Tick: t, Standing: true})
	}
	return items
}

// lacks reports whether s has no tick yet of a wanted class that the archive records.
func (s *standing) lacks(want *[metric.NumClasses]bool, info *archive.Info) bool {
	for c, wanted := range want {
		if wanted && info.Intervals[c] != 0 && !s.class[c].any {
			return true
		}
	}
	return false
}

// earlier returns the standing values at the end of the archive prev, for the classes that base
// lacks. A boot continues from one archive to the next, and what is read each minute keeps its
// value until it is read again.
func (f *Follower) earlier(prev *book, base *standing) ([]archive.Item, error) {
	v, err := f.open(prev)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, err // it has been renamed or removed
	}
	if err != nil {
		return nil, nil // what cannot be read has no standing values
	}
	defer v.close()
	pos, queue := f.pos, f.queue
	defer func() { f.pos, f.queue = pos, queue }()
	f.pos = Position{Archive: prev.head.ID}
	var all standing
	v.toEnd(&all)
	return slices.DeleteFunc(v.base(&all), func(it archive.Item) bool { return base.class[it.Tick.Class].any }), nil
}

// standing adds to base the standing values of a class at a continuous clock, from the last
// chunk that has them.
func (v *volume) standing(class metric.Class, limit int64, base *standing) {
	for _, ref := range slices.Backward(v.file.Chunks) {
		if ref.Info.Class != class || ref.Info.First.Cont > limit {
			continue
		}
		err := fault.Contain(func() error {
			d := v.draining()
			d.Lost = v.wrong
			ticks, err := d.Ticks(ref, limit, func(name, indom string) bool { return !base.class[class].has(name, indom) })
			if err != nil {
				return err
			}
			t, err := ticks.Last()
			if err == nil && t != nil && (len(t.Blocks) > 0 || !base.class[class].any) {
				base.under(t)
			}
			return err
		})
		ref.Opened = nil
		if err == nil {
			return
		}
		if !errors.Is(err, io.EOF) {
			v.wrong(ref.Wrong(err))
		}
	}
}
