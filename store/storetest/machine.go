package storetest

import (
	"fmt"
	"math"
	"time"

	"tachograph/sample/metric"
)

// Machine makes up a small recording. Every value follows from a seed and the number of the
// second, so that tests can compute what was recorded without having kept it. It has all value
// types, absences, instances that come and go and change their names, and strings.
type Machine struct {
	Seed  uint64
	Start metric.Stamp
	// Processes is how many processes there are at a time; 0 means 12.
	Processes int
	groups    []*machineGroup
	procs     map[int]*metric.Instance
	disks     []*metric.Instance
}

type machineGroup struct {
	*metric.Group
	class metric.Class
	every int // seconds
}

// MachineStart is a fixed instant: 2025-06-15 12:00:00 UTC, a day after boot.
var MachineStart = metric.Stamp{Wall: 1749988800e9, Awake: 80000e9, Cont: 86400e9}

// NewMachine returns a machine that starts at MachineStart.
func NewMachine(seed uint64) *Machine {
	m := &Machine{Seed: seed, Start: MachineStart, Processes: 12, procs: make(map[int]*metric.Instance)}
	desc := func(name string, typ metric.Type, sem metric.Semantics, indom string, class metric.Class) *metric.Desc {
		return &metric.Desc{Name: name, Type: typ, Sem: sem, Units: metric.Counts, Indom: indom, Class: class,
			Help: "A made-up value for tests.", Source: "storetest"}
	}
	all := func(prefix, indom string, class metric.Class) []*metric.Desc {
		return []*metric.Desc{
			desc(prefix+".count", metric.U64, metric.Counter, indom, class),
			desc(prefix+".narrow", metric.U32, metric.Counter, indom, class),
			desc(prefix+".level", metric.I64, metric.Instant, indom, class),
			desc(prefix+".small", metric.I32, metric.Instant, indom, class),
			desc(prefix+".load", metric.F64, metric.Instant, indom, class),
			desc(prefix+".ratio", metric.F32, metric.Instant, indom, class),
			desc(prefix+".state", metric.String, metric.Discrete, indom, class),
		}
	}
	m.groups = []*machineGroup{
		{&metric.Group{Name: "kernel", Metrics: all("test.kernel", metric.NoIndom, metric.Fast)}, metric.Fast, 1},
		{&metric.Group{Name: "disk", Indom: "disk", Metrics: all("test.disk", "disk", metric.Fast)}, metric.Fast, 1},
		{&metric.Group{Name: "limits", Metrics: all("test.limits", metric.NoIndom, metric.Polled)}, metric.Polled, 10},
		{&metric.Group{Name: "proc", Indom: "process", Metrics: all("test.proc", "process", metric.Process)}, metric.Process, 5},
	}
	for i := range 3 {
		m.disks = append(m.disks, &metric.Instance{ID: uint64(i + 1), Key: fmt.Sprintf("disk%d", i), Name: fmt.Sprintf("disk%d", i),
			Labels: []metric.Label{{Name: "model", Value: "test"}}})
	}
	return m
}

// Catalog describes all metrics.
func (m *Machine) Catalog() []*metric.Desc {
	var ds []*metric.Desc
	for _, g := range m.groups {
		ds = append(ds, g.Metrics...)
	}
	return ds
}

// Intervals are the intervals of the classes.
func (m *Machine) Intervals() (iv metric.Intervals) {
	for _, g := range m.groups {
		iv[g.class] = time.Duration(g.every) * time.Second
	}
	return iv
}

// At returns the instant of second n.
func (m *Machine) At(n int) metric.Stamp {
	d := int64(n)*1e9 + int64(mix(m.Seed, 1, uint64(n))%2e6)
	return metric.Stamp{Wall: m.Start.Wall + d, Awake: m.Start.Awake + d, Cont: m.Start.Cont + d}
}

// Ticks returns the ticks of second n. They may be kept.
func (m *Machine) Ticks(n int) []*metric.Tick {
	var ticks []*metric.Tick
	for _, class := range []metric.Class{metric.Polled, metric.Fast, metric.Process} {
		t := &metric.Tick{Class: class, At: m.At(n)}
		for gi, g := range m.groups {
			if g.class == class && n%g.every == 0 {
				t.Blocks = append(t.Blocks, m.block(gi, n))
			}
		}
		if len(t.Blocks) > 0 {
			ticks = append(ticks, t)
		}
	}
	return ticks
}

