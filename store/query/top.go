package query

import (
	"cmp"
	"fmt"
	"maps"
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
	ByRuns    By = "runs"
)

// Bys are all of them.
var Bys = []By{ByCPU, ByMemory, ByRead, ByWrite, ByEnergy, ByWakeups, ByFaults, ByRuns}

var byCounters = map[By][]ProcessCounter{
	ByCPU: {UserTime, SystemTime}, ByRead: {ReadBytes}, ByWrite: {WrittenBytes}, ByEnergy: {Energy},
	ByWakeups: {InterruptWakeups, IdleWakeups}, ByFaults: {Faults, MajorFaults},
	ByRuns: {UserTime, SystemTime}, // whatever every process has
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
	Runs     int // of them, those that began in the window
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
	switch by {
	case ByMemory:
		return c.Peak
	case ByCPU:
		return c.CPUTime()
	case ByWakeups:
		return c.Wakeups()
	case ByFaults:
		return sum(c.Gains[Faults], c.Gains[MajorFaults])
	case ByRuns:
		return float64(c.Runs)
	}
	return c.Gains[byCounters[by][0]]
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
	own   map[string]float64 // of each host: the seconds its totals are over
}

// SecondsOf is the time that a consumer's totals are over: what was recorded of
// its host, not of all.
func (r *Ranking) SecondsOf(c *Consumer) float64 { return r.own[c.Archive.Host.ID] }

// CPU is the share of one core that a consumer used.
func (r *Ranking) CPU(c *Consumer) float64 { return c.CPUTime() / r.SecondsOf(c) }

// add brings in the totals of some hosts.
func (r *Ranking) add(t *topper) {
	if r.own == nil {
		r.own = make(map[string]float64)
	}
	maps.Copy(r.own, t.own)
	if r.From == 0 || t.w.From < r.From {
		r.From = t.w.From
	}
	r.To = max(r.To, t.w.To)
	r.Seconds = float64(r.To-r.From) / 1e9
	r.Total += t.total
	r.N += t.count
}

// Top finds the n biggest consumers of a window by exact totals: what the
// counters grew by between the last reading before the window and the last one
// in it. What a process that began in the window had already used when it was
// first seen counts as well. Each host is summed up by itself: its readings,
// its time and what its kernel tells are its own.
func Top(a Archive, w Window, by By, group Grouping, n int) (*Ranking, error) {
	fields := mapFields(a, byCounters[by], nil)
	if by == ByMemory {
		fields = mapFields(a, nil, []ProcessLevel{Footprint, Resident, Highest})
	}
	if len(fields.names) == 0 {
		return nil, fmt.Errorf("the archive does not hold what processes used of %s", by)
	}
	r := &Ranking{}
	hosts := make(map[string]*topper)
	for _, h := range a.Hosts() {
		one := Window{Hosts: []string{h.ID}, From: w.From, To: w.To}
		if _, _, list := Covered(a, one); !w.Wants(h.ID) || len(list) == 0 {
			continue
		}
		t := &topper{a: a, group: group, by: by, most: n}
		if err := t.bounds(one); err != nil {
			return nil, err
		}
		t.add(fields, nil, nil)
		if group == PerName {
			t.addCrowds()
		}
		r.add(t)
		r.Consumers = append(r.Consumers, t.ranked()...)
		hosts[h.ID] = t
	}
	if len(hosts) == 0 {
		return nil, errNothing
	}
	slices.SortStableFunc(r.Consumers, byAmount(by))
	if n > 0 && len(r.Consumers) > n {
		r.Consumers = r.Consumers[:n]
	}
	for id, t := range hosts {
		var shown []*Consumer
		for _, c := range r.Consumers {
			if c.Archive.Host.ID == id {
				shown = append(shown, c)
			}
		}
		t.complete(shown, fields)
	}
	return r, nil
}

// TopNames ranks the processes of each name several ways at once: one pass over
// the archive for a page that shows more than one ranking. The consumers have
// CPU, memory and disk traffic only.
func TopNames(a Archive, w Window, n int, bys ...By) ([]*Ranking, error) {
	t := &topper{a: a, group: PerName}
	if err := t.bounds(w); err != nil {
		return nil, err
	}
	fields := mapFields(a, []ProcessCounter{UserTime, SystemTime, ReadBytes, WrittenBytes}, []ProcessLevel{Footprint, Resident, Highest})
	t.add(fields, nil, nil)
	var out []*Ranking
	for _, by := range bys {
		r := &Ranking{}
		r.add(t)
		for _, c := range t.groups {
			if x := c.Amount(by); x > 0 {
				r.Total += x
				r.Consumers = append(r.Consumers, c)
			}
		}
		slices.SortFunc(r.Consumers, byAmount(by))
		r.Consumers = r.Consumers[:min(n, len(r.Consumers))]
		out = append(out, r)
	}
	return out, nil
}

