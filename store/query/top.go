package query

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"tachograph/sample/metric"
	"tachograph/store"
)

// By is what consumers are ranked by.
type By string

const (
	ByCPU     By = "cpu"
	ByMemory  By = "memory"
	ByRead    By = "read"
	ByWrite   By = "write"
	ByEnergy  By = "energy"
	ByWakeups By = "wakeups"
	ByFaults  By = "faults"
)

// Bys are all of them.
var Bys = []By{ByCPU, ByMemory, ByRead, ByWrite, ByEnergy, ByWakeups, ByFaults}

var byCounters = map[By][]ProcessCounter{
	ByCPU: {UserTime, SystemTime}, ByRead: {ReadBytes}, ByWrite: {WrittenBytes}, ByEnergy: {Energy},
	ByWakeups: {InterruptWakeups, IdleWakeups}, ByFaults: {Faults, MajorFaults},
}

// Grouping says whose consumption is added up.
type Grouping string

const (
	PerProcess Grouping = "process"
	PerName    Grouping = "name"
	PerUser    Grouping = "user"
	PerParent  Grouping = "parent"
)

// Groupings are all of them.
var Groupings = []Grouping{PerProcess, PerName, PerUser, PerParent}

// Consumer is what a process, or a group of them, used over a window.
type Consumer struct {
	Archive *store.ArchiveInfo
	// Name is the group's, or the process's.
	Name string
	// Instance is the process, or one of the group.
	Instance *metric.Instance
	Count    int // processes that took part
	// From and To are the first and the last instant at which they were seen.
	From, To int64
	User     string
	Start    int64
	// Gains are what the counters grew by; NaN where unknown.
	Gains [NumProcessCounters]float64
	// Mean is the memory over the window: of a process while it lived, of a
	// group what its processes held together on average. Peak is the largest
	// that one process was seen with.
	Mean, Peak float64
	// Resident and Virtual are what was held at the end of the window; of a
	// process that had ended, what it held last.
	Resident, Virtual float64
	members           map[*metric.Instance]bool
	weight, seconds   float64 // bytes times seconds, and seconds
}

// CPUTime is the seconds computed.
func (c *Consumer) CPUTime() float64 { return sum(c.Gains[UserTime], c.Gains[SystemTime]) }

// Wakeups is how often the machine was woken.
func (c *Consumer) Wakeups() float64 {
	return sum(c.Gains[InterruptWakeups], c.Gains[IdleWakeups])
}

// Amount is what the consumer is ranked by.
func (c *Consumer) Amount(by By) float64 {
	if by == ByMemory {
		return c.Peak
	}
	var xs []float64
	for _, f := range byCounters[by] {
		xs = append(xs, c.Gains[f])
	}
	return sum(xs...)
}

// Ranking is the answer to who used most.
type Ranking struct {
	Consumers []*Consumer
	// From and To are the readings that the totals lie between.
	From, To int64
	// Seconds is the time between them.
	Seconds float64
	// Total is the amount over all processes; N how many took part.
	Total float64
	N     int
}

// Top finds the n biggest consumers of a window by exact totals: what the
// counters grew by between the last reading before the window and the last one
// in it. What a process that began in the window had already used when it was
// first seen counts as well.
func Top(a Archive, w Window, by By, group Grouping, n int) (*Ranking, error) {
	t := &topper{a: a, by: by, group: group, groups: make(map[string]*Consumer), of: make(map[*metric.Instance]*Consumer), charged: make(map[*metric.Instance]bool)}
	if err := t.bounds(w); err != nil {
		return nil, err
	}
	fields := mapFields(a, byCounters[by], nil)
	if by == ByMemory {
		fields = memoryFields(a)
	}
	if len(fields.names) == 0 {
		return nil, fmt.Errorf("the archive does not hold what processes used of %s", by)
	}
	if err := t.add(fields, nil); err != nil {
		return nil, err
	}
	r := &Ranking{From: t.w.From, To: t.w.To, Seconds: float64(t.w.To-t.w.From) / 1e9, N: len(t.of), Total: math.NaN()}
	for _, c := range t.order {
		t.average(c)
		if x := c.Amount(by); x > 0 {
			r.Total = sum(r.Total, x)
			r.Consumers = append(r.Consumers, c)
		}
	}
	slices.SortStableFunc(r.Consumers, func(x, y *Consumer) int { return cmp.Compare(y.Amount(by), x.Amount(by)) })
	if n > 0 && len(r.Consumers) > n {
		r.Consumers = r.Consumers[:n]
	}
	return r, t.complete(r.Consumers, fields)
}

