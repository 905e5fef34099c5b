package query

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"tachograph/sample/metric"
	"tachograph/store"
)

// By is the quantity that consumers are ranked by.
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
	ByNet     By = "net" // bytes received and sent
)

// Bys are all rankings.
var Bys = []By{ByCPU, ByMemory, ByRead, ByWrite, ByEnergy, ByWakeups, ByFaults, ByNet, ByRuns}

var byCounters = map[By][]ProcessCounter{
	ByCPU: {UserTime, SystemTime}, ByRead: {ReadBytes}, ByWrite: {WrittenBytes}, ByEnergy: {Energy},
	ByWakeups: {InterruptWakeups, IdleWakeups}, ByFaults: {Faults, MajorFaults},
	ByRuns: {UserTime, SystemTime}, // all processes have these
	ByNet:  {NetIn, NetOut}, ByNetIn: {NetIn}, ByNetOut: {NetOut}, ByNetRetrans: {NetRetrans}, ByNetOpened: {NetOpened},
}

// Consumer is what a process, or a group of them, used over a window.
type Consumer struct {
	Archive *store.ArchiveInfo
	// Name is the group's, or the process's.
	Name string
	// Owned is the kind of owner that a group of an owner's processes belongs to; "" if it is no such group.
	Owned string
	// Instance is the process, or one process of the group.
	Instance *metric.Instance
	Count    int // processes that took part
	Runs     int // of them, those that began in the window
	// From and To are the first and the last instant at which the processes were seen.
	From, To int64
	User     string
	Start    int64
	// Gains are what the counters grew by; NaN where unknown.
	Gains [NumProcessCounters]float64
	// Mean is the memory over the window: for a process the mean while it lived, for a group what
	// its processes together held on average. Peak is the largest that a single process was seen
	// to hold.
	Mean, Peak float64
	// Resident and Virtual are what was held at the end of the window; for a process that had
	// ended, what it held last.
	Resident, Virtual float64
	// Connections are those that were open at the end of the window; NaN if the question is not about the network.
	Connections     float64
	weight, seconds float64 // bytes times seconds, and seconds
	peaks           float64 // the sum of the peaks of crowds
	since           int64   // when Instance was first seen
}

// CPUTime returns the CPU time used, in seconds.
func (c *Consumer) CPUTime() float64 { return sum(c.Gains[UserTime], c.Gains[SystemTime]) }

// Wakeups returns how often the consumer woke the machine.
func (c *Consumer) Wakeups() float64 {
	return sum(c.Gains[InterruptWakeups], c.Gains[IdleWakeups])
}

// Amount returns the quantity that the consumer is ranked by.
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
	case ByNet:
		return sum(c.Gains[NetIn], c.Gains[NetOut])
	case ByNetConnections:
		return c.Connections
	}
	return c.Gains[byCounters[by][0]]
}

// Ranking lists the consumers that used most.
type Ranking struct {
	Consumers []*Consumer
	// From and To are the first and the last reading of the totals.
	From, To int64
	// Seconds is the time between them.
	Seconds float64
	// Total is the amount over all processes; N is how many there were.
	Total float64
	N     int
	own   map[string]float64 // by host: the seconds that its totals cover
}

// SecondsOf returns the seconds that a consumer's totals cover: the time recorded on its host,
// not on all hosts.
func (r *Ranking) SecondsOf(c *Consumer) float64 { return r.own[c.Archive.Host.ID] }

// CPU returns the share of one core that a consumer used.
func (r *Ranking) CPU(c *Consumer) float64 { return c.CPUTime() / r.SecondsOf(c) }

// add adds the totals of a topper's hosts.
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

// Top finds the n biggest consumers of a window by exact totals: how much the counters grew
// between the last reading before the window and the last one in it. For a process that began in
// the window, what it had already used when it was first seen counts as well. Each host is summed
// up separately: its readings, its time and what its kernel reports are its own.
func Top(a Archive, w Window, by By, group Grouping, n int) (*Ranking, error) {
	return TopOf(a, w, &Matcher{}, by, group, n)
}

