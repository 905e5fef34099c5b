package moment

import (
	"slices"
	"strings"

	"tachograph/sample/metric"
)

// figureDef is a figure of the system page: the sum of some metrics' values, or the first of them
// that is there.
type figureDef struct {
	name, title string
	metrics     []string
	sum         bool   // add the metrics up, else take the first that is there
	perCore     bool   // as a part of all processors' time
	of          string // the metric of the whole that it is a part of
	but         string // the metric that is subtracted from the whole to give the value, where both were read
	minutes     string // the instance of the load whose name is or begins with this word
	quiet       bool   // left out where it is zero or was not recorded
}

type sectionDef struct {
	name, title string
	figures     []figureDef
}

var sectionDefs = []sectionDef{
	{"cpu", "cpu", []figureDef{
		{name: "user", title: "user", metrics: []string{"kernel.all.cpu.user"}, perCore: true},
		{name: "nice", title: "nice", metrics: []string{"kernel.all.cpu.nice"}, perCore: true, quiet: true},
		{name: "system", title: "system", metrics: []string{"kernel.all.cpu.sys"}, perCore: true},
		{name: "wait", title: "waiting for disk", metrics: []string{"kernel.all.cpu.wait.total"}, perCore: true},
		{name: "interrupts", title: "interrupts", metrics: []string{"kernel.all.cpu.irq.hard", "kernel.all.cpu.irq.soft"}, sum: true, perCore: true},
		{name: "steal", title: "stolen", metrics: []string{"kernel.all.cpu.steal"}, perCore: true, quiet: true},
		{name: "idle", title: "idle", metrics: []string{"kernel.all.cpu.idle"}, perCore: true},
	}},
	{"load", "load", []figureDef{
		{name: "load1", title: "1 minute", metrics: []string{"kernel.all.load"}, minutes: "1"},
		{name: "load5", title: "5 minutes", metrics: []string{"kernel.all.load"}, minutes: "5"},
		{name: "load15", title: "15 minutes", metrics: []string{"kernel.all.load"}, minutes: "15"},
		{name: "runnable", title: "runnable", metrics: []string{"kernel.all.runnable", "kernel.all.running", "proc.runq.runnable"}},
		{name: "blocked", title: "blocked", metrics: []string{"kernel.all.blocked", "proc.runq.blocked"}, quiet: true},
		{name: "processes", title: "processes", metrics: []string{"proc.nprocs", "kernel.all.nprocs"}},
		{name: "threads", title: "threads", metrics: []string{"kernel.all.nthreads"}},
		{name: "switches", title: "switches", metrics: []string{"kernel.all.pswitch"}},
		{name: "interrupted", title: "interrupts", metrics: []string{"kernel.all.intr"}},
		{name: "forks", title: "forks", metrics: []string{"kernel.all.sysfork"}},
	}},
	{"memory", "memory", []figureDef{
		{name: "used", title: "used", metrics: []string{"mem.util.used"}, of: "mem.physmem", but: "mem.util.available"},
		{name: "available", title: "available", metrics: []string{"mem.util.available"}, of: "mem.physmem"},
		{name: "free", title: "free", metrics: []string{"mem.util.free", "mem.freemem"}},
		{name: "cached", title: "cached", metrics: []string{"mem.util.cached"}},
		{name: "buffers", title: "buffers", metrics: []string{"mem.util.bufmem"}},
		{name: "active", title: "active", metrics: []string{"mem.util.active"}},
		{name: "inactive", title: "inactive", metrics: []string{"mem.util.inactive"}},
		{name: "wired", title: "wired", metrics: []string{"mem.util.wired"}},
		{name: "compressed", title: "compressed", metrics: []string{"mem.util.compressed"}},
		{name: "anonymous", title: "anonymous", metrics: []string{"mem.util.anonpages"}},
		{name: "shared", title: "shared", metrics: []string{"mem.util.shmem", "mem.util.shared"}, quiet: true},
		{name: "slab", title: "slab", metrics: []string{"mem.util.slab"}},
		{name: "dirty", title: "dirty", metrics: []string{"mem.util.dirty"}},
		{name: "pagetables", title: "page tables", metrics: []string{"mem.util.pageTables"}},
	}},
	{"pressure", "pressure", []figureDef{
		{name: "cpu", title: "cpu, some", metrics: []string{"kernel.all.pressure.cpu.some.total"}},
		{name: "memory", title: "memory, some", metrics: []string{"kernel.all.pressure.memory.some.total"}},
		{name: "memory.full", title: "memory, all", metrics: []string{"kernel.all.pressure.memory.full.total"}},
		{name: "io", title: "disk, some", metrics: []string{"kernel.all.pressure.io.some.total"}},
		{name: "io.full", title: "disk, all", metrics: []string{"kernel.all.pressure.io.full.total"}},
		{name: "irq", title: "interrupts, all", metrics: []string{"kernel.all.pressure.irq.full.total"}, quiet: true},
		{name: "level", title: "memory level", metrics: []string{"kern.memorystatus_vm_pressure_level"}},
		{name: "compressions", title: "compressions", metrics: []string{"mem.compressions"}},
		{name: "decompressions", title: "decompressions", metrics: []string{"mem.decompressions"}},
	}},
	{"swap", "swap and paging", []figureDef{
		{name: "swap", title: "swap used", metrics: []string{"swap.used"}, of: "swap.length"},
		{name: "in", title: "swapped in", metrics: []string{"swap.pagesin", "mem.vmstat.pswpin"}},
		{name: "out", title: "swapped out", metrics: []string{"swap.pagesout", "mem.vmstat.pswpout"}},
		{name: "faults", title: "page faults", metrics: []string{"mem.vmstat.pgfault", "mem.pages.faults"}},
		{name: "major", title: "from disk", metrics: []string{"mem.vmstat.pgmajfault", "mem.pageins"}},
		{name: "oom", title: "killed for memory", metrics: []string{"mem.vmstat.oom_kill"}, quiet: true},
	}},
	{"disk", "disk", []figureDef{
		{name: "read", title: "read", metrics: []string{"disk.all.read_bytes"}},
		{name: "write", title: "written", metrics: []string{"disk.all.write_bytes"}},
		{name: "reads", title: "reads", metrics: []string{"disk.all.read"}},
		{name: "writes", title: "writes", metrics: []string{"disk.all.write"}},
		{name: "inflight", title: "in flight", metrics: []string{"disk.all.inflight"}, quiet: true},
	}},
	{"network", "network", []figureDef{
		{name: "in", title: "in", metrics: []string{"network.all.in.bytes"}},
		{name: "out", title: "out", metrics: []string{"network.all.out.bytes"}},
		{name: "packets.in", title: "packets in", metrics: []string{"network.all.in.packets"}},
		{name: "packets.out", title: "packets out", metrics: []string{"network.all.out.packets"}},
		{name: "errors", title: "errors", metrics: []string{"network.all.in.errors", "network.all.out.errors"}, sum: true, quiet: true},
		{name: "drops", title: "drops", metrics: []string{"network.all.in.drops", "network.all.out.drops"}, sum: true, quiet: true},
		{name: "connections", title: "connections", metrics: []string{"network.tcp.currestab", "network.tcpconn.established"}},
		{name: "retransmitted", title: "sent again", metrics: []string{"network.tcp.retranssegs"}, quiet: true},
	}},
}

