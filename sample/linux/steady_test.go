package linux

import (
	"fmt"
	"strings"
	"testing"

	"tachograph/sample"
	"tachograph/sample/metric"
)

// busyTree is the tree of a machine with many processors, disks and interfaces.
func busyTree(t testing.TB) string {
	var stat, disk, net, cpu, softnet strings.Builder
	stat.WriteString("cpu  300 2 40 5000 6 7 8 9 10 11\n")
	for i := range 64 {
		fmt.Fprintf(&stat, "cpu%d 100 1 20 2000 3 4 5 6 7 8\n", i)
		fmt.Fprintf(&cpu, "processor\t: %d\nvendor_id\t: X\nmodel name\t: Y\ncpu MHz\t\t: 2596.146\ncache size\t: 1024 KB\n\n", i)
		fmt.Fprintf(&softnet, "1 2 3 0 0 0 0 0 4 5 6 0 %x 0\n", i)
	}
	stat.WriteString("intr 1 2\nctxt 3\nbtime 4\nprocesses 5\nprocs_running 6\nprocs_blocked 7\nsoftirq 8\n")
	files := map[string]string{
		"proc/meminfo": meminfo, "proc/net/snmp": netSNMP, "proc/vmstat": "pgfault 1\nnr_free_pages 2\n",
		"proc/self/statm": "5 4 3 2 1 0 0\n", "proc/loadavg": "0.63 0.89 0.99 3/123 4567\n", "proc/uptime": "1.2 3.4\n", "proc/sys/fs/file-nr": "1 2 3\n",
		"proc/pressure/cpu":                           "some avg10=0.63 avg60=0.89 avg300=0.99 total=12058987\n",
		"proc/net/rpc/nfs":                            rpcNFS,
		"proc/net/netstat":                            "TcpExt: TCPTimeouts\nTcpExt: 3\n",
		"sys/devices/system/cpu/online":               "0-63\n",
		"sys/class/hwmon/hwmon0/name":                 "coretemp\n",
		"sys/class/hwmon/hwmon0/temp1_input":          "61000\n",
		"sys/class/power_supply/BAT/type":             "Battery\n",
		"sys/class/power_supply/BAT/status":           "Full\n",
		"sys/class/power_supply/BAT/capacity":         "99\n",
		"sys/class/drm/card0/device/gpu_busy_percent": "37\n",
	}
	for i := range 24 {
		fmt.Fprintf(&disk, "8 %d sd%c 100 10 2001 300 50 5 1001 70 2 400 500 7 8 9 10 11 12\n", i, 'a'+i)
		files[fmt.Sprintf("sys/block/sd%c/size", 'a'+i)] = "100\n"
		files[fmt.Sprintf("sys/block/sd%c/queue/scheduler", 'a'+i)] = "[none]\n"
	}
	for i := range 40 {
		fmt.Fprintf(&net, "eth%d: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n", i)
		for f, v := range map[string]string{"mtu": "1500", "speed": "1000", "flags": "0x1003", "operstate": "up", "duplex": "full", "type": "1"} {
			files[fmt.Sprintf("sys/class/net/eth%d/%s", i, f)] = v + "\n"
		}
	}
	files["proc/stat"], files["proc/diskstats"], files["proc/net/dev"] = stat.String(), disk.String(), net.String()
	files["proc/cpuinfo"], files["proc/net/softnet_stat"] = cpu.String(), softnet.String()
	return tree(t, files)
}

// mayAllocate lists sources that are read too rarely to matter, or that use a system call
// for which they must allocate.
var mayAllocate = map[string]bool{"host": true, "users": true, "filesys": true, "tcpconn": true}

func TestSteadyStateAllocatesNothing(t *testing.T) {
	sources, err := Sources(busyTree(t))
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, s := range sources {
		defer s.Close()
		fs := framesOf(s)
		if len(fs) == 0 || mayAllocate[s.Name()] {
			continue
		}
		c := clock(nil)
		if err := s.Read(c, fs); err != nil {
			t.Errorf("%s: %v", s.Name(), err)
			continue
		}
		checked++
		if n := testing.AllocsPerRun(10, func() { s.Read(c, fs) }); n != 0 {
			t.Errorf("%s allocates %v times a reading", s.Name(), n)
		}
	}
	if checked < 12 {
		t.Errorf("only %d sources were checked", checked)
	}
}

// benchmarkClass reads all metrics of a class on this machine.
func benchmarkClass(b *testing.B, class metric.Class) {
	needLinux(b)
	sources, err := Sources("")
	if err != nil {
		b.Fatal(err)
	}
	frames := make([][]*sample.Frame, len(sources))
	cells := 0
	c := clock(nil)
	read := func() {
		for i, s := range sources {
			if len(frames[i]) > 0 {
				if err := s.Read(c, frames[i]); err != nil {
					b.Fatal(s.Name(), err)
				}
			}
		}
	}
	for i, s := range sources {
		defer s.Close()
		for _, g := range s.Groups() {
			if f := sample.NewFrame(g, func(d *metric.Desc) bool { return d.Class == class }); f != nil {
				frames[i] = append(frames[i], f)
			}
		}
	}
	read()
	for _, fs := range frames {
		for _, f := range fs {
			cells += len(f.Block().Rows) * len(f.Block().Cols)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		read()
	}
	b.ReportMetric(float64(cells), "values/op")
}

func BenchmarkFast(b *testing.B)        { benchmarkClass(b, metric.Fast) }
func BenchmarkPolled(b *testing.B)      { benchmarkClass(b, metric.Polled) }
func BenchmarkConstrained(b *testing.B) { benchmarkClass(b, metric.Constrained) }

func BenchmarkSources(b *testing.B) {
	root := busyTree(b)
	sources, err := Sources(root)
	if err != nil {
		b.Fatal(err)
	}
	for _, s := range sources {
		defer s.Close()
		fs := framesOf(s)
		if len(fs) == 0 {
			continue
		}
		b.Run(s.Name(), func(b *testing.B) {
			c := clock(nil)
			b.ReportAllocs()
			for b.Loop() {
				s.Read(c, fs)
			}
		})
	}
}
