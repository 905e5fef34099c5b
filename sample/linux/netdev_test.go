package linux

import (
	"path/filepath"
	"strings"
	"testing"

	"tachograph/sample/metric"
)

const netDev = `Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo:    3193      29    0    0    0     0          0         0     3193      29    0    0    0     0       0          0
  eth0:73719368    4617    1    2    3     4          5         6   364599    3286    7    8    9    10      11         12
veth12a:    100       1    0    0    0     0          0         0      200       2    0    0    0     0       0          0
docker0:      5       5    5    5    5     5          5         5        5       5    5    5    5     5       5          5
 wlan0: 1000 10 0 0 0 0 0 0 2000 20 0 0 0 0 0 0
`

func netTree(t testing.TB) string {
	return tree(t, map[string]string{
		"proc/net/dev":                    netDev,
		"sys/class/net/eth0/mtu":          "1500\n",
		"sys/class/net/eth0/speed":        "1000\n",
		"sys/class/net/eth0/flags":        "0x1003\n",
		"sys/class/net/eth0/operstate":    "up\n",
		"sys/class/net/eth0/duplex":       "full\n",
		"sys/class/net/eth0/type":         "1\n",
		"sys/class/net/eth0/device/model": "x",
		"sys/class/net/lo/mtu":            "65536\n",
		"sys/class/net/lo/operstate":      "unknown\n",
		"sys/class/net/wlan0/speed":       "-1\n",
		"sys/class/net/wlan0/flags":       "0x1002\n",
		"sys/class/net/wlan0/operstate":   "down\n",
	})
}

func TestNetdev(t *testing.T) {
	root := netTree(t)
	n, err := newNetdev(root)
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	var events []metric.Event
	c := clock(&events)
	expect(t, readAll(t, c, n), map[cell]string{
		{"network.interface.in.bytes", "lo"}: "3193", {"network.interface.in.bytes", "eth0"}: "73719368",
		{"network.interface.in.errors", "eth0"}: "1", {"network.interface.in.drops", "eth0"}: "2",
		{"network.interface.in.fifo", "eth0"}: "3", {"network.interface.in.frame", "eth0"}: "4",
		{"network.interface.in.compressed", "eth0"}: "5", {"network.interface.in.mcasts", "eth0"}: "6",
		{"network.interface.out.bytes", "eth0"}: "364599", {"network.interface.out.errors", "eth0"}: "7",
		{"network.interface.out.drops", "eth0"}: "8", {"network.interface.out.fifo", "eth0"}: "9",
		{"network.interface.collisions", "eth0"}: "10", {"network.interface.out.carrier", "eth0"}: "11",
		{"network.interface.out.compressed", "eth0"}: "12", {"network.interface.total.drops", "eth0"}: "10",
		{"network.interface.total.mcasts", "eth0"}: "6", {"network.interface.total.bytes", "eth0"}: "74083967",
		{"network.interface.mtu", "eth0"}: "1500", {"network.interface.baudrate", "eth0"}: "125000000",
		{"network.interface.up", "eth0"}: "1", {"network.interface.running", "eth0"}: "1",
		{"network.interface.operational", "eth0"}: "1", {"network.interface.operational", "wlan0"}: "0",
		{"network.interface.running", "lo"}: "1", {"network.interface.operational", "lo"}: "0",
		{"network.interface.operational", "docker0"}: "absent: unsupported",
		{"network.interface.duplex", "eth0"}:         "full", {"network.interface.type", "eth0"}: "1",
		{"network.interface.virtual", "eth0"}: "0", {"network.interface.virtual", "lo"}: "1",
		{"network.interface.mtu", "lo"}:         "65536",
		{"network.interface.baudrate", "wlan0"}: "absent: unsupported",
		{"network.interface.up", "wlan0"}:       "0", {"network.interface.running", "wlan0"}: "0",
		{"network.interface.mtu", "wlan0"}: "absent: unsupported",
		{"network.all.in.bytes", ""}:       "73720368", {"network.all.out.packets", ""}: "3306",
		{"network.all.total.drops", ""}: "10", {"hinv.ninterface", ""}: "5",
	})

	// wlan0 disappears, and eth0 starts again from zero. The sums never fall.
	write(t, root, "proc/net/dev", "eth0: 50 1 0 0 0 0 0 0 60 1 0 0 0 0 0 0\nwwan0: 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n")
	expect(t, readAll(t, c, n), map[cell]string{
		{"network.interface.in.bytes", "eth0"}: "50",
		{"network.all.in.bytes", ""}:           "73720419", {"network.all.out.bytes", ""}: "366659",
	})
	var texts []string
	for _, e := range events {
		texts = append(texts, e.Text)
	}
	want := "interface wwan0 appeared; interface wlan0 went away"
	if got := strings.Join(texts, "; "); got != want {
		t.Errorf("events: %s", got)
	}
}

