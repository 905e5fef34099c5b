package otlp

import (
	"cmp"
	"slices"
	"strings"

	"tachograph/cmd/replay/internal/naming"
	"tachograph/sample/metric"
)

// own returns a metric under its own name, in base units.
func own(d *metric.Desc) (naming.Family, bool) {
	f := naming.Own(d)
	f.Name = "tachograph." + d.Name
	return f, true
}

// family is a metric of the semantic conventions with its sources: each a metric of ours,
// followed by attributes of its series.
type family struct {
	name, unit, help string
	counter          bool
	sources          [][]string
}

// conventions are the metrics of the semantic conventions for systems ("Development" as of
// 2026) that recorded metrics match exactly.
var conventions = []family{
	{"system.cpu.time", "seconds", "Time the processors spent in each mode.", true, [][]string{
		{"kernel.percpu.cpu.user", "cpu.mode", "user"}, {"kernel.percpu.cpu.nice", "cpu.mode", "nice"}, {"kernel.percpu.cpu.sys", "cpu.mode", "system"},
		{"kernel.percpu.cpu.idle", "cpu.mode", "idle"}, {"kernel.percpu.cpu.wait.total", "cpu.mode", "iowait"}, {"kernel.percpu.cpu.irq.hard", "cpu.mode", "interrupt"},
		{"kernel.percpu.cpu.irq.soft", "cpu.mode", "softirq"}, {"kernel.percpu.cpu.steal", "cpu.mode", "steal"}}},
	{"system.memory.usage", "bytes", "Memory by what it is used for.", false, [][]string{
		{"mem.util.used", "system.memory.state", "used"}, {"mem.util.free", "system.memory.state", "free"},
		{"mem.util.cached", "system.memory.state", "cached"}, {"mem.util.bufmem", "system.memory.state", "buffers"},
		{"mem.util.wired", "system.memory.state", "wired"}, {"mem.util.compressed", "system.memory.state", "compressed"}}},
	{"system.memory.limit", "bytes", "Memory of the machine.", false, [][]string{{"mem.physmem"}}},
	{"system.linux.memory.available", "bytes", "Memory that programs can have without swapping.", false, [][]string{{"mem.util.available"}}},
	{"system.paging.usage", "bytes", "Swap space.", false, [][]string{
		{"swap.used", "system.paging.state", "used"}, {"swap.free", "system.paging.state", "free"}}},
	{"system.paging.faults", "", "Page faults that took a disk.", true, [][]string{{"mem.vmstat.pgmajfault", "system.paging.fault.type", "major"}}},
	{"system.disk.io", "bytes", "Data read and written.", true, [][]string{
		{"disk.dev.read_bytes", "disk.io.direction", "read"}, {"disk.dev.write_bytes", "disk.io.direction", "write"}}},
	{"system.disk.operations", "", "Requests completed.", true, [][]string{
		{"disk.dev.read", "disk.io.direction", "read"}, {"disk.dev.write", "disk.io.direction", "write"}}},
	{"system.network.io", "bytes", "Data received and sent.", true, [][]string{
		{"network.interface.in.bytes", "network.io.direction", "receive"}, {"network.interface.out.bytes", "network.io.direction", "transmit"}}},
	{"system.network.packet.count", "", "Packets received and sent.", true, [][]string{
		{"network.interface.in.packets", "network.io.direction", "receive"}, {"network.interface.out.packets", "network.io.direction", "transmit"}}},
	{"system.network.errors", "", "Packets with errors.", true, [][]string{
		{"network.interface.in.errors", "network.io.direction", "receive"}, {"network.interface.out.errors", "network.io.direction", "transmit"}}},
	{"system.network.packet.dropped", "", "Packets dropped.", true, [][]string{
		{"network.interface.in.drops", "network.io.direction", "receive"}, {"network.interface.out.drops", "network.io.direction", "transmit"}}},
	{"system.filesystem.usage", "bytes", "Space on volumes.", false, [][]string{
		{"filesys.used", "system.filesystem.state", "used"}, {"filesys.free", "system.filesystem.state", "free"}}},
	{"system.filesystem.limit", "bytes", "Size of volumes.", false, [][]string{{"filesys.capacity"}}},
	{"system.uptime", "seconds", "How long the machine has been up.", false, [][]string{{"kernel.all.uptime"}}},
	{"system.process.count", "", "Processes.", false, [][]string{{"proc.nprocs"}}},
}

// named returns the conventions as families.
func named(string) []naming.Family {
	var list []naming.Family
	for _, c := range conventions {
		f := naming.Family{Name: c.name, Type: naming.Gauge, Unit: c.unit, Help: c.help}
		if c.counter {
			f.Type = naming.Counter
		}
		for _, s := range c.sources {
			src := naming.Source{Metric: s[0]}
			for i := 1; i+1 < len(s); i += 2 {
				src.Labels = append(src.Labels, naming.Label{Name: s[i], Value: s[i+1]})
			}
			f.Sources = append(f.Sources, src)
		}
		list = append(list, f)
	}
	return list
}

// attributes are the conventions' names for instances.
var attributes = map[string]string{
	"disk": "system.device", "network.interface": "network.interface.name", "interface": "network.interface.name",
}

// labels returns the attributes of a series.
func labels(src *naming.Source, d *metric.Desc, in *metric.Instance) ([]naming.Label, bool) {
	list := slices.Clone(src.Labels)
	if in == nil {
		return list, true
	}
	switch name := attributes[d.Indom]; {
	case d.Indom == "cpu":
		list = append(list, naming.Label{Name: "cpu.logical_number", Value: strings.TrimPrefix(in.Name, "cpu")})
	case d.Indom == "filesys":
		list = append(list, naming.Label{Name: "system.device", Value: in.Label("device")},
			naming.Label{Name: "system.filesystem.mountpoint", Value: in.Name}, naming.Label{Name: "system.filesystem.type", Value: in.Label("type")})
	case name != "":
		list = append(list, naming.Label{Name: name, Value: in.Name})
	default:
		list = append(list, naming.InstanceLabels(d.Indom, in)...)
	}
	slices.SortFunc(list, func(x, y naming.Label) int { return cmp.Compare(x.Name, y.Name) })
	return list, true
}

// units are base units in the notation of UCUM.
var units = map[string]string{
	"": "1", "seconds": "s", "bytes": "By", "ratio": "1", "celsius": "Cel", "amperes": "A", "volts": "V", "watts": "W", "joules": "J", "coulombs": "C",
	"rpm": "{revolution}/min", "cycles": "{cycle}", "hertz": "Hz", "second": "s",
}

// ucum returns a base unit in the notation of UCUM.
func ucum(unit string) string {
	above, below, per := strings.Cut(unit, "per_")
	above = strings.TrimSuffix(above, "_")
	u, known := units[above]
	if !known {
		u = "{" + above + "}"
	}
	if !per {
		return u
	}
	under, known := units[below]
	if !known {
		under = "{" + below + "}"
	}
	return u + "/" + under
}
