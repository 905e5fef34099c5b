package linux

import (
	"bytes"
	"strings"

	"tachograph/sample/metric"
)

// groupColumn says where a metric of a control group is in each version.
type groupColumn struct {
	metric   string
	two, one groupSource
}

// groupSource locates a number in a file of a group: after key at the start of a line or,
// without a key, the word with this number in the first line. In a line of words NAME=NUMBER,
// field is the name, with its sign. The number is multiplied by mul and divided by div.
type groupSource struct {
	tree, file, key string // tree is the kind of resource, in version 1
	field           string
	word            int
	mul, div        uint64
}

var groupColumns = [...]groupColumn{
	{"cgroup.cpu.stat.usage", groupSource{file: "cpu.stat", key: "usage_usec"}, groupSource{tree: "cpuacct", file: "cpuacct.usage", div: 1000}},
	{"cgroup.cpu.stat.user", groupSource{file: "cpu.stat", key: "user_usec"}, groupSource{tree: "cpuacct", file: "cpuacct.stat", key: "user", mul: 10_000}},
	{"cgroup.cpu.stat.system", groupSource{file: "cpu.stat", key: "system_usec"}, groupSource{tree: "cpuacct", file: "cpuacct.stat", key: "system", mul: 10_000}},
	{"cgroup.cpusched.periods", groupSource{file: "cpu.stat", key: "nr_periods"}, groupSource{tree: "cpu", file: "cpu.stat", key: "nr_periods"}},
	{"cgroup.cpusched.throttled", groupSource{file: "cpu.stat", key: "nr_throttled"}, groupSource{tree: "cpu", file: "cpu.stat", key: "nr_throttled"}},
	{"cgroup.cpusched.throttled_time", groupSource{file: "cpu.stat", key: "throttled_usec", mul: 1000}, groupSource{tree: "cpu", file: "cpu.stat", key: "throttled_time"}},
	{"cgroup.cpusched.bursts", groupSource{file: "cpu.stat", key: "nr_bursts"}, groupSource{tree: "cpu", file: "cpu.stat", key: "nr_bursts"}},
	{"cgroup.cpusched.burst_time", groupSource{file: "cpu.stat", key: "burst_usec", mul: 1000}, groupSource{tree: "cpu", file: "cpu.stat", key: "burst_time"}},
	{"cgroup.memory.current", groupSource{file: "memory.current"}, groupSource{tree: "memory", file: "memory.usage_in_bytes"}},
	{"cgroup.memory.events.low", groupSource{file: "memory.events", key: "low"}, groupSource{}},
	{"cgroup.memory.events.high", groupSource{file: "memory.events", key: "high"}, groupSource{}},
	{"cgroup.memory.events.max", groupSource{file: "memory.events", key: "max"}, groupSource{tree: "memory", file: "memory.failcnt"}},
	{"cgroup.memory.events.oom", groupSource{file: "memory.events", key: "oom"}, groupSource{}},
	{"cgroup.memory.oom_kill", groupSource{file: "memory.events", key: "oom_kill"}, groupSource{tree: "memory", file: "memory.oom_control", key: "oom_kill"}},
	{"cgroup.memory.events.oom_group_kill", groupSource{file: "memory.events", key: "oom_group_kill"}, groupSource{}},
	{"cgroup.tasks", groupSource{file: "pids.current"}, groupSource{tree: "pids", file: "pids.current"}},
	{"cgroup.pressure.cpu.some.total", groupSource{file: "cpu.pressure", key: "some", field: "total="}, groupSource{tree: "unified", file: "cpu.pressure", key: "some", field: "total="}},
	{"cgroup.pressure.cpu.full.total", groupSource{file: "cpu.pressure", key: "full", field: "total="}, groupSource{tree: "unified", file: "cpu.pressure", key: "full", field: "total="}},
	{"cgroup.pressure.memory.some.total", groupSource{file: "memory.pressure", key: "some", field: "total="}, groupSource{tree: "unified", file: "memory.pressure", key: "some", field: "total="}},
	{"cgroup.pressure.memory.full.total", groupSource{file: "memory.pressure", key: "full", field: "total="}, groupSource{tree: "unified", file: "memory.pressure", key: "full", field: "total="}},
	{"cgroup.pressure.io.some.total", groupSource{file: "io.pressure", key: "some", field: "total="}, groupSource{tree: "unified", file: "io.pressure", key: "some", field: "total="}},
	{"cgroup.pressure.io.full.total", groupSource{file: "io.pressure", key: "full", field: "total="}, groupSource{tree: "unified", file: "io.pressure", key: "full", field: "total="}},

	// Read once a minute.
	{"cgroup.cpusched.cfs_quota", groupSource{file: "cpu.max"}, groupSource{tree: "cpu", file: "cpu.cfs_quota_us"}},
	{"cgroup.cpusched.cfs_period", groupSource{file: "cpu.max", word: 1}, groupSource{tree: "cpu", file: "cpu.cfs_period_us"}},
	{"cgroup.cpusched.weight", groupSource{file: "cpu.weight"}, groupSource{}},
	{"cgroup.memory.limit", groupSource{file: "memory.max"}, groupSource{tree: "memory", file: "memory.limit_in_bytes"}},
	{"cgroup.memory.high", groupSource{file: "memory.high"}, groupSource{}},
	{"cgroup.memory.peak", groupSource{file: "memory.peak"}, groupSource{tree: "memory", file: "memory.max_usage_in_bytes"}},
	{"cgroup.memory.swap.current", groupSource{file: "memory.swap.current"}, groupSource{tree: "memory", file: "memory.stat", key: "total_swap"}},
	{"cgroup.memory.swap.max", groupSource{file: "memory.swap.max"}, groupSource{}},
	{"cgroup.memory.stat.anon", groupSource{file: "memory.stat", key: "anon"}, groupSource{tree: "memory", file: "memory.stat", key: "total_rss"}},
	{"cgroup.memory.stat.file", groupSource{file: "memory.stat", key: "file"}, groupSource{tree: "memory", file: "memory.stat", key: "total_cache"}},
	{"cgroup.memory.stat.kernel", groupSource{file: "memory.stat", key: "kernel"}, groupSource{tree: "memory", file: "memory.kmem.usage_in_bytes"}},
	{"cgroup.memory.stat.sock", groupSource{file: "memory.stat", key: "sock"}, groupSource{}},
	{"cgroup.memory.stat.shmem", groupSource{file: "memory.stat", key: "shmem"}, groupSource{tree: "memory", file: "memory.stat", key: "total_shmem"}},
	{"cgroup.memory.stat.file_dirty", groupSource{file: "memory.stat", key: "file_dirty"}, groupSource{tree: "memory", file: "memory.stat", key: "total_dirty"}},
	{"cgroup.memory.stat.slab", groupSource{file: "memory.stat", key: "slab"}, groupSource{}},
	{"cgroup.memory.stat.workingset.refault_anon", groupSource{file: "memory.stat", key: "workingset_refault_anon"}, groupSource{tree: "memory", file: "memory.stat", key: "total_workingset_refault_anon"}},
	{"cgroup.memory.stat.workingset.refault_file", groupSource{file: "memory.stat", key: "workingset_refault_file"}, groupSource{tree: "memory", file: "memory.stat", key: "total_workingset_refault_file"}},
	{"cgroup.memory.stat.pgmajfault", groupSource{file: "memory.stat", key: "pgmajfault"}, groupSource{tree: "memory", file: "memory.stat", key: "total_pgmajfault"}},
	{"cgroup.pids.peak", groupSource{file: "pids.peak"}, groupSource{tree: "pids", file: "pids.peak"}},
	{"cgroup.pids.max", groupSource{file: "pids.max"}, groupSource{tree: "pids", file: "pids.max"}},
	{"cgroup.pids.events", groupSource{file: "pids.events", key: "max"}, groupSource{tree: "pids", file: "pids.events", key: "max"}},
}

