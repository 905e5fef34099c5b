package sample

import "tachograph/sample/metric"

// rowCopies gives each instance of a group a copy that never changes. A source
// may change its instances at its next reading, which another class can start
// while this class's values are still on their way to the archive.
type rowCopies struct {
	byOrig map[*metric.Instance]*metric.Instance
	// last holds the copies of the latest reading, and orig their originals. Most rows keep their
	// place from one reading to the next.
	last, orig []*metric.Instance
}

// freeze replaces the instances in rows by copies. An instance that did not change gets the same
// copy as last time.
func (r *rowCopies) freeze(rows []*metric.Instance) {
	before := r.last
	r.last = r.last[:0]
	if len(rows) > 0 && rows[0] == nil {
		return
	}
	if len(r.byOrig) > 2*len(rows)+64 || r.byOrig == nil {
		// Most of the map's instances are gone.
		r.byOrig = make(map[*metric.Instance]*metric.Instance, len(rows))
		for i, c := range before {
			r.byOrig[r.orig[i]] = c
		}
	}
	for i, in := range rows {
		var c *metric.Instance
		if i < len(r.orig) && i < len(before) && r.orig[i] == in {
			c = before[i]
		} else {
			c = r.byOrig[in]
		}
		if c == nil || !same(c, in) {
			c = &metric.Instance{ID: in.ID, Key: in.Key, Name: in.Name, Rev: in.Rev, Labels: append([]metric.Label(nil), in.Labels...)}
			r.byOrig[in] = c
		}
		r.last = append(r.last, c)
		if i < len(r.orig) {
			r.orig[i] = in
		} else {
			r.orig = append(r.orig, in)
		}
		rows[i] = c
	}
}

// same reports whether c is still a true copy of in. A source may reuse the memory of a dead
// instance for a new one, whose key then differs.
func same(c, in *metric.Instance) bool {
	return c.Rev == in.Rev && c.ID == in.ID && c.Key == in.Key && c.Name == in.Name
}
