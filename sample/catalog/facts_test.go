package catalog

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tachograph/sample/metric"
)

// facts reads a table of facts.
func facts(t *testing.T, name string) []map[string]string {
	t.Helper()
	path := filepath.Join("..", "..", "testdata", "darwin", "facts", name)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimRight(string(data), "\n"), "\n")
	head := strings.Split(lines[0], "\t")
	rows := make([]map[string]string, 0, len(lines)-1)
	for _, l := range lines[1:] {
		row := make(map[string]string, len(head))
		for i, f := range strings.Split(l, "\t") {
			row[head[i]] = f
		}
		rows = append(rows, row)
	}
	return rows
}

// corrected lists metrics whose type, semantics or units differ from the table of facts,
// with the reason.
var corrected = map[string]string{
	"disk.all.avgrq_sz": "computed over the interval, in fractions",
	"disk.all.await":    "computed over the interval, in fractions",
	"disk.dev.avgrq_sz": "computed over the interval, in fractions",
	"disk.dev.await":    "computed over the interval, in fractions",

	"mem.pageins":           "the kernel counts in 64 bits",
	"mem.pageouts":          "the kernel counts in 64 bits",
	"mem.pages.active":      "as wide as the other page counts",
	"mem.pages.cow_faults":  "the kernel counts in 64 bits",
	"mem.pages.faults":      "the kernel counts in 64 bits",
	"mem.pages.freemem":     "as wide as the other page counts",
	"mem.pages.inactive":    "as wide as the other page counts",
	"mem.pages.reactivated": "the kernel counts in 64 bits",
	"mem.pages.wired":       "as wide as the other page counts",
	"mem.pages.zero_filled": "the kernel counts in 64 bits",
	"swap.pagesin":          "the kernel counts in 64 bits",
	"swap.pagesout":         "the kernel counts in 64 bits",
	"filesys.freefiles":     "64 bits in the kernel",
	"filesys.maxfiles":      "64 bits in the kernel",
	"filesys.usedfiles":     "64 bits in the kernel",
	"vfs.vnodes.recycled":   "a 64-bit counter",
	"proc.psinfo.majflt":    "from the 64-bit counter",
	"proc.psinfo.maj_flt":   "from the 64-bit counter",
	"proc.psinfo.minflt":    "from the 64-bit counter",

	"network.interface.baudrate": "bits per second, not bytes",
	"network.tcp.maxconn":        "-1 means no limit",
	"network.tcp.rtoalgorithm":   "Linux tells it in 64 bits",
	"network.tcp.rtomin":         "milliseconds, not a frequency",
	"network.tcp.rtomax":         "milliseconds, not a frequency",
	"proc.io.logical_writes":     "bytes, not a count",

	"thermal.ambient":       "degrees have a unit",
	"thermal.cpu.die":       "degrees have a unit",
	"thermal.cpu.proximity": "degrees have a unit",
	"thermal.gpu.die":       "degrees have a unit",
	"thermal.package":       "degrees have a unit",
	"thermal.fan.max":       "revolutions have a unit",
	"thermal.fan.min":       "revolutions have a unit",
	"thermal.fan.speed":     "revolutions have a unit",
	"thermal.fan.target":    "revolutions have a unit",

	"computed.compressor_pressure_pct": "percent is a unit",
	"computed.memory_utilization_pct":  "percent is a unit",
	"computed.swap_utilization_pct":    "percent is a unit",
	"computed.vfs_reclamation_pct":     "percent is a unit",
	"filesys.full":                     "percent is a unit",
	"gpu.util":                         "percent is a unit",
	"kern.memorystatus_level":          "percent is a unit",
	"power.battery.charge":             "percent is a unit",
	"power.battery.health":             "percent is a unit",
	"process.cpu_percent":              "percent is a unit",

	"kern.boottime":             "a structure, as microseconds since 1970",
	"kern.sleeptime":            "a structure, as microseconds since 1970",
	"kern.waketime":             "a structure, as microseconds since 1970",
	"kern.clockrate":            "a structure, as one instance per field",
	"vm.swapusage":              "a structure, as one instance per field",
	"vm.loadavg":                "a structure, as one instance per average",
	"hw.cacheconfig":            "an array, as one instance per level",
	"hw.cachesize":              "an array, as one instance per level",
	"vm.pageout_inactive_used":  "unsigned: the field has gone negative",
	"vm.pageout_inactive_clean": "unsigned: its neighbour has gone negative",
}

