package sim

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"tachograph/sample/catalog"
	"tachograph/sample/metric"
	"tachograph/store/rewrite"
)

// Size is the hardware of a machine.
type Size struct {
	Name     string
	Cores    int
	MemoryMB float64
	SwapMB   float64
	Disks    []Disk
	Volumes  []Volume
	Nets     []Net
}

// A Machine is a simulated Linux machine.
type Machine struct {
	Size
	Rand    *rand.Rand
	Disks   []*Disk
	Volumes []*Volume
	Nets    []*Net
	Procs   []*Proc
	Init    *Proc
	KThread *Proc
	Swapper *Proc // kswapd

	// What no process does: interrupts, time stolen by the host, a slower clock.
	Steal, Interrupts, SoftShare float64
	Clock                        float64 // part of the full speed
	Cached                       float64 // KB of files that processes want cached
	Slab                         float64
	HandlesOpen                  float64
	Ledger                       Ledger
	Killed                       []*Proc // by the kernel

	tcp
	Listeners      []*Listener
	Conns          []*Conn
	traffic        netUse // of all processes, those that have ended included
	series         *series
	second         int
	booted, start  int64
	step           int64 // by how much the wall clock was set
	slept          int64
	lastPID        int
	ids            uint64
	started        float64
	exited, unseen float64
	loads          [3]float64
	psi            [3][2]pressure
	mem            memory
	ended          []*Proc // since the last sweep
	churn, others  []metric.Event
	brief          map[string]*crowd
	recorded       bool
	out            *rewrite.Writer
}

// crowd counts short-lived processes that are reported together.
type crowd struct{ count, failed int }

const origin = int64(1770000000) * 1e9 // 2026-02-02 02:40:00 UTC

// New returns a machine that has been up for a while. The same size and seed give the same
// machine.
func New(size Size, seed uint64) *Machine {
	m := &Machine{Size: size, Rand: rand.New(rand.NewPCG(seed, 27)), second: -1, lastPID: 2, Clock: 1, brief: make(map[string]*crowd), Ledger: make(Ledger)}
	m.start = origin + int64(m.Rand.IntN(86400))*1e9
	m.booted = m.start - int64(100000+m.Rand.IntN(400000))*1e9
	for i := range size.Disks {
		d := size.Disks[i]
		m.Disks = append(m.Disks, &d)
	}
	for i := range size.Volumes {
		v := size.Volumes[i]
		m.Volumes = append(m.Volumes, &v)
	}
	for i := range size.Nets {
		n := size.Nets[i]
		m.Nets = append(m.Nets, &n)
	}
	m.series = newSeries()
	m.furnish()
	m.Init = &Proc{PID: 1, Name: "systemd", Owner: "root", Threads: 1, Files: 80, Disk: m.Disks[0], m: m, Exe: "/usr/lib/systemd/systemd"}
	m.Init.Memory, m.Init.Shared = 6000, 7000
	m.Init.begin(m.booted + 1e9)
	m.KThread = m.kernelProc("kthreadd", nil, 2)
	m.Procs = append(m.Procs, m.Init, m.KThread)
	m.Swapper = m.kernelProc("kswapd0", m.KThread, 60)
	m.Procs = append(m.Procs, m.Swapper)
	m.lastPID = 70
	for i := range m.Cores {
		for _, name := range []string{"ksoftirqd/", "kworker/"} {
			m.lastPID++
			text := name + strconv.Itoa(i)
			if name == "kworker/" {
				text += ":1"
			}
			m.Procs = append(m.Procs, m.kernelProc(text, m.KThread, m.lastPID))
		}
	}
	for _, name := range []string{"rcu_preempt", "kcompactd0", "jbd2/vda1-8", "kworker/u8:1", "khugepaged"} {
		m.lastPID++
		m.Procs = append(m.Procs, m.kernelProc(name, m.KThread, m.lastPID))
	}
	m.lastPID = 400
	return m
}

func (m *Machine) kernelProc(name string, parent *Proc, pid int) *Proc {
	p := &Proc{PID: pid, Name: name, Owner: "root", Parent: parent, Threads: 1, Disk: m.Disks[0], m: m, Kernel: true}
	p.begin(m.booted + 1e9)
	return p
}

