package why

import (
	"fmt"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"tachograph/cmd/replay/internal/human"
	"tachograph/sample/metric"
	"tachograph/store/query"
)

// saidBefore and saidAfter are how long before and after the system said something the numbers
// may show it.
const saidBefore, saidAfter = int64(60e9), int64(15e9)

// near returns the findings of some kinds about the time of another, and with a subject that who
// accepts; nil accepts all.
func near(f *finding, all []*finding, who func(g *finding) bool, kinds ...string) (list []*finding) {
	for _, g := range all {
		if slices.Contains(kinds, g.kind) && g.since <= f.until+saidAfter && g.until >= f.since-saidBefore && (who == nil || who(g)) {
			list = append(list, g)
		}
	}
	return list
}

// take adds findings of the same thing, and what they say in numbers.
func (a *accord) take(list []*finding) {
	for _, g := range list {
		a.same = append(a.same, g)
		words, _, _ := strings.Cut(g.text, "; ")
		if g.brief != "" && g.title == "" {
			words = g.brief
		}
		if !slices.Contains(a.words, words) {
			a.words = append(a.words, words)
		}
	}
}

// extremes returns the least and the highest value of a signal from one instant to another, of an
// instance or of all, and the course with the highest; known is false if there are no values.
func (q *question) extremes(signal, key string, from, to int64) (least, most float64, c *course, known bool) {
	least, most = math.Inf(1), math.Inf(-1)
	lo, hi := q.field.slots(query.Window{From: from, To: to})
	for _, one := range q.field.of[signal] {
		if key != "" && one.key != key {
			continue
		}
		for _, x := range one.x[lo:max(hi, lo)] {
			if x != x {
				continue
			}
			if x > most {
				c = one
			}
			least, most, known = min(least, x), max(most, x), true
		}
	}
	return least, most, c, known
}

// reaches adds what a signal was about the time of a finding, if it reached some value. It returns
// its highest value; known is false if there is none.
func (q *question) reaches(a *accord, f *finding, signal string, least float64, says string) (most float64, known bool) {
	_, most, c, known := q.extremes(signal, "", f.since-saidBefore, f.until+saidAfter)
	if known && most >= least {
		if says == "" {
			says = c.signal.brief
		}
		a.words = append(a.words, fmt.Sprintf(says, c.signal.write(most)))
		a.sources = append(a.sources, q.sourcesOfSignal(c.signal, c.name, c.key)...)
	}
	return most, known
}

// states are the kinds of findings that say that memory was short, and that disks were waited for.
var (
	memoryStates = []string{"memory.used", "memory.stall", "memory.level", "memory.compressed", "swap.in", "swap.out", "swap.full", "faults"}
	diskStates   = []string{"disk.errors", "io.stall", "io.wait", "blocked", "stuck"}
)

// checkKill compares with the memory of the process, of its control group and of the machine.
func (q *question) checkKill(f *finding, all []*finding) (a accord) {
	e, group := f.said.first, f.said.first.Label("group")
	mine := func(g *finding) bool { return slices.Contains(f.about, g.who) }
	a.take(near(f, all, mine, "memory", "crash loop"))
	a.fold(near(f, all, f.died(mine), "death"))
	a.fold(near(f, all, func(g *finding) bool { return len(g.about) > 0 }, string(metric.EventMemory)))
	a.fold(near(f, all, func(g *finding) bool { return g.said.first.Label("result") == "oom-kill" }, string(metric.EventService)))
	if group != "" && q.groupAtLimit(&a, f, group) {
		f.cause = true
		return a
	}
	if others := near(f, all, func(g *finding) bool { return g.cause && g.weight >= leastWeight }, "memory"); len(a.words) == 0 && len(others) > 0 {
		f.about = nil // It paid for what another one took: that is its cause.
		return a
	}
	f.cause = true
	if group == "" && strings.Contains(strings.ToLower(e.Label("reason")), "limit") {
		return a // Its own limit: the machine need not have been short of memory.
	}
	if group == "" {
		f.explains = []string{"memory", "swap"}
		a.take(near(f, all, nil, memoryStates...))
	}
	if len(a.words) > 0 {
		return a
	}
	used, known := q.reaches(&a, f, "memory.used", 0.9, "")
	stalls, _ := q.reaches(&a, f, "memory.stall", 0.1, "")
	q.reaches(&a, f, "memory.level", 2, "")
	q.reaches(&a, f, "swap.full", 0.9, "")
	if known && used < 0.75 && !(stalls > 0.02) && group == "" {
		a.against = fmt.Sprintf("at most %s of all memory was in use then", human.Percent(used))
	}
	return a
}