// The columns after those of groupColumns, which no one place in a file has.
const (
	groupReadBytes = len(groupColumns) + iota
	groupWriteBytes
	groupRuns
	groupCells
)

// groupColumnNamed returns the column of a metric.
func groupColumnNamed(name string) int {
	for i := range groupColumns {
		if groupColumns[i].metric == name {
			return i
		}
	}
	panic("linux: control groups have no metric " + name)
}

// groupPlace is a file that groups have, with the metrics read from it.
type groupPlace struct {
	tree     int // of cgroups.trees
	name     string
	resource string         // the controller that must be enabled for a group to have the file, or ""
	held     bool           // it is read so often that it stays open
	devices  bool           // it has numbers of block devices, and no columns here
	words    map[string]int // of devices, see groupDeviceFiles
	cols     []int
	from     []groupSource
}

// resourceOf returns which controller makes a file.
func resourceOf(name string) string {
	resource, rest, _ := strings.Cut(name, ".")
	if rest == "pressure" || name == "cpu.stat" {
		return "" // every group has these
	}
	return resource
}

// boundless is the smallest number by which version 1 means no memory limit: it shows the
// largest multiple of the page size.
const boundless = 1<<63 - 1<<20

var (
	noController = metric.ReasonFor("this control group has no such controller")
	noLimit      = metric.ReasonFor("no limit is set")
	ofRoot       = metric.ReasonFor("the root control group has no such number")
	noPressure   = metric.ReasonFor("the kernel does not account pressure, or not of this control group")
	tooOld       = metric.ReasonFor("this kernel does not count it")
	notEnabled   = map[string]metric.Reason{
		"cpu":    metric.ReasonFor("the cpu controller is not enabled for this control group (CPUAccounting=, CPUWeight= or CPUQuota= of systemd enable it)"),
		"io":     metric.ReasonFor("the io controller is not enabled for this control group (IOAccounting=yes of systemd enables it)"),
		"memory": metric.ReasonFor("the memory controller is not enabled for this control group (MemoryAccounting=yes of systemd enables it)"),
		"pids":   metric.ReasonFor("the pids controller is not enabled for this control group (TasksAccounting=yes of systemd enables it)"),
	}
)

