package sim

import (
	"fmt"
	"strconv"

	"tachograph/sample/metric"
)

// A Want is what a process would do in a second if it were alone, and the memory that it holds.
type Want struct {
	User, Sys   float64 // cores
	Read, Write float64 // bytes of its disk
	Requests    float64 // small reads, in addition
	Syncs       float64 // flushes that it waits for
	Switches    float64 // voluntary ones
	Faults      float64 // minor
	Packets     float64 // sent, and as many received
	Bytes       float64 // each way
	// Connections a second: opened, accepted, and those that the other side refused or did not
	// answer.
	Opened, Accepted, Refused, Failed float64
	Memory                            float64 // KB, its own
	Shared                            float64 // KB, mapped files
}

// A Proc is a process.
type Proc struct {
	Want
	PID     int
	Name    string
	Owner   string
	Exe     string
	Parent  *Proc
	Threads int
	Files   int
	Sockets int
	Nice    int
	// State is 'T', 'Z' or 'D' if the process is held in that state; else 0.
	State byte
	// Quota is how many cores its group may use; 0: no limit.
	Quota  float64
	Disk   *Disk
	Volume *Volume // where its files are
	Into   *Net    // where its packets go
	Kernel bool
	// Live is called each second before resources are shared out.
	Live func(*Proc)

	m          *Machine
	key        string
	inst       *metric.Instance
	start, end int64 // wall; end 0: not known yet
	how        string
	seen       bool // by a sweep; a process that no sweep saw is known only from its exit
	born       int  // the second

	user, sys, wait     float64 // seconds so far
	read, wrote, wchar  float64
	vol, invol          float64
	minor, major        float64
	swapped, peak       float64 // KB
	syscr, syscw        float64
	net                 netUse
	got                 share
	blocked             float64 // part of the second
	sleepingIn, runPart float64
}

// share is what a process got in a second.
type share struct {
	user, sys, read, write, wait, packets float64
}

var users = map[string]int{"root": 0, "daemon": 1, "www-data": 33, "postgres": 70, "redis": 71, "ada": 1000, "app": 1001, "ci": 1002}

// Start starts a process that lives until it is ended. If parent is nil, its parent is init.
func (m *Machine) Start(parent *Proc, name, user string) *Proc {
	m.lastPID += 1 + m.Rand.IntN(3)
	p := &Proc{PID: m.lastPID, Name: name, Owner: user, Parent: parent, Threads: 1, Files: 12, Disk: m.Disks[0], m: m, Exe: "/usr/bin/" + name}
	p.Memory, p.Shared = 3000, 2500
	if parent == nil {
		p.Parent = m.Init
	}
	at := m.wall()
	if m.second < 0 { // It has been running for long.
		at -= int64(m.Rand.IntN(80000)+600) * 1e9
		p.user, p.sys = m.Rand.Float64()*300, m.Rand.Float64()*60
	} else {
		at += m.Rand.Int64N(9e8)
	}
	p.begin(at)
	m.Procs = append(m.Procs, p)
	return p
}

// Comm returns the name as the kernel keeps it.
func (p *Proc) Comm() string { return p.Name[:min(len(p.Name), 15)] }

func (p *Proc) begin(at int64) {
	p.start, p.born = at/1e7*1e7, p.m.second
	p.key = fmt.Sprintf("%d/%d", p.PID, (p.start-p.m.booted)/1e7)
	p.m.ids++
	p.inst = &metric.Instance{ID: p.m.ids, Key: p.key, Name: fmt.Sprintf("%06d %s", p.PID, p.Comm()), Labels: p.labels()}
	p.m.started++
}

func (p *Proc) labels() []metric.Label {
	l := []metric.Label{{Name: "pid", Value: strconv.Itoa(p.PID)}, {Name: "start", Value: wallText(p.start)}}
	if p.Parent != nil {
		l = append(l, metric.Label{Name: "parent", Value: p.Parent.key})
	}
	l = append(l, metric.Label{Name: "uid", Value: strconv.Itoa(users[p.Owner])})
	if !p.Kernel {
		l = append(l, metric.Label{Name: "exe", Value: p.Exe})
	}
	return l
}

// End ends a process in this second: "exit 0", "signal 9" ...
func (p *Proc) End(how string) {
	if p.end == 0 {
		p.end, p.how = p.m.wall()+int64(9e8)+p.m.Rand.Int64N(9e7), how
	}
}

// Ended reports whether the process has been ended.
func (p *Proc) Ended() bool { return p.end != 0 && p.end <= p.m.wall()+1e9 }