// tableDef is a table with a row for each instance.
type tableDef []figureDef

var disks = tableDef{
	{name: "read", title: "read", metrics: []string{"disk.dev.read_bytes"}},
	{name: "write", title: "written", metrics: []string{"disk.dev.write_bytes"}},
	{name: "reads", title: "reads", metrics: []string{"disk.dev.read"}},
	{name: "writes", title: "writes", metrics: []string{"disk.dev.write"}},
	{name: "busy", title: "busy", metrics: []string{"disk.dev.avactive"}},
	{name: "await", title: "wait", metrics: []string{"disk.dev.await"}},
	{name: "inflight", title: "in flight", metrics: []string{"disk.dev.inflight"}},
	{name: "errors", title: "errors", metrics: []string{"disk.dev.read_errors", "disk.dev.write_errors"}, sum: true},
}

var volumes = tableDef{
	{name: "full", title: "full", metrics: []string{"filesys.full"}},
	{name: "used", title: "used", metrics: []string{"filesys.used"}},
	{name: "free", title: "free", metrics: []string{"filesys.avail", "filesys.free"}},
	{name: "capacity", title: "capacity", metrics: []string{"filesys.capacity"}},
	{name: "files", title: "files left", metrics: []string{"filesys.freefiles"}},
	{name: "type", title: "type", metrics: []string{"filesys.type"}},
	{name: "mount", title: "mounted on", metrics: []string{"filesys.mountdir"}},
}

