package darwintest

import (
	"strconv"
	"strings"
)

// Series names a metric and an instance of its domain.
type Series struct{ Metric, Instance string }

// Expectation is the expected value of every series.
type Expectation struct {
	Values map[Series]string
	// Lacking are the metrics that this Mac lacks.
	Lacking map[string]bool
	// Free are the metrics whose values do not come from the scenario: they describe the program
	// that asks, or the time.
	Free map[string]bool
}

type expecting struct {
	*World
	Expectation
}

// Expect computes the value of every system-wide metric.
func (w *World) Expect() *Expectation {
	x := &expecting{w, Expectation{make(map[Series]string), make(map[string]bool), make(map[string]bool)}}
	x.memory()
	x.processors()
	x.scalars()
	x.protocols()
	x.connections()
	x.network()
	x.filesystems()
	x.disks()
	x.apfs()
	x.gpus()
	x.battery()
	x.thermal()
	x.nfs()
	x.tree()
	return &x.Expectation
}

func (x *expecting) set(metric, instance, v string) { x.Values[Series{metric, instance}] = v }
func (x *expecting) u(metric, instance string, v uint64) {
	x.set(metric, instance, strconv.FormatUint(v, 10))
}
func (x *expecting) i(metric, instance string, v int64) {
	x.set(metric, instance, strconv.FormatInt(v, 10))
}
func (x *expecting) f32(metric, instance string, v float64) {
	x.set(metric, instance, strconv.FormatFloat(float64(float32(v)), 'g', -1, 32))
}
func (x *expecting) f64(metric, instance string, v float64) {
	x.set(metric, instance, strconv.FormatFloat(v, 'g', -1, 64))
}
func (x *expecting) lacks(metrics ...string) {
	for _, m := range metrics {
		x.Lacking[m] = true
	}
}

// num is a field's value at the instant, 0 if the scenario does not mention it. num32 is the
// value cut to 32 bits.
func (x *expecting) num(fields map[string]*expr, name string) uint64 {
	if e := fields[name]; e != nil {
		return uint64(e.at(x.T).n)
	}
	return 0
}
func (x *expecting) num32(fields map[string]*expr, name string) uint64 {
	return uint64(uint32(x.num(fields, name)))
}

// has reports whether a structure exists; if not, the metric is lacking.
func (x *expecting) has(name, metric string) bool {
	if s := x.sysctls[name]; s != nil && s.absent(x.T) {
		x.lacks(metric)
		return false
	}
	return true
}

func (x *expecting) memory() {
	count := func(name string) uint64 { return x.num32(x.vm, name) }
	kb := func(metric string, pages uint64) { x.u(metric, "", pages*uint64(x.pageSize)/1024) }
	free, active, inactive, wired := count("free_count"), count("active_count"), count("inactive_count"), count("wire_count")
	compressor := count("compressor_page_count")
	for name, pages := range map[string]uint64{
		"mem.freemem": free, "mem.util.free": free, "mem.active": active, "mem.util.active": active,
		"mem.inactive": inactive, "mem.util.inactive": inactive, "mem.util.wired": wired,
		"mem.util.compressed": compressor, "mem.util.used": wired + active + inactive + compressor,
	} {
		kb(name, pages)
	}
	for name, n := range map[string]uint64{
		"mem.pages.freemem": free, "mem.pages.active": active, "mem.pages.inactive": inactive, "mem.pages.wired": wired,
		"mem.pages.reactivated": x.num(x.vm, "reactivations"), "mem.pages.faults": x.num(x.vm, "faults"),
		"mem.pages.cow_faults": x.num(x.vm, "cow_faults"), "mem.pages.zero_filled": x.num(x.vm, "zero_fill_count"),
		"mem.pageins": x.num(x.vm, "pageins"), "mem.pageouts": x.num(x.vm, "pageouts"),
		"mem.compressions": x.num(x.vm, "compressions"), "mem.decompressions": x.num(x.vm, "decompressions"),
		"mem.compressor.pages": compressor, "mem.compressor.uncompressed_pages": x.num(x.vm, "total_uncompressed_pages_in_compressor"),
		"swap.pagesin": x.num(x.vm, "swapins"), "swap.pagesout": x.num(x.vm, "swapouts"),
	} {
		x.u(name, "", n)
	}
	swap := x.structs["vm.swapusage"]
	for name, field := range map[string]string{"swap.length": "xsu_total", "swap.used": "xsu_used", "swap.free": "xsu_avail"} {
		if x.has("vm.swapusage", name) {
			x.u(name, "", x.num(swap, field)/1024)
		}
	}
}

