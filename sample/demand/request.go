package demand

import (
	"math/bits"
	"slices"
	"sync/atomic"
	"time"

	"tachograph/sample"
	"tachograph/sample/metric"
)

// request is what somebody wants of one source.
type request struct {
	source *source
	broke  bool // the budget is used up
	// after is how many readings of the source are too old whatever the clock says.
	after  uint64
	began  int64 // awake clock
	groups []groupRequest
	// cost is set when the source was read for this request, and served when it
	// is known that it need not be any more.
	cost   atomic.Pointer[Cost]
	served atomic.Bool
}

// groupRequest are the wanted columns of one group.
type groupRequest struct {
	full  *metric.Group
	group int
	cols  []int
	// since is, for each, the awake clock at which it must have been read.
	since []int64
	// found is, for each, what was read of it then or later; the source may have let go
	// of that since, for others. The source's mu guards it.
	found []*reading
}

func (q *request) add(p place, d *metric.Desc) {
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
	// settled is how long what is read once an archive is shared here, where no
	// archive begins.
	settled = time.Minute
	// beat is the part of the shortest interval for which a value is shared: who
	// asks in just that interval, give or take some milliseconds, is to be given
	// a new one each time.
	beat = 8
)

// lifetime is for how long a value of d is as good as a new one.
func lifetime(d *metric.Desc) time.Duration {
	least := d.MinInterval()
	if least == metric.Once {
		return settled
	}
	return least - least/beat
}

// set is some columns of a group.
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

// key is s as a key of maps.
func (s set) key(buf []byte) []byte {
	for _, w := range s {
		for range 8 {
			buf, w = append(buf, byte(w)), w>>8
		}
	}
	return buf
}

// reading is a block, with where its group's columns are in it.
type reading struct {
	block  *metric.Block
	choice *sample.Choice
	number uint64 // of the readings of its source
	at     int64  // awake clock: when it came
}

func (r *reading) has(col int) bool { return r.choice.Column(col) >= 0 }

// part is some columns of a reading.
type part struct {
	*reading
	cols set
}

// stale are the columns, by group request, that have to be read; nil if none. The
// others are found.
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

// collect adds to out what there is of q now.
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
				out.Missing[g.full.Metrics[col]] = metric.TimedOut // it was replaced meanwhile
			}
			continue
		}
		var parts []part
		for k, col := range g.cols {
			r := g.found[k]
			if r == nil {
				out.Missing[g.full.Metrics[col]] = why
				continue
			}
			n := slices.IndexFunc(parts, func(p part) bool { return p.reading == r })
			if n < 0 {
				n = len(parts)
				parts = append(parts, part{r, newSet(len(g.full.Metrics))})
			}
			parts[n].cols.add(col)
		}
		for _, p := range parts {
			out.Blocks = append(out.Blocks, s.only(g, p))
		}
	}
}
