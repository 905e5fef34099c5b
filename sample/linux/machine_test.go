package linux

import (
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"tachograph/sample/metric"
)

// These tests compare the values of sources on the machine that runs them with values from
// elsewhere on it. Counters may move between two readings, so a value must lie between those
// read before and after.

func text(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func numberOf(t *testing.T, got map[cell]metric.Value, name, instance string) uint64 {
	t.Helper()
	v, ok := got[cell{name, instance}]
	if !ok || v.Miss != metric.Present {
		t.Fatalf("%s[%s]: %v", name, instance, v)
	}
	return v.Bits
}

func TestMachineProcessorTimesAddUp(t *testing.T) {
	needLinux(t)
	s, err := newStat("")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	got := readAll(t, clock(nil), s)
	n := numberOf(t, got, "hinv.ncpu", "")
	for i, c := range cpuColumns {
		if s.total.Metrics[i].Unsupported != "" {
			continue
		}
		sum := uint64(0)
		for k, v := range got {
			if k.name == "kernel.percpu.cpu."+c {
				sum += v.Bits
			}
		}
		// The kernel rounds each line down to ticks separately.
		total := numberOf(t, got, "kernel.all.cpu."+c, "")
		if slack := (n + 2) * 1000 / s.perSec; sum+slack < total || total+slack < sum {
			t.Errorf("%s: the processors have %d ms, the total is %d ms", c, sum, total)
		}
	}
	online := text(t, "/sys/devices/system/cpu/online")
	for i := range n {
		if n == 2 && !inList([]byte(online), i) {
			t.Errorf("cpu%d is not online according to %s", i, online)
		}
	}
}

func TestMachineMemoryIdentities(t *testing.T) {
	needLinux(t)
	s, err := newKeyed(keyedFiles[0], "")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	got := readAll(t, clock(nil), s)
	at := func(name string) uint64 { return numberOf(t, got, name, "") }
	if at("mem.util.used")+at("mem.util.free") != at("mem.physmem") {
		t.Error("used and free are not all memory")
	}
	if at("mem.freemem") != at("mem.util.free") || at("mem.active") != at("mem.util.active") {
		t.Error("two names for one thing differ")
	}
	if at("mem.util.slabReclaimable")+at("mem.util.slabUnreclaimable") != at("mem.util.slab") {
		t.Error("the two kinds of slabs are not all slabs")
	}
	if at("mem.util.active_anon")+at("mem.util.active_file") != at("mem.util.active") {
		t.Error("the two kinds of active memory are not all active memory")
	}
	if at("swap.used")+at("swap.free") != at("swap.length") || at("swap.length") != 1024*at("mem.util.swapTotal") {
		t.Error("swap does not add up")
	}
	if mb := at("hinv.physmem"); mb != at("mem.physmem")/1024 {
		t.Errorf("physical memory is %d Mbyte", mb)
	}
	m := regexp.MustCompile(`MemTotal:\s+(\d+) kB`).FindStringSubmatch(text(t, "/proc/meminfo"))
	if total, _ := strconv.ParseUint(m[1], 10, 64); total != at("mem.physmem") {
		t.Errorf("mem.physmem is %d, /proc/meminfo says %s", at("mem.physmem"), m[1])
	}
}

// devFields reads /proc/net/dev the plain way.
func devFields(t *testing.T) map[string][]uint64 {
	fields := make(map[string][]uint64)
	for l := range strings.Lines(text(t, "/proc/net/dev")) {
		name, rest, ok := strings.Cut(l, ":")
		if !ok {
			continue
		}
		for _, w := range strings.Fields(rest) {
			v, err := strconv.ParseUint(w, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			name := strings.TrimSpace(name)
			fields[name] = append(fields[name], v)
		}
	}
	return fields
}

func TestMachineNetworkTotals(t *testing.T) {
	needLinux(t)
	n, err := newNetdev("")
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	before := devFields(t)
	got := readAll(t, clock(nil), n)
	after := devFields(t)
	sum := func(fields map[string][]uint64, c netColumn) (v uint64) {
		for name, f := range fields {
			if !notCounted.MatchString(name) {
				v += c.value(f)
			}
		}
		return v
	}
	for _, c := range netColumns {
		for name := range before {
			v := numberOf(t, got, "network.interface."+c.name, name)
			if v < c.value(before[name]) || v > c.value(after[name]) {
				t.Errorf("%s of %s is %d, /proc/net/dev says %d to %d", c.name, name, v, c.value(before[name]), c.value(after[name]))
			}
		}
	}
	for _, c := range netColumns[:netTotals] {
		v := numberOf(t, got, "network.all."+c.name, "")
		if v < sum(before, c) || v > sum(after, c) {
			t.Errorf("%s of all interfaces is %d, /proc/net/dev says %d to %d", c.name, v, sum(before, c), sum(after, c))
		}
	}
	for name := range before {
		want := strings.TrimSpace(text(t, "/sys/class/net/"+name+"/mtu"))
		if v := numberOf(t, got, "network.interface.mtu", name); strconv.FormatUint(v, 10) != want {
			t.Errorf("the mtu of %s is %d, /sys says %s", name, v, want)
		}
	}
}

func TestMachineDisks(t *testing.T) {
	needLinux(t)
	d, err := newDisks("")
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	stats := func() map[string]uint64 {
		reads := make(map[string]uint64)
		paths, _ := filepath.Glob("/sys/block/*/stat")
		for _, p := range paths {
			v, err := strconv.ParseUint(strings.Fields(text(t, p))[0], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			reads[filepath.Base(filepath.Dir(p))] = v
		}
		return reads
	}
	before := stats()
	got := readAll(t, clock(nil), d)
	after := stats()
	for _, m := range d.members.live {
		name := strings.ReplaceAll(m.in.Name, "/", "!")
		v := numberOf(t, got, "disk.dev.read", m.in.Name)
		if v < before[name] || v > after[name] {
			t.Errorf("reads of %s are %d, /sys says %d to %d", name, v, before[name], after[name])
		}
		size := numberOf(t, got, "disk.dev.capacity", m.in.Name)
		if want := strings.TrimSpace(text(t, "/sys/block/"+name+"/size")); strconv.FormatUint(2*size, 10) != want {
			t.Errorf("%s has %d Kbyte, /sys says %s sectors", name, size, want)
		}
	}
}

func TestMachineFilesystems(t *testing.T) {
	needLinux(t)
	f, err := newFilesystems("")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	got := readAll(t, clock(nil), f)
	for _, m := range f.mounts.live {
		if m.data.err != nil {
			continue
		}
		var s space
		if err := statfs(m.in.Name, &s); err != nil {
			t.Fatal(err)
		}
		if v := numberOf(t, got, "filesys.capacity", m.in.Name); v != kbytes(s.blocks, s.fragmentSize) {
			t.Errorf("%s holds %d Kbyte, statfs says %d blocks of %d", m.in.Name, v, s.blocks, s.fragmentSize)
		}
		sum := numberOf(t, got, "filesys.used", m.in.Name) + numberOf(t, got, "filesys.free", m.in.Name)
		if c := numberOf(t, got, "filesys.capacity", m.in.Name); sum > c || sum+1 < c {
			t.Errorf("%s: used and free are %d Kbyte of %d", m.in.Name, sum, c)
		}
	}
}

// TestMachineConnections opens connections and finds them, over netlink and in the files.
func TestMachineConnections(t *testing.T) {
	needLinux(t)
	count := func() (states [2]map[cell]metric.Value) {
		for i := range states {
			c, err := newTCPConn("")
			if err != nil {
				t.Fatal(err)
			}
			if i == 1 {
				if c.diag != nil {
					c.diag.Close()
				}
				c.diag = nil
			}
			states[i] = readAll(t, clock(nil), c)
			c.Close()
		}
		return states
	}
	before := count()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Skipf("this machine has no loopback: %v", err)
	}
	listeners := []net.Listener{l}
	if l6, err := net.Listen("tcp", "[::1]:0"); err == nil {
		listeners = append(listeners, l6)
	}
	const pairs = 20
	for _, l := range listeners {
		defer l.Close()
		for range pairs {
			c, err := net.Dial("tcp", l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			a, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			defer a.Close()
		}
	}
	after := count()
	for i, way := range []string{"netlink", "files"} {
		for state, want := range map[string]uint64{"established": uint64(2 * pairs * len(listeners)), "listen": uint64(len(listeners))} {
			name := "network.tcpconn." + state
			was, is := numberOf(t, before[i], name, ""), numberOf(t, after[i], name, "")
			// Other programs open and close connections, too.
			if is < was+want-min(was, want/2) || is < want {
				t.Errorf("%s: %s went from %d to %d, want %d more", way, state, was, is, want)
			}
		}
	}
}

func TestMachineTunables(t *testing.T) {
	needLinux(t)
	v, err := newValues("")
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	got := readAll(t, clock(nil), v)
	for name, path := range map[string]string{
		"kernel.limits.maxproc": "/proc/sys/kernel/pid_max", "kernel.limits.maxfilesperproc": "/proc/sys/fs/nr_open",
		"ipc.somaxconn": "/proc/sys/net/core/somaxconn",
	} {
		t.Run(name, func(t *testing.T) {
			if want := strings.TrimSpace(text(t, path)); strconv.FormatUint(numberOf(t, got, name, ""), 10) != want {
				t.Errorf("is %v, %s says %s", got[cell{name, ""}], path, want)
			}
		})
	}
}

func TestMachineHost(t *testing.T) {
	needLinux(t)
	h, err := newHost("")
	if err != nil {
		t.Fatal(err)
	}
	got := readAll(t, clock(nil), h)
	name, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	if v := got[cell{"kernel.uname.nodename", ""}]; v.Str != name {
		t.Errorf("the host is %q, the system says %q", v.Str, name)
	}
	if v := got[cell{"hinv.pagesize", ""}]; v.Bits != uint64(os.Getpagesize()) {
		t.Errorf("pages of %d bytes", v.Bits)
	}
}

// A source that has been refreshed continues to read.
func TestRefreshKeepsReading(t *testing.T) {
	sources, err := Sources(busyTree(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sources {
		defer s.Close()
		c := clock(nil)
		before := readAll(t, c, s)
		if err := s.Refresh(); err != nil {
			t.Errorf("%s: %v", s.Name(), err)
		}
		if after := readAll(t, c, s); len(after) != len(before) {
			t.Errorf("%s: %d cells before Refresh, %d after", s.Name(), len(before), len(after))
		}
	}
}

func TestSourcesWithoutProc(t *testing.T) {
	_, err := Sources(t.TempDir())
	if err == nil || !strings.Contains(err.Error(), "proc/stat") || !strings.Contains(err.Error(), "mount") {
		t.Errorf("without /proc: %v", err)
	}
}
