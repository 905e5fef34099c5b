package sim

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"tachograph/sample/catalog"
	"tachograph/sample/metric"
)

// account adds what each process did to its counters, and to those of the machine.
func (m *Machine) account() {
	switches, births := 0.0, 0.0
	for _, p := range m.Procs {
		g := &p.got
		p.user, p.sys, p.wait = p.user+g.user, p.sys+g.sys, p.wait+g.wait
		p.read, p.wrote, p.wchar = p.read+g.read, p.wrote+g.write, p.wchar+g.write
		p.sleepingIn += p.blocked
		f := 1.0
		if w := p.wants(); w > 0 {
			f = min((g.user+g.sys)/w, 1)
		}
		if p.State != 0 {
			f = 0
		}
		vol, invol := p.Switches*f+p.blocked*60, g.wait*40+(g.user+g.sys)*5
		p.vol, p.invol = p.vol+vol, p.invol+invol
		switches += vol + invol
		p.syscr += g.read/65536 + p.Switches*f/4
		p.syscw += g.write/65536 + p.Switches*f/8
		if p.Volume != nil && p.Volume.Type != "tmpfs" {
			p.Volume.Used = min(p.Volume.Used+g.write/1024, p.Volume.Capacity)
		}
		m.Ledger.add(m.second, p)
	}
	births = m.started
	m.series.count("kernel.all.sysfork", "", births-m.counted("kernel.all.sysfork", births))
	m.add(switches*2+float64(m.Cores)*60, "kernel.all.pswitch")
	m.add(m.Interrupts+switches*0.3+float64(m.Cores)*100, "kernel.all.intr")
	m.add((m.Interrupts+switches*0.3)*0.6, "kernel.all.softirqs.total")
	m.Interrupts = 0
}

// counted returns how much of an absolute count the series already shows.
func (m *Machine) counted(name string, _ float64) float64 {
	c, i := m.series.cell(name, "")
	return c.extra[i]
}

// levels sets the values that are read at an instant.
func (m *Machine) levels(at metric.Stamp) {
	s := m.series
	for i, key := range []string{"1 minute", "5 minute", "15 minute"} {
		s.level("kernel.all.load", key, m.loads[i])
	}
	for i, name := range []string{"cpu", "io", "memory"} {
		for j, kind := range []string{"some", "full"} {
			if i == 0 && j == 1 {
				continue
			}
			p := &m.psi[i][j]
			s.level("kernel.all.pressure."+name+"."+kind+".total", "", p.total*1e6)
			for k, key := range []string{"10 second", "1 minute", "5 minute"} {
				s.level("kernel.all.pressure."+name+"."+kind+".avg", key, math.Round(p.avg[k]*100)/100)
			}
		}
	}
	for _, v := range m.Volumes {
		s.level("filesys.used", v.Mount, v.Used)
		s.level("filesys.free", v.Mount, v.Capacity-v.Used)
		s.level("filesys.avail", v.Mount, v.Capacity-v.Used)
		s.level("filesys.full", v.Mount, 100*v.Full())
		s.level("filesys.usedfiles", v.Mount, v.Files)
		s.level("filesys.freefiles", v.Mount, v.MaxFiles-v.Files)
	}
	flight := 0.0
	for _, d := range m.Disks {
		flight += d.inflight
	}
	s.level("disk.all.inflight", "", flight)
	threads, files := 0, 0
	for _, p := range m.Procs {
		threads += p.Threads
		files += p.Files
	}
	m.set(float64(threads), "kernel.all.nthreads")
	m.set(float64(len(m.Procs)), "kernel.all.nprocs")
	m.set(float64(files)*1.1+m.HandlesOpen, "vfs.files.count")
	m.set(float64(m.lastPID), "kernel.all.lastpid")
	m.set(float64(at.Cont)/1e9, "kernel.all.uptime", "computed.uptime_seconds")
	m.shortness()
}

// killed adds the recorder's event for a process that the kernel killed.
func (m *Machine) killed() {
	m.Event(metric.EventMemory, "the kernel killed a process for lack of memory", metric.Label{Name: "metric", Value: "mem.vmstat.oom_kill"})
}

