package query

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"tachograph/sample/metric"
	"tachograph/store"
)

// A Share is the part that the processes of one name have in a change of the machine, where they
// account for most of it.
type Share struct {
	Name string
	// Whose is the owner of all of them.
	Whose Whose
	// Parent is the name of their parent process, where that matters.
	Parent        string
	Before, After float64
	Units         metric.Units
	Rate          bool
}

// leastShare is the part of a change that one name must account for to be mentioned.
const leastShare = 0.5

// leastOwn is the part of the machine's change that a name must account for where the machine's
// metric and the processes are read at different times.
const leastOwn = 0.2

// perSecond is the unit of what happens so many times a second.
var perSecond, _ = RateUnits(metric.Counts)

// An account returns what the processes of each name have of something in a window.
type account func(d *differ, w Window, u *usage) map[string]float64

// accounts say how to find the processes behind a change of the machine, by prefixes of the
// metrics' names.
var accounts = []struct {
	prefix string
	of     account
	rate   bool
	units  metric.Units
	parent bool // their parent matters
}{
	{"kernel.all.nthreads", levelAccount("proc.psinfo.threads"), false, metric.NoUnits, false},
	{"vfs.files.count", levelAccount("proc.fd.count"), false, metric.NoUnits, false},
	{"network.tcpconn", levelAccount("proc.net.tcp_count"), false, metric.NoUnits, false},
	{"network.tcp.currestab", levelAccount("proc.net.tcp_count"), false, metric.NoUnits, false},
	{"network.sockstat", levelAccount("proc.net.tcp_count"), false, metric.NoUnits, false},
	{"proc.runq.stopped", stateAccount("T"), false, metric.NoUnits, false},
	{"proc.runq.defunct", stateAccount("Z"), false, metric.NoUnits, true},
	{"proc.nprocs", stateAccount(""), false, metric.NoUnits, true},
	{"kernel.all.nprocs", stateAccount(""), false, metric.NoUnits, true},
	{"proc.started", birthAccount, true, perSecond, true},
	{"proc.exited", birthAccount, true, perSecond, true},
	{"proc.unseen", birthAccount, true, perSecond, true},
	{"kernel.all.sysfork", birthAccount, true, perSecond, true},
	{"kernel.all.pswitch", counterAccount(Switches), true, perSecond, false},
	{"kernel.all.cpu", aspectAccount("cpu"), true, metric.NoUnits, false},
	{"mem.util", aspectAccount("memory"), false, metric.Bytes, false},
	{"swap.used", aspectAccount("memory"), false, metric.Bytes, false},
	{"network.traffic.in_bytes", aspectAccount("receive"), true, bytesPerSecond, false},
	{"network.traffic.out_bytes", aspectAccount("send"), true, bytesPerSecond, false},
	{"network.interface.in.bytes", aspectAccount("receive"), true, bytesPerSecond, false},
	{"network.interface.out.bytes", aspectAccount("send"), true, bytesPerSecond, false},
	{"disk.", waitAccount, true, metric.NoUnits, false},
	{"kernel.all.blocked", waitAccount, true, metric.NoUnits, false},
	{"proc.runq.blocked", waitAccount, true, metric.NoUnits, false},
	{"kernel.all.pressure.io", waitAccount, true, metric.NoUnits, false},
}

