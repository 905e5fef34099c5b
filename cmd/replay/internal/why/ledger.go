package why

import (
	"math"
	"slices"
	"time"

	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/query"
)

// A thing is something that processes use or hold, which the ledger is kept of: by a
// metric, or where an archive lacks that by another one. Of levels what the processes of a
// name held on average is added up, or the most that one of them held is kept.
type thing struct {
	metric, instead string
	level, most     bool
}

var things = []thing{
	thingUser:     {metric: "proc.psinfo.utime"},
	thingSystem:   {metric: "proc.psinfo.stime"},
	thingMemory:   {metric: "proc.memory.anon", instead: "proc.memory.rss", level: true}, // what is shared is nobody's own
	thingRead:     {metric: "proc.io.read_bytes"},
	thingWritten:  {metric: "proc.io.write_bytes"},
	thingSwitches: {metric: "proc.psinfo.pswitch"},
	thingBlocked:  {metric: "proc.psinfo.delayacct_blkio_time"},
	thingReady:    {metric: "proc.cpu.runnable_time"},
	thingPeak:     {metric: "proc.memory.rss", level: true, most: true},
}

const (
	thingUser = iota
	thingSystem
	thingMemory
	thingRead
	thingWritten
	thingSwitches
	thingBlocked // time in which they waited for disks
	thingReady   // time in which they waited for a processor
	thingPeak    // the most memory that one of them held
	thingCPU     // the first two together
	allThings
)

// ledger is what the processes of each name used, piece by piece of the field: so
// what is usual of a name is told by all that is known of it, and what is not.
type ledger struct {
	cuts  []int64 // where pieces end, the first begins at from
	from  int64
	known []bool // of each piece, that processes were read in it
	names map[string]*account
}

// account is one name's, by thing and piece: cores, bytes, bytes a second, switches a
// second, and parts of the time.
type account struct {
	of [allThings][]float64
}

const (
	// insidePieces and outsidePieces are into how many pieces the window and what lies
	// before and after it are cut at most; leastPiece is how long these are at least.
	insidePieces, outsidePieces = 36, 60
	leastPiece                  = int64(10e9)
	// ledgerAside is how far before and after the window a ledger is kept. Of windows
	// over ledgerMost none is: that takes too long.
	ledgerAside, ledgerMost = int64(30 * time.Minute), int64(3 * time.Hour)
	// mostAccounts bounds the names that are told apart, whatever an archive holds.
	mostAccounts = 1 << 15
	// leastRest is how much must be known of the time in which a name did not do what is
	// in question for that to tell what is usual.
	leastRest = int64(40e9)
)

// keep reads the ledger of the field.
func (q *question) keep() *ledger {
	l := &ledger{from: max(q.field.from, q.w.From-ledgerAside), names: make(map[string]*account)}
	end := min(q.field.begin(q.field.n), q.w.To+ledgerAside)
	if q.w.To-q.w.From > ledgerMost {
		return l
	}
	cut := func(from, to int64, most int) {
		n := min(int64(most), max((to-from)/leastPiece, 1))
		for k := int64(1); k <= n && to > from; k++ {
			l.cuts = append(l.cuts, from+(to-from)*k/n)
		}
	}
	cut(l.from, q.w.From, outsidePieces)
	cut(max(q.w.From, l.from), min(q.w.To, end), insidePieces)
	cut(max(q.w.To, l.from), end, outsidePieces)
	l.cuts = slices.Compact(l.cuts)
	if len(l.cuts) == 0 {
		return l
	}
	l.known = make([]bool, len(l.cuts))
	of := make(map[string][]int) // the things that a metric tells of
	sel := store.Selection{Hosts: q.w.Hosts, From: l.from, To: l.cuts[len(l.cuts)-1], Cuts: l.cuts}
	for i, t := range things {
		name := t.metric
		if q.a.Lookup(name) == nil {
			name = t.instead
		}
		if name == "" || q.a.Lookup(name) == nil {
			continue
		}
		if of[name] == nil {
			sel.Metrics = append(sel.Metrics, name)
		}
		of[name] = append(of[name], i)
	}
	if len(sel.Metrics) == 0 {
		return l
	}
	r := ledgerReader{l: l, last: make(map[[2]string]store.Point)}
	for s := range q.a.Summarize(sel) {
		k, _ := slices.BinarySearch(l.cuts, s.First.Wall)
		if s.Count == 0 || s.Instance == nil || k >= len(l.cuts) {
			continue
		}
		l.known[k] = true
		for _, i := range of[s.Metric.Name] {
			r.enter(i, k, s)
		}
	}
	return l
}

// ledgerReader enters what it reads of processes into a ledger.
type ledgerReader struct {
	l    *ledger
	last map[[2]string]store.Point // of each counter, by metric and key
}

