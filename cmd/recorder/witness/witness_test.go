package witness

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"tachograph/sample/catalog"
	"tachograph/sample/metric"
)

// machine is what a platform's metrics say at each look: a value, or one for each
// instance.
type machine struct {
	t     *testing.T
	descs map[string]*metric.Desc
	at    metric.Stamp
	// values are those of each look, by metric and instance.
	values map[string]map[string][looks]float64
	absent map[string]metric.Reason // by metric, or by metric and instance, or look
	keys   map[string]*metric.Instance
	second time.Duration
}

func newMachine(t *testing.T, p catalog.Platform) *machine {
	m := &machine{t: t, descs: make(map[string]*metric.Desc), values: make(map[string]map[string][looks]float64),
		absent: make(map[string]metric.Reason), keys: make(map[string]*metric.Instance), second: 20 * time.Second}
	m.at = metric.Stamp{Wall: 1e18, Awake: 1e12, Cont: 1e12}
	for _, d := range catalog.For(p) {
		m.descs[d.Name] = d
	}
	return m
}

// set says what a metric shows at the four looks; the last value stays.
func (m *machine) set(name, key string, values ...float64) {
	if m.descs[name] == nil {
		m.t.Fatalf("there is no metric %s", name)
	}
	var all [looks]float64
	for i := range all {
		all[i] = values[min(i, len(values)-1)]
	}
	if m.values[name] == nil {
		m.values[name] = make(map[string][looks]float64)
	}
	m.values[name][key] = all
}

// grow has a counter grow by so much a second from a number on.
func (m *machine) grow(name, key string, perSecond float64) {
	step := perSecond * m.second.Seconds()
	m.set(name, key, 1000, 1000+step, 1000+2*step, 1000+3*step)
}

// block is what is read of a metric at a look.
func (m *machine) block(name string, look int) *metric.Block {
	d := m.descs[name]
	b := &metric.Block{Group: &metric.Group{Name: name, Indom: d.Indom, Metrics: []*metric.Desc{d}}, At: m.at, Cols: make([]metric.Column, 1)}
	for key, v := range m.values[name] {
		var in *metric.Instance
		if d.Indom != metric.NoIndom {
			if in = m.keys[d.Indom+key]; in == nil {
				in = &metric.Instance{ID: uint64(len(m.keys) + 1), Key: key, Name: key}
				m.keys[d.Indom+key] = in
			}
		}
		why, bits := max(m.absent[name], m.absent[name+" "+key], m.absent[fmt.Sprint(name, " at ", look)]), uint64(int64(v[look]))
		switch d.Type {
		case metric.F32:
			bits = uint64(math.Float32bits(float32(v[look])))
		case metric.F64:
			bits = math.Float64bits(v[look])
		}
		if why != metric.Present {
			bits = 0
		}
		b.Rows = append(b.Rows, in)
		b.Cols[0].Bits = append(b.Cols[0].Bits, bits)
		b.Cols[0].Miss = append(b.Cols[0].Miss, why)
	}
	return b
}

func (m *machine) pass(d time.Duration) {
	m.at.Wall += int64(d)
	m.at.Awake += int64(d)
	m.at.Cont += int64(d)
}

// check is a check of the pairs with a prefix.
func (m *machine) check(p catalog.Platform, prefix string) []Verdict {
	c := m.chosen(p, prefix).Begin(m.at)
	for look := 0; ; look++ {
		m.pass(time.Millisecond)
		for name := range m.values {
			c.See(m.block(name, look))
		}
		m.pass(m.second)
		if !c.Next(m.at) {
			return c.Verdicts()
		}
	}
}

// chosen are the pairs of a platform whose names begin so.
func (m *machine) chosen(p catalog.Platform, prefix string) *Set {
	var pairs []Pair
	for _, one := range For(p) {
		if strings.HasPrefix(one.Name, prefix) {
			pairs = append(pairs, one)
		}
	}
	if len(pairs) == 0 {
		m.t.Fatalf("no pair is called %s", prefix)
	}
	var descs []*metric.Desc
	for _, d := range m.descs {
		descs = append(descs, d)
	}
	return Compile(pairs, descs)
}