// TopOf is like Top for the processes that m chooses. The totals are theirs.
func TopOf(a Archive, w Window, m *Matcher, by By, group Grouping, n int) (*Ranking, error) {
	fields := mapFields(a, byCounters[by], nil)
	if by == ByMemory {
		fields = mapFields(a, nil, []ProcessLevel{Footprint, Resident, Highest})
	}
	if len(fields.names) == 0 {
		return nil, fmt.Errorf("the archive does not hold what processes used of %s", by.Words())
	}
	r, hosts, err := (&question{m: m, fields: fields, by: by, group: group, n: n}).rank(a, w)
	if err != nil {
		return nil, err
	}
	for id, t := range hosts {
		t.complete(r.of(id), fields)
	}
	return r, nil
}

// A question asks for a ranking of the processes that m chooses, by what fields have.
type question struct {
	m      *Matcher
	fields *fieldMap
	by     By
	group  Grouping
	n      int
	net    bool // what all processes used together counts, too,
	open   bool // and how many connections they have
	last   bool // it is about the time between the last two readings in the window
}

// rank answers the question, and returns what added up the processes of each host. If no process is
// called as m says, those count whose names contain its words.
func (q *question) rank(a Archive, w Window) (*Ranking, map[string]*topper, error) {
	r, hosts, err := q.rankAs(a, w, false)
	if err == nil && r.N == 0 && q.m.loosens() {
		return q.rankAs(a, w, true)
	}
	return r, hosts, err
}

func (q *question) rankAs(a Archive, w Window, loose bool) (*Ranking, map[string]*topper, error) {
	m, by, group, n := q.m, q.by, q.group, q.n
	r := &Ranking{}
	hosts := make(map[string]*topper)
	for _, h := range a.Hosts() {
		one := Window{Hosts: []string{h.ID}, From: w.From, To: w.To}
		if _, _, list := Covered(a, one); !w.Wants(h.ID) || len(list) == 0 {
			continue
		}
		if q.last {
			one = lastInterval(a, one)
		}
		t := &topper{a: a, group: group, by: by, most: n, exact: make(map[totalsKey]bool)}
		if !m.All() {
			t.only = func(named, owned *metric.Instance) bool {
				return m.Owns(owned, loose) || m.Accept(ProcessID(named), ProcessName(named), loose)
			}
		}
		if err := t.bounds(one); err != nil {
			return nil, nil, err
		}
		if q.net {
			t.all = &Consumer{}
		}
		if q.open {
			t.connect()
		}
		single := group == PerProcess
		t.digested = group != PerParent && !(single && (n == 0 || by == ByRuns)) && len(m.pids) == 0
		for more := true; more; {
			t.add(q.fields, nil)
			more = single && t.digested && !t.enough()
		}
		if group == PerName {
			t.addCrowds()
		}
		r.add(t)
		r.Consumers = append(r.Consumers, t.ranked()...)
		hosts[h.ID] = t
	}
	if len(hosts) == 0 {
		return nil, nil, errNothing
	}
	if group.OfOwners() && !slices.ContainsFunc(r.Consumers, func(c *Consumer) bool { return group.key(c.Instance) != "" }) && !OwnersRecorded(a) {
		return nil, nil, ErrNoOwners
	}
	slices.SortStableFunc(r.Consumers, byAmount(by))
	if n > 0 && len(r.Consumers) > n {
		r.Consumers = r.Consumers[:n]
	}
	return r, hosts, nil
}

// of returns the consumers of a host.
func (r *Ranking) of(host string) (list []*Consumer) {
	for _, c := range r.Consumers {
		if c.Archive.Host.ID == host {
			list = append(list, c)
		}
	}
	return list
}