// memoryFields are the footprint, and what is resident for the processes whose
// footprint the kernel does not tell.
func memoryFields(a Archive) *fieldMap {
	return mapFields(a, nil, []ProcessLevel{Footprint, Resident})
}

// topper adds up consumption.
type topper struct {
	a       Archive
	w       Window
	by      By
	group   Grouping
	groups  map[string]*Consumer
	order   []*Consumer
	of      map[*metric.Instance]*Consumer
	begins  map[[2]string]int64 // of each boot: the first instant that was recorded
	every   int64
	ranked  bool                      // memory has been added up already
	charged map[*metric.Instance]bool // whose footprint is known
}

// bounds moves the window's beginning to the last reading before it, and finds
// when each boot's recording began.
func (t *topper) bounds(w Window) error {
	from, to, list := Covered(t.a, w)
	if len(list) == 0 {
		return fmt.Errorf("nothing was recorded in this window")
	}
	t.w = Window{Hosts: w.Hosts, From: max(from, w.From), To: to}
	if w.To != 0 {
		t.w.To = min(to, w.To)
	}
	if w.From > from {
		tick, err := lastProcessTick(t.a, w, w.From)
		if err != nil {
			return err
		}
		if tick != 0 {
			t.w.From = tick
		}
	}
	t.begins = make(map[[2]string]int64)
	for _, info := range t.a.Archives() {
		key := [2]string{info.Host.ID, info.BootID}
		if at, ok := t.begins[key]; !ok || info.From < at {
			t.begins[key] = info.From
		}
		if iv := info.Intervals[metric.Process]; iv > 0 && iv < int64(metric.Once) {
			t.every = iv
		}
	}
	if t.every == 0 {
		t.every = int64(metric.Process.Interval())
	}
	return nil
}

// lastProcessTick is the last reading of processes not after at; the window's
// totals begin there. It does not look far: after a gap the window begins
// where it was said to.
func lastProcessTick(a Archive, w Window, at int64) (int64, error) {
	table := processTable(a)
	if len(table.fields.names) == 0 {
		return 0, nil
	}
	every := int64(metric.Process.Interval())
	for _, info := range a.Archives() {
		if iv := info.Intervals[metric.Process]; w.Wants(info.Host.ID) && iv > 0 && iv < int64(metric.Once) {
			every = iv
		}
	}
	var tick int64
	sel := Window{Hosts: w.Hosts, From: at - missedTicks*every, To: at}.Selection(table.fields.names[0])
	for run, err := range a.Select(sel) {
		if err != nil {
			return 0, err
		}
		tick = max(tick, run.Wall[len(run.Wall)-1])
	}
	return tick, nil
}

