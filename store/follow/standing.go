package follow

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"slices"

	"tachograph/sample/metric"
	"tachograph/store/archive"
	"tachograph/store/journal"
)

// A standing holds standing values: the last tick of each class, with the last block of each
// group.
type standing struct {
	class [metric.NumClasses]standingClass
}

type standingClass struct {
	at     metric.Stamp
	any    bool
	blocks map[[2]string]*metric.Block
	list   []*metric.Block // in the order in which groups first came
}

// add records a tick and copies its blocks.
func (s *standing) add(t *metric.Tick) {
	c := &s.class[t.Class]
	c.at, c.any = t.At, true
	for _, b := range t.Blocks {
		c.put(b)
	}
}

func (c *standingClass) put(b *metric.Block) {
	key := [2]string{b.Group.Name, b.Group.Indom}
	mine := c.blocks[key]
	if mine == nil {
		if c.blocks == nil {
			c.blocks = make(map[[2]string]*metric.Block)
		}
		mine = new(metric.Block)
		c.blocks[key] = mine
		c.list = append(c.list, mine)
	}
	mine.Copy(b)
}

// under adds the blocks of an earlier tick for the groups that have none.
func (s *standing) under(t *metric.Tick) {
	c := &s.class[t.Class]
	if !c.any {
		s.add(t)
		return
	}
	for _, b := range t.Blocks {
		if !c.has(b.Group.Name, b.Group.Indom) {
			c.put(b)
		}
	}
}

func (c *standingClass) has(name, indom string) bool { return c.blocks[[2]string{name, indom}] != nil }

// ticks returns the ticks of all classes, the earliest first.
func (s *standing) ticks() []*metric.Tick {
	var list []*metric.Tick
	for class := range s.class {
		if c := &s.class[class]; c.any {
			list = append(list, &metric.Tick{Class: metric.Class(class), At: c.at, Blocks: c.list})
		}
	}
	slices.SortStableFunc(list, func(a, b *metric.Tick) int { return cmp.Compare(a.At.Cont, b.At.Cont) })
	return list
}

// toEnd moves the position to the present end. It records in all the standing values there, as
// far as the journal has them.
func (v *volume) toEnd(all *standing) {
	for range archive.LoadTries {
		*all = standing{}
		for c := range v.f.want {
			v.f.pos.Ticks[c] = v.last(metric.Class(c))
		}
		v.f.pos.Churn, v.f.pos.Events = v.churn, v.events
		v.drain = nil
		for rec := v.record(); rec != nil; rec = v.record() {
			if rec.Kind == journal.KindTick && v.f.opt.Standing && v.f.want[rec.Tick.Class] {
				all.add(v.show(rec.Tick, v.gens[0].groups))
			}
			v.take(rec)
		}
		v.f.queue = nil // drop the errors about the past
		if v.drain == nil {
			return
		}
	}
}

// standAt records in all the standing values at a position, as far as the journal has them. It
// reads the journal separately for this.
func (v *volume) standAt(pos Position, all *standing) {
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
				all.add(v.show(t, groups))
			}
		}
		follow.Missing(apart)
		all.intern(&v.f.same)
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

// standing returns the items of the standing values at the position: those from the journal, and
// for the other groups those from chunks.
func (v *volume) standing(all *standing) (items []archive.Item) {
	for c := range v.f.want {
		if limit := v.f.pos.Ticks[c]; v.f.want[c] && limit != 0 {
			v.class(metric.Class(c), limit, all)
		}
	}
	for _, t := range all.ticks() {
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

// earlier returns the standing values at the end of the archive prev, for the classes that all
// lacks. A boot continues from one archive to the next, and what is read each minute keeps its
// value until it is read again.
func (f *Follower) earlier(prev *book, all *standing) ([]archive.Item, error) {
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
	var before standing
	v.toEnd(&before)
	return slices.DeleteFunc(v.standing(&before), func(it archive.Item) bool { return all.class[it.Tick.Class].any }), nil
}

// class adds to all the standing values of a class at a continuous clock, from the last
// chunk that has them.
func (v *volume) class(class metric.Class, limit int64, all *standing) {
	for _, ref := range slices.Backward(v.file.Chunks) {
		if ref.Info.Class != class || ref.Info.First.Cont > limit {
			continue
		}
		d := v.draining()
		d.Lost = v.wrong
		t, err := d.Standing(ref, limit, func(name, indom string) bool { return !all.class[class].has(name, indom) })
		if err == nil {
			if t != nil && (len(t.Blocks) > 0 || !all.class[class].any) {
				all.under(t)
			}
			return
		}
		if !errors.Is(err, io.EOF) {
			v.wrong(ref.Wrong(err))
		}
	}
}
