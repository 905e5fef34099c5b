package store

import (
	"hash/maphash"
	"iter"

	"tachograph/sample/metric"
	"tachograph/store/archive"
	"tachograph/store/fault"
	"tachograph/store/source"
)

// Cohorts divides a selection of one metric of processes or threads into cohorts, in the order
// in which Select yields their instances. A cohort ends with the chunk that brings it to size
// instances. The selection is a single cohort if there are less than twice as many, or if it
// does not ask for all instances. The caller must query each cohort before it takes the next
// one.
func (r *Reader) Cohorts(sel Selection, size int) iter.Seq[Selection] {
	return func(yield func(Selection) bool) {
		var c *census
		if sel.Instance == nil && sel.Keys == nil && sel.Sought == nil {
			c = r.census(&sel, size)
		}
		if c == nil {
			yield(sel)
			return
		}
		from := uint32(0)
		for _, to := range c.ends {
			sel.Cohort = &Cohort{c, from, to}
			if !yield(sel) {
				return
			}
			r.forget(c, to)
			from = to
		}
	}
}

// census takes the census of a selection. It returns nil if the selection has few instances.
func (r *Reader) census(sel *Selection, size int) *census {
	type place struct {
		spot
		a *source.Source
	}
	var places []place
	c := &census{numbers: make(map[spot][]uint32), latest: make(map[*archive.ChunkRef]uint32)}
	total, handed := 0, false
	r.walk(sel, &handed, func(p *filePlan) bool {
		for _, name := range p.names {
			for _, col := range p.columns[name] {
				at := spot{col.v.Ref, col.v.Number}
				if _, seen := c.numbers[at]; !seen && metric.PerBoot(col.v.Indom) {
					c.numbers[at] = nil
					places = append(places, place{at, p.a})
					total += col.v.Size
				}
			}
		}
		return true
	})
	if total < 2*size {
		return nil
	}
	seeds := [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}
	boots := make(map[[2]string]map[[2]uint64]uint32)
	n, last := uint32(0), uint32(0)
	for _, at := range places {
		if r.over() {
			break
		}
		boot := [2]string{at.a.Info.Host.ID, at.a.Info.BootID}
		known := boots[boot]
		if known == nil {
			known = make(map[[2]uint64]uint32)
			boots[boot] = known
		}
		err := fault.Contain(func() error {
			opened, err := at.ref.Open()
			if err != nil {
				return err
			}
			g := opened.Groups[at.group]
			numbers := make([]uint32, g.Size)
			if err := g.Keys(func(row int, key []byte) {
				id := [2]uint64{maphash.Bytes(seeds[0], key), maphash.Bytes(seeds[1], key)}
				number, met := known[id]
				if !met {
					number = n
					known[id] = n
					n++
				}
				numbers[row] = number
				c.latest[at.ref] = max(c.latest[at.ref], number)
			}); err != nil {
				return at.ref.Wrong(err)
			}
			c.numbers[at.spot] = numbers
			return nil
		})
		if err != nil {
			at.a.Lose(err)
		}
		at.ref.Opened = nil // What it still holds would be the keys.
		if int(n-last) >= size {
			c.ends = append(c.ends, n)
			last = n
		}
	}
	if n > last {
		c.ends = append(c.ends, n)
	}
	return c
}

// forget drops the instances of processes and threads, and the chunks that hold none beyond
// number to.
func (r *Reader) forget(c *census, to uint32) {
	r.instances.forget()
	for ref, latest := range c.latest {
		if latest < to {
			ref.Opened = nil
		}
	}
	for _, a := range r.archives {
		for _, ref := range a.Chunks {
			if ref.Opened != nil {
				ref.Opened.Forget()
			}
		}
	}
}