// died narrows mine to the ends of the very processes that the system spoke of, where that is known:
// another process of the same name may have died of something else.
func (f *finding) died(mine func(*finding) bool) func(*finding) bool {
	return func(g *finding) bool {
		known := len(f.said.keys) > 0 && len(g.ends) > 0
		return mine(g) && (!known || slices.ContainsFunc(g.ends, func(key string) bool { return slices.Contains(f.said.keys, key) }))
	}
}

// fold adds findings of the same thing that say no more.
func (a *accord) fold(list []*finding) { a.same = append(a.same, list...) }

// groupAtLimit compares what a control group held with its limit; known is false if that was not
// recorded.
func (q *question) groupAtLimit(a *accord, f *finding, group string) (known bool) {
	sel := query.Window{Hosts: q.w.Hosts, From: f.since - saidBefore, To: f.until + saidAfter}.Selection("cgroup.memory.current", "cgroup.memory.limit")
	sel.Prior, sel.Instance = true, func(_ string, in *metric.Instance) bool { return in != nil && in.Name == group }
	held, limit := math.NaN(), math.NaN()
	for _, r := range q.ranges(sel) {
		unit, err := r.desc.Units.Factor(metric.Bytes)
		if err != nil {
			unit = 1
		}
		if r.desc.Name == "cgroup.memory.limit" {
			limit = r.most * unit
		} else {
			held = r.most * unit
			a.sources = append(a.sources, source{metric: r.desc.Name, name: r.instance.Name, key: r.instance.Key})
		}
	}
	switch {
	case held >= groupFull*limit:
		a.words = append(a.words, fmt.Sprintf("%s held %s of its limit of %s", group, human.Bytes(held), human.Bytes(limit)))
	case held < groupRoom*limit && len(a.words) == 0:
		a.against = fmt.Sprintf("%s held at most %s of its limit of %s", group, human.Bytes(held), human.Bytes(limit))
	}
	return held == held && limit == limit
}

// A control group that was seen to hold groupFull of its limit had reached it between two readings;
// one that never held groupRoom of it had not.
const groupFull, groupRoom = 0.8, 0.4

// checkCrash compares with how the process ended.
func (q *question) checkCrash(f *finding, all []*finding) (a accord) {
	e := f.said.first
	mine := func(g *finding) bool { return g.who == f.who }
	a.take(near(f, all, mine, "crash loop"))
	for _, g := range near(f, all, f.died(mine), "death") {
		a.same = append(a.same, g)
		if at := strings.LastIndex(g.text, ": "); at >= 0 && len(a.words) == 0 {
			a.words = append(a.words, "it ended by "+g.text[at+2:])
		}
	}
	a.fold(near(f, all, func(g *finding) bool { return base(g.who) == f.who || g.who == e.Label("service") }, string(metric.EventService)))
	if len(a.words) == 0 && e.Key != "" {
		for life := range q.a.Lives("process", e.At.Wall+saidAfter, e.At.Wall+2*saidAfter, e.Key) {
			if life.Archive.Host.ID == q.r.Host && life.To >= e.At.Wall+saidAfter {
				a.against = "it ran on"
			}
		}
	}
	return a
}

// base returns the name of a service's unit without what kind of unit it is.
func base(unit string) string { return strings.TrimSuffix(unit, ".service") }

// checkHungTask compares with the processes that waited in the kernel, and with the disks.
func (q *question) checkHungTask(f *finding, all []*finding) (a accord) {
	if seconds, err := strconv.ParseFloat(f.said.first.Label("seconds"), 64); err == nil && seconds > 0 && seconds < 1e6 {
		f.since -= int64(seconds * 1e9)
	}
	if len(near(f, all, func(g *finding) bool { return g.said != nil && g.topic == "device" }, string(metric.EventKernel))) == 0 {
		f.cause, f.explains = true, []string{"disk", "load"}
		a.take(near(f, all, nil, "hung disk", "slow disk"))
		a.take(near(f, all, nil, diskStates...))
	}
	if len(a.words) == 0 {
		if most, known := q.reaches(&a, f, "blocked", 0.5, ""); known && most < 0.5 {
			a.against = "no process waited in the kernel then"
		}
	}
	return a
}

// checkLockup compares with the time that the kernel itself took.
func (q *question) checkLockup(f *finding, all []*finding) (a accord) {
	a.take(near(f, all, func(g *finding) bool { return slices.Contains(f.about, g.who) }, "runaway"))
	a.take(near(f, all, nil, "cpu.system", "cpu.interrupts"))
	if len(a.words) > 0 {
		return a
	}
	most, known := q.reaches(&a, f, "cpu.system", 0.9/q.cores, "")
	if known && most*q.cores < 0.3 {
		a.against = fmt.Sprintf("the kernel itself took at most %s of a core then", human.Percent(most*q.cores))
	}
	return a
}

