package query

import (
	"math"
	"slices"

	"tachograph/sample/metric"
	"tachograph/store"
)

// ProcessCounter is a counter of a process, in seconds, bytes, joules or plain numbers.
type ProcessCounter uint8

const (
	UserTime ProcessCounter = iota
	SystemTime
	ReadBytes
	WrittenBytes
	Energy
	InterruptWakeups
	IdleWakeups
	Faults
	MajorFaults
	Switches
	NetIn
	NetOut
	NetRetrans
	NetOpened
	NetAccepted
	NetRefused
	NetFailed
	NumProcessCounters
)

// ProcessLevel is a field of a process that goes up and down, in bytes or plain numbers.
type ProcessLevel uint8

const (
	Resident ProcessLevel = iota
	Virtual
	Footprint
	Threads
	Priority
	Nice
	NumProcessLevels

	// Highest is the peak of Footprint, or Resident, that the kernel keeps itself. It is not a
	// level at a moment.
	Highest = NumProcessLevels
)

// The metrics behind the fields; of several the first that the archive has is used.
var counterMetrics = [NumProcessCounters][]string{
	UserTime:         {"proc.psinfo.utime"},
	SystemTime:       {"proc.psinfo.stime"},
	ReadBytes:        {"proc.io.read_bytes"},
	WrittenBytes:     {"proc.io.write_bytes"},
	Energy:           {"proc.energy.cpu", "proc.energy.billed"},
	InterruptWakeups: {"proc.wakeups.interrupt"},
	IdleWakeups:      {"proc.wakeups.idle"},
	Faults:           {"proc.psinfo.faults", "proc.psinfo.minflt"},
	MajorFaults:      {"proc.psinfo.maj_flt", "proc.psinfo.majflt"},
	Switches:         {"proc.psinfo.pswitch", "proc.psinfo.vctxsw"},
	NetIn:            {"proc.net.in_bytes"},
	NetOut:           {"proc.net.out_bytes"},
	NetRetrans:       {"proc.net.retrans_bytes"},
	NetOpened:        {"proc.net.opened"},
	NetAccepted:      {"proc.net.accepted"},
	NetRefused:       {"proc.net.refused"},
	NetFailed:        {"proc.net.failed"},
}

var levelMetrics = [NumProcessLevels + 1][]string{
	Resident:  {"proc.memory.rss"},
	Virtual:   {"proc.memory.vmsize", "proc.memory.size"},
	Footprint: {"proc.memory.footprint"},
	Threads:   {"proc.psinfo.threads"},
	Priority:  {"proc.psinfo.priority"},
	Nice:      {"proc.psinfo.nice"},
	Highest:   {"proc.memory.footprint_max", "proc.memory.vmhwm"},
}

const (
	nameMetric  = "proc.psinfo.cmd"
	userMetric  = "proc.id.uid_nm"
	stateMetric = "proc.psinfo.sname"
	ppidMetric  = "proc.psinfo.ppid"
	startMetric = "proc.psinfo.start_wall"
)

// fieldMap finds the field that a recorded metric feeds. That differs between archives: one
// kernel has no footprint, another no energy.
type fieldMap struct {
	names     []string // in all archives
	byArchive map[*store.ArchiveInfo]*archiveFields
}

type archiveFields struct {
	counters map[string]ProcessCounter
	levels   map[string]ProcessLevel
}

func mapFields(a Archive, counters []ProcessCounter, levels []ProcessLevel) *fieldMap {
	return mapFrom(a, &counterMetrics, counters, levels)
}

// mapFrom is mapFields with other metrics behind the counters.
func mapFrom(a Archive, from *[NumProcessCounters][]string, counters []ProcessCounter, levels []ProcessLevel) *fieldMap {
	m := &fieldMap{byArchive: make(map[*store.ArchiveInfo]*archiveFields)}
	for _, info := range a.Archives() {
		first := func(list []string) string {
			for _, name := range list {
				// A metric that is read more rarely than the rest would miss short lives.
				if d := a.LookupIn(info, name); d != nil && d.Unsupported == "" && d.Formula == "" && d.Class == metric.Process {
					return name
				}
			}
			return ""
		}
		f := &archiveFields{counters: make(map[string]ProcessCounter), levels: make(map[string]ProcessLevel)}
		for _, c := range counters {
			if name := first(from[c]); name != "" {
				f.counters[name] = c
				m.add(name)
			}
		}
		for _, l := range levels {
			if name := first(levelMetrics[l]); name != "" {
				f.levels[name] = l
				m.add(name)
			}
		}
		m.byArchive[info] = f
	}
	return m
}

func (m *fieldMap) add(name string) {
	if !slices.Contains(m.names, name) {
		m.names = append(m.names, name)
	}
}

// counter returns the counter that a metric feeds in an archive.
func (m *fieldMap) counter(info *store.ArchiveInfo, name string) (ProcessCounter, bool) {
	if f := m.byArchive[info]; f != nil {
		c, ok := f.counters[name]
		return c, ok
	}
	return 0, false
}

// level returns the level that a metric feeds in an archive.
func (m *fieldMap) level(info *store.ArchiveInfo, name string) (ProcessLevel, bool) {
	if f := m.byArchive[info]; f != nil {
		l, ok := f.levels[name]
		return l, ok
	}
	return 0, false
}

// counts returns the counter that a metric feeds in any archive.
func (m *fieldMap) counts(name string) (ProcessCounter, bool) {
	for _, f := range m.byArchive {
		if c, ok := f.counters[name]; ok {
			return c, true
		}
	}
	return 0, false
}

// allCounters returns the counters that tables and rankings show, whatever they are about. The other ones of
// the network are for questions about it.
func allCounters() []ProcessCounter {
	var out []ProcessCounter
	for f := range NetRetrans {
		out = append(out, f)
	}
	return out
}

func allLevels() []ProcessLevel {
	var out []ProcessLevel
	for f := range NumProcessLevels {
		out = append(out, f)
	}
	return out
}

// base returns the factor that converts a value in u to seconds, bytes, joules or a plain number.
func base(u metric.Units) float64 {
	var f float64
	var err error
	switch {
	case u.Other == "nanojoule":
		return 1e-9
	case u.Other != "":
		return 1
	case u.Space == 1:
		f, err = u.Factor(metric.Bytes)
	case u.Time == 1:
		f, err = u.Factor(metric.Seconds)
	case u.Count == 1:
		f, err = u.Factor(metric.Counts)
	default:
		return 1
	}
	if err != nil {
		return 1
	}
	return f
}

func noCounters() (c [NumProcessCounters]float64) {
	for i := range c {
		c[i] = math.NaN()
	}
	return c
}

func noLevels() (l [NumProcessLevels]float64) {
	for i := range l {
		l[i] = math.NaN()
	}
	return l
}

// sum adds the known values; it is NaN when none is known.
func sum(xs ...float64) float64 {
	total := math.NaN()
	for _, x := range xs {
		switch {
		case x != x:
		case total != total:
			total = x
		default:
			total += x
		}
	}
	return total
}

// ProcessMetrics returns the metrics that tables and rankings of processes use.
func ProcessMetrics() []string {
	names := []string{nameMetric, userMetric, stateMetric, ppidMetric, startMetric, "proc.nprocs", "proc.unread"}
	for _, list := range counterMetrics {
		names = append(names, list...)
	}
	for _, list := range levelMetrics {
		names = append(names, list...)
	}
	return names
}