// TopNames ranks the processes of each name several ways at once: one pass over the archive for a
// page that shows more than one ranking. The consumers have CPU, memory, disk traffic and,
// if they are ranked by it, network traffic only.
func TopNames(a Archive, w Window, n int, bys ...By) ([]*Ranking, error) {
	return topGroups(a, w, PerName, n, bys...)
}

func topGroups(a Archive, w Window, group Grouping, n int, bys ...By) ([]*Ranking, error) {
	t := &topper{a: a, group: group, digested: true}
	if err := t.bounds(w); err != nil {
		return nil, err
	}
	counters := []ProcessCounter{UserTime, SystemTime, ReadBytes, WrittenBytes}
	if slices.Contains(bys, ByNet) {
		counters = append(counters, NetIn, NetOut)
	}
	fields := mapFields(a, counters, []ProcessLevel{Footprint, Resident, Highest})
	t.add(fields, nil)
	var out []*Ranking
	for _, by := range bys {
		r := &Ranking{}
		r.add(t)
		for _, c := range t.groups {
			if c.Amount(by) > 0 && (group != PerOwner || WhoseIs(c.Instance) != Whose{}) {
				r.Consumers = append(r.Consumers, c)
			}
		}
		slices.SortFunc(r.Consumers, byAmount(by))
		for _, c := range r.Consumers { // in their order, on which the last digits of a sum depend
			r.Total += c.Amount(by)
		}
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
	rest := mapFields(t.a, allCounters(), []ProcessLevel{Footprint, Resident, Highest})
	rest.names = slices.DeleteFunc(rest.names, func(name string) bool {
		_, counted := done.counts(name)
		return counted
	})
	more := &topper{a: t.a, group: t.group, only: t.only, w: t.w, own: t.own, begins: t.begins, every: t.every, digested: t.digested, exact: t.exact}
	shown := make(map[groupKey]*Consumer)
	var keys []string
	for _, c := range list {
		shown[t.keyOf(c.Archive, c.Instance)] = c
		keys = append(keys, c.Instance.Key)
	}
	if t.group != PerProcess {
		keys = nil // A group's processes are found by what they were called first, not by keys.
	}
	more.add(rest, keys)
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
		c.Mean, c.Peak, c.Resident = m.Mean, m.Peak, m.Resident
		c.From, c.To = min(c.From, m.From), max(c.To, m.To)
	}
	t.virtual(list)
	t.identify(list)
}

// lately is how many intervals before a process's last reading suffice to find its last values.
const lately = 5

// atEnd passes the last values of metrics to take: for processes from about when each was last
// seen, for groups from the end of the window.
func (t *topper) atEnd(list []*Consumer, names []string, take func(*store.Run)) {
	if len(names) == 0 {
		return
	}
	sel := t.w.Selection(names...)
	if t.group != PerProcess {
		if t.only != nil {
			sel.Instance = func(_ string, in *metric.Instance) bool { return t.only(in, in) }
		}
		sel.From = t.w.To - t.every - t.every/2
		for run := range t.a.Select(sel) {
			take(run)
		}
		return
	}
	list = slices.SortedFunc(slices.Values(list), func(x, y *Consumer) int { return cmp.Compare(y.To, x.To) })
	for len(list) > 0 {
		// What ended about the same time is in the same chunks.
		n := 1
		for n < len(list) && list[0].To-list[n].To < int64(time.Hour) {
			n++
		}
		sel.From, sel.To, sel.Keys = list[n-1].To-lately*t.every, list[0].To, nil
		for _, c := range list[:n] {
			sel.Keys = append(sel.Keys, c.Instance.Key)
		}
		for run := range t.a.Select(sel) {
			take(run)
		}
		list = list[n:]
	}
}

