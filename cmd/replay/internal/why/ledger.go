package why

import (
	"iter"
	"math"
	"slices"
	"time"

	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/query"
)

// A thing is something that processes use or hold, which the ledger records: from a metric, or
// where an archive lacks that, from another one. For a level, the averages of all processes of a
// name are added up; with most, the highest value of any one process is kept.
type thing struct {
	metric, instead string
	level, most     bool
}

var things = []thing{
	thingUser:     {metric: "proc.psinfo.utime"},
	thingSystem:   {metric: "proc.psinfo.stime"},
	thingMemory:   {metric: "proc.memory.anon", instead: "proc.memory.rss", level: true}, // without shared memory, which belongs to no single process
	thingRead:     {metric: "proc.io.read_bytes"},
	thingWritten:  {metric: "proc.io.write_bytes"},
	thingSwitches: {metric: "proc.psinfo.pswitch"},
	thingBlocked:  {metric: "proc.psinfo.delayacct_blkio_time"},
	thingReady:    {metric: "proc.cpu.runnable_time"},
	thingPeak:     {metric: "proc.memory.rss", level: true, most: true},
	thingOpened:   {metric: "proc.net.opened"},
	thingAccepted: {metric: "proc.net.accepted"},
	thingRefused:  {metric: "proc.net.refused"},
	thingFailed:   {metric: "proc.net.failed"},
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
	thingPeak    // the most memory that one process held
	thingOpened  // connections, as the next three
	thingAccepted
	thingRefused
	thingFailed
	thingCPU // user and system time together
	allThings
)

// together are the things that are read in one go, when one of them is needed for the first time:
// most windows need few of them.
var together = [][]int{{thingUser, thingSystem, thingCPU}, {thingMemory, thingPeak}, {thingRead, thingWritten}, {thingSwitches}, {thingBlocked}, {thingReady},
	{thingOpened, thingAccepted, thingRefused, thingFailed}}

// ledger records what the processes of each name used, and those of each owner, piece by piece of
// the field, so that all that is known of a name shows what is usual for it and what is not.
type ledger struct {
	a     query.Archive
	hosts []string
	cuts  []int64 // where pieces end; the first begins at from
	from  int64
	known []bool // by piece: processes were read in it
	read  [allThings]bool
	names map[string]*account
	// owners are by their keys, which are no names; what is in them is in names, too.
	owners map[string]*account
}

// account is that of one name, by thing and piece: cores, bytes, bytes a second, switches a
// second, and parts of the time.
type account struct {
	of [allThings][]float64
}

const (
	// insidePieces and outsidePieces are the most pieces that the window, and the time before and
	// after it, are cut into; leastPiece is the shortest length of a piece.
	insidePieces, outsidePieces = 36, 60
	leastPiece                  = int64(10e9)
	// ledgerAside is how far before and after the window a ledger is kept. For windows longer
	// than ledgerMost there is none: that takes too long.
	ledgerAside, ledgerMost = int64(30 * time.Minute), int64(3 * time.Hour)
	// mostAccounts bounds the names that are kept apart, whatever an archive holds.
	mostAccounts = 1 << 15
	// leastRest is how much must be known of the time outside the stretch in question to show
	// what is usual.
	leastRest = int64(40e9)
)

// newLedger returns a ledger of a field in which nothing has been read.
func (q *question) newLedger(f *field) *ledger {
	l := &ledger{a: q.a, hosts: []string{q.r.Host}, from: max(f.from, q.w.From-ledgerAside), names: make(map[string]*account), owners: make(map[string]*account)}
	end := min(f.begin(f.n), q.w.To+ledgerAside)
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
	l.known = make([]bool, len(l.cuts))
	return l
}

// begin reads what most questions need, from the twin of the archive.
func (l *ledger) begin(twin query.Archive) error {
	own := l.a
	l.a = twin
	l.load(thingCPU)
	l.a = own
	return nil
}