// furnish gives the values their instances, and what they are without the model.
func (m *Machine) furnish() {
	s := m.series
	for i := range m.Cores {
		key := "cpu" + strconv.Itoa(i)
		s.row("cpu", key, metric.Label{Name: "package", Value: "0"}, metric.Label{Name: "core", Value: strconv.Itoa(i)})
		s.fix("hinv.cpu.online", key, 1)
		s.fix("hinv.cpu.cache", key, 4096)
		s.say("hinv.cpu.model_name", key, "Example CPU")
		s.say("hinv.cpu.vendor", key, "Example")
	}
	for _, key := range []string{"1 minute", "5 minute", "15 minute"} {
		s.row("load", key)
	}
	for _, key := range []string{"10 second", "1 minute", "5 minute"} {
		s.row("pressure", key)
	}
	for _, d := range m.Disks {
		s.row("disk", d.Name, metric.Label{Name: "vendor", Value: "0x1af4"}, metric.Label{Name: "removable", Value: "0"})
	}
	for _, v := range m.Volumes {
		s.row("filesys", v.Mount, metric.Label{Name: "device", Value: v.Device}, metric.Label{Name: "type", Value: v.Type})
		s.say("filesys.mountdir", v.Mount, v.Mount)
		s.say("filesys.type", v.Mount, v.Type)
		s.fix("filesys.blocksize", v.Mount, 4096)
		s.fix("filesys.capacity", v.Mount, v.Capacity)
		s.fix("filesys.maxfiles", v.Mount, v.MaxFiles)
	}
	for _, n := range m.Nets {
		kind := "physical"
		if n.Name == "lo" {
			kind = "loopback"
		}
		s.row("interface", n.Name, metric.Label{Name: "kind", Value: kind})
		s.fix("network.interface.up", n.Name, 1)
		s.fix("network.interface.mtu", n.Name, 1500)
	}
	total := m.MemoryMB * 1024
	for name, x := range map[string]float64{
		"hinv.ncpu": float64(m.Cores), "hinv.physmem": m.MemoryMB, "mem.physmem": total, "hinv.ndisk": float64(len(m.Disks)),
		"hinv.nfilesys": float64(len(m.Volumes)), "kernel.all.boottime": float64(m.booted / 1e9),
	} {
		s.fix(name, "", x)
	}
	m.mem.furnish(m)
}

// wall returns the wall clock at the beginning of this second.
func (m *Machine) wall() int64 { return m.start + int64(max(m.second, 0))*1e9 + m.step + m.slept }

// stampAt returns an instant by its wall clock.
func (m *Machine) stampAt(wall int64) metric.Stamp {
	cont := wall - m.step - m.booted
	return metric.Stamp{Wall: wall, Awake: cont - m.slept, Cont: cont}
}

// Now returns the present second.
func (m *Machine) Now() int { return m.second }

// Wall returns the wall clock of the present second, including sleep and set clocks.
func (m *Machine) Wall() int64 { return m.wall() }

// Event adds an event other than the start or end of a process.
func (m *Machine) Event(kind metric.EventKind, text string, labels ...metric.Label) {
	m.others = append(m.others, metric.Event{At: m.stampAt(m.wall() + 5e8), Kind: kind, Text: text, Labels: labels})
}

// Find returns the process with this name that has lived longest.
func (m *Machine) Find(name string) *Proc {
	for _, p := range m.Procs {
		if p.Name == name && p.end == 0 {
			return p
		}
	}
	return nil
}

// Record runs the machine for a number of seconds and writes them to an archive at path. The
// functions are called each second, and decide what happens.
func (m *Machine) Record(path string, seconds int, happens ...func(m *Machine, t int)) error {
	out, err := rewrite.Create(path, rewrite.About{
		Host: metric.Host{ID: "host-" + m.Name, Name: m.Name, OS: "Linux", Release: "6.12.0", Arch: "x86_64", Model: "Example Server", Platform: "linux",
			Labels: []metric.Label{{Name: "cpus", Value: strconv.Itoa(m.Cores)}, {Name: "memory", Value: strconv.FormatInt(int64(m.MemoryMB)<<20, 10)}}},
		Boot: "boot-" + m.Name, TimeZone: "UTC", Recorder: "1.0.0", ID: "0123456789abcdef", Created: m.start,
		Intervals: metric.Intervals{metric.Static: metric.Once, metric.Constrained: time.Minute, metric.Polled: 10 * time.Second,
			metric.Fast: time.Second, metric.Process: 5 * time.Second, metric.Costly: time.Minute, metric.Network: time.Minute},
		Catalog: catalog.For(catalog.Linux),
	})
	if err != nil {
		return err
	}
	defer out.Abort()
	m.out = out
	first := m.stampAt(m.start)
	m.others = append(m.others, metric.Event{At: m.stampAt(m.booted), Kind: metric.EventBoot, Text: "the machine was started"},
		metric.Event{At: first, Kind: metric.EventStart, Text: "the recorder started"})
	for t := range seconds {
		m.second = t
		if m.away(t) {
			continue
		}
		m.Opens, m.Accepts, m.Failed = 0, 0, 0
		for _, f := range happens {
			f(m, t)
		}
		m.live()
		if err := m.read(t); err != nil {
			return err
		}
	}
	if err := m.tell(m.stampAt(m.wall()).Cont + 1); err != nil {
		return err
	}
	return out.Finish()
}

