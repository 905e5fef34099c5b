package query

import (
	"cmp"
	"math"
	"slices"

	"tachograph/sample/metric"
	"tachograph/store"
)

// ChangeKind says what sort of thing changed.
type ChangeKind string

const (
	SystemChange    ChangeKind = "metric"
	ProcessChange   ChangeKind = "process"
	ProcessNew      ChangeKind = "new process"
	ProcessVanished ChangeKind = "vanished process"
	TunableChange   ChangeKind = "tunable"
	Happened        ChangeKind = "event"
	Restarted       ChangeKind = "restarted"
	ListenerNew     ChangeKind = "new listener"
	ListenerGone    ChangeKind = "vanished listener"
)

// Change is one difference between two windows.
type Change struct {
	Kind    ChangeKind
	Archive *store.ArchiveInfo
	// Subject is what changed: a metric, or the name of processes. Instance is the member of the
	// metric's domain, if it has one.
	Subject, Instance string
	Metric            *metric.Desc
	// Aspect is what changed of a process: cpu, memory, read, write, receive or send.
	Aspect        string
	Before, After float64
	Units         metric.Units
	Rate          bool
	// OldText and NewText are the values of anything that is not a number.
	OldText, NewText string
	// At is when it changed, where that is one instant.
	At int64
	// Effect is the difference measured by how much the series varies by itself. Impact is how
	// much of the machine it is, 0 to 1.
	Effect, Impact float64
	// Score ranks changes.
	Score float64
	// Trend says that a level still moved the same way when the second window ended; After is
	// then its last value.
	Trend bool
	// Stayed says that a new process was still there when the second window ended.
	Stayed bool
	// Related counts changes of the same part of the machine that this one represents.
	Related int
	// Also are changes that say the same thing, or that this one explains: settings that changed
	// together, other aspects of a process, the part of the machine that a process used more of.
	Also []*Change
	// By names the processes that account for most of a change of the machine, if they have one
	// name.
	By *Share
	// Times is how often it happened, where that is more than once: At is then the first time,
	// Until the last, and Seconds how long all took.
	Times   int
	Until   int64
	Seconds float64
	// Listener is the port that is, or was, listened on.
	Listener *metric.Instance
	// Process is the process that is new or gone, or the biggest of several.
	Process *Consumer
	// Exit is how a vanished process ended, if that was recorded.
	Exit *store.Event
	// Event is what happened.
	Event *store.Event
	// Whose is the owner of all processes that it is about. For one that restarted, Ran and Runs
	// are its first processes before and after.
	Whose     Whose
	Ran, Runs *metric.Instance
	most      string // for a new process: the aspect of which it used most
}

// DiffRequest asks what changed from window A to window B of one host.
type DiffRequest struct {
	Host string
	A, B Window
	// Against is the host of window A, where that is another one.
	Against string
	// Usual are windows that show what is usual, instead of windows before B.
	Usual []Window
	// Group is what processes are compared by: their names, if it is empty, or their owners.
	Group Grouping
	// All keeps small changes, and those that another one represents.
	All bool
}

// Limits below which a difference is not worth a line.
const (
	leastEffect   = 4       // times the series' own variation
	leastOverlap  = 0.8     // Cliff's delta between the slots of both windows
	leastErrors   = 4       // times the standard error of the difference of the means
	leastRelative = 0.2     // of the larger mean
	leastImpact   = 0.01    // of the machine
	slots         = 10      // parts that each window is cut into
	mostBaselines = 1 << 14 // windows that are examined to choose the baselines
	baselines     = 24      // other windows that show the usual variation
	// extreme is how much farther from the usual the second window must lie than any other window
	// does.
	extreme = 1.5
	// seldom is how much farther the second window must lie for something that hardly any other
	// window saw: few windows show how much of it there can be.
	seldom = 4
	// seldomImpact is how much of the machine the difference must then be.
	seldomImpact = 0.05
)

// Diff finds what changed between two windows, most surprising first.
func Diff(a Archive, r DiffRequest) ([]*Change, error) {
	d, err := Compare(a, r)
	if err != nil {
		return nil, err
	}
	return d.Changes, nil
}