// Event returns what happened in second n, if anything did.
func (m *Machine) Event(n int) (metric.Event, bool) {
	if n%7 != 3 {
		return metric.Event{}, false
	}
	return metric.Event{At: m.At(n), Kind: metric.EventProcessStart, Text: fmt.Sprintf("Process %d started.", n),
		Indom: "process", Key: fmt.Sprint(n), Labels: []metric.Label{{Name: "n", Value: fmt.Sprint(n)}}}, true
}

func (m *Machine) block(gi, n int) *metric.Block {
	g := m.groups[gi]
	at := m.At(n)
	// Groups of a tick are read one after the other.
	at.Wall, at.Awake, at.Cont = at.Wall+int64(gi)*1e5, at.Awake+int64(gi)*1e5, at.Cont+int64(gi)*1e5
	b := &metric.Block{Group: g.Group, At: at, Rows: m.rows(g, n), Cols: make([]metric.Column, len(g.Metrics))}
	for c, d := range g.Metrics {
		col := &b.Cols[c]
		col.Bits = make([]uint64, len(b.Rows))
		for r, in := range b.Rows {
			series := uint64(gi)<<32 | uint64(c)<<24
			if in != nil {
				series |= in.ID
			}
			if m.cell(col, d, r, series, n) != metric.Present {
				if col.Miss == nil {
					col.Miss = make([]metric.Reason, len(b.Rows))
				}
				col.Miss[r] = metric.Permission
			}
		}
	}
	return b
}

// cell sets row r of col and returns whether it is present.
func (m *Machine) cell(col *metric.Column, d *metric.Desc, r int, series uint64, n int) metric.Reason {
	h := mix(m.Seed, series, uint64(n))
	if mix(m.Seed, series, uint64(n/8))%11 == 0 {
		return metric.Permission
	}
	rate := mix(m.Seed, series, 0)
	switch {
	case rate%3 == 0 && d.Sem == metric.Counter:
		col.Bits[r] = rate % 1e6 // some never move
	case d.Type == metric.U64:
		col.Bits[r] = rate>>(rate%40) + uint64(n)*(rate%5000) + h%(1+rate%5000)
	case d.Type == metric.U32:
		col.Bits[r] = uint64(uint32(rate + uint64(n)*1e8)) // wraps
	case d.Type == metric.I64:
		col.Bits[r] = uint64(int64(h) >> (rate % 60))
	case d.Type == metric.I32:
		col.Bits[r] = uint64(int64(int32(h >> 32)))
	case d.Type == metric.F64:
		col.Bits[r] = h
		if rate%2 == 0 {
			col.Bits[r] = math.Float64bits(float64(h%1000) / 8)
		}
	case d.Type == metric.F32:
		col.Bits[r] = uint64(math.Float32bits(float32(h%1000) / 3))
	default:
		col.Bits[r] = uint64(len(col.Words))
		col.Words = append(col.Words, []string{"", "running", "sleeping", "стоп", fmt.Sprint("state ", n/20)}[mix(m.Seed, series, uint64(n/5))%5])
	}
	return metric.Present
}

// rows lists the instances of g in second n. Process k lives for a time of its own from second
// 3k on; there are Processes of them at a time.
func (m *Machine) rows(g *machineGroup, n int) []*metric.Instance {
	switch g.Indom {
	case metric.NoIndom:
		return []*metric.Instance{nil}
	case "disk":
		return m.disks[:1+mix(m.Seed, 2, uint64(n/30))%3]
	}
	var rows []*metric.Instance
	for k := max(0, n/3-m.Processes); k <= n/3; k++ {
		if life := int(mix(m.Seed, 3, uint64(k)) % uint64(6*m.Processes)); 3*k+life < n {
			continue
		}
		in := m.procs[k]
		if in == nil {
			in = &metric.Instance{ID: uint64(k + 100), Key: fmt.Sprintf("%d@%d", 1000+k, k*3),
				Name: fmt.Sprintf("%06d sh", 1000+k), Labels: []metric.Label{{Name: "uid", Value: fmt.Sprint(k % 4)}}}
			m.procs[k] = in
		}
		// Some processes call exec ten seconds after their birth.
		if k%4 == 0 && n-3*k >= 10 && in.Rev == 0 {
			in.Name, in.Rev = fmt.Sprintf("%06d worker", 1000+k), 1
		}
		rows = append(rows, in)
	}
	return rows
}

// mix is a hash of three numbers.
func mix(a, b, c uint64) uint64 {
	x := a*0x9e3779b97f4a7c15 ^ b*0xbf58476d1ce4e5b9 ^ c*0x94d049bb133111eb
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}