// value is a cell of a group: the number, or why there is none.
type groupValue struct {
	v   uint64
	why metric.Reason
}

// parse finds the columns of p in the content of its file. Those that are not in it get lacks.
func (p *groupPlace) parse(data []byte, values []groupValue, lacks metric.Reason) {
	for _, col := range p.cols {
		values[col] = groupValue{why: lacks}
	}
	for first := true; len(data) > 0; first = false {
		var l []byte
		l, data = line(data)
		key, rest := word(l)
		for j := range p.from {
			switch s := &p.from[j]; {
			case s.key == "" && first:
				values[p.cols[j]] = s.number(skipTo(l, s.word), lacks)
			case s.key != "" && string(key) == s.key:
				w, _ := word(rest)
				if s.field != "" {
					w = fieldOf(rest, s.field)
				}
				values[p.cols[j]] = s.number(w, lacks)
			}
		}
	}
}

// skipTo returns the word with this number.
func skipTo(l []byte, n int) []byte {
	w, _ := word(skip(l, n))
	return w
}

// fieldOf returns what follows the name in a line of words NAME=NUMBER.
func fieldOf(l []byte, name string) []byte {
	for len(l) > 0 {
		var w []byte
		if w, l = word(l); len(w) > len(name) && string(w[:len(name)]) == name {
			return w[len(name):]
		}
	}
	return nil
}

var (
	wordMax   = []byte("max")
	wordMinus = []byte("-1")
)

// number reads a word of a file.
func (s *groupSource) number(w []byte, lacks metric.Reason) groupValue {
	v, ok := unsigned(w)
	switch {
	case ok && v < boundless:
		return groupValue{v: v * s.mul / s.div}
	case ok, bytes.Equal(w, wordMax), bytes.Equal(w, wordMinus):
		return groupValue{why: noLimit}
	case len(w) == 0:
		return groupValue{why: lacks}
	}
	return groupValue{why: notUnderstood}
}