// load reads a thing, unless that was done before.
func (l *ledger) load(thing int) {
	if l.read[thing] || len(l.cuts) == 0 {
		return
	}
	of := make(map[string][]int) // the things that a metric measures
	sel := store.Selection{Hosts: l.hosts, From: l.from, To: l.cuts[len(l.cuts)-1], Cuts: l.cuts}
	for _, i := range together[slices.IndexFunc(together, func(list []int) bool { return slices.Contains(list, thing) })] {
		l.read[i] = true
		if i == thingCPU {
			continue
		}
		name := things[i].metric
		if l.a.Lookup(name) == nil {
			name = things[i].instead
		}
		if name == "" || l.a.Lookup(name) == nil {
			continue
		}
		if of[name] == nil {
			sel.Metrics = append(sel.Metrics, name)
		}
		of[name] = append(of[name], i)
	}
	if len(sel.Metrics) == 0 {
		return
	}
	r := ledgerReader{l: l, last: make(map[[2]string]*store.Point)}
	for s := range l.a.Summarize(sel) {
		k, _ := slices.BinarySearch(l.cuts, s.First.Wall)
		if s.Count == 0 || s.Instance == nil || k >= len(l.cuts) {
			continue
		}
		l.known[k] = true
		if r.turn(s) {
			for _, i := range of[s.Metric.Name] {
				r.enter(i, k, s)
			}
		}
	}
}

// course returns what the processes of a name, or of an owner with that key, used of a thing, by
// piece; nil if the ledger does not know them.
func (l *ledger) course(name string, thing int) []float64 {
	l.load(thing)
	if a := l.like(name)[name]; a != nil {
		return a.of[thing]
	}
	return nil
}

// like returns the accounts of names, or of owners if name is the key of one.
func (l *ledger) like(name string) map[string]*account {
	if l.owners[name] != nil {
		return l.owners
	}
	return l.names
}

// courses returns what the processes of each name used of a thing, by piece.
func (l *ledger) courses(thing int) iter.Seq2[string, []float64] {
	l.load(thing)
	return func(yield func(string, []float64) bool) {
		for name, a := range l.names {
			if !yield(name, a.of[thing]) {
				return
			}
		}
	}
}

// ledgerReader enters what it reads of processes into a ledger.
type ledgerReader struct {
	l    *ledger
	last map[[2]string]*store.Point // last value of each counter, by metric and key

	// The current series: most summaries are of the same one as before.
	metric   *metric.Desc
	instance *metric.Instance
	accounts []*account   // of its name and of its owner; none where there are too many names
	before   *store.Point // its last value; nil before the first
}

// turn makes the series of s the current one, and reports whether the ledger has an account for it.
func (r *ledgerReader) turn(s *store.Summary) bool {
	if r.metric != s.Metric || r.instance != s.Instance {
		r.metric, r.instance = s.Metric, s.Instance
		r.accounts = r.l.account(r.accounts[:0], r.l.names, query.ProcessName(s.Instance))
		if whose := query.WhoseIs(s.Instance); whose != (query.Whose{}) {
			r.accounts = r.l.account(r.accounts, r.l.owners, whose.Key())
		}
		r.before = r.last[[2]string{s.Metric.Name, s.Instance.Key}]
	}
	return len(r.accounts) > 0
}

// enter adds what a process, whose series is the current one, used of a thing in a piece.
func (r *ledgerReader) enter(i, k int, s *store.Summary) {
	unit, err := s.Metric.Units.Factor(unitsOf(i))
	if err != nil {
		unit = 1
	}
	seconds := r.l.seconds(k)
	switch t := &things[i]; {
	case t.most:
		for _, a := range r.accounts {
			a.of[i][k] = max(a.of[i][k], float64(metric.Number(s.Metric.Type, s.Max)*unit))
		}
	case t.level:
		// What it held while it was there, weighted by the part of the time that it was there.
		held := float64(s.Last.Wall-s.First.Wall)/1e9 + float64(leastStep)/1e9
		r.add(i, k, s.Sum/float64(s.Count)*min(held/seconds, 1)*unit)
	default:
		x := s.Increase
		p := r.before
		if p != nil {
			inc, _ := metric.Increase(s.Metric, p.Bits, s.First.Bits, float64(s.First.Cont-p.Cont)/1e9)
			x += inc
		} else if s.Instance.Began() >= r.l.from {
			x += metric.Number(s.Metric.Type, s.First.Bits)
		}
		if p == nil {
			p = new(store.Point)
			r.before, r.last[[2]string{s.Metric.Name, s.Instance.Key}] = p, p
		}
		*p = s.Last
		r.add(i, k, x/seconds*unit)
		if i == thingUser || i == thingSystem {
			r.add(thingCPU, k, x/seconds*unit)
		}
	}
}

func (r *ledgerReader) add(i, k int, x float64) {
	if x != x {
		return
	}
	for _, a := range r.accounts {
		a.of[i][k] += float64(x)
	}
}

