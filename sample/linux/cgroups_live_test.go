package linux

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

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
