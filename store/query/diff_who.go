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

// A Share is what processes of one name have in a change of the machine that they make
// most of.
type Share struct {
	Name string
	// Parent is what their parent is called, where that matters.
	Parent        string
	Before, After float64
	Units         metric.Units
	Rate          bool
}

// leastShare is the part of a change that one name must make for it to be told.
const leastShare = 0.5

// leastOwn is the part of what the machine tells that it must be where that is read at other
// times.
const leastOwn = 0.2

// perSecond are the units of what happens so many times a second.
var perSecond, _ = RateUnits(metric.Counts)

// An account tells what processes of each name have of something in a window.
type account func(d *differ, w Window, u *usage) map[string]float64

// accounts say whose doing a change of the machine may be, by prefixes of the metrics.
var accounts = []struct {
	prefix string
	of     account
	rate   bool
	units  metric.Units
	parent bool // who started them matters
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
	{"disk.", waitAccount, true, metric.NoUnits, false},
	{"kernel.all.blocked", waitAccount, true, metric.NoUnits, false},
	{"proc.runq.blocked", waitAccount, true, metric.NoUnits, false},
	{"kernel.all.pressure.io", waitAccount, true, metric.NoUnits, false},
}

// attribute finds whose doing a change of the machine is, for the most part.
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
			least = max(least, leastOwn*math.Abs(c.After-c.Before)) // They are not read at once.
		}
		if most > least {
			c.By = &Share{Name: who, Before: before[who], After: after[who], Units: a.units, Rate: a.rate}
			if a.parent && sign > 0 {
				c.By.Parent = d.parentOf(who)
			}
		}
		return
	}
}

// mostLooked is how much of the end of a window is looked at for what processes were
// doing in it.
const mostLooked = int64(10 * time.Minute)

// readings goes through what was read of processes, at most in the last ten minutes of a
// window, and counts the readings.
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

// levelAccount adds up a level of processes.
func levelAccount(name string) account {
	return func(d *differ, w Window, _ *usage) map[string]float64 {
		return d.meanOf(w, name, func(run *store.Run, i int) float64 { return metric.Number(run.Metric.Type, run.Bits[i]) })
	}
}

// stateAccount counts the processes in a state; in any, if that is empty.
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

// meanOf is what processes of each name had together of something in a reading, on
// average.
func (d *differ) meanOf(w Window, name string, of func(*store.Run, int) float64) map[string]float64 {
	out := make(map[string]float64)
	n := d.readings(w, name, func(run *store.Run, i int) {
		if x := of(run, i); x > 0 {
			out[ProcessName(run.Instance)] += x // whole numbers
		}
	})
	for name := range out {
		out[name] /= n
	}
	return out
}

// birthAccount is how many processes began, a second.
func birthAccount(d *differ, w Window, u *usage) map[string]float64 {
	counts := make(map[string]int)
	for name, c := range u.byName {
		counts[name] = c.Runs
	}
	for e := range d.a.Events(w.From, w.To, metric.EventProcessExits) {
		if w.Wants(e.Archive.Host.ID) {
			counts[e.Label("name")] += countOf(e.Label("count"))
		}
	}
	out := make(map[string]float64)
	for name, n := range counts {
		out[name] = float64(n) / u.seconds
	}
	return out
}

// aspectAccount is an aspect of what processes used.
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

// counterAccount is what a counter of processes gained, a second.
func counterAccount(f ProcessCounter) account {
	return func(d *differ, w Window, u *usage) map[string]float64 {
		return d.gains(w, u, mapFields(d.a, []ProcessCounter{f}, nil).names...)
	}
}

// waitAccount is how long processes waited for disks, a second; where the kernel does
// not tell, how often they were met waiting.
func waitAccount(d *differ, w Window, u *usage) map[string]float64 {
	out := d.gains(w, u, "proc.psinfo.delayacct_blkio_time")
	for _, x := range out {
		if x > 0 {
			return out
		}
	}
	return stateAccount("D")(d, w, u)
}

// gains are what counters of processes gained in a window by name, a second.
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
				list[s.Instance.Key+" "+ProcessName(s.Instance)] += float64(s.Increase*factor) / u.seconds
			}
		}
		for _, key := range slices.Sorted(maps.Keys(list)) {
			_, name, _ := strings.Cut(key, " ")
			out[name] += list[key]
		}
	}
	return out
}

// parentOf is what the parent of most processes of a name is called, if it is not
// called the same, nor is the first of all.
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

// perInstance are the metrics of a total's parts.
var perInstance = []struct{ total, part string }{{"disk.all.", "disk.dev."}, {"network.all.", "network.interface."}}

// memoryParts are what memory is needed for besides what processes hold as their own.
var memoryParts = []string{"mem.util.slab", "mem.util.shmem", "mem.util.pageTables", "mem.util.kernelStack", "mem.util.percpu"}

// named puts the part that makes most of a change of a total in its place.
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

// meanOrNone is the mean, or nothing of what was not read.
func (c *course) meanOrNone() float64 {
	if c.weight > 0 {
		return c.mean()
	}
	return 0
}
