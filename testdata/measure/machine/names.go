package machine

import (
	"strings"

	"tachograph/sample/metric"
)

// A known metric of a recording has another name in the recorder. It may have other units, to
// which factor converts its values.
type known struct {
	name   string
	units  metric.Units
	factor uint64
	total  string // the metric that is the sum of its rows
}

// ours are the metrics that questions are about. A tick of the recording is 10 ms, a page 4 KB.
var ours = map[string]known{
	"process.process.utime":        {"proc.psinfo.utime", metric.Milliseconds, 10, ""},
	"process.process.stime":        {"proc.psinfo.stime", metric.Milliseconds, 10, ""},
	"process.process.minflt":       {"proc.psinfo.minflt", metric.Counts, 1, ""},
	"process.process.majflt":       {"proc.psinfo.maj_flt", metric.Counts, 1, ""},
	"process.process.num_threads":  {"proc.psinfo.threads", metric.NoUnits, 1, ""},
	"process.process.vsize":        {"proc.memory.vmsize", metric.Bytes, 1, ""},
	"process.process.rss":          {"proc.memory.rss", metric.Kbytes, 4, ""},
	"process.process.read_bytes":   {"proc.io.read_bytes", metric.Bytes, 1, ""},
	"process.process.write_bytes":  {"proc.io.write_bytes", metric.Bytes, 1, ""},
	"process.process.net_in":       {"proc.net.in_bytes", metric.Bytes, 1, ""},
	"process.process.net_out":      {"proc.net.out_bytes", metric.Bytes, 1, ""},
	"process.process.net_retrans":  {"proc.net.retrans_bytes", metric.Bytes, 1, ""},
	"process.process.net_opened":   {"proc.net.opened", metric.Counts, 1, ""},
	"process.process.net_accepted": {"proc.net.accepted", metric.Counts, 1, ""},
	"process.process.net_refused":  {"proc.net.refused", metric.Counts, 1, ""},
	"process.process.net_failed":   {"proc.net.failed", metric.Counts, 1, ""},
	"cpu.cpu.user":                 {"kernel.percpu.cpu.user", metric.Milliseconds, 10, "kernel.all.cpu.user"},
	"cpu.cpu.nice":                 {"kernel.percpu.cpu.nice", metric.Milliseconds, 10, "kernel.all.cpu.nice"},
	"cpu.cpu.system":               {"kernel.percpu.cpu.sys", metric.Milliseconds, 10, "kernel.all.cpu.sys"},
	"cpu.cpu.idle":                 {"kernel.percpu.cpu.idle", metric.Milliseconds, 10, "kernel.all.cpu.idle"},
	"cpu.cpu.iowait":               {"kernel.percpu.cpu.wait.total", metric.Milliseconds, 10, "kernel.all.cpu.wait.total"},
	"disk.disk.sectors_read":       {"disk.dev.blkread", metric.Counts, 1, "disk.all.blkread"},
	"disk.disk.sectors_written":    {"disk.dev.blkwrite", metric.Counts, 1, "disk.all.blkwrite"},
	"disk.disk.ms_io":              {"disk.dev.avactive", metric.Milliseconds, 1, ""},
	"net.net.rx_bytes":             {"network.interface.in.bytes", metric.Bytes, 1, "network.all.in.bytes"},
	"net.net.tx_bytes":             {"network.interface.out.bytes", metric.Bytes, 1, "network.all.out.bytes"},
	"meminfo.meminfo.MemTotal":     {"mem.physmem", metric.Kbytes, 1, ""},
	"meminfo.meminfo.MemFree":      {"mem.util.free", metric.Kbytes, 1, ""},
	"meminfo.meminfo.MemAvailable": {"mem.util.available", metric.Kbytes, 1, ""},
	"filesystem.fs.bavail":         {"filesys.avail", metric.NoUnits, 1, ""},
	"filesystem.fs.bfree":          {"filesys.free", metric.NoUnits, 1, ""},
	"stat.stat.processes":          {"kernel.all.sysfork", metric.Counts, 1, ""},
	"stat.stat.ctxt":               {"kernel.all.pswitch", metric.Counts, 1, ""},
	"stat.stat.intr":               {"kernel.all.intr", metric.Counts, 1, ""},
}