var interfaces = tableDef{
	{name: "in", title: "in", metrics: []string{"network.interface.in.bytes"}},
	{name: "out", title: "out", metrics: []string{"network.interface.out.bytes"}},
	{name: "packets.in", title: "packets in", metrics: []string{"network.interface.in.packets"}},
	{name: "packets.out", title: "packets out", metrics: []string{"network.interface.out.packets"}},
	{name: "errors", title: "errors", metrics: []string{"network.interface.in.errors", "network.interface.out.errors"}, sum: true},
	{name: "drops", title: "drops", metrics: []string{"network.interface.in.drops", "network.interface.out.drops"}, sum: true},
	{name: "up", title: "up", metrics: []string{"network.interface.up", "network.interface.running"}},
}

// coreMetrics are the modes of a processor's time.
var coreMetrics = []struct {
	metric string
	of     func(*Core) *float64
}{
	{"kernel.percpu.cpu.user", func(c *Core) *float64 { return &c.User }},
	{"kernel.percpu.cpu.nice", func(c *Core) *float64 { return &c.Nice }},
	{"kernel.percpu.cpu.sys", func(c *Core) *float64 { return &c.System }},
	{"kernel.percpu.cpu.wait.total", func(c *Core) *float64 { return &c.Wait }},
	{"kernel.percpu.cpu.irq.hard", func(c *Core) *float64 { return &c.Interrupts }},
	{"kernel.percpu.cpu.irq.soft", func(c *Core) *float64 { return &c.Interrupts }},
	{"kernel.percpu.cpu.steal", func(c *Core) *float64 { return &c.Steal }},
	{"kernel.percpu.cpu.idle", func(c *Core) *float64 { return &c.Idle }},
}

// sensorDefs are the sensors, each with a row, or with one for each fan and graphics processor.
var sensorDefs = []figureDef{
	{name: "thermal.cpu.die", title: "cpu"},
	{name: "thermal.cpu.proximity", title: "beside the cpu"},
	{name: "thermal.package", title: "cpu package"},
	{name: "thermal.gpu.die", title: "gpu"},
	{name: "thermal.ambient", title: "ambient"},
	{name: "thermal.pressure.state", title: "thermal pressure"},
	{name: "thermal.pressure.level", title: "thermal pressure level"},
	{name: "thermal.fan.speed", title: "fan"},
	{name: "gpu.util", title: "gpu busy"},
	{name: "gpu.memory.used", title: "gpu memory"},
	{name: "power.source", title: "power source"},
	{name: "power.battery.charge", title: "battery"},
	{name: "power.battery.charging", title: "charging"},
	{name: "power.battery.amperage", title: "battery current"},
	{name: "power.battery.voltage", title: "battery voltage"},
	{name: "power.battery.temperature", title: "battery temperature"},
	{name: "power.battery.time_remaining", title: "battery time left"},
	{name: "power.battery.health", title: "battery health"},
	{name: "power.battery.cycle_count", title: "battery cycles"},
}

