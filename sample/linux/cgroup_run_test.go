package linux

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tachograph/sample"
	"tachograph/sample/metric"
)

// groupTree is a tree of version 2 for a test to change.
type groupTree struct {
	testing.TB
	root string
	g    *cgroups
	c    *sample.Context
}

// newGroupTree makes a tree with files in the directory of control groups.
func newGroupTree(t testing.TB, events *[]metric.Event, files map[string]string) *groupTree {
	t.Helper()
	all := map[string]string{"sys/fs/cgroup/cgroup.controllers": "cpu io memory pids\n"}
	for name, text := range files {
		all["sys/fs/cgroup/"+name] = text
	}
	x := &groupTree{TB: t, root: tree(t, all), c: clock(events)}
	g, err := newCgroups(x.root)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	x.g = g
	return x
}

func (x *groupTree) write(name, text string) {
	x.Helper()
	write(x, x.root, "sys/fs/cgroup/"+name, text)
}

// remove removes a group as the kernel does: what is open cannot be read any more.
func (x *groupTree) remove(path string) {
	x.Helper()
	// Renamed and not removed, so that its numbers are not given to another.
	if err := os.Rename(filepath.Join(x.root, "sys/fs/cgroup", path), filepath.Join(x.TempDir(), "old")); err != nil {
		x.Fatal(err)
	}
	for _, m := range x.g.groups.live {
		if strings.HasPrefix(m.in.Key+"/", path+"/") {
			m.data.close()
		}
	}
}

func (x *groupTree) read() map[cell]metric.Value {
	x.Helper()
	return readAll(x, x.c, x.g)
}

// reads reads for at least ten seconds.
func (x *groupTree) reads() (last map[cell]metric.Value) {
	x.Helper()
	for range 12 {
		last = x.read()
	}
	return last
}

func (x *groupTree) instance(path string) *metric.Instance {
	if m := x.g.groups.members[path]; m != nil {
		return &m.in
	}
	return nil
}

// The counters of a group that was removed and made again go on from where they stood.
func TestCgroupMadeAgain(t *testing.T) {
	const path = "/a.slice/job.service"
	files := func(cpu, killed, read int) map[string]string {
		return map[string]string{
			path[1:] + "/cpu.stat":       fmt.Sprintf("usage_usec %d\n", cpu),
			path[1:] + "/memory.current": "4096\n",
			path[1:] + "/memory.events":  fmt.Sprintf("oom_kill %d\n", killed),
			path[1:] + "/io.stat":        fmt.Sprintf("8:0 rbytes=%d wbytes=0 rios=1 wios=0 dbytes=0 dios=0\n", read),
		}
	}
	want := func(x *groupTree, got map[cell]metric.Value, cpu, killed, read, runs string) {
		t.Helper()
		expect(t, got, map[cell]string{
			{"cgroup.cpu.stat.usage", path}: cpu, {"cgroup.memory.oom_kill", path}: killed, {"cgroup.io.read_bytes", path}: read,
			{"cgroup.io.stat.rbytes", path + "::8:0"}: read, {"cgroup.memory.current", path}: "4096", {"cgroup.runs", path}: runs,
		})
	}
	x := newGroupTree(t, nil, files(1000, 1, 500))
	again := func(cpu, killed, read int) {
		t.Helper()
		for name, text := range files(cpu, killed, read) {
			x.write(name, text)
		}
	}
	want(x, x.read(), "1000", "1", "500", "1")
	again(1100, 1, 600)
	want(x, x.read(), "1100", "1", "600", "1")

	// Between two readings, with more than before, and with nearly as much.
	x.remove(path)
	again(2000, 0, 700)
	want(x, x.read(), "3100", "1", "1300", "2")
	want(x, x.read(), "3100", "1", "1300", "2")
	x.remove(path)
	again(1999, 2, 10)
	want(x, x.read(), "5099", "3", "1310", "3")

	// It is away for some readings, and nobody reads it.
	x.remove(path)
	if _, there := x.read()[cell{"cgroup.cpu.stat.usage", path}]; there {
		t.Error("it is read while it is away")
	}
	x.reads()
	again(1, 1, 1)
	want(x, x.reads(), "5100", "4", "1311", "4")
	want(x, x.reads(), "5100", "4", "1311", "4")

	// A controller that is switched off and on again is no new run.
	x.write("a.slice/cgroup.subtree_control", "cpu io\n")
	if err := os.Rename(filepath.Join(x.root, "sys/fs/cgroup", path, "memory.events"), filepath.Join(t.TempDir(), "old")); err != nil {
		t.Fatal(err)
	}
	x.g.groups.members[path].data.close()
	expect(t, x.reads(), map[cell]string{{"cgroup.memory.oom_kill", path}: "absent: this kernel does not count it", {"cgroup.runs", path}: "4"})
	x.write("a.slice/cgroup.subtree_control", "cpu io memory\n")
	again(2, 0, 2)
	want(x, x.reads(), "5101", "4", "1312", "4")
}

