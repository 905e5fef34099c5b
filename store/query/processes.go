package query

import (
	"math"
	"strconv"
	"time"

	"tachograph/sample/metric"
	"tachograph/store"
)

// Process is one process at one moment.
type Process struct {
	Archive  *store.ArchiveInfo
	Instance *metric.Instance
	PID      int
	PPID     int // 0 when unknown
	Name     string
	User     string
	State    string
	Start    int64 // wall clock; 0 when unknown
	At       int64 // time of the reading
	Window   float64
	// Rates are per second over the Window seconds that end at At; NaN where unknown. Totals are
	// those since the process began.
	Rates, Totals [NumProcessCounters]float64
	Levels        [NumProcessLevels]float64
	Threads       []*Process // where threads were asked for
	vanished      bool
	seen          int64 // last instant with a value
}

// CPU returns the share of a core that p used, 1 for a whole one.
func (p *Process) CPU() float64 { return sum(p.Rates[UserTime], p.Rates[SystemTime]) }

// CPUTime returns how many seconds of CPU time p has used since it began.
func (p *Process) CPUTime() float64 { return sum(p.Totals[UserTime], p.Totals[SystemTime]) }

// Wakeups returns how often p woke the machine, per second.
func (p *Process) Wakeups() float64 {
	return sum(p.Rates[InterruptWakeups], p.Rates[IdleWakeups])
}

// Memory returns the memory that p holds: its footprint where that is known, else its resident
// memory.
func (p *Process) Memory() float64 {
	if f := p.Levels[Footprint]; f == f {
		return f
	}
	return p.Levels[Resident]
}

// Uptime returns how long p had lived, in seconds; NaN when that is unknown.
func (p *Process) Uptime() float64 {
	if p.Start == 0 || p.At < p.Start {
		return math.NaN()
	}
	return float64(p.At-p.Start) / 1e9
}

// Parent returns the key of the parent's instance, as far as it was recorded.
func (p *Process) Parent() string { return p.Instance.Label("parent") }

// table says which metrics make up the processes, or threads, of one moment.
type table struct {
	indom  string
	class  metric.Class
	fields *fieldMap
	texts  []string
}

func processTable(a Archive) *table {
	return &table{indom: "process", class: metric.Process,
		fields: mapFields(a, allCounters(), allLevels()),
		texts:  []string{nameMetric, userMetric, stateMetric, ppidMetric, startMetric}}
}

// threadFields are the fields of threads.
var threadFields = map[string]ProcessCounter{
	"thread.utime": UserTime, "thread.stime": SystemTime, "thread.minflt": Faults, "thread.majflt": MajorFaults,
}

func threadTable(a Archive) *table {
	f := &archiveFields{counters: make(map[string]ProcessCounter), levels: make(map[string]ProcessLevel)}
	t := &table{indom: "thread", class: metric.Thread, fields: &fieldMap{byArchive: make(map[*store.ArchiveInfo]*archiveFields)},
		texts: []string{"thread.sname"}}
	for name, c := range threadFields {
		if d := a.Lookup(name); d != nil && d.Unsupported == "" {
			f.counters[name] = c
			t.fields.add(name)
		}
	}
	if d := a.Lookup("thread.priority"); d != nil && d.Unsupported == "" {
		f.levels[d.Name] = Priority
		t.fields.add(d.Name)
	}
	for _, info := range a.Archives() {
		t.fields.byArchive[info] = f
	}
	return t
}

// Processes returns the process table at the last reading not after at, on each host of the
// window. It contains only the processes that keep accepts; nil keeps all.
func Processes(a Archive, w Window, at int64, keep func(string, *metric.Instance) bool) []*Process {
	return processTable(a).at(a, w, at, keep)
}

// ThreadsAt is like Processes, for threads.
func ThreadsAt(a Archive, w Window, at int64, keep func(string, *metric.Instance) bool) []*Process {
	return threadTable(a).at(a, w, at, keep)
}

// intervalsBack is how many intervals before the moment are read: the reading itself and the one
// before it, and some for ticks that came late.
const intervalsBack = 2.9

func (t *table) at(a Archive, w Window, at int64, keep func(string, *metric.Instance) bool) []*Process {
	var out []*Process
	for _, h := range a.Hosts() {
		if !w.Wants(h.ID) {
			continue
		}
		list := t.onHost(a, h.ID, at, keep)
		out = append(out, list...)
	}
	return out
}

// lastTick returns the last reading of the table's class on a host not after at, and the class's
// interval there.
func (t *table) lastTick(a Archive, host string, at int64) (tick, every int64) {
	for _, info := range a.Archives() {
		if info.Host.ID != host || info.From > at {
			continue
		}
		if every = interval(info, t.class); every == 0 {
			every = int64(t.class.Interval())
		}
	}
	if every == 0 || len(t.fields.names) == 0 {
		return 0, 0
	}
	// Look back a little, then farther: a gap may lie before at.
	for back := 3 * every; ; back *= 16 {
		tick = a.LastRead(Window{Hosts: []string{host}, From: at - back, To: at}.Selection(t.fields.names[0]))
		if tick != 0 || back > at || back > int64(30*24*time.Hour) {
			return tick, every
		}
	}
}

// mostSweeps bounds how far apart the parts of a table may lie.
const mostSweeps = 64