// unitsOf returns the units of a thing in the ledger.
func unitsOf(thing int) metric.Units {
	switch thing {
	case thingUser, thingSystem, thingBlocked, thingReady:
		return metric.Seconds
	case thingSwitches, thingOpened, thingAccepted, thingRefused, thingFailed:
		return metric.Counts
	}
	return metric.Bytes
}

// account appends the account of a name to a list, unless there are too many names.
func (l *ledger) account(list []*account, of map[string]*account, name string) []*account {
	a := of[name]
	if a == nil {
		if len(of) >= mostAccounts {
			return list
		}
		a = &account{}
		for t := range a.of {
			a.of[t] = make([]float64, len(l.cuts))
		}
		of[name] = a
	}
	return append(list, a)
}

// start returns where a piece begins.
func (l *ledger) start(k int) int64 {
	if k == 0 {
		return l.from
	}
	return l.cuts[k-1]
}

func (l *ledger) seconds(k int) float64 { return max(float64(l.cuts[k]-l.start(k))/1e9, 1e-9) }

// within returns the first piece of a stretch and the one after its last.
func (l *ledger) within(from, to int64) (lo, hi int) {
	for k := range l.cuts {
		if l.cuts[k] <= from {
			lo = k + 1
		}
		if l.start(k) < to {
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
	known        bool // usual is known
}

// stint returns the worst stint of a course in a window: the stretch of pieces in which it was
// more than half of its maximum there.
func (l *ledger) stint(x []float64, from, to int64) stint {
	lo, hi := l.within(from, to)
	if lo >= hi || x == nil {
		return stint{}
	}
	limit := 0.5 * slices.Max(x[lo:hi])
	if limit <= 0 {
		return stint{}
	}
	best, most := stretch{}, 0.0
	// A piece with far more than any in the window belongs to another stint.
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
	s := stint{stretch: best, since: l.start(best.from), until: l.cuts[best.to-1]}
	s.level = most / max(float64(s.until-s.since)/1e9, 1)
	s.usual, s.known = l.usual(x, best)
	return s
}

// stint returns the worst stint of a name in the window; the zero stint if the ledger does not
// know it.
func (q *question) stint(name string, thing int) stint {
	return q.ledger.stint(q.ledger.course(name, thing), q.shown.From, q.shown.To)
}

// stretch is a stretch of pieces; to is the one after the last.
type stretch struct{ from, to int }

// excess returns what was used beyond what is usual.
func (s stint) excess() float64 { return math.Max(s.level-s.usual, 0) }

// kept reports whether a ledger holds anything.
func (l *ledger) kept() bool { return l != nil && len(l.names) > 0 }

// share returns what all processes used of a thing from one instant to another, and how much of
// it the processes of a name or an owner did; where no ledger is kept, by reading that time alone.
func (q *question) share(name string, thing int, from, to int64) (own, all float64) {
	if q.ledger.kept() {
		return q.ledger.share(name, thing, from, to)
	}
	own, all = q.spentOf(query.TopNames, spentKey{from, to, false}, name, thing)
	if query.IsOwnerKey(name) {
		own, _ = q.spentOf(query.TopOwners, spentKey{from, to, true}, name, thing)
	}
	return own, all
}

// spentKey identifies what names, or owners, used in a stretch.
type spentKey struct {
	from, to int64
	owners   bool
}

// spentOf returns what the groups of a ranking used of a thing in a stretch, and how much of it
// the one with a name did.
func (q *question) spentOf(top ranking, key spentKey, name string, thing int) (own, all float64) {
	lists, read := q.spent[key]
	if !read && key.to-key.from <= longest {
		lists, _ = top(q.a, query.Window{Hosts: q.w.Hosts, From: key.from, To: max(key.to, key.from+leastStep)}, mostAccounts, query.ByCPU)
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

// share returns what all processes used of a thing from one instant to another, and how much of
// it the processes of a name or an owner did.
func (l *ledger) share(name string, thing int, from, to int64) (own, all float64) {
	lo, hi := l.within(from, to)
	seconds := 0.0
	for k := lo; k < hi; k++ {
		seconds += l.seconds(k)
	}
	add := func(to *float64, course []float64) {
		for k := lo; k < hi; k++ {
			*to += course[k] * l.seconds(k) / max(seconds, 1e-9)
		}
	}
	for _, course := range l.courses(thing) {
		add(&all, course)
	}
	if course := l.course(name, thing); course != nil {
		add(&own, course)
	}
	return own, all
}