// add sums up the fields of all processes, or of those that belong to only.
func (t *topper) add(fields *fieldMap, only map[*metric.Instance]*Consumer) error {
	sel := t.w.Selection(fields.names...)
	if only != nil {
		keys := make(map[string]bool, len(only))
		for in := range only {
			keys[in.Key] = true
		}
		sel.Instance = func(_ string, in *metric.Instance) bool { return keys[in.Key] }
	}
	j := joiner{}
	if _, _, list := Covered(t.a, t.w); len(list) > 1 {
		j.ends = make(map[joinKey]store.Point)
	}
	for s, err := range t.a.Summarize(sel) {
		if err != nil {
			return err
		}
		if s.Instance == nil || s.Count == 0 || only != nil && only[s.Instance] == nil {
			continue
		}
		c := t.consumer(s)
		c.From, c.To = min(c.From, s.First.Wall), max(c.To, s.Last.Wall)
		if f, ok := fields.counters[s.Metric.Name]; ok {
			t.counter(c, f, s, &j)
			continue
		}
		if only != nil {
			t.ending(c, fields.levels[s.Metric.Name], s)
		}
		if f := fields.levels[s.Metric.Name]; !t.ranked && (f == Footprint || f == Resident && !t.charged[s.Instance]) {
			// Footprints come first: metrics come in the order of their names.
			if f == Footprint {
				t.charged[s.Instance] = true
			}
			t.level(c, s)
		}
	}
	return nil
}

func (t *topper) consumer(s *store.Summary) *Consumer {
	if c := t.of[s.Instance]; c != nil {
		return c
	}
	name, key := t.nameOf(s)
	c := t.groups[key]
	if c == nil {
		c = &Consumer{Archive: s.Archive, Name: name, Instance: s.Instance, From: s.First.Wall, To: s.Last.Wall,
			Start: started(s.Instance), Gains: noCounters(), Mean: math.NaN(), Peak: math.NaN(), Resident: math.NaN(), Virtual: math.NaN(), members: make(map[*metric.Instance]bool)}
		t.groups[key] = c
		t.order = append(t.order, c)
	}
	c.Count++
	c.members[s.Instance] = true
	t.of[s.Instance] = c
	return c
}

func (t *topper) nameOf(s *store.Summary) (name, key string) {
	in := s.Instance
	host := s.Archive.Host.ID + "/"
	switch t.group {
	case PerName:
		name = ProcessName(in)
		return name, host + name
	case PerUser:
		name = in.Label("uid")
		if name == "" {
			name = "?"
		}
		return name, host + name
	case PerParent:
		name = in.Label("parent")
		return name, host + s.Archive.BootID + "/" + name
	}
	return ProcessName(in), host + s.Archive.BootID + "/" + in.Key
}

// counter adds a counter's gain. Pieces of the same process are joined; a
// process that was not there at the reading before began in the window, and
// all that its counters show is its own.
func (t *topper) counter(c *Consumer, f ProcessCounter, s *store.Summary, j *joiner) {
	unit := base(s.Metric.Units)
	gain := s.Increase
	if prev, ok := j.join(s); ok {
		inc, _ := metric.Increase(s.Metric, prev.Bits, s.First.Bits)
		gain += inc
	} else if t.born(s) {
		gain += metric.Number(s.Metric.Type, s.First.Bits)
	}
	c.Gains[f] = sum(c.Gains[f], gain*unit)
}

// joiner remembers where the last summary of a series ended. Pieces of one
// archive follow each other; only those of several need to be kept for all
// series.
type joiner struct {
	in   *metric.Instance
	name string
	end  store.Point
	ends map[joinKey]store.Point
}

type joinKey struct {
	in   *metric.Instance
	name string
}

func (j *joiner) join(s *store.Summary) (store.Point, bool) {
	prev, ok := j.end, j.in == s.Instance && j.name == s.Metric.Name
	if j.ends != nil {
		key := joinKey{s.Instance, s.Metric.Name}
		prev, ok = j.ends[key]
		j.ends[key] = s.Last
	}
	j.in, j.name, j.end = s.Instance, s.Metric.Name, s.Last
	return prev, ok
}

// born reports whether the process began after the window did: the recording
// of its boot had begun before it was first seen, and it was not there then.
func (t *topper) born(s *store.Summary) bool {
	if at := started(s.Instance); at != 0 {
		return at >= t.w.From
	}
	begin := max(t.begins[[2]string{s.Archive.Host.ID, s.Archive.BootID}], t.w.From)
	return s.First.Wall > begin+t.every/2
}