// Compare finds what changed between two windows, and where that is nothing, the largest
// difference.
func Compare(a Archive, r DiffRequest) (*Differences, error) {
	d := &differ{a: a, r: r}
	if d.group().OfOwners() && !OwnersRecorded(a) {
		return nil, ErrNoOwners
	}
	d.r.A.Hosts, d.r.B.Hosts = []string{cmp.Or(r.Against, r.Host)}, []string{r.Host}
	d.chooseBaselines()
	d.machine()
	var tunables, events []*Change
	p := new(processPair)
	s := d.systemPair()
	questions := append(s.questions(),
		func(a Archive) (err error) { tunables, err = d.asking(a).tunables(); return err },
		func(a Archive) (err error) { p.a, err = d.asking(a).usage(d.r.A, nil); return err },
		func(a Archive) (err error) { p.b, err = d.asking(a).usage(d.r.B, nil); return err },
		func(a Archive) (err error) { events, err = d.asking(a).events(); return err })
	two := pairOf(a)
	defer two.close()
	if err := two.shared(questions...); err != nil {
		return nil, err
	}
	d.every = p.b.every
	candidates := s.candidates()
	names := d.changedNames(p)
	if err := d.readUsual(two, s, p, candidates, names); err != nil {
		return nil, err
	}
	two.close()
	changes := s.changes(candidates)
	d.moved = s.moved(candidates)
	out := slices.Concat(tunables, changes, d.processes(p, names), d.failures(p), d.restarts(), d.listeners(), events)
	sortChanges(out)
	b := d.belongings(out)
	if !r.All {
		out = merged(d, s, p, d.ofOwners(out, p, b))
	}
	d.belong(out, b)
	out = ofRestarts(out)
	sortChanges(out)
	found := &Differences{Changes: out}
	if len(out) == 0 {
		found.Largest = d.largest(s, p)
		if one := found.Largest; one != nil {
			d.belong([]*Change{one}, d.belongings([]*Change{one}))
		}
	}
	return found, nil
}

// sortChanges puts the most surprising first; the rest of the order only makes the same question
// have the same answer.
func sortChanges(list []*Change) {
	slices.SortStableFunc(list, func(x, y *Change) int {
		return cmp.Or(cmp.Compare(y.Score, x.Score), cmp.Compare(x.Kind, y.Kind), cmp.Compare(x.Subject, y.Subject),
			cmp.Compare(x.Instance, y.Instance), cmp.Compare(x.Aspect, y.Aspect), cmp.Compare(x.At, y.At))
	})
}

// elsewhere reports whether the windows are of two hosts.
func (d *differ) elsewhere() bool { return d.r.Against != "" && d.r.Against != d.r.Host }

// asking returns a copy of d that asks a, the archive or its twin.
func (d *differ) asking(a Archive) *differ {
	other := *d
	other.a = a
	return &other
}

// differ compares two windows of one host.
type differ struct {
	a     Archive
	r     DiffRequest
	usual []Window // other windows of the length of B
	every int64    // interval of the process class
	cores float64
	// memory is the installed memory, in bytes.
	memory float64
	// seen is when processes were there, if that was read ahead.
	seen *sightings
	// moved are the aspects of processes of which the machine did more than is usual.
	moved map[string]bool
}

// chooseBaselines spreads windows of B's length over the recording before B, where A is not. What
// came after B shows what it led to, not what is usual.
func (d *differ) chooseBaselines() {
	if d.elsewhere() {
		return // What is usual on one host is no measure for another.
	}
	if d.r.Usual != nil {
		d.usual = d.r.Usual
		return
	}
	from, _, list := Covered(d.a, Window{Hosts: []string{d.r.Host}})
	if len(list) == 0 {
		return
	}
	length := d.r.B.To - d.r.B.From
	if length <= 0 {
		return
	}
	touches := func(w Window, x int64) bool { return x < w.To && x+length > w.From }
	var free []int64
	stride := max(length, (d.r.B.From-from)/mostBaselines)
	for x := d.r.B.From - length; x >= from; x -= stride {
		if !touches(d.r.A, x) && d.recorded(list, x, x+length) {
			free = append(free, x)
		}
	}
	n := min(baselines, len(free))
	for i := range n {
		x := free[i*len(free)/n]
		d.usual = append(d.usual, Window{Hosts: []string{d.r.Host}, From: x, To: x + length})
	}
}

// recorded reports whether one archive covers the span.
func (d *differ) recorded(list []*store.ArchiveInfo, from, to int64) bool {
	return slices.ContainsFunc(list, func(i *store.ArchiveInfo) bool { return i.From <= from && i.To >= to })
}

// machine finds the sizes that impacts are measured by.
func (d *differ) machine() {
	d.cores, d.memory = 1, math.NaN()
	for name, to := range map[string]*float64{"hinv.ncpu": &d.cores, "mem.physmem": &d.memory} {
		desc := d.a.Lookup(name)
		if desc == nil {
			continue
		}
		sel := Window{Hosts: []string{d.r.Host}, To: d.r.B.To}.Selection(name)
		sel.Whole = true
		for s := range d.a.Summarize(sel) {
			if s.Count > 0 {
				*to = metric.Number(desc.Type, s.Last.Bits) * base(s.Metric.Units)
			}
		}
	}
	if d.cores < 1 {
		d.cores = 1
	}
}

// sample are the slots of one series in a window.
type sample []float64