// enter adds what a process used of a thing in a piece.
func (r *ledgerReader) enter(i, k int, s *store.Summary) {
	a := r.l.account(query.ProcessName(s.Instance))
	if a == nil {
		return
	}
	unit, err := s.Metric.Units.Factor(unitsOf(i))
	if err != nil {
		unit = 1
	}
	seconds := r.l.seconds(k)
	switch t := &things[i]; {
	case t.most:
		a.of[i][k] = max(a.of[i][k], float64(metric.Number(s.Metric.Type, s.Max)*unit))
	case t.level:
		// What it held while it was there, by the part of the time that it was.
		held := float64(s.Last.Wall-s.First.Wall)/1e9 + float64(leastStep)/1e9
		a.add(i, k, s.Sum/float64(s.Count)*min(held/seconds, 1)*unit)
	default:
		x := s.Increase
		id := [2]string{s.Metric.Name, s.Instance.Key}
		if p, ok := r.last[id]; ok {
			inc, _ := metric.Increase(s.Metric, p.Bits, s.First.Bits, float64(s.First.Cont-p.Cont)/1e9)
			x += inc
		} else if s.Instance.Began() >= r.l.from {
			x += metric.Number(s.Metric.Type, s.First.Bits)
		}
		r.last[id] = s.Last
		a.add(i, k, x/seconds*unit)
		if i == thingUser || i == thingSystem {
			a.add(thingCPU, k, x/seconds*unit)
		}
	}
}

func (a *account) add(i, k int, x float64) {
	if x == x {
		a.of[i][k] += float64(x)
	}
}

// unitsOf is what the ledger is kept in.
func unitsOf(thing int) metric.Units {
	switch thing {
	case thingUser, thingSystem, thingBlocked, thingReady:
		return metric.Seconds
	case thingSwitches:
		return metric.Counts
	}
	return metric.Bytes
}

func (l *ledger) account(name string) *account {
	a := l.names[name]
	if a == nil && len(l.names) < mostAccounts {
		a = &account{}
		for t := range a.of {
			a.of[t] = make([]float64, len(l.cuts))
		}
		l.names[name] = a
	}
	return a
}

// begin is where a piece begins.
func (l *ledger) begin(k int) int64 {
	if k == 0 {
		return l.from
	}
	return l.cuts[k-1]
}

func (l *ledger) seconds(k int) float64 { return max(float64(l.cuts[k]-l.begin(k))/1e9, 1e-9) }

// within are the first piece of a stretch and the one behind its last.
func (l *ledger) within(from, to int64) (lo, hi int) {
	for k := range l.cuts {
		if l.cuts[k] <= from {
			lo = k + 1
		}
		if l.begin(k) < to {
			hi = k + 1
		}
	}
	return lo, max(hi, lo)
}

// stint is a time in which a name used more of a thing than usual.
type stint struct {
	stretch
	since, until int64
	level, usual float64
	known        bool // what is usual is known
}

// stint is the worst of a name in a window: the stretch of pieces that are over half of
// the most that it used there.
func (l *ledger) stint(x []float64, from, to int64) stint {
	lo, hi := l.within(from, to)
	if lo >= hi {
		return stint{}
	}
	limit := 0.5 * slices.Max(x[lo:hi])
	if limit <= 0 {
		return stint{}
	}
	best, most := stretch{}, 0.0
	// What is far more than all that was in the window is another stint.
	of := func(k int) bool { return x[k] >= limit && (k >= lo && k < hi || x[k] <= 4*limit) }
	for k := 0; k < len(x); k++ {
		if !of(k) {
			continue
		}
		end, sum, in := k+1, 0.0, false
		for j := k; j < len(x) && j-end < 2; j++ {
			if of(j) {
				end = j + 1
				sum += float64(x[j] * l.seconds(j))
				in = in || j >= lo && j < hi
			}
		}
		if in && sum > most {
			best, most = stretch{k, end}, sum
		}
		k = end
	}
	s := stint{stretch: best, since: l.begin(best.from), until: l.cuts[best.to-1]}
	s.level = most / max(float64(s.until-s.since)/1e9, 1)
	s.usual, s.known = l.usual(x, best)
	return s
}

// stretch is a stretch of pieces, to is behind the last.
type stretch struct{ from, to int }

// excess is what was used beyond what is usual.
func (s stint) excess() float64 { return math.Max(s.level-s.usual, 0) }

// kept reports whether there is anything in a ledger.
func (l *ledger) kept() bool { return l != nil && len(l.names) > 0 }

// share is what all processes used of a thing from one instant to another, and name what
// those of one did; where no ledger is kept, by what is read of that time alone.
func (q *question) share(name string, thing int, from, to int64) (own, all float64) {
	if q.ledger.kept() {
		return q.ledger.share(name, thing, from, to)
	}
	key := [2]int64{from, to}
	lists, read := q.spent[key]
	if !read && to-from <= longest {
		lists, _ = query.TopNames(q.a, query.Window{Hosts: q.w.Hosts, From: from, To: max(to, from+leastStep)}, mostAccounts, query.ByCPU)
		q.spent[key] = lists
	}
	for _, r := range lists {
		for _, c := range r.Consumers {
			x := 0.0
			switch thing {
			case thingCPU:
				x = c.CPUTime()
			case thingSystem:
				x = c.Gains[query.SystemTime]
			case thingRead:
				x = c.Gains[query.ReadBytes]
			case thingWritten:
				x = c.Gains[query.WrittenBytes]
			}
			x = orZero(x / max(r.Seconds, 1))
			if all += x; c.Name == name {
				own += x
			}
		}
	}
	return own, all
}

// share is what all processes used of a thing from one instant to another, and name
// what those of one did.
func (l *ledger) share(name string, thing int, from, to int64) (own, all float64) {
	lo, hi := l.within(from, to)
	seconds := 0.0
	for k := lo; k < hi; k++ {
		seconds += l.seconds(k)
	}
	for n, a := range l.names {
		for k := lo; k < hi; k++ {
			x := a.of[thing][k] * l.seconds(k) / max(seconds, 1e-9)
			all += x
			if n == name {
				own += x
			}
		}
	}
	return own, all
}
