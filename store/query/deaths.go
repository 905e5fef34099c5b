package query

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"tachograph/sample/metric"
	"tachograph/store"
)

const (
	// mostDeaths bounds the ends, and what the system said about them, that are examined: the
	// latest.
	mostDeaths = 20_000
	// sameDeath is how far apart what is said about one death may be: a report is written after
	// the end, and the end of a process may be noticed late.
	sameDeath = int64(time.Minute)
)

// Deaths are the deaths of a window, the latest first.
type Deaths struct {
	List []*Death
	// Others counts the processes that ended by a signal that somebody sent, or with an error that
	// they may have ended with on purpose.
	Others int
	// Missed says that there were too many ends to examine all of them.
	Missed bool
}

// DeathsIn finds who died in a window. All of them are wanted if all is set: also those ended by a
// signal that others send, or with an error that need not mean trouble, and each death in a crash
// loop.
func DeathsIn(a Archive, w Window, all bool) *Deaths {
	c := newCoroner(a, w)
	said, memory := c.words()
	c.ends(said)
	c.meet()
	c.joinAll(said, memory)
	var loops []*Runs
	if !all {
		loops = CrashLoops(a, w)
	}
	c.out.List = slices.DeleteFunc(c.list, func(d *Death) bool {
		d.sort()
		if !w.Holds(d.At) || d.Kind() == DeathExit && !Failed(d.how()) && len(d.Said) == 0 {
			return true
		}
		if all || c.grave(d) {
			return false
		}
		if !slices.ContainsFunc(loops, d.in) {
			c.out.Others++
		}
		return true
	})
	c.out.gather(loops)
	slices.SortStableFunc(c.out.List, func(x, y *Death) int {
		return cmp.Or(cmp.Compare(y.At, x.At), cmp.Compare(x.Name(), y.Name()), cmp.Compare(x.PID(), y.PID()))
	})
	return &c.out
}

// coroner joins what was recorded about deaths.
type coroner struct {
	a       Archive
	w, wide Window
	out     Deaths
	list    []*Death
	ended   bool // the ends of processes are among them
	// The deaths of processes with a key, with a number, and of services; the keys begin with the
	// host.
	byKey         map[string]*Death
	byPID, byUnit map[string][]*Death
	killed        map[string][]*Death // on a host, and there in a service or a control group
	parents       map[string]*metric.Instance
}

func newCoroner(a Archive, w Window) *coroner {
	c := &coroner{a: a, w: w, wide: w, byKey: make(map[string]*Death), byPID: make(map[string][]*Death), byUnit: make(map[string][]*Death), killed: make(map[string][]*Death)}
	c.wide.From -= sameDeath
	if w.To != 0 {
		c.wide.To += sameDeath
	}
	return c
}

// words returns what the system said about deaths, and its counts of processes killed for want of
// memory.
func (c *coroner) words() (said, memory []*store.Event) {
	for e := range SortedEvents(c.a, c.wide, metric.EventCrash, metric.EventKill, metric.EventService, metric.EventMemory) {
		switch {
		case e.Label("source") == "report" && e.Label("rule") == "fault": // the process lives on
		case e.Kind != metric.EventMemory:
			said = c.latest(append(said, e))
		case Killing(e):
			memory = c.latest(append(memory, e))
		}
	}
	return said, memory
}

// latest drops the older half of a list that is too long.
func (c *coroner) latest(list []*store.Event) []*store.Event {
	if len(list) < 2*mostDeaths {
		return list
	}
	c.out.Missed = true
	return append(list[:0], list[mostDeaths:]...)
}

// ends collects the ends that may be deaths: those that failed, and those that the system said
// something about.
func (c *coroner) ends(said []*store.Event) {
	c.ended = true
	meant := make(map[string]bool)
	for _, e := range said {
		if pid := e.Label("pid"); pid != "" {
			meant[hostOf(e)+pid] = true
		}
		if e.Key != "" {
			meant[keyAt(e)] = true
		}
	}
	var list []*store.Event
	for e := range SortedEvents(c.a, c.wide, metric.EventProcessExit) {
		how := e.Label("how")
		if how == "exit 0" || how == "" && e.Label("cause") == "" {
			if !meant[hostOf(e)+e.Label("pid")] && !meant[keyAt(e)] {
				continue
			}
		}
		list = c.latest(append(list, e))
	}
	for _, e := range list {
		d := &Death{Archive: e.Archive, At: e.At.Wall, Exit: e, Instance: &metric.Instance{Key: e.Key, Name: e.Label("name"), Labels: e.Labels}}
		c.add(d, e)
	}
}