// shortness adds the recorder's events for memory that became short, and for the end of that.
func (m *Machine) shortness() {
	name := metric.Label{Name: "metric", Value: "kernel.all.pressure.memory.full.avg"}
	avg := m.psi[2][1].avg[0]
	switch {
	case m.mem.thrash == 0 && avg >= 20:
		m.mem.thrash = float64(m.wall())
		m.Event(metric.EventMemory, fmt.Sprintf("memory is short: all processes waited for it %.0f %% of ten seconds", avg), name)
	case m.mem.thrash != 0 && avg < 5:
		long := (float64(m.wall()) - m.mem.thrash) / 1e9
		m.Event(metric.EventMemory, fmt.Sprintf("memory is no longer short, after %.0fs", long),
			metric.Label{Name: "from", Value: wallText(int64(m.mem.thrash))}, metric.Label{Name: "seconds", Value: strconv.FormatFloat(long, 'f', 3, 64)}, name)
		m.mem.thrash = 0
	}
}

var (
	processGroup = groupOf("process", "process", processNames())
	costlyGroup  = groupOf("process costly", "process", namesOf(costlyLevels))
	trafficGroup = groupOf("traffic", "", []string{"network.traffic.in_bytes", "network.traffic.out_bytes", "network.traffic.retrans_bytes", "network.traffic.unattributed.in_bytes",
		"network.traffic.unattributed.out_bytes", "network.traffic.closed"})
	runGroup = groupOf("process run", "", []string{"proc.nprocs", "proc.runq.blocked", "proc.runq.defunct", "proc.runq.kernel", "proc.runq.runnable",
		"proc.runq.sleeping", "proc.runq.stopped", "proc.started", "proc.exited", "proc.unseen"})
)

func namesOf(list []struct {
	name string
	of   func(*Proc) float64
}) (out []string) {
	for _, l := range list {
		out = append(out, l.name)
	}
	return out
}

func processNames() (out []string) {
	out = append(out, namesOf(processCounters)...)
	out = append(out, namesOf(processLevels)...)
	out = append(out, namesOf(processIdentities)...)
	for _, w := range processWords {
		out = append(out, w.name)
	}
	return out
}

func groupOf(name, indom string, metrics []string) *metric.Group {
	g := catalog.Group(catalog.Linux, name, metrics...)
	g.Indom = indom
	return g
}

const (
	// rowsPerSecond and rowsAtOnce are how many short-lived processes get a row each.
	rowsPerSecond, rowsAtOnce = 20, 2400
)

// sweep writes a reading of the processes.
func (m *Machine) sweep(at metric.Stamp, t int) error {
	var ghosts, gone []*Proc
	slices.SortStableFunc(m.ended, func(a, b *Proc) int { return cmp.Compare(a.end, b.end) })
	for _, p := range m.ended {
		m.exited++
		m.churn = append(m.churn, p.exitEvent())
		if p.seen {
			gone = append(gone, p)
			continue
		}
		m.unseen++
		if len(ghosts) < 5*rowsPerSecond+rowsAtOnce/60 {
			ghosts = append(ghosts, p)
			continue
		}
		m.churn = m.churn[:len(m.churn)-1]
		c := m.brief[p.Comm()]
		if c == nil {
			c = new(crowd)
			m.brief[p.Comm()] = c
		}
		if c.count++; p.how != "exit 0" {
			c.failed++
		}
	}
	m.ended = nil
	counts := make(map[string]float64)
	states := make([]string, len(m.Procs))
	for i, p := range m.Procs {
		if !p.seen {
			p.seen = true
			if m.recorded {
				m.churn = append(m.churn, p.startEvent())
			}
		}
		states[i] = p.letter()
		counts[states[i]]++
		if p.Kernel {
			counts["kernel"]++
		}
	}
	m.recorded = true
	if err := m.out.Append(&metric.Tick{Class: metric.Process, At: at, Blocks: []*metric.Block{m.processBlock(at, ghosts, gone, states), m.runBlock(at, counts), m.trafficBlock(at)}}); err != nil {
		return err
	}
	if t%60 == 0 {
		if err := m.out.Append(&metric.Tick{Class: metric.Costly, At: at, Blocks: []*metric.Block{m.costlyBlock(at)}}); err != nil {
			return err
		}
		m.tellBrief(at)
		if err := m.out.Append(m.socketTick(at)); err != nil {
			return err
		}
	}
	return m.tell(at.Cont)
}