// Brief starts n short-lived processes within the second.
func (m *Machine) Brief(parent *Proc, name, user string, n float64, life float64, each Want, how string) {
	count := int(n)
	if m.Rand.Float64() < n-float64(count) {
		count++
	}
	for i := range count {
		p := m.Start(parent, name, user)
		p.start = m.wall() + (int64(i)*1e9+m.Rand.Int64N(9e8))/int64(count)
		p.begin(p.start)
		m.started--
		lasts := life * (0.6 + 0.8*m.Rand.Float64())
		p.end, p.how = p.start+int64(lasts*1e9), how
		p.Want = each
		// What it uses in all is spread over the seconds that it lives.
		spread := 1 / max(lasts, 1)
		p.User, p.Sys = each.User*spread, each.Sys*spread
		p.Read, p.Write, p.Faults = each.Read*spread, each.Write*spread, each.Faults*spread
		p.Disk = parentDisk(parent, m)
	}
}

func parentDisk(parent *Proc, m *Machine) *Disk {
	if parent != nil && parent.Disk != nil {
		return parent.Disk
	}
	return m.Disks[0]
}

// processCounters are the counters of a process.
var processCounters = []struct {
	name string
	of   func(*Proc) float64
}{
	{"proc.psinfo.utime", func(p *Proc) float64 { return tens(p.user) }},
	{"proc.psinfo.stime", func(p *Proc) float64 { return tens(p.sys) }},
	{"proc.psinfo.minflt", func(p *Proc) float64 { return p.minor }},
	{"proc.psinfo.maj_flt", func(p *Proc) float64 { return p.major }},
	{"proc.psinfo.majflt", func(p *Proc) float64 { return p.major }},
	{"proc.psinfo.faults", func(p *Proc) float64 { return p.minor + p.major }},
	{"proc.psinfo.vctxsw", func(p *Proc) float64 { return p.vol }},
	{"proc.psinfo.nvctxsw", func(p *Proc) float64 { return p.invol }},
	{"proc.psinfo.pswitch", func(p *Proc) float64 { return p.vol + p.invol }},
	{"proc.io.rchar", func(p *Proc) float64 { return p.read*1.2 + p.syscr*100 }},
	{"proc.io.wchar", func(p *Proc) float64 { return p.wchar }},
	{"proc.io.logical_writes", func(p *Proc) float64 { return p.wchar }},
	{"proc.io.syscr", func(p *Proc) float64 { return p.syscr }},
	{"proc.io.syscw", func(p *Proc) float64 { return p.syscw }},
	{"proc.io.read_bytes", func(p *Proc) float64 { return p.read }},
	{"proc.io.write_bytes", func(p *Proc) float64 { return p.wrote }},
	{"proc.net.in_bytes", func(p *Proc) float64 { return p.net.bytes }},
	{"proc.net.out_bytes", func(p *Proc) float64 { return p.net.bytes }},
	{"proc.net.retrans_bytes", func(p *Proc) float64 { return p.net.resent }},
	{"proc.net.loopback.in_bytes", func(p *Proc) float64 { return p.net.home }},
	{"proc.net.loopback.out_bytes", func(p *Proc) float64 { return p.net.home }},
	{"proc.net.opened", func(p *Proc) float64 { return p.net.opened }},
	{"proc.net.accepted", func(p *Proc) float64 { return p.net.accepted }},
	{"proc.net.refused", func(p *Proc) float64 { return p.net.refused }},
	{"proc.net.failed", func(p *Proc) float64 { return p.net.failed }},
}

// processLevels are the values that only a sweep reads.
var processLevels = []struct {
	name string
	of   func(*Proc) float64
}{
	{"proc.cpu.runnable_time", func(p *Proc) float64 { return p.wait * 1e9 }},
	{"proc.schedstat.cpu_time", func(p *Proc) float64 { return (p.user + p.sys) * 1e9 }},
	{"proc.schedstat.run_delay", func(p *Proc) float64 { return p.wait * 1e9 }},
	{"proc.psinfo.delayacct_blkio_time", func(p *Proc) float64 { return p.sleepingIn * 1000 }},
	{"proc.memory.rss", func(p *Proc) float64 { return p.resident() }},
	{"proc.memory.anon", func(p *Proc) float64 { return p.own() }},
	{"proc.memory.share", func(p *Proc) float64 { return p.Shared }},
	{"proc.memory.size", func(p *Proc) float64 { return p.virtual() }},
	{"proc.memory.vmsize", func(p *Proc) float64 { return p.virtual() }},
	{"proc.memory.vmswap", func(p *Proc) float64 { return p.swapped }},
	{"proc.psinfo.threads", func(p *Proc) float64 { return float64(p.Threads) }},
	{"proc.psinfo.nice", func(p *Proc) float64 { return float64(p.Nice) }},
	{"proc.psinfo.priority", func(p *Proc) float64 { return float64(20 + p.Nice) }},
}