// A walk meets what came, went and took another's place.
func TestWalkOfGroups(t *testing.T) {
	x := newGroupTree(t, nil, map[string]string{"a/cpu.stat": "usage_usec 1\n", "a/b/cpu.stat": "usage_usec 2\n", "c/cpu.stat": "usage_usec 3\n"})
	paths := func() string {
		var all []string
		for _, m := range x.g.groups.live {
			all = append(all, m.in.Key)
		}
		slices.Sort(all)
		return strings.Join(all, " ")
	}
	x.read()
	if got, want := paths(), "/ /a /a/b /c"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if x.instance("/a").Label("inner") != "yes" || x.instance("/a/b").Label("inner") != "" {
		t.Errorf("labels %v and %v", x.instance("/a").Labels, x.instance("/a/b").Labels)
	}
	rev := x.instance("/c").Rev
	x.remove("/a/b")
	x.write("a/d/cpu.stat", "usage_usec 4\n")
	x.write("c/e/f/cpu.stat", "usage_usec 5\n")
	x.reads()
	if got, want := paths(), "/ /a /a/d /c /c/e /c/e/f"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if in := x.instance("/c"); in.Label("inner") != "yes" || in.Rev == rev {
		t.Errorf("a group below it came: labels %v", in.Labels)
	}
	x.remove("/c/e")
	x.reads()
	if in := x.instance("/c"); in.Label("inner") != "" {
		t.Errorf("the group below it went: labels %v", in.Labels)
	}
}

// A group has the owners of the processes in it.
func TestOwnersOfGroups(t *testing.T) {
	const number = "4f1c0e9a7b6d5c4f3a2b1c0d9e8f7a6b5c4d3e2f1a0b9c8d7e6f5a4b3c2d1e0f"
	x := newGroupTree(t, nil, map[string]string{
		"system.slice/ssh.service/cpu.stat":                            "usage_usec 1\n",
		"system.slice/docker-" + number + ".scope/init/cpu.stat":       "usage_usec 1\n",
		"system.slice/docker-" + number + ".scope/io.stat":             "8:0 rbytes=1 wbytes=0 rios=1 wios=0 dbytes=0 dios=0\n",
		"user.slice/user-1000.slice/session-3.scope/cpu.stat":          "usage_usec 1\n",
		"user.slice/user-1000.slice/user@1000.service/app.slice/x/y":   "",
		"user.slice/user-1000.slice/user@1000.service/cgroup.controls": "",
	})
	write(t, x.root, "etc/passwd", "root:x:0:0:::\nanna:x:1000:1000:::\n")
	x.read()
	labels := func() map[string]string {
		all := make(map[string]string)
		for _, m := range x.g.groups.live {
			all[m.in.Key] = fmt.Sprint(m.in.Labels)
			for _, d := range m.data.devices {
				all[d.in.Key] = fmt.Sprint(d.in.Labels)
			}
		}
		return all
	}
	check := func(want map[string]string) {
		t.Helper()
		got := labels()
		for path, want := range want {
			if got[path] != want {
				t.Errorf("%s has the labels %s, want %s", path, got[path], want)
			}
		}
	}
	box := "/system.slice/docker-" + number + ".scope"
	check(map[string]string{
		"/":                         "[{inner yes}]",
		"/system.slice":             "[{service system.slice} {inner yes}]",
		"/system.slice/ssh.service": "[{service ssh.service}]",
		box:                         "[{container 4f1c0e9a7b6d} {inner yes}]",
		box + "/init":               "[{container 4f1c0e9a7b6d}]",
		"/user.slice/user-1000.slice/session-3.scope": "[{session 3 of anna}]",
	})
	// The runtime writes the container's name when it has started it.
	write(t, x.root, "var/lib/docker/containers/"+number+"/config.v2.json", `{"Name":"/web"}`)
	x.reads()
	check(map[string]string{box: "[{container web} {inner yes}]", box + "/init": "[{container web}]", box + "::8:0": "[{container web} {inner yes} {device 8:0}]"})
}

// If time is short, the next reading goes on where this one stopped.
func TestCgroupsInParts(t *testing.T) {
	files := make(map[string]string)
	for i := range 200 {
		files[fmt.Sprintf("job%d/cpu.stat", i)] = "usage_usec 1\n"
	}
	x := newGroupTree(t, nil, files)
	late := true
	x.c.Enough = func() bool { return late }
	seen := make(map[string]bool)
	for i := range 4 {
		for c := range x.read() {
			if c.name == "cgroup.cpu.stat.usage" {
				if seen[c.instance] && i < 3 {
					t.Errorf("%s is read again before all are", c.instance)
				}
				seen[c.instance] = true
			}
		}
		if read, of := x.c.Part(); read != 63 || of != 201 {
			t.Errorf("reading %d: %d of %d", i, read, of)
		}
	}
	if len(seen) != 201 {
		t.Errorf("%d groups were read", len(seen))
	}
	late = false
	if n := len(x.read()); n < 201 {
		t.Errorf("%d values", n)
	}
}