// usesCPU are the rules of what says that a program used the processors.
var usesCPU = []string{"spin", "cpu usage", "cpu"}

// checkProgram compares what a program is said to have done with what it used.
func (q *question) checkProgram(f *finding, all []*finding) (a accord) {
	mine := func(g *finding) bool { return g.who == f.who }
	a.take(near(f, all, mine, "runaway", "memory", "writer", "reader", "growth", "switches", "stuck", "stopped"))
	rule := strings.ToLower(f.said.first.Label("rule"))
	if len(a.words) > 0 || !slices.ContainsFunc(usesCPU, func(s string) bool { return s == rule }) {
		return a
	}
	course := q.ledger.course(f.who, thingCPU)
	if course == nil {
		return a
	}
	at := f.said.first.At.Wall
	lo, hi := q.ledger.within(at-3*saidBefore, at)
	switch most := slices.Max(append(course[lo:hi:hi], 0)); {
	case most >= 0.5:
		a.words = append(a.words, fmt.Sprintf("it used %s of a core", human.Percent(most)))
		a.sources = sourcesOf(f.who, "", "proc.psinfo.utime", "proc.psinfo.stime")
	case most < 0.2:
		a.against = fmt.Sprintf("it used at most %s of a core then", human.Percent(most))
	}
	return a
}

// checkService compares with the ends of the service's processes.
func (q *question) checkService(f *finding, all []*finding) (a accord) {
	e, unit := f.said.first, f.who
	mine := func(g *finding) bool { return g.who == base(unit) || strings.Contains(g.text, " in "+unit) }
	a.take(near(f, all, mine, "crash loop", "death"))
	if len(a.words) > 0 || e.Label("rule") != "unit failed" || !query.OwnersRecorded(q.a) {
		return a
	}
	for life := range q.a.Lives("process", e.At.Wall+saidAfter, e.At.Wall+2*saidAfter) {
		if life.Archive.Host.ID == q.r.Host && life.Instance.Label(metric.OwnerService) == unit && life.To >= e.At.Wall+saidAfter && life.From < e.At.Wall-leastStep {
			a.against = "its processes ran on"
		}
	}
	return a
}

// checkReset looks for the time in which the machine was off.
func (q *question) checkReset(f *finding, all []*finding) (a accord) {
	list := near(f, all, nil, "off", "panic", "gap")
	if a.take(list); len(list) > 0 {
		f.topic, f.since, f.until = list[0].topic, min(f.since, list[0].since), max(f.until, list[0].until)
	} else if f.since > q.from+saidBefore && f.until < q.to-saidAfter {
		a.against = "the recording went on"
	}
	return a
}

// checkDisk compares with the disk's errors, and with what waited for it.
func (q *question) checkDisk(f *finding, all []*finding) (a accord) {
	device := f.said.first.Label("device")
	var disk *course
	for _, c := range q.field.of["disk.done"] {
		if ofDisk(device, c.name) {
			disk = c
		}
	}
	a.take(near(f, all, func(g *finding) bool { return disk == nil || g.who == disk.name }, "hung disk", "slow disk", "busy disk"))
	a.take(near(f, all, nil, diskStates...))
	if len(a.words) > 0 {
		return a
	}
	q.reaches(&a, f, "disk.errors", 0.001, "disks failed %s requests a second")
	_, known := q.reaches(&a, f, "blocked", 0.9, "")
	if len(a.words) > 0 || disk == nil || !known {
		return a
	}
	if _, busy, _, ok := q.extremes("disk.busy", disk.key, f.since-saidBefore, f.until+saidAfter); ok && busy < ailsBusy {
		a.against = fmt.Sprintf("disk %s was at most %s busy, and nothing waited for it", disk.name, human.Percent(busy))
	}
	return a
}

// ofDisk reports whether a device is a disk or a part of it.
func ofDisk(device, disk string) bool {
	rest, ok := strings.CutPrefix(device, disk)
	return ok && strings.Trim(rest, "p0123456789") == "" || device != "" && strings.HasPrefix(disk, device+"n") // nvme0 is the controller of nvme0n1.
}

// checkFileSystem is like checkDisk; but what a disk holds may be wrong without the disk being
// slow.
func (q *question) checkFileSystem(f *finding, all []*finding) accord {
	a := q.checkDisk(f, all)
	a.against = ""
	return a
}