// attribute finds the processes that account for most of a change of the machine.
func (d *differ) attribute(c *Change, p *processPair) {
	if c.Kind != SystemChange || d.elsewhere() {
		return
	}
	for _, a := range accounts {
		if !strings.HasPrefix(c.Subject, a.prefix) {
			continue
		}
		before, after := a.of(d, d.r.A, p.a), a.of(d, d.r.B, p.b)
		sign := 1.0
		if c.After < c.Before {
			sign = -1
		}
		if strings.HasSuffix(c.Subject, "available") || strings.HasSuffix(c.Subject, "free") {
			sign = -sign
		}
		total, most, who := 0.0, 0.0, ""
		names := maps.Clone(after)
		maps.Copy(names, before)
		if d.group() != PerName {
			delete(names, "") // What belongs to nobody is no cause.
		}
		for _, name := range slices.Sorted(maps.Keys(names)) {
			if more := float64(sign * (after[name] - before[name])); more > 0 {
				total += more
				if more > most {
					most, who = more, name
				}
			}
		}
		least := leastShare * total
		if of, all := d.machineAspect(c); of != nil {
			least = max(least, leastShare*math.Abs(all))
		} else if !a.rate {
			least = max(least, leastOwn*math.Abs(c.After-c.Before)) // The machine and the processes are not read at the same time.
		}
		if most > least {
			c.By = &Share{Name: who, Before: before[who], After: after[who], Units: a.units, Rate: a.rate}
			if a.parent && sign > 0 && d.group() == PerName {
				c.By.Parent = d.parentOf(who)
			}
		}
		return
	}
}

// mostLooked is how much of the end of a window is searched for what processes were doing in it.
const mostLooked = int64(10 * time.Minute)

// readings passes each value of a process metric to take, from at most the last ten minutes of a
// window, and returns the number of readings.
func (d *differ) readings(w Window, name string, take func(*store.Run, int)) (n float64) {
	desc := d.a.Lookup(name)
	if desc == nil || desc.Unsupported != "" {
		return 0
	}
	w.From = max(w.From, w.To-mostLooked)
	walls := make(map[int64]bool)
	for run := range d.a.Select(w.Selection(name)) {
		for i, wall := range run.Wall {
			if run.Instance != nil && (run.Miss == nil || run.Miss[i] == metric.Present) {
				walls[wall] = true
				take(run, i)
			}
		}
	}
	return float64(len(walls))
}

// levelAccount adds up a level of processes, such as their threads.
func levelAccount(name string) account {
	return func(d *differ, w Window, _ *usage) map[string]float64 {
		return d.meanOf(w, name, func(run *store.Run, i int) float64 { return metric.Number(run.Metric.Type, run.Bits[i]) })
	}
}

// stateAccount counts the processes in a state; all processes if state is empty.
func stateAccount(state string) account {
	return func(d *differ, w Window, _ *usage) map[string]float64 {
		return d.meanOf(w, stateMetric, func(run *store.Run, i int) float64 {
			if state == "" || run.Word(i) == state {
				return 1
			}
			return 0
		})
	}
}

// meanOf returns the mean over the readings of what the processes of each name had together.
func (d *differ) meanOf(w Window, name string, of func(*store.Run, int) float64) map[string]float64 {
	out := make(map[string]float64)
	n := d.readings(w, name, func(run *store.Run, i int) {
		if x := of(run, i); x > 0 {
			out[d.called(run.Instance)] += x // whole numbers
		}
	})
	for name := range out {
		out[name] /= n
	}
	return out
}

// birthAccount returns how many processes of each name began per second.
func birthAccount(d *differ, w Window, u *usage) map[string]float64 {
	counts := make(map[string]int)
	for name, c := range u.byName {
		counts[name] = c.Runs
	}
	for e := range d.a.Events(w.From, w.To, metric.EventProcessExits) {
		if w.Wants(e.Archive.Host.ID) && d.group() == PerName {
			counts[e.Label("name")] += countOf(e.Label("count"))
		}
	}
	out := make(map[string]float64)
	for name, n := range counts {
		out[name] = float64(n) / u.seconds
	}
	return out
}

// aspectAccount returns an aspect of what processes used, such as cpu.
func aspectAccount(aspect string) account {
	return func(_ *differ, _ Window, u *usage) map[string]float64 {
		out := make(map[string]float64)
		for _, as := range aspects {
			for name := range u.byName {
				if as.name == aspect {
					out[name] = u.amount(name, as.of)
				}
			}
		}
		return out
	}
}

// counterAccount returns what a counter of processes gained per second.
func counterAccount(f ProcessCounter) account {
	return func(d *differ, w Window, u *usage) map[string]float64 {
		return d.gains(w, u, mapFields(d.a, []ProcessCounter{f}, nil).names...)
	}
}