// words are verdicts in short.
func words(list []Verdict) string {
	var all []string
	for i := range list {
		v := &list[i]
		text := v.Name() + ": " + v.State.String()
		if v.Why != "" {
			text += ": " + v.Why
		}
		all = append(all, text)
	}
	return strings.Join(all, "\n")
}

// Every pair is one that replay understands, on each platform that it is of, and
// names metrics that exist.
func TestPairs(t *testing.T) {
	for _, p := range []catalog.Platform{catalog.Darwin, catalog.Linux} {
		descs := catalog.For(p)
		names := make(map[string]bool)
		for _, c := range Compile(For(p), descs).pairs {
			if c.idle != "" {
				t.Errorf("%s: %s: %s", p, c.Name, c.idle)
			}
			if names[c.Name] || c.Name == "" || c.Because == "" || (c.When == "") != (c.Else == "") {
				t.Errorf("%s: %q is not unique or says too little", p, c.Name)
			}
			names[c.Name] = true
			for _, pattern := range c.Distrusts {
				found := false
				for _, d := range descs {
					found = found || d.Name == pattern || strings.HasPrefix(d.Name, pattern+".")
				}
				if !found {
					t.Errorf("%s: %s distrusts %s, which is not there", p, c.Name, pattern)
				}
			}
			if c.growth && c.Beyond == 0 {
				t.Errorf("%s: %s: growth without an allowance is told of noise", p, c.Name)
			}
		}
	}
}