// complete fills in the other fields of the consumers that are shown.
func (t *topper) complete(list []*Consumer, done *fieldMap) {
	if len(list) == 0 {
		return
	}
	rest := mapFields(t.a, allCounters(), []ProcessLevel{Footprint, Resident, Virtual, Highest})
	rest.names = slices.DeleteFunc(rest.names, func(name string) bool {
		_, counted := done.counts(name)
		return counted
	})
	more := &topper{a: t.a, group: t.group, w: t.w, own: t.own, begins: t.begins, every: t.every}
	shown := make(map[groupKey]*Consumer)
	var keys []string
	for _, c := range list {
		shown[t.keyOf(c.Archive, c.Instance)] = c
		keys = append(keys, c.Instance.Key)
	}
	var keep func(string, *metric.Instance) bool
	if t.group != PerProcess {
		keys = nil
		keep = func(_ string, in *metric.Instance) bool {
			for k := range shown {
				if t.of(in) == k.name {
					return true
				}
			}
			return false
		}
	}
	more.add(rest, keys, keep)
	for k, m := range more.groups {
		c := shown[k]
		if c == nil {
			continue
		}
		for f, gain := range m.Gains {
			if gain == gain {
				c.Gains[f] = gain
			}
		}
		c.Mean, c.Peak, c.Resident, c.Virtual = m.Mean, m.Peak, m.Resident, m.Virtual
		c.From, c.To = min(c.From, m.From), max(c.To, m.To)
	}
	t.identify(list)
}

// identify names the users, and the parents that groups are called after.
func (t *topper) identify(list []*Consumer) {
	wanted := make(map[string][]*Consumer)
	var keys []string
	for _, c := range list {
		wanted[c.Instance.Key] = append(wanted[c.Instance.Key], c)
		keys = append(keys, c.Instance.Key)
	}
	sel := t.w.Selection(userMetric)
	sel.Keys = keys
	for run := range t.a.Select(sel) {
		for _, c := range wanted[run.Instance.Key] {
			if c.Count > 1 && t.group != PerUser {
				continue // They may be of several users.
			}
			i := len(run.Wall) - 1
			if c.Archive.BootID == run.Archive.BootID && (run.Miss == nil || run.Miss[i] == metric.Present) {
				c.User = run.Word(i)
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
		t.nameParents(list)
	}
}

func (t *topper) nameParents(list []*Consumer) {
	names := make(map[string]string)
	for _, c := range list {
		names[c.Name] = ""
	}
	for l := range t.a.Lives("process", t.w.From, t.w.To) {
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
}

// lastProcessTick is the last reading of processes not after at; the window's
// totals begin there. It does not look far: after a gap the window begins
// where it was said to.
func lastProcessTick(a Archive, w Window, at int64) int64 {
	names := mapFields(a, allCounters(), nil).names
	if len(names) == 0 {
		return 0
	}
	every := int64(metric.Process.Interval())
	for _, info := range a.Archives() {
		if iv := interval(info, metric.Process); w.Wants(info.Host.ID) && iv > 0 {
			every = iv
		}
	}
	var tick int64
	sel := Window{Hosts: w.Hosts, From: at - missedTicks*every, To: at}.Selection(names[0])
	for summaries := range byChunk(a, sel) {
		for i := range summaries {
			tick = max(tick, summaries[i].Last.Wall)
		}
	}
	return tick
}

// byAmount puts the biggest first.
func byAmount(by By) func(x, y *Consumer) int {
	return func(x, y *Consumer) int {
		xa, ya := x.Amount(by), y.Amount(by)
		if xa != xa || ya != ya {
			return boolOrder(xa != xa, ya != ya)
		}
		return cmp.Or(cmp.Compare(ya, xa), cmp.Compare(x.From, y.From), cmp.Compare(x.Name, y.Name))
	}
}

func boolOrder(x, y bool) int {
	switch {
	case x == y:
		return 0
	case x:
		return 1
	}
	return -1
}

var unknown = math.NaN()