func (t *topper) level(c *Consumer, s *store.Summary) {
	unit := base(s.Metric.Units)
	peak := metric.Number(s.Metric.Type, s.Max) * unit
	if c.Peak != c.Peak || peak > c.Peak {
		c.Peak = peak
	}
	first := metric.Number(s.Metric.Type, s.First.Bits)
	// The first value stands for the interval before it.
	c.weight += (s.Weighted + first*float64(t.every)/1e9) * unit
	c.seconds += float64(s.Last.Cont-s.First.Cont+t.every) / 1e9
}

// ending notes what was held at the end.
func (t *topper) ending(c *Consumer, f ProcessLevel, s *store.Summary) {
	x := metric.Number(s.Metric.Type, s.Last.Bits) * base(s.Metric.Units)
	to := &c.Resident
	switch f {
	case Virtual:
		to = &c.Virtual
	case Resident:
	default:
		return
	}
	switch {
	case t.group == PerProcess:
		*to = x
	case s.Last.Wall >= t.w.To-t.every-t.every/2:
		*to = sum(*to, x)
	}
}

// average works out what a process held while it lived, or what a group held
// together over the window.
func (t *topper) average(c *Consumer) {
	if c.seconds == 0 {
		return
	}
	if t.group == PerProcess {
		c.Mean = c.weight / c.seconds
		return
	}
	seconds := float64(t.w.To-t.w.From+t.every) / 1e9
	c.Mean = c.weight / seconds
	c.Peak = max(c.Peak, c.Mean)
}

// complete fills in the other fields of the consumers that are shown.
func (t *topper) complete(list []*Consumer, done *fieldMap) error {
	only := make(map[*metric.Instance]*Consumer)
	for _, c := range list {
		for in := range c.members {
			only[in] = c
		}
	}
	if len(only) == 0 {
		return nil
	}
	t.ranked = t.by == ByMemory
	rest := mapFields(t.a, allCounters(), []ProcessLevel{Footprint, Resident, Virtual})
	rest.names = slices.DeleteFunc(rest.names, func(name string) bool {
		_, counted := done.counters[name]
		return counted
	})
	if len(rest.names) > 0 {
		if err := t.add(rest, only); err != nil {
			return err
		}
	}
	for _, c := range list {
		t.average(c)
	}
	return t.identify(list)
}

// identify names the users, and the parents that groups are called after.
func (t *topper) identify(list []*Consumer) error {
	wanted := make(map[string][]*Consumer)
	for _, c := range list {
		wanted[c.Instance.Key] = append(wanted[c.Instance.Key], c)
	}
	sel := t.w.Selection(userMetric)
	sel.Instance = func(_ string, in *metric.Instance) bool { return wanted[in.Key] != nil }
	for run, err := range t.a.Select(sel) {
		if err != nil {
			return err
		}
		for _, c := range wanted[run.Instance.Key] {
			if c.Count > 1 && t.group != PerUser {
				continue // They may be of several users.
			}
			if i := len(run.Strs) - 1; c.Instance == run.Instance && (run.Miss == nil || run.Miss[i] == metric.Present) {
				c.User = run.Strs[i]
			}
		}
	}
	switch t.group {
	case PerUser:
		for _, c := range list {
			if c.User != "" {
				c.Name = c.User
			}
		}
	case PerParent:
		return t.nameParents(list)
	}
	return nil
}

func (t *topper) nameParents(list []*Consumer) error {
	names := make(map[string]string)
	for _, c := range list {
		names[c.Name] = ""
	}
	for l, err := range t.a.Lives("process", 0, t.w.To) {
		if err != nil {
			return err
		}
		if _, ok := names[l.Instance.Key]; ok {
			names[l.Instance.Key] = l.Instance.Name
		}
	}
	for _, c := range list {
		switch n := names[c.Name]; {
		case n != "":
			c.Name = n
		case c.Name == "":
			c.Name = "(no parent)"
		default:
			c.Name = "(process " + c.Name + ")"
		}
	}
	return nil
}
