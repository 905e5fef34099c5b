package linux

import (
	"bytes"
	"encoding/binary"
	"os"
	"strings"

	"tachograph/sample"
	"tachograph/sample/catalog"
	"tachograph/sample/metric"
)

// cpuColumns are the columns of the cpu lines of /proc/stat, in order.
var cpuColumns = []string{
	"user", "nice", "sys", "idle", "wait.total", "irq.hard", "irq.soft", "steal", "guest", "guest_nice",
}

// stat reads /proc/stat: processor times, interrupts, context switches.
type stat struct {
	root   string
	file   *file
	perSec uint64 // clock ticks per second

	total  *metric.Group
	percpu *metric.Group
	ncpu   int // columns of total
	hz     int

	reading
	keys  int // first column of total that is read by key
	last  []uint64
	ticks []uint64
	cpus  roster[cpuTimes]
	gone  func(*member[cpuTimes])
}

type cpuTimes struct{ last []uint64 }

func newStat(root string) (*stat, error) {
	s := &stat{root: root, file: newFile(root + "/proc/stat"), ticks: make([]uint64, len(cpuColumns))}
	return s, s.Refresh()
}

func (s *stat) Name() string            { return "stat" }
func (s *stat) Groups() []*metric.Group { return []*metric.Group{s.total, s.percpu} }
func (s *stat) Close() error            { s.file.close(); return nil }

func (s *stat) Refresh() error {
	s.perSec = clockTicks(s.root)
	all, per := make([]string, 0, 32), make([]string, 0, len(cpuColumns))
	for _, c := range cpuColumns {
		all = append(all, "kernel.all.cpu."+c)
		per = append(per, "kernel.percpu.cpu."+c)
	}
	s.percpu = catalog.Group(catalog.Linux, "cpu", per...)
	s.ncpu, s.hz = len(all), len(all)+1
	all = append(all, "hinv.ncpu", "kernel.all.hz")
	s.keys = len(all)

	ds, rest := rowsOf(metric.NoIndom, "/proc/stat ")
	var keyed []*metric.Desc
	var keys []string
	for i, d := range ds {
		if !strings.Contains(rest[i], " ") {
			keyed, keys = append(keyed, d), append(keys, rest[i])
		}
	}
	s.total = catalog.Group(catalog.Linux, "cpu total", all...)
	s.total.Metrics = append(s.total.Metrics, keyed...)
	sums, err := parseSums(keyed, keys, metric.NoUnits, 0)
	if err != nil {
		return err
	}
	s.reading.reset(sums)

	data, err := s.file.read()
	if err != nil {
		for _, g := range s.Groups() {
			for _, d := range g.Metrics {
				d.Unsupported = lacking("/proc/stat", err)
			}
		}
		return nil
	}
	scanLines(data, &s.reading)
	for i, d := range keyed {
		if !s.complete(i) {
			d.Unsupported = "this kernel's /proc/stat has no " + keys[i]
		}
	}
	// Older kernels have fewer columns.
	l, _ := line(data)
	for i := words(skip(l, 1), s.ticks); i < len(cpuColumns); i++ {
		s.total.Metrics[i].Unsupported = "this kernel does not account it"
		s.percpu.Metrics[i].Unsupported = "this kernel does not account it"
	}
	return nil
}

func (s *stat) Read(c *sample.Context, frames []*sample.Frame) error {
	data, err := s.file.read()
	if err != nil {
		return err
	}
	at := c.Now()
	s.begin()
	s.cpus.begin()
	for _, f := range frames {
		f.Reset(at)
		if f.Full() == s.total {
			f.Row(nil)
		}
	}
	ncpu := 0
	for len(data) > 0 {
		var l []byte
		l, data = line(data)
		name, l := word(l)
		if !bytes.HasPrefix(name, cpuPrefix) {
			w, _ := word(l)
			if v, ok := integer(w); ok {
				s.set(name, v)
			}
			continue
		}
		n := words(l, s.ticks)
		for i := range s.ticks[:n] {
			s.ticks[i] = s.ticks[i] * 1000 / s.perSec
		}
		if len(name) == len(cpuPrefix) {
			s.last = latch(s.last, s.ticks[:n])
			setTimes(frames, s.total, 0, s.last)
			continue
		}
		id, ok := unsigned(name[len(cpuPrefix):])
		if !ok {
			continue
		}
		m := s.cpus.see(name)
		if m.first {
			m.in.ID = id + 1
			m.in.Labels = cpuLabels(s.root, string(name))
		}
		m.data.last = latch(m.data.last, s.ticks[:n])
		ncpu++
		for _, f := range frames {
			if f.Full() == s.percpu {
				row := f.Row(&m.in)
				for i, v := range m.data.last {
					f.SetUint(row, i, v)
				}
			}
		}
	}
	s.cpus.end(s.gone)
	for _, f := range frames {
		if f.Full() != s.total {
			continue
		}
		f.SetUint(0, s.ncpu, uint64(ncpu))
		f.SetUint(0, s.hz, s.perSec)
		for i := range s.sums.cols {
			if s.complete(i) {
				f.SetInt(0, s.keys+i, s.acc[i])
			}
		}
	}
	return nil
}

var cpuPrefix = []byte("cpu")

func setTimes(frames []*sample.Frame, g *metric.Group, row int, ms []uint64) {
	for _, f := range frames {
		if f.Full() == g {
			for i, v := range ms {
				f.SetUint(row, i, v)
			}
		}
	}
}

// jitter is how far, in milliseconds, the kernel's processor times may step back without a
// reset: idle and wait times are estimates that it corrects.
const jitter = 3000

// latch takes the new values, except those that step back a little: it keeps the last value
// until the counter overtakes it. Otherwise a correction by one tick would look like a reset,
// and the whole time since boot like a gain.
func latch(last, cur []uint64) []uint64 {
	if len(last) != len(cur) {
		return append(last[:0], cur...)
	}
	for i, v := range cur {
		if v >= last[i] || last[i]-v > jitter {
			last[i] = v
		}
	}
	return last
}

// cpuLabels describes the position of a processor.
func cpuLabels(root, name string) []metric.Label {
	dir := root + "/sys/devices/system/cpu/" + name + "/topology/"
	var labels []metric.Label
	for _, l := range [...]struct{ label, file string }{
		{"package", "physical_package_id"}, {"core", "core_id"}, {"cluster", "cluster_id"},
	} {
		if v := firstWord(dir + l.file); v != "" && v != "-1" {
			labels = append(labels, metric.Label{Name: l.label, Value: v})
		}
	}
	return labels
}

// firstWord returns the first word of a small file, or "".
func firstWord(path string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	w, _ := word(data)
	return string(w)
}

// clockTicks returns the ticks per second of processor times: what sysconf calls _SC_CLK_TCK,
// which the kernel passes to every program.
func clockTicks(root string) uint64 {
	const clkTck = 17 // AT_CLKTCK
	data, err := os.ReadFile(root + "/proc/self/auxv")
	if err == nil {
		for ; len(data) >= 16; data = data[16:] {
			if binary.NativeEndian.Uint64(data) == clkTck {
				if v := binary.NativeEndian.Uint64(data[8:]); v > 0 && v <= 1e6 {
					return v
				}
			}
		}
	}
	return 100
}