// sweepsFor returns how many sweeps it took to read all processes there were at tick: one, unless
// there were too many.
func (t *table) sweepsFor(a Archive, host string, tick, every int64) int64 {
	at := make(map[string]float64)
	if t.class != metric.Process || a.Lookup("proc.unread") == nil {
		return 1
	}
	sel := Window{Hosts: []string{host}, From: tick - every/2, To: tick}.Selection("proc.unread", "proc.nprocs")
	for run := range a.Select(sel) {
		last := len(run.Wall) - 1
		if run.Miss == nil || run.Miss[last] == metric.Present {
			at[run.Metric.Name] = metric.Number(run.Metric.Type, run.Bits[last])
		}
	}
	all, unread := at["proc.nprocs"], at["proc.unread"]
	if !(unread > 0) || !(all > unread) {
		return 1
	}
	return int64(min(math.Ceil(all/(all-unread)), mostSweeps))
}

func (t *table) onHost(a Archive, host string, at int64, keep func(string, *metric.Instance) bool) []*Process {
	tick, every := t.lastTick(a, host, at)
	if tick == 0 {
		return nil
	}
	sweeps := t.sweepsFor(a, host, tick, every)
	// Where one sweep could not read all processes, their values are spread over several sweeps.
	round := sweeps * every
	w := Window{Hosts: []string{host}, From: tick - int64(intervalsBack*float64(round)), To: tick}
	ended := make(map[string]bool)
	if sweeps > 1 {
		for e := range a.Events(w.From, w.To, metric.EventProcessExit) {
			if e.Archive.Host.ID == host {
				ended[e.Key] = true
			}
		}
	}
	breaks := readBreaks(a, w)
	c := &collector{a: a, fields: t.fields, gains: newGainer(breaks, nil), byInstance: make(map[*metric.Instance]*Process)}
	sel := w.Selection(append(append([]string{}, t.fields.names...), t.texts...)...)
	sel.Instance = keep
	for run := range a.Select(sel) {
		c.take(run)
	}
	var out []*Process
	for _, p := range c.order {
		// A process that was not there at the last reading has ended.
		if p.vanished || ended[p.Instance.Key] || p.seen < tick-round+every/2 {
			continue
		}
		if p.Archive.Step != 0 && sweeps == 1 && p.seen < tick {
			continue // A step may be cut short, and has all processes that were there at its end.
		}
		p.At = tick
		if !(p.Window > 0) {
			p.young(tick, every)
		}
		out = append(out, p)
	}
	return out
}

// young gives a process that was seen for the first time rates over its life, if that began
// within the interval.
func (p *Process) young(tick, every int64) {
	age := float64(tick-p.Start) / 1e9
	if p.Start == 0 || age <= 0 || tick-p.Start > every+every/2 {
		return
	}
	p.Window = age
	for f, total := range p.Totals {
		p.Rates[f] = total / age
	}
}

// collector combines the runs of many metrics into processes.
type collector struct {
	a          Archive
	fields     *fieldMap
	gains      *gainer
	byInstance map[*metric.Instance]*Process
	order      []*Process
}

func (c *collector) process(run *store.Run) *Process {
	p := c.byInstance[run.Instance]
	if p == nil {
		in := run.Instance
		p = &Process{Archive: run.Archive, Instance: in, PID: ProcessID(in), Name: ProcessName(in), Start: in.Began(),
			Rates: noCounters(), Totals: noCounters(), Levels: noLevels(), Window: math.NaN()}
		p.PPID, _ = strconv.Atoi(in.Label("ppid"))
		c.byInstance[in] = p
		c.order = append(c.order, p)
	}
	p.Archive = run.Archive
	return p
}

func (c *collector) take(run *store.Run) {
	if run.Instance == nil {
		return
	}
	p := c.process(run)
	last := len(run.Wall) - 1
	d := run.Metric
	miss := metric.Present
	if run.Miss != nil {
		miss = run.Miss[last]
	}
	if d.Name == "proc.psinfo.threads" || d.Name == "proc.memory.rss" {
		// After the end one more row may hold the final counters.
		p.vanished = p.vanished || miss == metric.Vanished
	}
	if f, ok := c.fields.counter(run.Archive, d.Name); ok {
		c.counter(run, p, f)
		return
	}
	p.seen = max(p.seen, run.Wall[last])
	if f, ok := c.fields.level(run.Archive, d.Name); ok {
		p.Levels[f] = math.NaN()
		if miss == metric.Present {
			p.Levels[f] = metric.Number(d.Type, run.Bits[last]) * base(d.Units)
		}
		return
	}
	if miss != metric.Present {
		return
	}
	switch d.Name {
	case nameMetric:
		// The instance has its latest name; an exec may lie between that name and this moment.
		p.Name = run.Word(last)
	case userMetric:
		p.User = run.Word(last)
	case stateMetric, "thread.sname":
		p.State = run.Word(last)
	case ppidMetric:
		p.PPID = int(metric.Number(d.Type, run.Bits[last]))
	case startMetric:
		if p.Start == 0 {
			p.Start = int64(metric.Number(d.Type, run.Bits[last]) * base(d.Units) * 1e9)
		}
	}
}

func (c *collector) counter(run *store.Run, p *Process, f ProcessCounter) {
	g := c.gains
	g.turn(run.Archive, run.Metric, run.Instance)
	unit := base(run.Metric.Units)
	for i := range run.Wall {
		p.seen = max(p.seen, run.Wall[i])
		p.Rates[f] = math.NaN()
		if run.Miss != nil && run.Miss[i] != metric.Present {
			g.absent()
			continue
		}
		inc, sec, why := g.gain(store.Point{Wall: run.Wall[i], Cont: run.Cont[i], Bits: run.Bits[i]})
		p.Totals[f] = metric.Number(run.Metric.Type, run.Bits[i]) * unit
		if why == metric.Present {
			p.Rates[f] = inc * unit / sec
			p.Window = sec
		}
	}
}
