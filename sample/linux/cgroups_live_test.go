package linux

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"tachograph/sample"
	"tachograph/sample/metric"
)

// A control group that the test creates is found, has the numbers in its own files, and
// disappears when it is removed.
func TestRealCgroup(t *testing.T) {
	needLinux(t)
	tree := "/sys/fs/cgroup/cpuacct"
	if _, err := os.Stat("/sys/fs/cgroup/cgroup.controllers"); err == nil {
		tree = "/sys/fs/cgroup"
	}
	name := "tachograph-test-" + strconv.Itoa(os.Getpid())
	dir := filepath.Join(tree, name)
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Skipf("only root may make a control group, where there are any: %v", err)
	}
	t.Cleanup(func() { os.Remove(dir) })
	g, err := newCgroups("")
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	c := clock(nil)
	used := func(path string) (v metric.Value) {
		return readAll(t, c, g)[cell{"cgroup.cpu.stat.usage", path}]
	}
	if v := used("/" + name); v.Miss != metric.Present || v.Number() != 0 {
		t.Errorf("a group without processes used %v", v)
	}
	told := func() float64 {
		file, key := "cpuacct.usage", ""
		if tree == "/sys/fs/cgroup" {
			file, key = "cpu.stat", "usage_usec "
		}
		text, err := os.ReadFile(filepath.Join(tree, file))
		if err != nil {
			t.Fatal(err)
		}
		line, _, _ := strings.Cut(strings.TrimPrefix(string(text), key), "\n")
		n, err := strconv.ParseFloat(line, 64)
		if err != nil {
			t.Fatal(err)
		}
		if key == "" {
			n /= 1000 // nanoseconds
		}
		return n
	}
	before, v := told(), used("/")
	if after := told(); v.Miss != metric.Present || v.Number() < before-1 || v.Number() > after+1 {
		t.Errorf("all groups used %v, and %v before and %v after that", v, before, after)
	}
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	if v, there := readAll(t, c, g)[cell{"cgroup.cpu.stat.usage", "/" + name}]; there {
		t.Errorf("it is read after it was removed: %v", v)
	}
}

// realGroups makes control groups in all trees that there are, and returns their paths and the
// base directory.
func realGroups(t testing.TB, n int) (paths []string) {
	t.Helper()
	needLinux(t)
	g, err := newCgroups("")
	if err != nil {
		t.Fatal(err)
	}
	g.Close()
	top := "/tachograph-test-" + strconv.Itoa(os.Getpid()) + ".slice"
	paths = append(paths, top)
	for i := range n - 1 {
		paths = append(paths, top+"/job"+strconv.Itoa(i)+".service")
	}
	for _, tree := range g.trees {
		if _, err := os.Stat(tree); err != nil {
			continue
		}
		for _, path := range paths {
			if err := os.Mkdir(tree+path, 0o755); err != nil {
				t.Skipf("only root may make a control group, where there are any: %v", err)
			}
			t.Cleanup(func() { os.Remove(tree + path) })
		}
	}
	return paths
}

