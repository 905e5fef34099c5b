package linux

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tachograph/sample/metric"
)

// groupsOfTwo is a tree of version 2: a root, a service that is held back by its quota, and
// a group without controllers.
func groupsOfTwo(t testing.TB) string {
	return tree(t, map[string]string{
		"sys/fs/cgroup/cgroup.controllers":                   "cpu io memory pids\n",
		"sys/fs/cgroup/cpu.stat":                             "usage_usec 9000000\nuser_usec 6000000\nsystem_usec 3000000\n",
		"sys/fs/cgroup/web.slice/cpu.stat":                   "usage_usec 500\nuser_usec 300\nsystem_usec 200\nnr_periods 0\nnr_throttled 0\nthrottled_usec 0\n",
		"sys/fs/cgroup/web.slice/web.service/cpu.stat":       "usage_usec 400\nuser_usec 250\nsystem_usec 150\nnr_periods 70\nnr_throttled 30\nthrottled_usec 1234\n",
		"sys/fs/cgroup/web.slice/web.service/cpu.max":        "50000 100000\n",
		"sys/fs/cgroup/web.slice/web.service/pids.current":   "12\n",
		"sys/fs/cgroup/web.slice/web.service/memory.current": "4096\n",
		"sys/fs/cgroup/web.slice/web.service/memory.max":     "max\n",
		"sys/fs/cgroup/web.slice/web.service/memory.events":  "low 0\nhigh 1\nmax 2\noom 3\noom_kill 4\noom_group_kill 5\n",
		"sys/fs/cgroup/odd/cpu.stat":                         "usage_usec many\n",
		"sys/fs/cgroup/odd/cpu.max":                          "\n",
	})
}

func TestCgroups(t *testing.T) {
	root := groupsOfTwo(t)
	g, err := newCgroups(root)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	c := clock(nil)
	got := readAll(t, c, g)
	expect(t, got, map[cell]string{
		{"cgroup.cpu.stat.usage", "/"}: "9000000", {"cgroup.cpu.stat.user", "/"}: "6000000", {"cgroup.cpu.stat.system", "/"}: "3000000",
		{"cgroup.memory.current", "/"}:                               "absent: this control group has no such controller",
		{"cgroup.cpusched.periods", "/"}:                             "absent: unsupported",
		{"cgroup.cpu.stat.usage", "/web.slice"}:                      "500",
		{"cgroup.cpu.stat.usage", "/web.slice/web.service"}:          "400",
		{"cgroup.cpusched.periods", "/web.slice/web.service"}:        "70",
		{"cgroup.cpusched.throttled", "/web.slice/web.service"}:      "30",
		{"cgroup.cpusched.throttled_time", "/web.slice/web.service"}: "1234000",
		{"cgroup.cpusched.cfs_quota", "/web.slice/web.service"}:      "50000",
		{"cgroup.cpusched.cfs_period", "/web.slice/web.service"}:     "100000",
		{"cgroup.memory.current", "/web.slice/web.service"}:          "4096",
		{"cgroup.memory.limit", "/web.slice/web.service"}:            "absent: no limit is set",
		{"cgroup.memory.oom_kill", "/web.slice/web.service"}:         "4",
		{"cgroup.tasks", "/web.slice/web.service"}:                   "12",
		{"cgroup.cpu.stat.usage", "/odd"}:                            "absent: not understood",
		{"cgroup.cpusched.cfs_quota", "/odd"}:                        "absent: unsupported",
	})

	// A group that ends disappears at once. A new one appears ten seconds later at most.
	if err := os.RemoveAll(filepath.Join(root, "sys/fs/cgroup/web.slice")); err != nil {
		t.Fatal(err)
	}
	write(t, root, "sys/fs/cgroup/new/cpu.stat", "usage_usec 7\n")
	for _, m := range g.groups.live {
		m.data.close() // the kernel does not let a removed file be read
	}
	if _, there := readAll(t, c, g)[cell{"cgroup.cpu.stat.usage", "/web.slice"}]; there {
		t.Error("it is read after its end")
	}
	var now map[cell]metric.Value
	for range 6 {
		now = readAll(t, c, g)
	}
	expect(t, now, map[cell]string{{"cgroup.cpu.stat.usage", "/new"}: "7", {"cgroup.cpu.stat.usage", "/"}: "9000000"})
	if n := len(g.groups.live); n != 3 {
		t.Errorf("%d groups are kept, want 3", n)
	}
}

// In version 1 each kind of resource has its own groups.
func TestCgroupsOfVersionOne(t *testing.T) {
	g, err := newCgroups(tree(t, map[string]string{
		"sys/fs/cgroup/unified/cgroup.procs":             "1\n",
		"sys/fs/cgroup/cpuacct/cpuacct.usage":            "3555069611753\n",
		"sys/fs/cgroup/cpuacct/cpuacct.stat":             "user 327344\nsystem 28163\n",
		"sys/fs/cgroup/cpu/cpu.cfs_quota_us":             "-1\n",
		"sys/fs/cgroup/cpu/cpu.cfs_period_us":            "100000\n",
		"sys/fs/cgroup/cpu/cpu.stat":                     "nr_periods 1\nnr_throttled 2\nthrottled_time 3\n",
		"sys/fs/cgroup/memory/memory.limit_in_bytes":     "9223372036854771712\n",
		"sys/fs/cgroup/memory/job/memory.limit_in_bytes": "1048576\n",
		"sys/fs/cgroup/memory/job/memory.usage_in_bytes": "5\n",
		"sys/fs/cgroup/memory/job/memory.oom_control":    "oom_kill_disable 0\nunder_oom 0\noom_kill 6\n",
	}))
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	expect(t, readAll(t, clock(nil), g), map[cell]string{
		{"cgroup.cpu.stat.usage", "/"}: "3555069611", {"cgroup.cpu.stat.user", "/"}: "3273440000", {"cgroup.cpu.stat.system", "/"}: "281630000",
		{"cgroup.cpusched.cfs_quota", "/"}: "absent: no limit is set", {"cgroup.cpusched.cfs_period", "/"}: "100000",
		{"cgroup.cpusched.throttled_time", "/"}: "3", {"cgroup.memory.limit", "/"}: "absent: no limit is set",
		{"cgroup.memory.limit", "/job"}: "1048576", {"cgroup.memory.current", "/job"}: "5", {"cgroup.memory.oom_kill", "/job"}: "6",
		{"cgroup.cpu.stat.usage", "/job"}: "absent: this control group has no such controller",
	})
	for _, d := range g.group.Metrics {
		if want := d.Name == "cgroup.tasks"; want != (d.Unsupported != "") {
			t.Errorf("%s: %q", d.Name, d.Unsupported)
		}
	}
}

// If there are more groups than are read, the notice says so.
func TestCgroupsAreBounded(t *testing.T) {
	files := map[string]string{"sys/fs/cgroup/cgroup.controllers": "cpu\n"}
	for i := range mostGroups {
		files[fmt.Sprintf("sys/fs/cgroup/job%d/cpu.stat", i)] = "usage_usec 1\n"
	}
	g, err := newCgroups(tree(t, files))
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	readAll(t, clock(nil), g)
	if len(g.groups.live) != mostGroups || !strings.Contains(g.Notice(), "nearest to the root") {
		t.Errorf("%d groups, notice %q", len(g.groups.live), g.Notice())
	}
}