// waitAccount returns how long processes waited for disks, per second; where the kernel does not
// report that, how many were found waiting in a reading, on average.
func waitAccount(d *differ, w Window, u *usage) map[string]float64 {
	out := d.gains(w, u, "proc.psinfo.delayacct_blkio_time")
	for _, x := range out {
		if x > 0 {
			return out
		}
	}
	return stateAccount("D")(d, w, u)
}

// gains returns by name what counters of processes gained per second in a window.
func (d *differ) gains(w Window, u *usage, names ...string) map[string]float64 {
	out := make(map[string]float64)
	for _, name := range names {
		if desc := d.a.Lookup(name); desc == nil || desc.Unsupported != "" {
			continue
		}
		list := make(map[string]float64)
		for s := range d.a.Summarize(w.Selection(name)) {
			if s.Instance != nil && s.Count > 0 && s.Increase > 0 {
				_, factor := RateUnits(s.Metric.Units)
				list[s.Instance.Key+" "+d.called(s.Instance)] += float64(s.Increase*factor) / u.seconds
			}
		}
		for _, key := range slices.Sorted(maps.Keys(list)) {
			_, name, _ := strings.Cut(key, " ")
			out[name] += list[key]
		}
	}
	return out
}

// parentOf returns the name of the parent of most processes of a name; "" if the parent has the
// same name or is process 1.
func (d *differ) parentOf(name string) string {
	children := make(map[string]int)
	for l := range d.a.Lives("process", d.r.B.From, d.r.B.To) {
		if l.Archive.Host.ID == d.r.Host && ProcessName(l.Instance) == name {
			children[l.Instance.Label("parent")]++
		}
	}
	delete(children, "")
	if len(children) == 0 {
		return ""
	}
	key := slices.MaxFunc(slices.Sorted(maps.Keys(children)), func(x, y string) int { return cmp.Compare(children[x], children[y]) })
	for l := range d.a.Lives("process", d.r.B.From, d.r.B.To, key) {
		if parent := ProcessName(l.Instance); l.Archive.Host.ID == d.r.Host && parent != name && ProcessID(l.Instance) != 1 {
			return parent
		}
	}
	return ""
}

// perInstance are pairs of prefixes: of a total's metrics, and of those of its parts.
var perInstance = []struct{ total, part string }{{"disk.all.", "disk.dev."}, {"network.all.", "network.interface."}}

// memoryParts are what needs memory besides what processes hold as their own.
var memoryParts = []string{"mem.util.slab", "mem.util.shmem", "mem.util.pageTables", "mem.util.kernelStack", "mem.util.percpu"}

// named replaces a change of a total by that of the part that makes most of it.
func (p *systemPair) named(c *Change) {
	if c.Kind != SystemChange || c.Instance != "" {
		return
	}
	put := func(s *systemSeries) {
		c.Subject, c.Instance, c.Metric, c.Units, c.Before, c.After = s.desc.Name, s.name, s.desc, s.units, s.a.meanOrNone(), s.b.meanOrNone()
	}
	if by := -(c.After - c.Before); c.Subject == "mem.util.available" && c.By == nil {
		for _, name := range memoryParts {
			if s := p.all[seriesKey{metric: name}]; s != nil && (s.b.meanOrNone()-s.a.meanOrNone())/by > most {
				put(s)
				return
			}
		}
		return
	}
	for _, of := range perInstance {
		rest, ok := strings.CutPrefix(c.Subject, of.total)
		if !ok {
			continue
		}
		for k, s := range p.all {
			if k.metric != of.part+rest || len(s.a.slots) == 0 && len(s.b.slots) == 0 {
				continue
			}
			if part := (s.b.meanOrNone() - s.a.meanOrNone()) / (c.After - c.Before); part > most && part < 1/most {
				put(s)
				return
			}
		}
	}
}

// meanOrNone returns the mean, or 0 if nothing was read.
func (c *course) meanOrNone() float64 {
	if c.weight > 0 {
		return c.mean()
	}
	return 0
}