// wanted returns all metrics that a moment uses, except for those of processes.
func wanted() []string {
	var out []string
	add := func(defs []figureDef) {
		for _, d := range defs {
			out = append(out, d.metrics...)
			for _, name := range []string{d.of, d.but} {
				if name != "" {
					out = append(out, name)
				}
			}
		}
	}
	for _, s := range sectionDefs {
		add(s.figures)
	}
	for _, t := range []tableDef{disks, volumes, interfaces} {
		add(t)
	}
	for _, d := range sensorDefs {
		out = append(out, d.name)
	}
	for _, c := range coreMetrics {
		out = append(out, c.metric)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// sections returns the system page.
func (v *values) sections() []Section {
	var out []Section
	for _, def := range sectionDefs {
		s := Section{Name: def.name, Title: def.title}
		for i := range def.figures {
			d := &def.figures[i]
			key := ""
			if d.minutes != "" {
				key = v.loadOver(d.metrics[0], d.minutes)
			}
			if f, ok := v.compute(d, key); ok {
				s.Figures = append(s.Figures, f)
			}
		}
		if len(s.Figures) > 0 {
			out = append(out, s)
		}
	}
	return out
}

// compute computes a figure for one instance; ok is false where the host has none of its metrics,
// or a quiet figure is zero or absent.
func (v *values) compute(def *figureDef, key string) (Figure, bool) {
	var f Figure
	ok := false
	for _, name := range def.metrics {
		x, known := v.of[name][key]
		if !known && v.r.a.Lookup(name) == nil {
			continue
		}
		one := v.figure(def.name, def.title, x, known, name)
		switch {
		case !ok || !f.Known() && one.Known():
			f, ok = one, true
		case def.sum && one.Known():
			f.Value += one.Value
		}
		if !def.sum && f.Known() {
			break
		}
	}
	if !ok || def.quiet && !(f.Value != 0 && f.Known()) {
		return f, false
	}
	if def.perCore && f.Known() {
		f.Units, f.Rate = metric.NoUnits, true
		if v.cpu == 0 {
			f.Value, f.Absent = nan, "nothing tells how many processors there are"
		} else {
			f.Value = min(f.Value/v.cpu, 1)
		}
	}
	if whole, known := v.one(def.of); def.of != "" && known && whole.x > 0 {
		if factor, err := whole.units.Factor(f.Units); err == nil {
			f.Of = whole.x * factor
		}
	}
	if rest, known := v.one(def.but); def.but != "" && known && rest.x == rest.x && f.Of == f.Of {
		if factor, err := rest.units.Factor(f.Units); err == nil {
			f.Value, f.Absent = f.Of-float64(rest.x*factor), ""
		}
	}
	return f, true
}

// loadOver returns the key of the load over so many minutes: some kernels name it "1 minute",
// others only "1".
func (v *values) loadOver(name, minutes string) string {
	for key := range v.of[name] {
		if first, _, _ := strings.Cut(key, " "); first == minutes {
			return key
		}
	}
	return minutes
}

// table returns a table with a row for each instance.
func (v *values) table(defs tableDef) []Row {
	var metrics []string
	var used []figureDef
	for _, d := range defs {
		if slices.ContainsFunc(d.metrics, func(name string) bool { return len(v.of[name]) > 0 }) {
			used = append(used, d)
			metrics = append(metrics, d.metrics...)
		}
	}
	keys, names := v.keys(metrics)
	var out []Row
	for _, key := range keys {
		row := Row{Key: key, Name: names[key]}
		for i := range used {
			f, ok := v.compute(&used[i], key)
			if !ok {
				f = Figure{Name: used[i].name, Title: used[i].title, Value: nan, Of: nan}
			}
			row.Figures = append(row.Figures, f)
		}
		out = append(out, row)
	}
	return out
}

// sensors returns the rows of the sensors, one for each fan and the like.
func (v *values) sensors() []Row {
	var out []Row
	for _, def := range sensorDefs {
		keys, names := v.keys([]string{def.name})
		for _, key := range keys {
			title := def.title
			if names[key] != "" {
				title += " " + names[key]
			}
			f := v.figure(def.name, def.title, v.of[def.name][key], true, def.name)
			out = append(out, Row{Key: def.name + "/" + key, Name: title, Figures: []Figure{f}})
		}
	}
	return out
}

// cores returns the processors' times, by mode.
func (v *values) cores() []Core {
	var metrics []string
	for _, c := range coreMetrics {
		metrics = append(metrics, c.metric)
	}
	keys, names := v.keys(metrics)
	var out []Core
	for _, key := range keys {
		core := Core{Name: names[key], User: nan, Nice: nan, System: nan, Wait: nan, Interrupts: nan, Steal: nan, Idle: nan}
		for _, c := range coreMetrics {
			if x, ok := v.of[c.metric][key]; ok && x.miss == metric.Present {
				*c.of(&core) = sum(*c.of(&core), x.x)
			}
		}
		out = append(out, core)
	}
	return out
}