func hostOf(e *store.Event) string { return e.Archive.Host.ID + "\x00" }

// keyAt identifies the process of an event: keys are of one boot.
func keyAt(e *store.Event) string { return hostOf(e) + e.Archive.BootID + "\x00" + e.Key }

func (c *coroner) add(d *Death, e *store.Event) {
	c.list = append(c.list, d)
	if e.Key != "" {
		c.byKey[keyAt(e)] = d
	}
	if pid := e.Label("pid"); pid != "" {
		insert(c.byPID, hostOf(e)+pid, d)
	}
}

// meet gives the dead their instances, with their owners, where they were recorded.
func (c *coroner) meet() {
	keys := make(map[string]bool)
	for _, d := range c.list {
		if d.Instance.Key != "" {
			keys[d.Instance.Key] = true
		}
	}
	parents := make(map[string]bool)
	c.lives(keys, func(life *store.Life, key string) {
		if d := c.byKey[key]; d != nil {
			d.Instance = life.Instance
			parents[life.Instance.Label("parent")] = true
		}
	})
	c.parents = make(map[string]*metric.Instance)
	delete(parents, "")
	c.lives(parents, func(life *store.Life, key string) { c.parents[key] = life.Instance })
	for _, d := range c.list {
		if unit := d.Instance.Label(metric.OwnerService); unit != "" {
			insert(c.byUnit, d.Archive.Host.ID+"\x00"+unit, d)
		}
	}
}

// lives calls fn with the lives of processes that have some of the keys.
func (c *coroner) lives(keys map[string]bool, fn func(life *store.Life, key string)) {
	if len(keys) == 0 {
		return
	}
	list := make([]string, 0, len(keys))
	for k := range keys {
		list = append(list, k)
	}
	slices.Sort(list)
	for life := range c.a.Lives("process", c.wide.From-endSeen, c.wide.To, list...) {
		if c.w.Wants(life.Archive.Host.ID) {
			fn(life, life.Archive.Host.ID+"\x00"+life.Archive.BootID+"\x00"+life.Instance.Key)
		}
	}
}

// join adds what the system said to the death that it is about, or makes one of it.
func (c *coroner) join(e *store.Event) {
	unit, pid := e.Label("unit"), e.Label("pid")
	if e.Kind == metric.EventService && (unit == "" || healthy(e.Label("result"))) {
		if unit == "" || e.Label("restarts") == "" {
			return
		}
		// A restart is said after the end that is its cause.
		if d := nearest(c.byUnit[hostOf(e)+unit], e); d != nil {
			d.Said = append(d.Said, e)
		}
		return
	}
	d := c.byKey[keyAt(e)]
	if e.Key == "" || d == nil {
		d = nearest(c.byPID[hostOf(e)+pid], e)
		if pid == "" {
			d = nil
		}
	}
	if d == nil && e.Kind == metric.EventKill && unit != "" {
		d = nearest(c.killed[hostOf(e)+unit], e)
	}
	if d == nil && unit != "" && e.Kind != metric.EventCrash {
		d = nearest(c.byUnit[hostOf(e)+unit], e)
	}
	if d == nil {
		d = &Death{Archive: e.Archive, At: e.At.Wall, Instance: &metric.Instance{Key: e.Key, Name: e.Label("name"), Labels: e.Labels}}
		c.add(d, e)
		if unit != "" {
			insert(c.byUnit, hostOf(e)+unit, d)
		}
	}
	c.kills(d, e)
	d.Said = append(d.Said, e)
}

// healthy reports whether a service with this result did not die.
func healthy(result string) bool {
	return slices.Contains([]string{"", "done", "success", "dependency", "skipped", "canceled"}, result)
}

// insert adds a death to those under a key, in the order of time.
func insert(lists map[string][]*Death, key string, d *Death) {
	list := lists[key]
	i, _ := slices.BinarySearchFunc(list, d.At+1, byTime)
	lists[key] = slices.Insert(list, i, d)
}

func byTime(d *Death, at int64) int { return cmp.Compare(d.At, at) }