// What a kernel of macOS 27 does is found, and what an ordinary machine does is not.
func TestVerdicts(t *testing.T) {
	const darwin, linux = catalog.Darwin, catalog.Linux
	states := []string{"close", "listen", "syn_sent", "syn_recv", "established", "close_wait", "fin_wait1", "closing", "last_ack", "fin_wait2", "time_wait"}
	sockets := func(m *machine, count float64, each ...float64) {
		m.set("net.inet.tcp.pcbcount", "", count)
		for i, s := range states {
			m.set("network.tcpconn."+s, "", each[i%len(each)])
		}
	}
	for _, c := range []struct {
		name     string
		platform catalog.Platform
		pair     string
		world    func(m *machine)
		want     string
	}{
		{"received bytes of Wi-Fi stand still", darwin, "interface: packets, bytes in", func(m *machine) {
			m.grow("network.interface.in.packets", "en0", 900)
			m.set("network.interface.in.bytes", "en0", 5_000_000)
			m.grow("network.interface.in.packets", "lo0", 900)
			m.grow("network.interface.in.bytes", "lo0", 900*60)
		}, "interface: packets, bytes in [en0]: disagrees\ninterface: packets, bytes in [lo0]: agrees"},
		{"and their absence has been told already", darwin, "interface: packets, bytes in", func(m *machine) {
			m.grow("network.interface.in.packets", "en0", 900)
			m.set("network.interface.in.bytes", "en0", 5_000_000)
			m.absent["network.interface.in.bytes en0"] = metric.Refused
			m.grow("network.interface.in.packets", "lo0", 900)
			m.grow("network.interface.in.bytes", "lo0", 900*60)
		}, "interface: packets, bytes in [en0]: cannot be compared: network.interface.in.bytes is absent: withheld by the kernel\n" +
			"interface: packets, bytes in [lo0]: agrees"},
		{"connections receive more than the interface", darwin, "interface: connections, bytes in", func(m *machine) {
			m.grow("network.interface.in.connection_bytes", "en0", 900_000)
			m.set("network.interface.in.bytes", "en0", 5_000_000)
			m.grow("network.interface.in.connection_bytes", "utun0", 900_000)
			m.grow("network.interface.in.bytes", "utun0", 600_000)
		}, "interface: connections, bytes in [en0]: disagrees\ninterface: connections, bytes in [utun0]: agrees"},
		{"they stand still while packets do, too", darwin, "network: tcp, interface", func(m *machine) {
			m.set("network.interface.in.packets", "en0", 10)
			m.set("network.interface.in.bytes", "en0", 0)
			m.grow("network.tcp.insegs", "", 500)
		}, "network: tcp, interface packets: disagrees\nnetwork: tcp, interface bytes: disagrees"},
		{"nothing is received", darwin, "interface: packets, bytes in", func(m *machine) {
			m.grow("network.interface.in.packets", "en0", 1)
			m.set("network.interface.in.bytes", "en0", 5_000_000)
		}, "interface: packets, bytes in [en0]: cannot be compared: too little moved to tell"},
		{"only the program's own sockets", darwin, "sockets:", func(m *machine) { sockets(m, 41, 0) },
			"sockets: count, list: disagrees\nsockets: list, count: agrees"},
		{"all sockets, which come and go", darwin, "sockets:", func(m *machine) { sockets(m, 41, 3, 4, 5) },
			"sockets: count, list: agrees\nsockets: list, count: agrees"},
		{"the list is withheld", darwin, "sockets:", func(m *machine) {
			sockets(m, 41, 0)
			m.absent["network.tcpconn.listen"] = metric.Permission
		}, "sockets: count, list: cannot be compared: network.tcpconn.listen is absent: permission denied\n" +
			"sockets: list, count: cannot be compared: network.tcpconn.listen is absent: permission denied"},
		{"memory statistics are a cached answer", darwin, "faults:", func(m *machine) {
			m.set("mem.pages.faults", "", 1e9)
			m.grow("proc.psinfo.faults", "1", 1500)
			m.grow("proc.psinfo.faults", "2", 1500)
		}, "faults: processes, machine: disagrees"},
		{"memory statistics move", darwin, "faults:", func(m *machine) {
			m.grow("mem.pages.faults", "", 3100)
			m.grow("proc.psinfo.faults", "1", 1500)
			m.grow("proc.psinfo.faults", "2", 1500)
		}, "faults: processes, machine: agrees"},
		{"free memory of an old answer", darwin, "memory: s", func(m *machine) {
			m.set("vm.pages", "", 1_000_000)
			m.set("vm.page_free_count", "", 500_000, 510_000)
			m.set("vm.page_speculative_count", "", 1000)
			m.set("mem.pages.freemem", "", 20_000)
		}, "memory: statistics, sysctl: disagrees\nmemory: sysctl, statistics: agrees"},
		{"a look whose answer was a repeated one", darwin, "memory: s", func(m *machine) {
			m.set("vm.pages", "", 1_000_000)
			m.set("vm.page_free_count", "", 500_000, 510_000)
			m.set("vm.page_speculative_count", "", 1000)
			m.set("mem.pages.freemem", "", 20_000)
			m.absent["mem.pages.freemem at 3"] = metric.Stale
		}, "memory: statistics, sysctl: disagrees\nmemory: sysctl, statistics: agrees"},
		{"free memory falls fast", darwin, "memory: s", func(m *machine) {
			m.set("vm.pages", "", 1_000_000)
			m.set("vm.page_free_count", "", 900_000, 600_000, 300_000, 10_000)
			m.set("vm.page_speculative_count", "", 1000)
			m.set("mem.pages.freemem", "", 800_000, 500_000, 200_000, 9_000)
		}, "memory: statistics, sysctl: agrees\nmemory: sysctl, statistics: agrees"},
		{"energy channels stand", darwin, "energy: cpu", func(m *machine) {
			m.set("hw.cputype", "", 16777228)
			m.grow("proc.psinfo.utime", "1", 0.9e9)
			m.grow("proc.psinfo.stime", "1", 0.1e9)
			m.set("proc.energy.cpu", "1", 77)
		}, "energy: cpu, processes: disagrees"},
		{"energy is used", darwin, "energy: cpu", func(m *machine) {
			m.set("hw.cputype", "", 16777228)
			m.grow("proc.psinfo.utime", "1", 0.9e9)
			m.grow("proc.psinfo.stime", "1", 0.1e9)
			m.grow("proc.energy.cpu", "1", 0.05e9)
		}, "energy: cpu, processes: agrees"},
		{"energy on Intel", darwin, "energy: cpu", func(m *machine) {
			m.set("hw.cputype", "", 7)
			m.grow("proc.psinfo.utime", "1", 0.9e9)
			m.grow("proc.psinfo.stime", "1", 0.1e9)
			m.set("proc.energy.cpu", "1", 0)
		}, "energy: cpu, processes: cannot be compared: Intel's processors do not tell what a process used"},
		{"energy a thousand times too large, on battery", darwin, "energy: processes", func(m *machine) {
			m.set("power.ac.connected", "", 0)
			m.set("power.battery.amperage", "", -800)
			m.set("power.battery.voltage", "", 12_000)
			m.set("kernel.all.uptime", "", 100, 120, 140, 160)
			m.grow("proc.energy.cpu", "1", 5000e9)
		}, "energy: processes, battery: disagrees"},
		{"energy of a burst, on battery", darwin, "energy: processes", func(m *machine) {
			m.set("power.ac.connected", "", 0)
			m.set("power.battery.amperage", "", -800)
			m.set("power.battery.voltage", "", 12_000)
			m.set("kernel.all.uptime", "", 100, 120, 140, 160)
			m.grow("proc.energy.cpu", "1", 30e9)
		}, "energy: processes, battery: agrees"},
		{"the machine's ticks stand", linux, "cpu: ", func(m *machine) {
			busy(m)
			for _, s := range []string{"user", "nice", "sys", "idle", "wait.total", "irq.hard", "irq.soft", "steal"} {
				m.set("kernel.all.cpu."+s, "", 1e6)
			}
			cpu(m, 900, 50)
			m.set("kernel.all.uptime", "", 100, 120, 140, 160)
		}, "cpu: processes, machine: disagrees\n" +
			"cpu: machine, processes: cannot be compared: processes began or ended meanwhile, or not all of them are seen from here\n" +
			"cpu: clock, ticks: disagrees\ncpu: scheduler, processes: agrees\ncpu: control groups, machine: disagrees"},
		{"a machine at work", linux, "cpu: ", func(m *machine) {
			busy(m)
			for _, s := range []string{"nice", "idle", "wait.total", "irq.hard", "irq.soft", "steal"} {
				m.grow("kernel.all.cpu."+s, "", 10)
			}
			m.grow("kernel.all.cpu.user", "", 900)
			m.grow("kernel.all.cpu.sys", "", 40)
			cpu(m, 900, 50)
			m.set("kernel.all.uptime", "", 100, 120, 140, 160)
		}, "cpu: processes, machine: agrees\n" +
			"cpu: machine, processes: cannot be compared: processes began or ended meanwhile, or not all of them are seen from here\n" +
			"cpu: clock, ticks: agrees\ncpu: scheduler, processes: agrees\ncpu: control groups, machine: agrees"},
		{"one processor that waits for disks", linux, "cpu: clock", func(m *machine) {
			for _, s := range []string{"user", "nice", "sys", "idle", "irq.hard", "irq.soft", "steal"} {
				m.grow("kernel.all.cpu."+s, "", 5)
			}
			m.grow("kernel.all.cpu.wait.total", "", 960)
			m.set("kernel.all.uptime", "", 100, 120, 140, 160)
		}, "cpu: clock, ticks: agrees"},
		{"a guest whose time the hypervisor takes", linux, "cpu: clock", func(m *machine) {
			for _, s := range []string{"user", "nice", "sys", "idle", "irq.hard", "irq.soft", "wait.total"} {
				m.grow("kernel.all.cpu."+s, "", 5)
			}
			m.grow("kernel.all.cpu.steal", "", 960)
			m.set("kernel.all.uptime", "", 100, 120, 140, 160)
		}, "cpu: clock, ticks: agrees"},
		{"processes that stand, in quiet times", linux, "cpu: machine", func(m *machine) {
			quiet(m)
			m.grow("kernel.all.cpu.user", "", 1900)
			m.set("kernel.all.cpu.nice", "", 0)
			cpu(m, 0, 0)
		}, "cpu: machine, processes: disagrees"},
		{"and processes that work", linux, "cpu: machine", func(m *machine) {
			quiet(m)
			m.grow("kernel.all.cpu.user", "", 1900)
			m.set("kernel.all.cpu.nice", "", 0)
			cpu(m, 1000, 0)
		}, "cpu: machine, processes: agrees"},
		{"disks that count nothing", linux, "disk: ", func(m *machine) {
			m.grow("disk.dev.read", "sda", 300)
			m.grow("disk.dev.write", "sda", 300)
			m.set("disk.dev.read_bytes", "sda", 9)
			m.set("disk.dev.write_bytes", "sda", 9)
			m.set("disk.all.read_bytes", "", 9)
			m.set("mem.util.shmem", "", 100)
			m.set("swap.pagesin", "", 100)
			m.grow("proc.io.read_bytes", "1", 30e6)
		}, "disk: requests, bytes read [sda]: disagrees\ndisk: requests, bytes written [sda]: disagrees\ndisk: processes, devices: disagrees"},
		{"a file system in memory behind a loop device", linux, "disk: processes", func(m *machine) {
			m.set("disk.all.read_bytes", "", 9)
			m.set("mem.util.shmem", "", 1<<20)
			m.set("swap.pagesin", "", 100)
			m.grow("proc.io.read_bytes", "1", 30e6)
		}, "disk: processes, devices: agrees"},
		{"a container's meminfo", linux, "memory: ", func(m *machine) {
			memory(m, 64e6, 8e6)
		}, "memory: meminfo, vmstat: cannot be compared: " + otherMemory + "\n" +
			"memory: vmstat, meminfo: cannot be compared: " + otherMemory + "\nmemory: parts, whole: agrees\nmemory: control groups, machine: agrees"},
		{"a control group with more memory than there is", linux, "memory: control groups", func(m *machine) {
			memory(m, 8e6, 8e6)
			m.set("cgroup.memory.current", "/jobs", 11e6*1024)
		}, "memory: control groups, machine: disagrees"},
		{"a control group with more threads than there are", linux, "threads: control groups", func(m *machine) {
			m.set("cgroup.tasks", "/", 500)
			m.set("cgroup.tasks", "/jobs", 90)
			m.set("kernel.all.nthreads", "", 300)
		}, "threads: control groups, machine: disagrees"},
		{"one with nearly all of them", linux, "threads: control groups", func(m *machine) {
			m.set("cgroup.tasks", "/jobs", 310)
			m.set("kernel.all.nthreads", "", 300)
		}, "threads: control groups, machine: agrees"},
		{"meminfo that stands", linux, "memory: meminfo", func(m *machine) {
			memory(m, 8e6, 8e6)
			m.set("mem.util.free", "", 7.9e6)
		}, "memory: meminfo, vmstat: disagrees"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMachine(t, c.platform)
			c.world(m)
			if got := words(m.check(c.platform, c.pair)); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

// cpu has two processes use so many milliseconds a second together.
func cpu(m *machine, user, sys float64) {
	for i, key := range []string{"1", "2"} {
		m.grow("proc.psinfo.utime", key, user*float64(i))
		m.grow("proc.psinfo.stime", key, sys*float64(i))
		m.set("proc.psinfo.cutime", key, 0)
		m.set("proc.psinfo.cstime", key, 0)
		m.set("proc.psinfo.pid", key, float64(i+1))
		m.grow("proc.schedstat.cpu_time", key, user*float64(i)*1e6)
	}
	m.grow("cgroup.cpu.stat.usage", "/", (user+sys)*1e3)
	m.grow("cgroup.cpu.stat.usage", "/jobs", (user+sys)*0.9e3)
}

// busy has processes begin and end.
func busy(m *machine) {
	quiet(m)
	m.grow("proc.started", "", 10)
	m.grow("proc.exited", "", 10)
}

// quiet has nobody begin or end.
func quiet(m *machine) {
	for _, name := range []string{"proc.started", "proc.exited", "proc.unread"} {
		m.set(name, "", 0)
	}
	m.set("kernel.all.nthreads", "", 2)
	m.set("proc.psinfo.threads", "1", 1)
	m.set("proc.psinfo.threads", "2", 1)
}

// memory has meminfo be about so many Kbyte, half of which are free, and vmstat about
// so many.
func memory(m *machine, meminfo, vmstat float64) {
	m.set("mem.physmem", "", meminfo)
	m.set("hinv.pagesize", "", 4096)
	m.set("cgroup.memory.current", "/", meminfo/4*1024)
	m.set("mem.util.free", "", meminfo/2)
	for _, s := range []string{"active", "inactive", "unevictable", "slab", "pageTables", "kernelStack"} {
		m.set("mem.util."+s, "", meminfo/20)
	}
	m.set("mem.vmstat.nr_free_pages", "", vmstat/4/2)
	for _, s := range []string{"active_anon", "inactive_anon", "active_file", "inactive_file", "unevictable", "slab_reclaimable", "slab_unreclaimable"} {
		m.set("mem.vmstat.nr_"+s, "", vmstat/4/14)
	}
}