// agrees reports whether the type, semantics, units and domain of a row are those of the
// table of facts.
func agrees(t *testing.T, d *metric.Desc, f map[string]string) bool {
	indom := f["indom"]
	switch indom {
	case "none":
		indom = metric.NoIndom
	case "loadavg":
		indom = "load"
	}
	units, err := metric.ParseUnits(f["units"])
	if err != nil {
		t.Error(err)
	}
	return d.Type.String() == f["type"] && d.Sem.String() == f["semantics"] && d.Units == units && d.Indom == indom
}

func TestDarwinFacts(t *testing.T) {
	known := facts(t, "metrics.tsv")
	for name := range corrected {
		if !slices.ContainsFunc(known, func(f map[string]string) bool { return f["name"] == name }) {
			t.Errorf("%s is listed as corrected but no fact", name)
		}
	}
	for _, f := range known {
		t.Run(f["name"], func(t *testing.T) {
			d := Find(Darwin, f["name"])
			if d == nil {
				t.Fatalf("(%s) is not in the catalogue", f["origin"])
			}
			if id := strings.ReplaceAll(f["pmid"], ":", "."); id != "" && d.PMID.String() != id {
				t.Errorf("identifier %s, PCP's is %s", d.PMID, id)
			}
			same := agrees(t, d, f)
			if _, listed := corrected[d.Name]; listed && same {
				t.Error("is listed as corrected but agrees with the facts")
			} else if !listed && !same {
				t.Errorf("%s %s %q %q, the facts say %s %s %q %q",
					d.Type, d.Sem, d.Units, d.Indom, f["type"], f["semantics"], f["units"], f["indom"])
			}
			if f["origin"] == "sysctl250" && d.Class.String() != f["class"] {
				t.Errorf("class %s, the facts say %s", d.Class, f["class"])
			}
		})
	}
}

// unitsElsewhere lists metrics whose units on Linux differ from those in PCP's Linux tables,
// with the reason.
var unitsElsewhere = map[string]string{
	"hinv.nfilesys":                     "a number of things needs no unit, as on macOS",
	"proc.fd.count":                     "a number of things needs no unit, as on macOS",
	"thermal.package":                   "degrees have a unit",
	"filesys.full":                      "percent is a unit",
	"gpu.util":                          "percent is a unit",
	"power.battery.charge":              "percent is a unit",
	"thermal.fan.speed":                 "revolutions have a unit",
	"mem.compressor.uncompressed_pages": "pages, as the name says",
	"mem.compressor.pages":              "pages, as the name says",
}

func TestLinuxFacts(t *testing.T) {
	for _, f := range facts(t, "linux_parity.tsv") {
		names := []string{f["darwin_name"]}
		if !strings.HasPrefix(f["name"], "(") && f["name"] != f["darwin_name"] {
			names = append(names, f["name"])
		}
		for _, name := range names {
			t.Run(name, func(t *testing.T) {
				d := Find(Linux, name)
				if d == nil {
					t.Fatal("is not in the Linux catalogue")
				}
				if d.Unsupported != "" {
					t.Errorf("called unsupported (%s), but PCP finds it in %s", d.Unsupported, f["source"])
				}
				units, err := metric.ParseUnits(f["units"])
				if err != nil {
					t.Error(err)
				}
				if _, listed := unitsElsewhere[name]; !listed && d.Units != units {
					t.Errorf("units %q, PCP's on Linux are %q", d.Units, units)
				}
			})
		}
	}
}