// nearest returns the death next to what the system said, nil if none is near.
func nearest(list []*Death, e *store.Event) (found *Death) {
	at := e.At.Wall
	i, _ := slices.BinarySearchFunc(list, at, byTime)
	best := sameDeath + 1
	before, after := list[max(i-mostNamesakes, 0):i], list[i:min(i+mostNamesakes, len(list))]
	for _, d := range slices.Concat(before, after) {
		if off := max(d.At-at, at-d.At); off < best && d.beganAs(e) {
			found, best = d, off
		}
	}
	return found
}

const (
	// mostNamesakes is how many deaths with one pid, before and after an instant, are looked at.
	mostNamesakes = 8
	// sameStart is how far apart what is said of the start of one process may be.
	sameStart = time.Second
)

// beganAs reports whether the process may have begun when the system says that it did: pids are
// used again.
func (d *Death) beganAs(e *store.Event) bool {
	said, err := time.Parse(time.RFC3339Nano, e.Label("start"))
	began := d.Instance.Began()
	return err != nil || began == 0 || time.Duration(said.UnixNano()-began).Abs() <= sameStart
}

// bereave adds the kernel's count of kills to the deaths of its victims, where the kernel named
// them, or else to those that it is clear were.
func (c *coroner) bereave(e *store.Event) {
	if d := c.counted(e); d != nil {
		d.Said = append(d.Said, e)
		return
	}
	if !c.ended {
		return
	}
	victims, told := Victims(c.a, e)
	if !told {
		return
	}
	for _, v := range victims {
		if d := c.byKey[keyAt(v)]; d != nil {
			d.Said = append(d.Said, e)
		}
	}
}

// grave reports whether a death means trouble for sure: a crash, a kill by the system, or that a
// service, a container or an app ended with an error.
func (c *coroner) grave(d *Death) bool {
	switch d.Kind() {
	case DeathCrash, DeathKill, DeathFailure:
		return true
	}
	return len(d.Said) > 0 || Failed(d.how()) && strings.HasPrefix(d.how(), "exit ") && c.main(d)
}

// main reports whether a process was the one that its owner began with: what a service started
// itself may say no by ending with an error, as grep and test do.
func (c *coroner) main(d *Death) bool {
	whose := d.Whose()
	switch whose.Kind {
	case metric.OwnerService, metric.OwnerContainer, metric.OwnerPod, metric.OwnerApp:
	default:
		return false
	}
	parent := d.Instance.Label("parent")
	if parent == "" && d.Exit != nil {
		parent = d.Exit.Label("parent")
	}
	in := c.parents[d.Archive.Host.ID+"\x00"+d.Archive.BootID+"\x00"+parent]
	return in != nil && WhoseIs(in) != whose
}

// in reports whether a death is one of a crash loop.
func (d *Death) in(r *Runs) bool {
	return d.Archive.Host.ID == r.Archive.Host.ID && d.Name() == r.Name && d.At >= r.First && d.At <= r.Last+sameDeath
}

// gather replaces the deaths in each crash loop by one.
func (d *Deaths) gather(loops []*Runs) {
	for _, r := range loops {
		last := &Death{Archive: r.Archive, Instance: &metric.Instance{Name: r.Name}}
		d.List = slices.DeleteFunc(d.List, func(one *Death) bool {
			if !one.in(r) {
				return false
			}
			if one.At >= last.At {
				last = one
			}
			return true
		})
		last.Loop, last.At = r, r.Last
		d.List = append(d.List, last)
	}
}

// Choose narrows deaths to those of the processes that m chooses.
func (d *Deaths) Choose(m *Matcher) {
	if m.All() {
		return
	}
	var out []*Death
	for _, i := range m.Choose(len(d.List), func(i int) (*metric.Instance, int, []string) {
		one := d.List[i]
		return one.Instance, one.PID(), []string{one.Name()}
	}) {
		out = append(out, d.List[i])
	}
	d.List = out
}

// AboutOne reports whether two events are about one death: of one process, within a minute.
func AboutOne(x, y *store.Event) bool {
	if x.Archive.Host.ID != y.Archive.Host.ID || max(x.At.Wall-y.At.Wall, y.At.Wall-x.At.Wall) > sameDeath {
		return false
	}
	if x.Key != "" && y.Key != "" {
		return x.Key == y.Key && x.Archive.BootID == y.Archive.BootID
	}
	pid := func(e *store.Event) int { n, _ := strconv.Atoi(e.Label("pid")); return n }
	return pid(x) > 0 && pid(x) == pid(y)
}