// checkReadOnly looks for file systems that can no longer be written.
func (q *question) checkReadOnly(f *finding, all []*finding) (a accord) {
	a.fold(near(f, all, func(g *finding) bool { return g.said != nil && g.topic == f.topic }, string(metric.EventKernel)))
	sel := query.Window{Hosts: q.w.Hosts, From: f.since - saidBefore, To: f.until + saidAfter}.Selection("filesys.readonly")
	sel.Prior = true
	device, known, still := f.said.first.Label("device"), false, ""
	for _, r := range q.ranges(sel) {
		if r.instance == nil {
			continue
		}
		own := path.Base(r.instance.Label("device")) == device
		switch {
		case r.last == 1 && (r.first == 0 || own):
			a.words = append(a.words, r.instance.Name+" is read-only")
			a.sources = append(a.sources, source{metric: r.desc.Name, name: r.instance.Name, key: r.instance.Key})
		case r.last == 0 && own:
			still = r.instance.Name
		}
		known = true
	}
	switch {
	case len(a.words) > 0 || !known:
	case still != "":
		a.against = still + " can still be written"
	default:
		a.against = "no file system became read-only"
	}
	return a
}

// checkThermal compares with the temperature and the clock rate of the processors.
func (q *question) checkThermal(f *finding, all []*finding) (a accord) {
	a.take(near(f, all, nil, "thermal", "temperature", "clock speed", string(metric.EventThrottle)))
	if len(a.words) > 0 {
		return a
	}
	q.reaches(&a, f, "thermal", 1, "thermal pressure level %s")
	hottest, known := q.reaches(&a, f, "temperature", 85, "")
	if len(a.words) > 0 {
		return a
	}
	_, busy, _, _ := q.extremes("cpu", "", f.since, f.until+saidAfter)
	_, top, _, _ := q.extremes("clock", "", f.since-saidBefore, f.until+saidBefore)
	least, _, _, clocked := q.extremes("clock", "", f.since, f.until+saidAfter)
	switch {
	case clocked && busy >= busily && least < slowed*top:
		a.words = append(a.words, fmt.Sprintf("the clock rate fell from %s to %s MHz", human.Figures(math.Round(top)), human.Figures(math.Round(least))))
		a.sources = sourcesOf("", "", "hinv.cpu.clock")
	case clocked && least >= 0.9*top:
		a.against = fmt.Sprintf("the clock rate did not fall (%s MHz)", human.Figures(math.Round(least)))
	case known && hottest < hotLeast-10:
		a.against = "the processor was at most at " + human.Value(hottest, metric.Units{Other: "C"}, false)
	}
	return a
}

// checkLink compares with what came in over the interface.
func (q *question) checkLink(f *finding, all []*finding) (a accord) {
	device := f.said.first.Label("device")
	a.take(near(f, all, func(g *finding) bool { return g.who == device+" link" }, "link"))
	at := f.said.first.At.Wall
	for _, name := range []string{"net.in.bytes", "net.in"} {
		for _, c := range q.field.of[name] {
			if c.name != device {
				continue
			}
			mean := func(from, to int64) float64 {
				lo, hi := q.field.slots(query.Window{From: from, To: to})
				return mean(c.x[lo:max(hi, lo)])
			}
			before, after := mean(at-saidBefore, at-1e9), mean(at+2e9, at+saidAfter)
			switch {
			case before > 0 && after <= before/20:
				a.words = append(a.words, "hardly anything came in over it from then on")
				a.sources = append(a.sources, q.sourcesOfSignal(c.signal, c.name, c.key)...)
			case len(a.words) == 0 && after >= before/2 && before > 0 && f.said.count < 3:
				a.against = c.signal.write(after) + " kept coming in over it"
				if name == "net.in" {
					a.against = c.signal.write(after) + " packets a second kept coming in over it"
				}
			}
			return a
		}
	}
	return a
}

// checkTable compares with how full the tables of connections were.
func (q *question) checkTable(f *finding, all []*finding) (a accord) {
	switch f.said.first.Label("rule") {
	case "connection table full":
		a.take(near(f, all, nil, "conntrack"))
		if len(a.words) > 0 {
			return a
		}
		if most, known := q.reaches(&a, f, "conntrack", 0.9, ""); known && most < 0.8 {
			a.against = fmt.Sprintf("the table was at most %s full", human.Percent(most))
		}
	case "syn flood":
		// The kernel names the port, alone or after the address.
		port := f.said.first.Label("device")
		port = port[strings.LastIndex(port, ":")+1:]
		a.take(near(f, all, func(g *finding) bool { return strings.Contains(g.text, " on port "+port+" ") }, "listener"))
		a.take(near(f, all, nil, "tcp.half", "tcp.opened", "tcp.refused"))
	}
	return a
}

// checkGraphics compares with how busy the graphics processor was.
func (q *question) checkGraphics(f *finding, all []*finding) (a accord) {
	a.take(near(f, all, nil, "gpu"))
	return a
}
