package store

import (
	"cmp"
	"iter"
	"slices"

	"tachograph/sample/metric"
	"tachograph/store/archive"
	"tachograph/store/chunk"
)

// Lives yields when each instance of a domain was seen between two wall clocks (to 0: no end),
// in the order in which they were first seen there. If keys are given, it yields only the
// instances that have one of them.
func (r *Reader) Lives(indom string, from, to int64, keys ...string) iter.Seq[*Life] {
	return r.lives(Selection{From: from, To: to}, indom, keys)
}

// CohortLives is Lives for a cohort. Call it before Cohorts yields the next cohort.
func (r *Reader) CohortLives(c *Cohort, indom string, from, to int64) iter.Seq[*Life] {
	return r.lives(Selection{From: from, To: to, Cohort: c}, indom, nil)
}

func (r *Reader) lives(sel Selection, indom string, keys []string) iter.Seq[*Life] {
	return func(yield func(*Life) bool) {
		r.alone()
		byInstance := make(map[*metric.Instance]*Life)
		var order []*Life
		names := make(givenNames)
		var without schemas // schemas that do not have the domain
		for n, a := range r.archives {
			sel := limited(a, &sel)
			var refs []*archive.ChunkRef
			for _, ref := range a.Chunks {
				if ref.Info.From <= sel.End() && ref.Info.To >= sel.From && !sel.Cohort.misses(ref) {
					refs = append(refs, ref)
				}
			}
			r.ahead(len(refs), func(i int) {
				if !without.has(refs[i].Info.Schema) {
					warmLives(refs[i], sel, indom, keys)
				}
			}, func(i int, done func()) bool {
				handed := false // nothing is handed out before all have been read
				ref := refs[i]
				a.Contain(&handed, func() bool {
					if done != nil {
						done()
					}
					if without.has(ref.Info.Schema) {
						return true
					}
					c, err := ref.Open()
					if err != nil {
						a.Lose(err)
						return true
					}
					found := false
					for i, g := range c.Groups {
						if g.Indom != indom {
							continue
						}
						found = true
						if order, err = r.livesIn(c, i, sel, keys, byInstance, order, names, n); err != nil {
							a.Lose(err)
						}
					}
					if !found {
						without.add(ref.Info.Schema)
					}
					return true
				})
				return !r.over()
			})
			if r.over() {
				return
			}
			r.release(a)
		}
		slices.SortStableFunc(order, func(x, y *Life) int {
			switch {
			case x.From < y.From:
				return -1
			case x.From > y.From:
				return 1
			}
			return 0
		})
		for _, l := range order {
			l.Names = names.of(l)
			if !yield(l) || r.over() {
				return
			}
		}
	}
}

// warmLives opens a chunk and decodes what livesIn reads. It leaves errors to livesIn.
func warmLives(ref *archive.ChunkRef, sel *Selection, indom string, keys []string) {
	c, err := ref.Open()
	if err != nil {
		return
	}
	for i, g := range c.Groups {
		if g.Indom != indom {
			continue
		}
		if rows, err := rowsOf(g, keys); err != nil || len(keys) > 0 && len(rows) == 0 {
			continue
		}
		if v, err := c.View(i); err == nil && len(keys) == 0 && sel.Cohort == nil && v.Spans(sel.From, sel.End()) != nil {
			_, _ = v.Instances()
		}
	}
}

// livesIn notes the instances of group i of c.
func (r *Reader) livesIn(c *archive.OpenChunk, i int, sel *Selection, keys []string, byInstance map[*metric.Instance]*Life, order []*Life, given givenNames, archive int) ([]*Life, error) {
	rows, err := rowsOf(c.Groups[i], keys)
	if err != nil {
		return order, c.Ref.Wrong(err)
	}
	if len(keys) > 0 && len(rows) == 0 {
		return order, nil
	}
	v, err := c.View(i)
	if err != nil {
		return order, err
	}
	spans := r.spans(v, sel)
	if spans == nil {
		return order, nil
	}
	there, err := presenceIn(c.Ref.Archive, v)
	if err != nil {
		return order, c.Ref.Wrong(err)
	}
	switch {
	case sel.Cohort != nil:
		rows = sel.Cohort.rows(v)
		if err := v.Named(rows); err != nil {
			return order, c.Ref.Wrong(err)
		}
	case len(keys) == 0:
		if _, err := v.Instances(); err != nil {
			return order, c.Ref.Wrong(err)
		}
		rows = make([]int, v.Size)
		for row := range rows {
			rows[row] = row
		}
	}
	for _, row := range rows {
		inst, err := v.Instance(row)
		if err != nil {
			return order, c.Ref.Wrong(err)
		}
		first, last := -1, -1
		for _, run := range inst.Runs {
			for _, sp := range spans {
				lo, hi := max(run.Start, sp.From), min(run.End, sp.To+1)
				if lo >= hi {
					continue
				}
				if first < 0 {
					first = int(lo)
				}
				last = int(hi) - 1
			}
		}
		if first < 0 {
			continue
		}
		from, to := v.Wall[first], v.Wall[last]
		if there != nil {
			since, _ := there.seen(row, uint32(first))
			_, until := there.seen(row, uint32(last))
			from, to = from-since, to-until
		}
		in := r.instance(v, row)
		l := byInstance[in]
		if l == nil {
			l = &Life{Indom: v.Indom, Instance: in, From: from, To: to}
			byInstance[in] = l
			order = append(order, l)
		}
		l.Archive = &c.Ref.Archive.Info
		l.From, l.To = min(l.From, from), max(l.To, to)
		given.note(l, archive, v, inst.Names)
	}
	return order, nil
}

// rowsOf returns the rows of a group that have one of the keys, in rising order.
func rowsOf(g *chunk.Group, keys []string) ([]int, error) {
	var rows []int
	for _, key := range keys {
		i, err := g.Find(key)
		if err != nil {
			return nil, err
		}
		if i >= 0 {
			rows = append(rows, i)
		}
	}
	slices.Sort(rows)
	return slices.Compact(rows), nil
}

// givenNames collects the names that instances have had. Each group that has an instance holds
// all of its names.
type givenNames map[*Life][]givenName

// A givenName is ordered by the archive and the clock that is never set.
type givenName struct {
	archive int
	cont    int64
	Naming
}

// note adds the names in a chunk of the archive.
func (g givenNames) note(l *Life, archive int, v *archive.View, names []chunk.Naming) {
	for _, n := range names {
		if int(n.Block) < len(v.Wall) {
			g[l] = append(g[l], givenName{archive, v.Cont[n.Block], Naming{v.Wall[n.Block], n.Name, n.Labels}})
		}
	}
}

// of returns the names of an instance in the order of time, without repetitions.
func (g givenNames) of(l *Life) []Naming {
	list := g[l]
	slices.SortStableFunc(list, func(x, y givenName) int {
		return cmp.Or(cmp.Compare(x.archive, y.archive), cmp.Compare(x.cont, y.cont))
	})
	var out []Naming
	for _, n := range list {
		if k := len(out); k == 0 || out[k-1].Name != n.Name || !slices.Equal(out[k-1].Labels, n.Labels) {
			out = append(out, n.Naming)
		}
	}
	return out
}