func FuzzNetdev(f *testing.F) {
	for _, l := range strings.Split(netDev, "\n") {
		f.Add([]byte(l))
	}
	f.Add([]byte("a:b: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16"))
	f.Fuzz(func(t *testing.T, l []byte) {
		nums := make([]uint64, netFields)
		name, ok := netLine(l, nums)
		if ok && (len(name) == 0 || strings.ContainsAny(string(name), " \t")) {
			t.Errorf("netLine(%q) = %q", l, name)
		}
	})
}

func TestSoftnet(t *testing.T) {
	root := tree(t, map[string]string{"proc/net/softnet_stat": "" +
		"00000013 00000001 00000002 00000000 00000000 00000000 00000000 00000000 00000003 00000004 00000005 00000000 00000000 00000000 00000000\n" +
		"ffffffff 00000001 00000002 00000000 00000000 00000000 00000000 00000000 00000003 00000004 00000005 00000000 00000002 00000000 00000000\n"})
	s, err := newSoftnet(root)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	expect(t, readAll(t, clock(nil), s), map[cell]string{
		{"network.softnet.percpu.processed", "cpu0"}: "19", {"network.softnet.percpu.processed", "cpu2"}: "4294967295",
		{"network.softnet.processed", ""}: "18", {"network.softnet.dropped", ""}: "2",
		{"network.softnet.percpu.time_squeeze", "cpu2"}: "2", {"network.softnet.percpu.cpu_collision", "cpu2"}: "3",
		{"network.softnet.percpu.received_rps", "cpu2"}: "4", {"network.softnet.percpu.flow_limit_count", "cpu2"}: "5",
	})
	// An old kernel: fewer columns, processors in order.
	s, err = newSoftnet(tree(t, map[string]string{"proc/net/softnet_stat": "1 2 3 0 0 0 0 0 4\n5 6 7 0 0 0 0 0 8\n"}))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	expect(t, readAll(t, clock(nil), s), map[cell]string{{"network.softnet.percpu.dropped", "cpu1"}: "6"})
	if s.per.Metrics[4].Unsupported == "" {
		t.Error("a column that is not there is not marked")
	}
}

func FuzzSoftnet(f *testing.F) {
	f.Add([]byte("00000013 00000001\n"))
	f.Add([]byte("0 0 0 0 0 0 0 0 0 0 0 0 ffffffffffffffff\n"))
	root := tree(f, map[string]string{"proc/net/softnet_stat": "1 2 3 0 0 0 0 0 4 5 6 7 0 0\n"})
	s, err := newSoftnet(root)
	if err != nil {
		f.Fatal(err)
	}
	fs := framesOf(s)
	f.Fuzz(func(t *testing.T, data []byte) {
		s.file.close()
		s.file = newFile(filepath.Join(root, "fuzzed"))
		write(t, root, "fuzzed", string(data))
		if err := s.Read(clock(nil), fs); err != nil {
			t.Fatal(err)
		}
	})
}

func TestPressure(t *testing.T) {
	root := tree(t, map[string]string{
		"proc/pressure/cpu":    "some avg10=0.63 avg60=0.89 avg300=0.99 total=12058987\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n",
		"proc/pressure/memory": "some avg10=1.50 avg60=2.50 avg300=3.50 total=7\nfull avg10=0.25 avg60=0.50 avg300=0.75 total=5\n",
		"proc/pressure/io":     "some avg10=1 avg60=2 avg300=3 total=9\n",
	})
	p, err := newPressure(root)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	expect(t, readAll(t, clock(nil), p), map[cell]string{
		{"kernel.all.pressure.cpu.some.total", ""}: "12058987", {"kernel.all.pressure.cpu.some.avg", "1 minute"}: "0.89",
		{"kernel.all.pressure.memory.full.total", ""}: "5", {"kernel.all.pressure.memory.full.avg", "10 second"}: "0.25",
		{"kernel.all.pressure.io.some.avg", "5 minute"}: "3",
	})
	for i, want := range []string{"", "", "", "", "this kernel does not account it", "this kernel has no /proc/pressure/irq"} {
		if got := p.total.Metrics[i].Unsupported; got != want {
			t.Errorf("%s: unsupported %q, want %q", p.total.Metrics[i].Name, got, want)
		}
	}
}

func FuzzPressure(f *testing.F) {
	f.Add([]byte("some avg10=0.63 avg60=0.89 avg300=0.99 total=12058987\n"))
	f.Add([]byte("some\nsome = = = =\nfull"))
	f.Fuzz(func(t *testing.T, data []byte) {
		findPressure(data, "some")
		findPressure(data, "full")
	})
}