// virtual fills in the size of the mapped memory.
func (t *topper) virtual(list []*Consumer) {
	fields := mapFields(t.a, nil, []ProcessLevel{Virtual})
	shown := make(map[groupKey]*Consumer)
	for _, c := range list {
		shown[t.keyOf(c.Archive, c.Instance)] = c
	}
	t.atEnd(list, fields.names, func(run *store.Run) {
		c := shown[t.keyOf(run.Archive, run.Instance)]
		if _, ok := fields.level(run.Archive, run.Metric.Name); !ok || c == nil {
			return
		}
		i := len(run.Wall) - 1
		for i >= 0 && run.Miss != nil && run.Miss[i] != metric.Present {
			i--
		}
		if i < 0 || i < len(run.Wall)-1 && t.group == PerProcess && run.Archive.Step != 0 {
			return // It ended within a step, which does not show what it held at its end.
		}
		x := metric.Number(run.Metric.Type, run.Bits[i]) * base(run.Metric.Units)
		if t.group == PerProcess {
			c.Virtual = x
		} else if t.held(run.Wall[i]) {
			c.Virtual = sum(c.Virtual, x)
		}
	})
}

// identify fills in the users, and names groups after users or parents.
func (t *topper) identify(list []*Consumer) {
	wanted := make(map[string][]*Consumer)
	for _, c := range list {
		wanted[c.Instance.Key] = append(wanted[c.Instance.Key], c)
	}
	take := func(run *store.Run) {
		for _, c := range wanted[run.Instance.Key] {
			if c.Count > 1 && t.group != PerUser {
				continue // They may belong to several users.
			}
			i := len(run.Wall) - 1
			if c.Archive.BootID == run.Archive.BootID && (run.Miss == nil || run.Miss[i] == metric.Present) {
				c.User = run.Word(i)
			}
		}
	}
	if t.group == PerProcess {
		t.atEnd(list, []string{userMetric}, take)
	}
	sel := t.w.Selection(userMetric)
	for _, c := range list {
		if c.User == "" {
			sel.Keys = append(sel.Keys, c.Instance.Key)
		}
	}
	if sel.Keys != nil {
		for run := range t.a.Select(sel) {
			take(run)
		}
	}
	switch t.group {
	default:
		for _, c := range list {
			c.Owned, c.Name = t.group.name(c.Instance)
		}
	case PerProcess, PerName:
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

// lastProcessTick returns the time of the last reading of processes not after at; the window's
// totals begin there. It does not look far: after a gap the window begins where the caller asked.
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
	return a.LastRead(Window{Hosts: w.Hosts, From: at - missedTicks*every, To: at}.Selection(names[0]))
}

// firstProcessTick returns when processes were first read in an archive. In an archive that
// another program made this may be long after the first readings of other metrics. It returns the
// archive's beginning if they were read at once, or never.
func firstProcessTick(a Archive, info *store.ArchiveInfo, every int64) int64 {
	names := mapFields(a, allCounters(), nil).names
	if len(names) == 0 {
		return info.From
	}
	until := func(to int64) int64 {
		return a.LastRead(Window{Hosts: []string{info.Host.ID}, From: info.From, To: to}.Selection(names[0]))
	}
	if info.To-info.From <= every/2 || until(info.From+every/2) != 0 {
		return info.From
	}
	for on := every; ; on *= 2 {
		to := info.To
		if on < farLook && info.To-info.From > on {
			to = info.From + on
		}
		first := until(to)
		for at := first; at != 0; at = until(at - 1) {
			first = at
		}
		switch {
		case first != 0:
			return first
		case to == info.To:
			return info.From
		}
	}
}

// byAmount sorts the biggest first.
func byAmount(by By) func(x, y *Consumer) int {
	return func(x, y *Consumer) int {
		xa, ya := x.Amount(by), y.Amount(by)
		if xa != xa || ya != ya {
			return boolOrder(xa != xa, ya != ya)
		}
		return cmp.Or(cmp.Compare(ya, xa), cmp.Compare(x.From, y.From), cmp.Compare(x.Name, y.Name), cmp.Compare(x.Instance.Key, y.Instance.Key))
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