// Each number is the one in the file: nothing runs in the groups, and what a test writes into
// them is read again.
func TestRealCgroupsEqualTheirFiles(t *testing.T) {
	paths := realGroups(t, 3)
	g, err := newCgroups("")
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	for _, limit := range []struct{ tree, file, text string }{
		{"memory", "memory.limit_in_bytes", "67108864"}, {"pids", "pids.max", "77"}, {"cpu", "cpu.cfs_quota_us", "25000"},
		{"", "memory.max", "67108864"}, {"", "pids.max", "77"}, {"", "cpu.max", "25000 100000"},
	} {
		os.WriteFile("/sys/fs/cgroup/"+limit.tree+paths[1]+"/"+limit.file, []byte(limit.text), 0o644) // where there is such a file
	}
	got := readAll(t, clock(nil), g)
	compared := 0
	for _, path := range paths {
		for i := range g.places {
			p := &g.places[i]
			text, err := os.ReadFile(g.trees[p.tree] + path + "/" + p.name)
			if err != nil || p.devices {
				continue
			}
			want := make([]groupValue, len(groupColumns))
			p.parse(text, want, metric.Unsupported)
			for _, col := range p.cols {
				v := got[cell{groupColumns[col].metric, path}]
				if v.Miss != want[col].why && want[col].why != metric.Unsupported || v.Miss == metric.Present && v.Number() != float64(want[col].v) {
					t.Errorf("%s of %s is %v, and %d in its file (%v)", groupColumns[col].metric, path, v, want[col].v, want[col].why)
				}
				compared++
			}
		}
	}
	if compared < 3*10 {
		t.Errorf("only %d numbers were compared", compared)
	}

	// Made again under its path.
	for _, tree := range g.trees {
		if os.Remove(tree+paths[2]) == nil {
			if err := os.Mkdir(tree+paths[2], 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	if v := readAll(t, clock(nil), g)[cell{"cgroup.runs", paths[2]}]; v.String() != "2" {
		t.Errorf("a group that was made again has had %s runs", v)
	}
}

// BenchmarkRealCgroups reads groups without processes: a sweep as every five seconds, one as
// every minute, and the search for new groups.
func BenchmarkRealCgroups(b *testing.B) {
	const n = 500
	realGroups(b, n)
	benchmarkCgroups(b, "")
}

// BenchmarkCgroups reads a copy of the files of version 2.
func BenchmarkCgroups(b *testing.B) {
	files := map[string]string{"sys/fs/cgroup/cgroup.controllers": "cpu io memory pids\n"}
	pressure := "some avg10=0.00 avg60=0.00 avg300=0.00 total=5943\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=5123\n"
	for i := range 500 {
		dir := "sys/fs/cgroup/a.slice/job" + strconv.Itoa(i) + ".service/"
		files[dir+"cpu.stat"] = "usage_usec 500\nuser_usec 300\nsystem_usec 200\nnice_usec 0\nnr_periods 0\nnr_throttled 0\nthrottled_usec 0\nnr_bursts 0\nburst_usec 0\n"
		files[dir+"memory.current"] = "1234567\n"
		files[dir+"memory.events"] = "low 0\nhigh 1\nmax 2\noom 3\noom_kill 4\noom_group_kill 5\n"
		files[dir+"pids.current"] = "12\n"
		files[dir+"io.stat"] = "254:0 rbytes=100 wbytes=200 rios=3 wios=4 dbytes=0 dios=0\n"
		files[dir+"cpu.pressure"], files[dir+"memory.pressure"], files[dir+"io.pressure"] = pressure, pressure, pressure
		files[dir+"memory.stat"] = strings.Repeat("some_number 123456\n", 50) + "anon 1\nfile 2\npgmajfault 3\n"
		for _, limit := range []string{"cpu.max", "cpu.weight", "memory.max", "memory.high", "memory.peak", "memory.swap.current", "memory.swap.max", "pids.max", "pids.peak"} {
			files[dir+limit] = "max 100000\n"
		}
		files[dir+"pids.events"] = "max 0\n"
	}
	benchmarkCgroups(b, tree(b, files))
}

func benchmarkCgroups(b *testing.B, root string) {
	g, err := newCgroups(root)
	if err != nil {
		b.Fatal(err)
	}
	defer g.Close()
	for _, class := range []metric.Class{metric.Process, metric.Costly} {
		var frames []*sample.Frame
		for _, group := range g.Groups() {
			if f := sample.NewFrame(group, func(d *metric.Desc) bool { return d.Class == class }); f != nil {
				frames = append(frames, f)
			}
		}
		b.Run(class.String(), func(b *testing.B) {
			c := clock(nil)
			c.Class = class
			at := c.Now()
			c.Now = func() metric.Stamp { return at } // never time to search
			g.Read(c, frames)
			b.ReportAllocs()
			before := usedCPU()
			for b.Loop() {
				g.Read(c, frames)
			}
			b.ReportMetric(float64(usedCPU()-before)/1e3/float64(b.N), "cpu-µs/op")
		})
	}
	b.Run("search", func(b *testing.B) {
		b.ReportAllocs()
		before := usedCPU()
		for b.Loop() {
			g.walk(metric.Stamp{})
		}
		b.ReportMetric(float64(usedCPU()-before)/1e3/float64(b.N), "cpu-µs/op")
	})
}

// usedCPU returns the processor time that this process has used, in nanoseconds.
func usedCPU() int64 {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return syscall.TimevalToNsec(u.Utime) + syscall.TimevalToNsec(u.Stime)
}