// families says how the other metrics of a group are named.
var families = map[string]struct {
	prefix, ours string
	single       bool // there is one row, without a name
}{
	"process":    {"process.process.", "proc.other.", false},
	"cpu":        {"cpu.cpu.", "kernel.percpu.cpu.", false},
	"disk":       {"disk.disk.", "disk.dev.", false},
	"net":        {"net.net.", "network.interface.", false},
	"filesystem": {"filesystem.fs.", "filesys.", false},
	"pressure":   {"pressure.pressure.", "kernel.all.pressure.", false},
	"meminfo":    {"meminfo.meminfo.", "mem.util.", true},
	"vmstat":     {"vmstat.vmstat.", "mem.vmstat.", true},
	"netstat":    {"netstat.netstat.", "network.", true},
	"loadavg":    {"loadavg.loadavg.", "kernel.all.load.", true},
	"stat":       {"stat.stat.", "kernel.all.stat.", true},
}

// group is a group of metrics with the names and in the units of the recorder.
type group struct {
	group   *metric.Group
	scaled  []bool   // its levels are numbers and not codes
	factor  []uint64 // for the recording's units
	total   *metric.Group
	sums    []int // the columns that total sums up
	sumRow  string
	single  bool
	perBoot bool // its instances are processes
	seen    int  // how often it was read
}

// newGroup returns g as the recorder has it or, if plain, as it is in the recording.
func newGroup(g *metric.Group, plain bool) *group {
	out := &group{perBoot: metric.PerBoot(g.Indom), scaled: make([]bool, len(g.Metrics)), factor: make([]uint64, len(g.Metrics))}
	for c, d := range g.Metrics {
		out.scaled[c], out.factor[c] = !strings.HasSuffix(d.Name, ".state"), 1
	}
	if out.group = g; plain {
		return out
	}
	f := families[g.Name]
	out.group = &metric.Group{Name: g.Name, Indom: g.Indom}
	if out.single = f.single; f.single {
		out.group.Indom = metric.NoIndom
	}
	if g.Name == "cpu" {
		out.sumRow = "cpu"
	}
	total := &metric.Group{Name: g.Name + " total"}
	for c, d := range g.Metrics {
		now := *d
		now.Indom = out.group.Indom
		if k, ok := ours[d.Name]; ok {
			now.Name, now.Units, out.factor[c] = k.name, k.units, k.factor
			if k.total != "" {
				sum := now
				sum.Name, sum.Indom, sum.Help = k.total, metric.NoIndom, "Measured value "+k.total
				total.Metrics, out.sums = append(total.Metrics, &sum), append(out.sums, c)
			}
		} else if rest, ok := strings.CutPrefix(d.Name, f.prefix); ok {
			now.Name = f.ours + rest
		}
		now.Help = "Measured value " + now.Name
		out.group.Metrics = append(out.group.Metrics, &now)
	}
	if len(total.Metrics) > 0 {
		out.total = total
	}
	return out
}

// scaleLevels says which metrics of an archive differ from round to round: counters, and levels
// that have a unit. Others may be codes.
func (g *group) scaleLevels() {
	for c, d := range g.group.Metrics {
		unsigned := d.Type == metric.U32 || d.Type == metric.U64
		g.scaled[c] = d.Sem == metric.Counter || d.Sem == metric.Instant && d.Units != metric.NoUnits && unsigned
	}
}

// static returns what is read once per archive of a machine whose recording does not say.
func static() *metric.Tick {
	d := &metric.Desc{Name: "hinv.ncpu", Type: metric.U32, Sem: metric.Discrete, Class: metric.Static, Help: "Processors"}
	return &metric.Tick{Class: metric.Static, Blocks: []*metric.Block{{
		Group: &metric.Group{Name: "hinv", Metrics: []*metric.Desc{d}}, Rows: []*metric.Instance{nil}, Cols: []metric.Column{{Bits: []uint64{2}}},
	}}}
}