func (x *expecting) processors() {
	states := []string{"user", "sys", "idle", "nice"}
	var total [4]uint64
	for cpu := range int(x.ncpu) {
		for s, name := range states {
			ticks := uint64(0)
			if e := x.cpu[cpu][s]; e != nil {
				ticks = uint64(uint32(e.at(x.T).n))
			}
			total[s] += ticks
			x.u("kernel.percpu.cpu."+name, "cpu"+strconv.Itoa(cpu), ticks*10)
		}
	}
	for s, name := range states {
		x.u("kernel.all.cpu."+name, "", total[s]*10)
	}
	x.i("hinv.ncpu", "", x.ncpu)
	for i, name := range []string{"1 minute", "5 minute", "15 minute"} {
		if !x.has("vm.loadavg", "vm.loadavg") || !x.has("vm.loadavg", "kernel.all.load") {
			break
		}
		v := float64(uint32(x.loads[i].at(x.T).f*2048)) / 2048
		x.f32("kernel.all.load", name, v)
		x.f64("vm.loadavg", name, v)
	}
	// The oracle does not count the processes: scenarios set the counts.
	if e := x.World.set["task_count"]; e != nil {
		x.i("kernel.all.nprocs", "", e.at(x.T).n)
		x.i("kernel.all.nthreads", "", x.World.set["thread_count"].at(x.T).n)
	} else {
		x.Free["kernel.all.nprocs"], x.Free["kernel.all.nthreads"] = true, true
	}
	x.Free["kernel.all.uptime"] = true
	users, roots, sessions := 0, 0, 0
	for _, u := range x.logins {
		if !u.alive(x.T) {
			continue
		}
		kind, user := int64(7), ""
		if e := u.fields["ut_type"]; e != nil {
			kind = e.at(x.T).n
		}
		if e := u.fields["ut_user"]; e != nil {
			user = e.at(x.T).text
		}
		switch {
		case kind == 7 && user != "":
			users, sessions = users+1, sessions+1
			if user == "root" {
				roots++
			}
		case kind == 5 || kind == 6:
			sessions++
		}
	}
	x.i("kernel.all.nusers", "", int64(users))
	x.i("kernel.all.nroots", "", int64(roots))
	x.i("kernel.all.nsessions", "", int64(sessions))
}

// answer returns a sysctl's number or text; false if there is no such name.
func (x *expecting) answer(name string) (value, bool) {
	s := x.sysctls[name]
	if s == nil || s.absent(x.T) {
		return value{}, false
	}
	switch {
	case s.kind == 's' && s.value == nil:
		return value{isText: true}, true
	case s.kind == 's':
		return value{text: s.value.at(x.T).String(), isText: true}, true
	case s.value != nil:
		return s.value.at(x.T), true
	}
	return value{n: x.unset(name)}, true
}

// unset is the host's answer for a name that the scenario does not set.
func (x *expecting) unset(name string) int64 {
	switch name {
	case "kern.num_tasks", "kern.num_taskthreads":
		return x.taskLimit()
	case "kern.num_threads":
		if limit := x.taskLimit(); limit != 1024 {
			return limit * 5
		}
		return 2560
	case "net.inet.tcp.pcbcount":
		return x.count(x.tcp)
	case "net.inet.udp.pcbcount":
		return x.count(x.udp)
	}
	h := uint32(2166136261)
	for _, c := range []byte(name) {
		h = (h ^ uint32(c)) * 16777619
	}
	if strings.Contains(name, "debug") || strings.Contains(name, "enable") || strings.Contains(name, "disable") {
		return int64(h & 1)
	}
	return int64(h % 1000)
}

func (x *expecting) taskLimit() int64 {
	memory, _ := x.answer("hw.memsize")
	switch gb := memory.n >> 30; {
	case gb >= 8:
		return 1024 * min(gb/4, 16)
	case gb >= 3:
		return 2048
	}
	return 1024
}

func (x *expecting) count(conns []*thing) int64 {
	n := int64(0)
	for _, c := range conns {
		if !c.alive(x.T) {
			continue
		}
		if e := c.fields["count"]; e != nil {
			n += e.at(x.T).n
		} else {
			n++
		}
	}
	return n
}