func (s sample) mean() float64 {
	total := 0.0
	for _, x := range s {
		total += x
	}
	return total / float64(len(s))
}

// deviation returns the usual distance from the median, made comparable to a standard deviation,
// and not less than half of the standard deviation.
func (s sample) deviation() float64 {
	if len(s) < 2 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(s))
	median := middleValue(sorted)
	far := make([]float64, len(s))
	m, square := s.mean(), 0.0
	for i, x := range s {
		far[i] = math.Abs(x - median)
		square += float64((x - m) * (x - m))
	}
	slices.Sort(far)
	return max(1.4826*middleValue(far), math.Sqrt(square/float64(len(s)-1))/2)
}

// meanError returns the standard error of the difference between the means of a and b. Rare
// bursts may keep one window above the other by chance: then the median hardly varies, but the
// mean does.
func meanError(a, b sample) float64 {
	square := 0.0
	for _, s := range []sample{a, b} {
		m, sum := s.mean(), 0.0
		for _, x := range s {
			sum += float64((x - m) * (x - m))
		}
		square += sum / float64((len(s)-1)*len(s))
	}
	return math.Sqrt(square)
}

func middleValue(sorted []float64) float64 {
	n := len(sorted)
	if n%2 == 1 {
		return sorted[n/2]
	}
	return (sorted[n/2-1] + sorted[n/2]) / 2
}

// separation returns Cliff's delta: 1 when every value of b lies on one side of every value of a.
func separation(a, b sample) float64 {
	n := 0
	for _, x := range a {
		for _, y := range b {
			switch {
			case y > x:
				n++
			case y < x:
				n--
			}
		}
	}
	return math.Abs(float64(n)) / float64(len(a)*len(b))
}

// effect returns how far mb, the mean of b, is from ma, the mean of a, in terms of the variation
// of a: the variation of b may be the change itself. The variation counts as floor at least.
func effect(a sample, ma, mb, floor float64) float64 {
	if ma == mb {
		return 0
	}
	spread := together(a.deviation(), floor)
	if spread == 0 {
		return 5 * leastEffect
	}
	return math.Min(math.Abs(mb-ma)/spread, 50)
}

// trend returns the last value of a level that keeps moving one way through the window, and
// whether it does.
func (s sample) trend() (float64, bool) {
	if len(s) < 5 {
		return 0, false
	}
	up, down := 0, 0
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] > s[i-1]:
			up++
		case s[i] < s[i-1]:
			down++
		}
	}
	n := len(s) - 1
	last := s[len(s)-1]
	return last, max(up, down)*10 >= n*8 && min(up, down)*10 <= n && relative(s[0], last) > 0.02
}

// together combines two independent variations. math.Hypot, like math.Log10, does not give the
// same last digit on every processor.
func together(a, b float64) float64 {
	return math.Sqrt(float64(a*a) + float64(b*b))
}

// decades returns the decimal logarithm of x, rounded to digits that are the same on every
// processor.
func decades(x float64) float64 { return math.Round(math.Log10(x)*1e9) / 1e9 }

func relative(a, b float64) float64 {
	top := max(math.Abs(a), math.Abs(b))
	if top == 0 {
		return 0
	}
	return math.Abs(b-a) / top
}

// events returns what interrupted the machine in or between the windows.
func (d *differ) events() ([]*Change, error) {
	var out []*Change
	w := Window{Hosts: []string{d.r.Host}, From: d.r.A.From, To: d.r.B.To}
	if d.elsewhere() || d.r.Usual != nil {
		w.From = d.r.B.From // what lies between the windows is not in question
	}
	kinds := []metric.EventKind{metric.EventBoot, metric.EventPanic, metric.EventShutdown, metric.EventWake, metric.EventGap, metric.EventDevice, metric.EventMount,
		metric.EventClockStep, metric.EventThrottle, metric.EventSleep, metric.EventMemory}
	var asleep *Change
	for e := range SortedEvents(d.a, w, kinds...) {
		if e.At.Wall < d.r.B.From && e.At.Wall <= d.r.A.To {
			continue
		}
		score := 0.3
		switch e.Kind {
		case metric.EventPanic, metric.EventBoot:
			score = 1
		case metric.EventClockStep, metric.EventWake, metric.EventSleep:
			score = 0.7
		}
		change := &Change{Kind: Happened, Archive: e.Archive, Subject: string(e.Kind), At: e.At.Wall, NewText: e.Text, Score: score, Event: e}
		switch e.Kind {
		case metric.EventSleep:
			asleep = change // The event that ends the sleep says more, if it comes in time.
			continue
		case metric.EventWake:
			asleep = nil
		}
		out = append(out, change)
	}
	if asleep != nil {
		out = append(out, asleep)
	}
	return out, nil
}
