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
		all := lifetimes{r: r, keys: chunk.NewKeys(keys), of: make(map[*metric.Instance]*Life), given: make(givenNames)}
		r.inDomain(&sel, indom, all.warm, func(d *domainGroup) bool {
			if err := all.note(d); err != nil {
				d.of.Lose(err)
			}
			return true
		})
		if r.over() {
			return
		}
		slices.SortStableFunc(all.order, func(x, y *Life) int { return cmp.Compare(x.From, y.From) })
		for _, l := range all.order {
			l.Names = all.given.of(l)
			if !yield(l) || r.over() {
				return
			}
		}
	}
}

// lifetimes are the lives of the instances of a domain, while they are being collected.
type lifetimes struct {
	r     *Reader
	keys  *chunk.Keys // none: all instances
	of    map[*metric.Instance]*Life
	order []*Life
	given givenNames
}

// warm decodes what note reads.
func (l *lifetimes) warm(d *domainGroup) {
	all := len(l.keys.List) == 0
	if !all {
		if rows, err := d.group().Rows(l.keys); err != nil || len(rows) == 0 {
			return
		}
	}
	if v, err := d.chunk.View(d.number); err == nil && all && d.sel.Cohort == nil && v.Spans(d.sel.From, d.sel.End()) != nil {
		_, _ = v.Instances()
	}
}

// note notes the instances of a group.
func (l *lifetimes) note(d *domainGroup) error {
	c, sel, all := d.chunk, d.sel, len(l.keys.List) == 0
	var rows []int
	if !all {
		var err error
		if rows, err = d.group().Rows(l.keys); err != nil {
			return c.Ref.Wrong(err)
		}
		if len(rows) == 0 {
			return nil
		}
	}
	v, err := c.View(d.number)
	if err != nil {
		return err
	}
	spans := l.r.spans(v, sel)
	if spans == nil {
		return nil
	}
	there, err := presenceIn(c.Ref.Archive, v)
	if err != nil {
		return c.Ref.Wrong(err)
	}
	switch {
	case sel.Cohort != nil:
		rows = sel.Cohort.rows(v)
		if err := v.Named(rows); err != nil {
			return c.Ref.Wrong(err)
		}
	case all:
		if _, err := v.Instances(); err != nil {
			return c.Ref.Wrong(err)
		}
		rows = make([]int, v.Size)
		for row := range rows {
			rows[row] = row
		}
	}
	for _, row := range rows {
		inst, err := v.Instance(row)
		if err != nil {
			return c.Ref.Wrong(err)
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
		in := l.r.instance(v, row)
		life := l.of[in]
		if life == nil {
			life = &Life{Indom: v.Indom, Instance: in, From: from, To: to}
			l.of[in] = life
			l.order = append(l.order, life)
		}
		life.Archive = &c.Ref.Archive.Info
		life.From, life.To = min(life.From, from), max(life.To, to)
		l.given.note(life, d.archive, v, inst.Names)
	}
	return nil
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