// processIdentities are known even for processes that no sweep has seen.
var processIdentities = []struct {
	name string
	of   func(*Proc) float64
}{
	{"proc.psinfo.pid", func(p *Proc) float64 { return float64(p.PID) }},
	{"proc.psinfo.ppid", func(p *Proc) float64 { return float64(p.parentPID()) }},
	{"proc.psinfo.start_time", func(p *Proc) float64 { return float64(p.start-p.m.booted) / 1e6 }},
	{"proc.psinfo.start_wall", func(p *Proc) float64 { return float64(p.start / 1e3) }},
	{"proc.id.uid", func(p *Proc) float64 { return float64(users[p.Owner]) }},
	{"proc.memory.vmhwm", func(p *Proc) float64 { return p.peak }},
}

var processWords = []struct {
	name  string
	ghost bool
	of    func(*Proc) string
}{
	{"proc.psinfo.cmd", true, (*Proc).Comm},
	{"proc.id.uid_nm", true, func(p *Proc) string { return p.Owner }},
	{"proc.psinfo.sname", false, (*Proc).letter},
	{"proc.psinfo.exe", false, func(p *Proc) string { return p.Exe }},
}

var costlyLevels = []struct {
	name string
	of   func(*Proc) float64
}{
	{"proc.fd.count", func(p *Proc) float64 { return float64(p.Files) }},
	{"proc.net.tcp_count", func(p *Proc) float64 { return float64(p.Sockets) }},
	{"proc.memory.footprint", func(p *Proc) float64 { return p.own() + p.Shared/4 }},
}

// tens returns milliseconds with the resolution of the kernel's clock, 10 ms.
func tens(seconds float64) float64 { return float64(int64(seconds*100)) * 10 }

func (p *Proc) own() float64      { return max(p.Memory-p.swapped, 0) }
func (p *Proc) resident() float64 { return p.own() + p.Shared }
func (p *Proc) virtual() float64  { return p.Memory*1.3 + p.Shared*3 + 8192*float64(p.Threads) }

func (p *Proc) parentPID() int {
	if p.Parent == nil {
		return 0
	}
	return p.Parent.PID
}

// letter returns the state in which a sweep finds the process.
func (p *Proc) letter() string {
	x := p.m.Rand.Float64()
	switch {
	case p.State != 0:
		return string(p.State)
	case x < p.blocked:
		return "D"
	case x < p.blocked+p.runPart:
		return "R"
	case p.Kernel && p.User+p.Sys == 0:
		return "I"
	}
	return "S"
}

func (p *Proc) startEvent() metric.Event {
	labels := []metric.Label{{Name: "pid", Value: strconv.Itoa(p.PID)}, {Name: "name", Value: p.Comm()}}
	if p.Parent != nil {
		labels = append(labels, metric.Label{Name: "parent", Value: p.Parent.key})
	}
	labels = append(labels, metric.Label{Name: "uid", Value: strconv.Itoa(users[p.Owner])}, metric.Label{Name: "exe", Value: p.Exe})
	return metric.Event{At: p.m.stampAt(p.start), Kind: metric.EventProcessStart, Indom: "process", Key: p.key, Text: p.inst.Name + " started", Labels: labels}
}

func (p *Proc) exitEvent() metric.Event {
	labels := []metric.Label{{Name: "pid", Value: strconv.Itoa(p.PID)}, {Name: "name", Value: p.Comm()}}
	var kind, number = "", 0
	_, _ = fmt.Sscanf(p.how, "%s %d", &kind, &number)
	status := number
	if kind == "exit" {
		status = number << 8
	}
	labels = append(labels, metric.Label{Name: "status", Value: strconv.Itoa(status)}, metric.Label{Name: "how", Value: p.how})
	if p.seen {
		for _, c := range processCounters {
			labels = append(labels, metric.Label{Name: c.name, Value: strconv.FormatInt(int64(c.of(p)), 10)})
		}
		labels = append(labels, metric.Label{Name: "proc.memory.vmhwm", Value: strconv.FormatInt(int64(p.peak), 10)})
	} else {
		labels = append(labels, metric.Label{Name: "unseen", Value: "1"}, metric.Label{Name: "start", Value: wallText(p.start)})
		if p.Parent != nil && !p.Parent.Ended() {
			labels = append(labels, metric.Label{Name: "parent", Value: p.Parent.key})
		}
		labels = append(labels, metric.Label{Name: "uid", Value: strconv.Itoa(users[p.Owner])})
	}
	return metric.Event{At: p.m.stampAt(p.end), Kind: metric.EventProcessExit, Indom: "process", Key: p.key, Text: p.inst.Name + " ended: " + p.how, Labels: labels}
}

// Machine returns the machine that the process runs on.
func (p *Proc) Machine() *Machine { return p.m }
