package naming

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tachograph/sample/catalog"
	"tachograph/sample/metric"
)

var update = flag.Bool("update", false, "write the table of names anew")

var platforms = map[string]catalog.Platform{"linux": catalog.Linux, "macos": catalog.Darwin}

func TestOwnNamesAreUnique(t *testing.T) {
	for name, of := range platforms {
		names := make(map[string]string)
		for _, d := range catalog.For(of) {
			f := Own(d)
			if other := names[f.Name]; other != "" {
				t.Errorf("%s: %s and %s are both %s", name, other, d.Name, f.Name)
			}
			names[f.Name] = d.Name
		}
	}
}

func TestConventions(t *testing.T) {
	units := func(text string) metric.Units {
		u, err := metric.ParseUnits(text)
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	for _, c := range []struct {
		name, units string
		sem         metric.Semantics
		want        string
		in, out     float64
	}{
		{"kernel.all.cpu.user", "millisec", metric.Counter, "kernel_all_cpu_user_seconds_total", 1234567, 1234.567},
		{"disk.all.read_bytes", "Kbyte", metric.Counter, "disk_all_read_bytes_total", 3, 3072},
		{"disk.all.total", "count", metric.Counter, "disk_all_overall_total", 3, 3},
		{"network.sockstat.total", "count", metric.Instant, "network_sockstat_overall", 3, 3},
		{"vfs.files.count", "", metric.Instant, "vfs_files_number", 3, 3},
		{"process.user_time_us", "microsec", metric.Counter, "process_user_time_seconds_total", 1, 1e-6},
		{"process.rss_kb", "Kbyte", metric.Instant, "process_rss_bytes", 1, 1024},
		{"mem.util.hugepagesTotal", "count", metric.Instant, "mem_util_hugepages_overall", 1, 1},
		{"mem.util.committed_AS", "Kbyte", metric.Instant, "mem_util_committed_as_bytes", 1, 1024},
		{"mem.util.directMap2M", "Kbyte", metric.Instant, "mem_util_direct_map2m_bytes", 1, 1024},
		{"gpu.util", "percent", metric.Instant, "gpu_util_ratio", 37, 0.37},
		{"network.interface.baudrate", "bit / sec", metric.Instant, "network_interface_baudrate_bytes_per_second", 8, 1},
		{"power.battery.capacity.max", "mA hour", metric.Instant, "power_battery_capacity_max_coulombs", 5, 18},
		{"power.battery.voltage", "mV", metric.Instant, "power_battery_voltage_volts", 1500, 1.5},
		{"proc.energy", "nanojoule", metric.Counter, "proc_energy_joules_total", 3, 3e-9},
		{"power.battery.time_remaining", "min", metric.Instant, "power_battery_time_remaining_seconds", 2, 120},
		{"disk.all.await", "millisec / count", metric.Instant, "disk_all_await_seconds", 5, 0.005},
		{"kernel.all.hz", "count / sec", metric.Discrete, "kernel_all_hz_per_second", 100, 100},
		{"thermal.fan.speed", "rpm", metric.Instant, "thermal_fan_speed_rpm", 900, 900},
		{"hinv.cpu.clock", "MHz", metric.Instant, "hinv_cpu_clock_hertz", 3000, 3e9},
	} {
		d := &metric.Desc{Name: c.name, Units: units(c.units), Sem: c.sem, Type: metric.U64}
		f := Own(d)
		if f.Name != Prefix+c.want {
			t.Errorf("%s is %s, want %s", c.name, f.Name, c.want)
		}
		if got := f.Sources[0].Scale(d).Of(c.in); got != c.out {
			t.Errorf("%s: %v is %v, want %v", c.name, c.in, got, c.out)
		}
	}
}

// Every line of the table is of metrics that the platform's catalogue has, and of
// units that its name says.
func TestTable(t *testing.T) {
	for platform, of := range platforms {
		metrics := make(map[string]*metric.Desc)
		for _, d := range catalog.For(of) {
			metrics[d.Name] = d
		}
		names := make(map[string]bool)
		for _, f := range Node(platform) {
			if names[f.Name] {
				t.Errorf("%s: %s comes twice", platform, f.Name)
			}
			names[f.Name] = true
			if (f.Type == Counter) != strings.HasSuffix(f.Name, "_total") || f.Help == "" {
				t.Errorf("%s: %s %s: %q", platform, f.Type, f.Name, f.Help)
			}
			found := 0
			for _, s := range f.Sources {
				d := metrics[s.Metric]
				if d == nil || d.Unsupported != "" {
					continue
				}
				found++
				unit, _ := base(d.Units)
				want := ""
				for _, u := range []string{"seconds", "bytes", "celsius"} {
					if strings.HasSuffix(strings.TrimSuffix(f.Name, "_total"), "_"+u) {
						want = u
					}
				}
				if s.Kind == Value && s.Times == "" && want != "" && unit != want && !strings.HasPrefix(unit, want+"_per") {
					t.Errorf("%s: %s is in %q: %s is not", platform, f.Name, unit, s.Metric)
				}
				for _, name := range append(textMetrics(s), s.Times) {
					if name != "" && metrics[name] == nil {
						t.Errorf("%s: there is no %s for %s", platform, name, f.Name)
					}
				}
			}
			if found == 0 {
				t.Errorf("%s: no metric of %s", platform, f.Name)
			}
		}
	}
}

func textMetrics(s Source) (names []string) {
	for _, l := range s.Texts {
		names = append(names, l.Value)
	}
	return names
}

// lacking are what the dashboard asks for and no metric tells.
var lacking = []string{
	"node_arp_", "node_cooling_device_", "node_cpu_scaling_", "node_hwmon_", "node_interrupts_", "node_kernel_hung_tasks",
	"node_memory_VmallocChunk_bytes", "node_memory_WritebackTmp_bytes", "node_network_carrier", "node_network_receive_nohandler_total",
	"node_network_transmit_queue_length", "node_schedstat_", "node_scrape_", "node_systemd_", "node_textfile_", "node_timex_", "node_udp_queues",
	"node_netstat_UdpLite_", "node_vmstat_kswapd", "node_zfs",
}

// The queries of the dashboard Node Exporter Full find what they ask for.
func TestDashboardFills(t *testing.T) {
	text, err := os.ReadFile("testdata/node-exporter-full.txt")
	if err != nil {
		t.Fatal(err)
	}
	have := make(map[string]bool)
	for _, f := range Node("linux") {
		have[f.Name] = true
	}
	asked, found := 0, 0
	for name := range strings.FieldsSeq(string(text)) {
		asked++
		lacks := slices.ContainsFunc(lacking, func(p string) bool { return strings.HasPrefix(name, p) })
		if have[name] {
			found++
		}
		if have[name] == lacks {
			t.Errorf("%s: there is one: %v", name, have[name])
		}
	}
	if asked < 200 || found < 150 {
		t.Errorf("%d of %d names", found, asked)
	}
	t.Logf("%d of %d names", found, asked)
}

func TestInstances(t *testing.T) {
	for _, c := range []struct {
		indom string
		in    metric.Instance
		want  string
	}{
		{"cpu", metric.Instance{Name: "cpu11"}, `[{cpu 11}]`},
		{"filesys", metric.Instance{Name: "/", Labels: []metric.Label{{Name: "device", Value: "/dev/a"}, {Name: "type", Value: "ext4"}}}, `[{device /dev/a} {fstype ext4} {mountpoint /}]`},
		{"process", metric.Instance{Name: "000612 a b"}, `[{name a b} {pid 612}]`},
		{"connection", metric.Instance{Key: "2a", Name: "firefox → net-3f2a9c81:443", Labels: []metric.Label{{Name: "process", Value: "12/345"}, {Name: "pid", Value: "12"}, {Name: "name", Value: "firefox"}, {Name: "app", Value: "Firefox"}, {Name: "protocol", Value: "tcp"},
			{Name: "direction", Value: "out"}, {Name: "port", Value: "50412"}, {Name: "peer", Value: "net-3f2a9c81"}, {Name: "peer_port", Value: "443"}}},
			`[{connection 2a} {direction out} {name firefox} {peer net-3f2a9c81} {peer_port 443} {port 50412} {protocol tcp}]`},
		{"listener", metric.Instance{Key: "tcp 127.0.0.1:5432", Name: "tcp 127.0.0.1:5432", Labels: []metric.Label{{Name: "protocol", Value: "tcp"}, {Name: "port", Value: "5432"}, {Name: "pid", Value: "12"}, {Name: "name", Value: "postgres"}}},
			`[{listener tcp 127.0.0.1:5432} {name postgres} {port 5432} {protocol tcp}]`},
		{"coalition", metric.Instance{Key: "71", Name: "Mail"}, `[{coalition 71} {name Mail}]`},
		{"thread", metric.Instance{Key: "9/3", Name: "worker", Labels: []metric.Label{{Name: "process", Value: "9"}}}, `[{name worker} {process 9} {thread 9/3}]`},
		{"nfs3 op", metric.Instance{Name: "read"}, `[{operation read}]`},
		{"instance", metric.Instance{Name: "x"}, `[{of_instance x}]`},
		{"1 é", metric.Instance{Name: "x"}, `[{of_1___ x}]`},
	} {
		s := Source{}
		got, ok := s.Series(&metric.Desc{Indom: c.indom}, &c.in)
		if !ok || fmt.Sprint(got) != c.want {
			t.Errorf("%s: %v, want %s", c.indom, got, c.want)
		}
	}
}

// docs/PROMETHEUS.md lists the names that the program gives.
func TestDocumentedNames(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Names at /metrics\n\nThese are the names that `replay serve` gives to metrics for Prometheus, at `/metrics` and in remote read. A test writes this page.\n\n")
	b.WriteString("Every metric that `replay metrics` lists has one name: `tachograph_`, the metric's name with underscores for points, the base unit, and `_total` if it\nis a counter. A text is a metric that ends in `_info` and has the text as its label `value`.\n\n")
	b.WriteString("In addition, these metrics have the names of node_exporter:\n\n| name | type | macOS | Linux |\n|---|---|---|---|\n")
	cell := func(list []Family, name string) (text string, typ Type) {
		for _, f := range list {
			if f.Name != name {
				continue
			}
			var metrics []string
			for _, s := range f.Sources {
				metrics = append(metrics, "`"+s.Metric+"`")
			}
			return strings.Join(metrics, ", "), f.Type
		}
		return "", ""
	}
	var names []string
	for platform := range platforms {
		for _, f := range Node(platform) {
			if !slices.Contains(names, f.Name) {
				names = append(names, f.Name)
			}
		}
	}
	slices.Sort(names)
	for _, name := range names {
		mac, typ := cell(Node("macos"), name)
		linux, other := cell(Node("linux"), name)
		if typ == "" {
			typ = other
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", name, typ, mac, linux)
	}
	path := filepath.Join("..", "..", "..", "..", "docs", "PROMETHEUS.md")
	if *update {
		if err := os.WriteFile(path, []byte(b.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(path)
	if err != nil || string(have) != b.String() {
		t.Errorf("%s is not what the program says (go test -update writes it anew): %v", path, err)
	}
}
