package demand

import (
	"math/bits"
	"slices"
	"sync/atomic"
	"time"

	"tachograph/sample"
	"tachograph/sample/metric"
)

// request is the part of a Read that one source serves.
type request struct {
	source *source
	broke  bool // the budget is used up
	// after excludes the source's readings up to this number as too old, whatever the clock says.
	after  uint64
	began  int64 // awake clock
	groups []groupRequest
	// cost is set when the source was read for this request. served is set once no further
	// reading is needed.
	cost   atomic.Pointer[Cost]
	served atomic.Bool
}

// groupRequest is the requested columns of one group.
type groupRequest struct {
	full  *metric.Group
	group int
	cols  []int
	// since is, for each column, the earliest acceptable reading on the awake clock.
	since []int64
	// found is, for each column, a reading that is recent enough. The source may have dropped
	// that reading since, for others. The source's mu guards it.
	found []*reading
}

func (q *request) add(p location, d *metric.Desc) {
	var g *groupRequest
	for i := range q.groups {
		if q.groups[i].group == p.group {
			g = &q.groups[i]
		}
	}
	if g == nil {
		q.groups = append(q.groups, groupRequest{full: p.full, group: p.group})
		g = &q.groups[len(q.groups)-1]
	}
	g.cols = append(g.cols, p.col)
	g.since = append(g.since, q.began-int64(q.source.shared(d, q.broke)))
	g.found = append(g.found, nil)
}

const (
	// settled is how long a value of class Once is shared here, where no archive begins.
	settled = time.Minute
	// beat is the part of the shortest interval during which a value is not shared: a client that
	// asks at just that interval, give or take some milliseconds, gets a new value each time.
	beat = 8
)

// lifetime is how long a value of d is as good as a new one.
func lifetime(d *metric.Desc) time.Duration {
	least := d.MinInterval()
	if least == metric.Once {
		return settled
	}
	return least - least/beat
}

// set is a set of column numbers of a group.
type set []uint64

func newSet(n int) set       { return make(set, (n+63)/64) }
func (s set) add(i int)      { s[i/64] |= 1 << (i % 64) }
func (s set) has(i int) bool { return s[i/64]&(1<<(i%64)) != 0 }
func (s set) len() (n int) {
	for _, w := range s {
		n += bits.OnesCount64(w)
	}
	return n
}

// key returns s as a map key.
func (s set) key(buf []byte) []byte {
	for _, w := range s {
		for range 8 {
			buf, w = append(buf, byte(w)), w>>8
		}
	}
	return buf
}

// reading is a block, with the choice that maps its group's columns to the block's.
type reading struct {
	block  *metric.Block
	choice *sample.Choice
	number uint64 // counts the readings of its source
	at     int64  // awake clock: when it came
}

func (r *reading) has(col int) bool { return r.choice.Column(col) >= 0 }

// subset is some columns of a reading.
type subset struct {
	*reading
	cols set
}

// stale returns the columns to read, by group request; nil if none. It sets found for the
// others.
func (q *request) stale() []set {
	s := q.source
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []set
	for i := range q.groups {
		g := &q.groups[i]
		if !s.has(g) {
			continue
		}
		for k, col := range g.cols {
			if r := s.newest(g.group, col, g.since[k], q.after); r != nil {
				g.found[k] = r
				continue
			}
			if all == nil {
				all = make([]set, len(q.groups))
			}
			if all[i] == nil {
				all[i] = newSet(len(g.full.Metrics))
			}
			all[i].add(col)
		}
	}
	return all
}

// collect adds the results that q has now to out.
func (q *request) collect(out *Reading) {
	if c := q.cost.Load(); c != nil {
		out.Costs = append(out.Costs, *c)
	}
	why := metric.TimedOut
	if q.served.Load() {
		why = metric.NotRead
	}
	s := q.source
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range q.groups {
		g := &q.groups[i]
		if !s.has(g) {
			for _, col := range g.cols {
				out.Missing[g.full.Metrics[col]] = metric.TimedOut // the group was replaced meanwhile
			}
			continue
		}
		var parts []subset
		for k, col := range g.cols {
			r := g.found[k]
			if r == nil {
				out.Missing[g.full.Metrics[col]] = why
				continue
			}
			n := slices.IndexFunc(parts, func(p subset) bool { return p.reading == r })
			if n < 0 {
				n = len(parts)
				parts = append(parts, subset{r, newSet(len(g.full.Metrics))})
			}
			parts[n].cols.add(col)
		}
		for _, p := range parts {
			out.Blocks = append(out.Blocks, s.only(g, p))
		}
	}
}