// live shares out a second.
func (m *Machine) live() {
	for _, p := range slices.Clone(m.Procs) {
		if p.Live != nil && p.end == 0 {
			p.Live(p)
		}
		p.got, p.blocked, p.runPart = share{}, 0, 0
	}
	m.disks()
	m.processors()
	m.memories()
	m.networks()
	m.sockets()
	m.account()
	m.bury()
	m.series.pass()
}

// bury removes the processes that end in this second.
func (m *Machine) bury() {
	now := m.wall() + 1e9
	m.Procs = slices.DeleteFunc(m.Procs, func(p *Proc) bool {
		if p.end == 0 || p.end > now || p.State == 'Z' {
			return false
		}
		m.ended = append(m.ended, p)
		return true
	})
}

// read writes the values that are due.
func (m *Machine) read(t int) error {
	at := m.stampAt(m.wall() + 1e9)
	m.levels(at)
	classes := []metric.Class{metric.Fast}
	if t == 0 {
		classes = append(classes, metric.Static)
	}
	if t%10 == 0 {
		classes = append(classes, metric.Polled)
	}
	if t%5 == 0 {
		classes = append(classes, metric.Process)
		if err := m.sweep(at, t); err != nil {
			return err
		}
	}
	for _, c := range classes {
		if c == metric.Process {
			continue
		}
		if tick := m.series.tick(c, at); tick != nil {
			if err := m.out.Append(tick); err != nil {
				return err
			}
		}
	}
	return nil
}

// tell writes the events before an instant.
func (m *Machine) tell(until int64) error {
	for _, list := range []*[]metric.Event{&m.churn, &m.others} {
		slices.SortStableFunc(*list, func(a, b metric.Event) int { return cmp.Compare(a.At.Cont, b.At.Cont) })
		n := 0
		for ; n < len(*list) && (*list)[n].At.Cont < until; n++ {
			if err := m.out.Event(&(*list)[n]); err != nil {
				return err
			}
		}
		*list = slices.Delete(*list, 0, n)
	}
	return nil
}

// Sleep puts the machine to sleep for a number of seconds, from this second on.
func (m *Machine) Sleep(seconds int) {
	from := m.wall()
	m.others = append(m.others, metric.Event{At: m.stampAt(from), Kind: metric.EventSleep, Text: "the machine went to sleep"})
	m.slept += int64(seconds) * 1e9
	e := metric.Ended(m.stampAt(from+int64(seconds)*1e9), metric.EventWake, time.Unix(0, from), time.Duration(seconds)*time.Second, "the machine was asleep")
	m.others = append(m.others, e)
}

// Set sets the wall clock.
func (m *Machine) Set(by float64) {
	m.step += int64(by * 1e9)
	word := "forward"
	if by < 0 {
		word = "back"
	}
	m.Event(metric.EventClockStep, "the clock was set "+word+" by "+time.Duration(math.Abs(by)*1e9).String(),
		metric.Label{Name: "seconds", Value: strconv.FormatFloat(by, 'f', 3, 64)})
}

// away reports whether nothing is recorded in a second.
func (m *Machine) away(int) bool { return false }

// Begin returns the wall clock at which the recording begins.
func (m *Machine) Begin() int64 { return m.start }

// Memory returns the machine's memory, in KB.
func (m *Machine) Memory() float64 { return m.mem.total }

// Since sets the wall clocks at which the recording begins and at which the machine was started.
func (m *Machine) Since(start, booted int64) {
	by := booted - m.booted
	m.start, m.booted = start, booted
	for _, p := range m.Procs {
		p.begin(p.start + by)
	}
	m.started = 0
}

// Reserve takes an amount of memory, in KB, that others use.
func (m *Machine) Reserve(kb float64) { m.mem.kernel = kb }