// tellBrief adds events for the processes that were too many for a row each.
func (m *Machine) tellBrief(at metric.Stamp) {
	for _, name := range slices.Sorted(maps.Keys(m.brief)) {
		c := m.brief[name]
		m.churn = append(m.churn, metric.Event{At: at, Kind: metric.EventProcessExits, Indom: "process",
			Text: fmt.Sprintf("%d more short-lived processes called %s ended, too many for a row each", c.count, name),
			Labels: []metric.Label{{Name: "name", Value: name}, {Name: "count", Value: strconv.Itoa(c.count)}, {Name: "failed", Value: strconv.Itoa(c.failed)},
				{Name: "from", Value: wallText(at.Wall - 60e9)}, {Name: "seconds", Value: "60"}}})
	}
	clear(m.brief)
}

// processBlock has a row for each process, and one for each that no sweep has seen.
func (m *Machine) processBlock(at metric.Stamp, ghosts, _ []*Proc, states []string) *metric.Block {
	all := append(slices.Clone(m.Procs), ghosts...)
	alive := len(m.Procs)
	b := &metric.Block{Group: processGroup, At: at, Rows: make([]*metric.Instance, len(all))}
	for i, p := range all {
		b.Rows[i] = p.inst
	}
	number := func(of func(*Proc) float64, n int, ghost bool) {
		d := processGroup.Metrics[n]
		col := metric.Column{Bits: make([]uint64, len(all))}
		for i, p := range all {
			if i >= alive && !ghost {
				if col.Miss == nil {
					col.Miss = make([]metric.Reason, len(all))
				}
				col.Miss[i] = metric.Vanished
				continue
			}
			col.Bits[i] = Bits(d.Type, of(p))
		}
		b.Cols = append(b.Cols, col)
	}
	n := 0
	for _, c := range processCounters {
		number(c.of, n, true)
		n++
	}
	for _, c := range processLevels {
		number(c.of, n, false)
		n++
	}
	for _, c := range processIdentities {
		number(c.of, n, true)
		n++
	}
	for _, w := range processWords {
		col := metric.Column{Bits: make([]uint64, len(all)), Words: []string{""}}
		for i, p := range all {
			if i >= alive && !w.ghost {
				if col.Miss == nil {
					col.Miss = make([]metric.Reason, len(all))
				}
				col.Miss[i] = metric.Vanished
				continue
			}
			word := ""
			if w.name == "proc.psinfo.sname" {
				word = states[i]
			} else {
				word = w.of(p)
			}
			k := slices.Index(col.Words, word)
			if k < 0 {
				k, col.Words = len(col.Words), append(col.Words, word)
			}
			col.Bits[i] = uint64(k)
		}
		b.Cols = append(b.Cols, col)
	}
	return b
}

func (m *Machine) runBlock(at metric.Stamp, counts map[string]float64) *metric.Block {
	b := &metric.Block{Group: runGroup, At: at, Rows: []*metric.Instance{nil}}
	for i, x := range []float64{float64(len(m.Procs)), counts["D"], counts["Z"], counts["kernel"], counts["R"], counts["S"] + counts["I"], counts["T"],
		m.started, m.exited, m.unseen} {
		b.Cols = append(b.Cols, metric.Column{Bits: []uint64{Bits(runGroup.Metrics[i].Type, x)}})
	}
	return b
}

func (m *Machine) costlyBlock(at metric.Stamp) *metric.Block {
	b := &metric.Block{Group: costlyGroup, At: at}
	for _, p := range m.Procs {
		b.Rows = append(b.Rows, p.inst)
	}
	for i, c := range costlyLevels {
		col := metric.Column{}
		for _, p := range m.Procs {
			col.Bits = append(col.Bits, Bits(costlyGroup.Metrics[i].Type, c.of(p)))
		}
		b.Cols = append(b.Cols, col)
	}
	return b
}
