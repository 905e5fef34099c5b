package follow

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"tachograph/sample/metric"
	"tachograph/store/archive"
	"tachograph/store/journal"
	"tachograph/store/layout"
)

// record returns the next record of the journal, nil if there is none by now.
func (v *volume) record() *journal.Record {
	for len(v.gens) > 0 {
		g := v.gens[0]
		rec, err := v.journal.Next(&g.Generation)
		if _, ok := g.Header(); ok && !g.begun {
			g.begun = true
			if hole := v.journal.Missing(&g.Generation); hole != nil {
				// The missing records were committed and their file removed, or they are lost.
				if v.changed() {
					v.reload()
					return nil
				}
				v.wrong(fmt.Errorf("journal %s: %w", g.path, hole))
			}
		}
		if err == nil {
			return rec
		}
		if !errors.Is(err, io.EOF) {
			if v.replaced(g) && v.changed() {
				v.reload()
				return nil
			}
			v.wrong(fmt.Errorf("journal %s: %w", g.path, err))
		}
		if len(v.gens) == 1 {
			return nil
		}
		if rec, ok := v.turn(); !ok || rec != nil {
			return rec
		}
	}
	return nil
}

// turn goes on to the next generation, unless the archive had to be read again. One record may
// have been added to the last generation since it was read.
func (v *volume) turn() (rec *journal.Record, ok bool) {
	g := v.gens[0]
	if rec, err := v.journal.Next(&g.Generation); err == nil {
		return rec, true
	}
	end := v.journal.Read(&g.Generation, func(*journal.Record) {})
	if end.Err != nil {
		if v.replaced(g) && v.changed() {
			v.reload()
			return nil, false
		}
		v.wrong(fmt.Errorf("journal %s: %w", g.path, end.Err))
	}
	v.journal.Missing(&g.Generation)
	_ = g.file.Close()
	v.gens = slices.Delete(v.gens, 0, 1)
	return nil, true
}

// replaced reports whether the name of g now belongs to another file or to none. The records of
// g have then been committed, and its file may be overwritten.
func (v *volume) replaced(g *generation) bool {
	st, err := os.Lstat(g.path)
	if err != nil {
		return true
	}
	mine, ok := g.file.(interface{ Stat() (fs.FileInfo, error) })
	if !ok {
		return false
	}
	own, err := mine.Stat()
	return err != nil || !os.SameFile(st, own)
}

// newer opens the generations that have been begun since, and reports whether there are any.
func (v *volume) newer() bool {
	n := len(v.gens)
	if n == 0 {
		return false
	}
	for v.openGeneration(v.gens[len(v.gens)-1].Number+1) == nil {
		continue
	}
	if len(v.gens) == n {
		return false
	}
	v.watch()
	return true
}

// take counts a record, and returns an item if the record has not been delivered.
func (v *volume) take(rec *journal.Record) (archive.Item, bool) {
	first := !v.any
	v.any = true
	switch rec.Kind {
	case journal.KindTick:
		v.rotated = false
		t := rec.Tick
		if !v.passes(t.Class, t.At) {
			return archive.Item{}, false
		}
		if !v.f.want[t.Class] {
			return archive.Item{}, false
		}
		return archive.Item{Tick: v.show(t, v.gens[0].groups)}, true
	case journal.KindEvent:
		v.rotated = rec.Event.Kind == metric.EventRotate && !first
		of, at := &v.f.pos.Events, &v.events
		if layout.IsChurn(rec.Event.Kind) {
			of, at = &v.f.pos.Churn, &v.churn
		}
		if *at++; *at <= *of {
			return archive.Item{}, false
		}
		*of = *at
		return archive.Item{Event: rec.Event}, true
	case journal.KindDescribe:
		v.known.Learn(rec.Descs)
		for _, g := range v.gens {
			clear(g.groups)
		}
	}
	return archive.Item{}, false
}

// passes reports whether a tick of a class is after the position, and moves the position there.
func (v *volume) passes(class metric.Class, at metric.Stamp) bool {
	was := &v.f.pos.Ticks[class]
	if *was != 0 && at.Cont <= *was {
		return false
	}
	*was = at.Cont
	return true
}

// show returns t, a tick of the journal, with the groups and descriptions that were delivered
// before.
func (v *volume) show(t *metric.Tick, groups map[*metric.Group]*metric.Group) *metric.Tick {
	v.blocks = slices.Grow(v.blocks[:0], len(t.Blocks))[:len(t.Blocks)]
	v.tick = metric.Tick{Class: t.Class, At: t.At, Blocks: v.tick.Blocks[:0]}
	for i, b := range t.Blocks {
		g := groups[b.Group]
		if g == nil {
			metrics := make([]*metric.Desc, len(b.Group.Metrics))
			for k, d := range b.Group.Metrics {
				metrics[k] = v.f.same.Desc(v.info, v.known.Complete(d))
			}
			g = v.f.same.Group(b.Group.Name, b.Group.Indom, metrics)
			groups[b.Group] = g
		}
		v.blocks[i] = *b
		v.blocks[i].Group = g
		v.tick.Blocks = append(v.tick.Blocks, &v.blocks[i])
	}
	return &v.tick
}