// scalars expects the metrics that are a sysctl under another name.
func (x *expecting) scalars() {
	for metric, name := range map[string]string{
		"hinv.machine": "hw.model", "hinv.pagesize": "hw.pagesize",
		"kernel.uname.sysname": "kern.ostype", "kernel.uname.nodename": "kern.hostname", "kernel.uname.release": "kern.osrelease",
		"kernel.uname.version": "kern.version", "kernel.uname.machine": "hw.machine",
		"kernel.limits.maxproc": "kern.maxproc", "kernel.limits.maxprocperuid": "kern.maxprocperuid",
		"kernel.limits.maxfiles": "kern.maxfiles", "kernel.limits.maxfilesperproc": "kern.maxfilesperproc",
		"vfs.files.count": "kern.num_files", "vfs.files.max": "kern.maxfiles",
		"vfs.vnodes.count": "kern.num_vnodes", "vfs.vnodes.max": "kern.maxvnodes", "vfs.vnodes.recycled": "kern.num_recycledvnodes",
		"ipc.mbuf.clusters": "kern.ipc.nmbclusters", "ipc.maxsockbuf": "kern.ipc.maxsockbuf",
		"ipc.somaxconn": "kern.ipc.somaxconn", "ipc.socket.defunct": "kern.ipc.sodefunct_calls",
		"mem.compressor.swapouts_under_30s":  "vm.compressor_swapouts_under_30s",
		"mem.compressor.swapouts_under_60s":  "vm.compressor_swapouts_under_60s",
		"mem.compressor.swapouts_under_300s": "vm.compressor_swapouts_under_300s",
		"mem.compressor.thrashing_detected":  "vm.compressor_swapper_swapout_thrashing_detected",
		"mem.compressor.major_compactions":   "vm.compressor.compactor.major_compactions_completed",
		"mem.compressor.lz4_compressions":    "vm.lz4_compressions",
		"network.sockstat.tcp.inuse":         "net.inet.tcp.pcbcount",
		"network.sockstat.udp.inuse":         "net.inet.udp.pcbcount",
	} {
		v, ok := x.answer(name)
		if !ok {
			x.lacks(metric)
		} else if v.isText {
			x.set(metric, "", v.text)
		} else {
			x.i(metric, "", v.n)
		}
	}
	most, hasMost := x.answer("kern.maxfiles")
	used, hasUsed := x.answer("kern.num_files")
	if hasMost && hasUsed {
		x.i("vfs.files.free", "", max(most.n-used.n, 0))
	} else {
		x.lacks("vfs.files.free")
	}
	if memory, ok := x.answer("hw.memsize"); ok {
		x.i("mem.physmem", "", memory.n>>10)
		x.i("hinv.physmem", "", memory.n>>20)
	}
	hz := x.structs["kern.clockrate"]
	x.u("kernel.all.hz", "", x.num(hz, "hz"))
	for _, field := range []string{"hz", "tick", "tickadj", "profhz", "stathz"} {
		x.u("kern.clockrate", field, x.num(hz, field))
	}
	for instance, field := range map[string]string{"total": "xsu_total", "avail": "xsu_avail", "used": "xsu_used"} {
		if x.has("vm.swapusage", "vm.swapusage") {
			x.u("vm.swapusage", instance, x.num(x.structs["vm.swapusage"], field))
		}
	}
	var uname []string
	for _, name := range []string{"kern.ostype", "kern.hostname", "kern.osrelease", "kern.version", "hw.machine"} {
		v, _ := x.answer(name)
		uname = append(uname, v.text)
	}
	x.set("pmda.uname", "", strings.Join(uname, " "))
	x.Free["pmda.version"] = true
	if v, ok := x.answer("kern.osproductversion"); ok {
		x.set("kernel.uname.distro", "", "macOS "+v.text)
	}
	for _, name := range []string{"hw.cacheconfig", "hw.cachesize"} {
		x.quads(name)
	}
}

// quads expects an array of ten numbers, given in hexadecimal.
func (x *expecting) quads(name string) {
	s := x.sysctls[name]
	if s == nil || s.absent(x.T) {
		x.lacks(name)
		return
	}
	var b []byte
	if s.value != nil {
		digits := strings.ReplaceAll(s.value.at(x.T).text, " ", "")
		for i := 0; i+1 < len(digits); i += 2 {
			n, _ := strconv.ParseUint(digits[i:i+2], 16, 8)
			b = append(b, byte(n))
		}
	} else {
		b = make([]byte, 80)
	}
	for i := range min(10, len(b)/8) {
		var v uint64
		for k := 7; k >= 0; k-- {
			v = v<<8 | uint64(b[8*i+k])
		}
		x.u(name, strconv.Itoa(i), v)
	}
}

// tree expects every sysctl under its own name.
func (x *expecting) tree() {
	for _, name := range x.names {
		s := x.sysctls[name]
		if _, done := x.Values[Series{name, ""}]; done || strings.Contains("Slo", string(s.kind)) {
			continue
		}
		switch name {
		case "hw.cacheconfig", "hw.cachesize":
			continue
		case "kern.boottime", "kern.sleeptime", "kern.waketime":
			x.Free[name] = true
			continue
		}
		v, ok := x.answer(name)
		switch {
		case !ok:
			x.lacks(name)
		case s.kind == 't':
			us := int64(0)
			if s.value != nil {
				us = v.n * 1_000_000
				if s.second != nil {
					us += s.second.at(x.T).n
				}
			}
			x.i(name, "", us)
		case s.kind == 's':
			x.set(name, "", v.text)
		case s.kind == 'u':
			x.u(name, "", uint64(uint32(v.n)))
		case s.kind == 'Q':
			x.u(name, "", uint64(v.n))
		case s.kind == 'q':
			x.i(name, "", v.n)
		case s.kind == 'i' && (name == "vm.pageout_inactive_used" || name == "vm.pageout_inactive_clean"):
			// Declared signed, but they count up through the sign bit.
			x.u(name, "", uint64(uint32(v.n)))
		case s.kind == 'i':
			x.i(name, "", int64(int32(v.n)))
		}
	}
}
