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
		"sys/fs/cgroup/cgroup.controllers":                    "cpu io memory pids\n",
		"sys/fs/cgroup/cpu.stat":                              "usage_usec 9000000\nuser_usec 6000000\nsystem_usec 3000000\n",
		"sys/fs/cgroup/web.slice/cpu.stat":                    "usage_usec 500\nuser_usec 300\nsystem_usec 200\nnr_periods 0\nnr_throttled 0\nthrottled_usec 0\n",
		"sys/fs/cgroup/web.slice/web.service/cpu.stat":        "usage_usec 400\nuser_usec 250\nsystem_usec 150\nnr_periods 70\nnr_throttled 30\nthrottled_usec 1234\n",
		"sys/fs/cgroup/web.slice/web.service/cpu.max":         "50000 100000\n",
		"sys/fs/cgroup/web.slice/web.service/pids.current":    "12\n",
		"sys/fs/cgroup/web.slice/web.service/memory.current":  "4096\n",
		"sys/fs/cgroup/web.slice/web.service/memory.max":      "max\n",
		"sys/fs/cgroup/web.slice/web.service/memory.events":   "low 0\nhigh 1\nmax 2\noom 3\noom_kill 4\noom_group_kill 5\n",
		"sys/fs/cgroup/web.slice/web.service/io.stat":         "254:0 rbytes=100 wbytes=200 rios=3 wios=4 dbytes=0 dios=0\n8:16 rbytes=1 wbytes=0 rios=1 wios=0 dbytes=5 dios=6\n7:0 \n",
		"sys/fs/cgroup/web.slice/web.service/cpu.pressure":    "some avg10=1.00 avg60=0.00 avg300=0.00 total=120\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=60\n",
		"sys/fs/cgroup/web.slice/web.service/memory.stat":     "anon 4000\nfile 96\nkernel 50\nslab 30\nsock 0\nshmem 8\nfile_dirty 16\npgmajfault 21\nworkingset_refault_anon 1\nworkingset_refault_file 2\n",
		"sys/fs/cgroup/web.slice/web.service/memory.swap.max": "0\n",
		"sys/fs/cgroup/web.slice/web.service/pids.events":     "max 9\n",
		"sys/fs/cgroup/cgroup.stat":                           "nr_descendants 3\nnr_dying_descendants 1\n",
		"sys/fs/cgroup/odd/cpu.stat":                          "usage_usec many\n",
		"sys/fs/cgroup/odd/cpu.max":                           "\n",
	})
}

func TestCgroups(t *testing.T) {
	root := groupsOfTwo(t)
	write(t, root, "sys/dev/block/README", "")
	if err := os.Symlink("../../devices/virtual/block/sdb", filepath.Join(root, "sys/dev/block/8:16")); err != nil {
		t.Fatal(err)
	}
	g, err := newCgroups(root)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	c := clock(nil)
	got := readAll(t, c, g)
	expect(t, got, map[cell]string{
		{"cgroup.cpu.stat.usage", "/"}: "9000000", {"cgroup.cpu.stat.user", "/"}: "6000000", {"cgroup.cpu.stat.system", "/"}: "3000000",
		{"cgroup.memory.current", "/"}:                                           "absent: the root control group has no such number",
		{"cgroup.cpusched.periods", "/"}:                                         "absent: the root control group has no such number",
		{"cgroup.cpu.stat.usage", "/web.slice"}:                                  "500",
		{"cgroup.cpu.stat.usage", "/web.slice/web.service"}:                      "400",
		{"cgroup.cpusched.periods", "/web.slice/web.service"}:                    "70",
		{"cgroup.cpusched.throttled", "/web.slice/web.service"}:                  "30",
		{"cgroup.cpusched.throttled_time", "/web.slice/web.service"}:             "1234000",
		{"cgroup.cpusched.cfs_quota", "/web.slice/web.service"}:                  "50000",
		{"cgroup.cpusched.cfs_period", "/web.slice/web.service"}:                 "100000",
		{"cgroup.memory.current", "/web.slice/web.service"}:                      "4096",
		{"cgroup.memory.limit", "/web.slice/web.service"}:                        "absent: no limit is set",
		{"cgroup.memory.oom_kill", "/web.slice/web.service"}:                     "4",
		{"cgroup.tasks", "/web.slice/web.service"}:                               "12",
		{"cgroup.cpusched.bursts", "/web.slice/web.service"}:                     "absent: this kernel does not count it",
		{"cgroup.cpusched.weight", "/web.slice/web.service"}:                     "absent: this kernel does not count it",
		{"cgroup.memory.events.high", "/web.slice/web.service"}:                  "1",
		{"cgroup.memory.events.max", "/web.slice/web.service"}:                   "2",
		{"cgroup.memory.events.oom", "/web.slice/web.service"}:                   "3",
		{"cgroup.memory.events.oom_group_kill", "/web.slice/web.service"}:        "5",
		{"cgroup.memory.stat.anon", "/web.slice/web.service"}:                    "4000",
		{"cgroup.memory.stat.file", "/web.slice/web.service"}:                    "96",
		{"cgroup.memory.stat.pgmajfault", "/web.slice/web.service"}:              "21",
		{"cgroup.memory.stat.workingset.refault_file", "/web.slice/web.service"}: "2",
		{"cgroup.memory.swap.max", "/web.slice/web.service"}:                     "0",
		{"cgroup.memory.peak", "/web.slice/web.service"}:                         "absent: this kernel does not count it",
		{"cgroup.pids.events", "/web.slice/web.service"}:                         "9",
		{"cgroup.pressure.cpu.some.total", "/web.slice/web.service"}:             "120",
		{"cgroup.pressure.cpu.full.total", "/web.slice/web.service"}:             "60",
		{"cgroup.pressure.io.some.total", "/web.slice/web.service"}:              "absent: the kernel does not account pressure, or not of this control group",
		{"cgroup.io.stat.rbytes", "/web.slice/web.service::254:0"}:               "100",
		{"cgroup.io.stat.dios", "/web.slice/web.service::sdb"}:                   "6",
		{"cgroup.io.read_bytes", "/web.slice/web.service"}:                       "101",
		{"cgroup.io.write_bytes", "/web.slice/web.service"}:                      "200",
		{"cgroup.io.read_bytes", "/web.slice"}:                                   "absent: the io controller is not enabled for this control group (IOAccounting=yes of systemd enables it)",
		{"cgroup.memory.current", "/web.slice"}:                                  "absent: the memory controller is not enabled for this control group (MemoryAccounting=yes of systemd enables it)",
		{"cgroup.cpusched.bursts", "/web.slice"}:                                 "absent: the cpu controller is not enabled for this control group (CPUAccounting=, CPUWeight= or CPUQuota= of systemd enable it)",
		{"cgroup.runs", "/web.slice/web.service"}:                                "1",
		{"cgroup.descendants", ""}:                                               "3", {"cgroup.dying_descendants", ""}: "1",
		{"cgroup.cpu.stat.usage", "/odd"}:     "absent: not understood",
		{"cgroup.cpusched.cfs_quota", "/odd"}: "absent: unsupported",
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
		"sys/fs/cgroup/unified/cgroup.procs":                                "1\n",
		"sys/fs/cgroup/unified/job/io.pressure":                             "some avg10=0.00 avg60=0.00 avg300=0.00 total=17\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=11\n",
		"sys/fs/cgroup/unified/cgroup.stat":                                 "nr_descendants 1\nnr_dying_descendants 3\n",
		"sys/fs/cgroup/blkio/job/blkio.throttle.io_service_bytes_recursive": "8:0 Read 4096\n8:0 Write 512\n8:0 Discard 0\n8:0 Total 4608\nTotal 4608\n",
		"sys/fs/cgroup/blkio/job/blkio.throttle.io_serviced_recursive":      "8:0 Read 3\n8:0 Write 2\nTotal 5\n",
		"sys/fs/cgroup/memory/job/memory.max_usage_in_bytes":                "99\n",
		"sys/fs/cgroup/memory/job/memory.failcnt":                           "7\n",
		"sys/fs/cgroup/memory/job/memory.stat":                              "cache 1\nrss 2\ntotal_cache 40960\ntotal_rss 8192\ntotal_swap 12\n",
		"sys/fs/cgroup/cpuacct/cpuacct.usage":                               "3555069611753\n",
		"sys/fs/cgroup/cpuacct/cpuacct.stat":                                "user 327344\nsystem 28163\n",
		"sys/fs/cgroup/cpu/cpu.cfs_quota_us":                                "-1\n",
		"sys/fs/cgroup/cpu/cpu.cfs_period_us":                               "100000\n",
		"sys/fs/cgroup/cpu/cpu.stat":                                        "nr_periods 1\nnr_throttled 2\nthrottled_time 3\n",
		"sys/fs/cgroup/memory/memory.limit_in_bytes":                        "9223372036854771712\n",
		"sys/fs/cgroup/memory/job/memory.limit_in_bytes":                    "1048576\n",
		"sys/fs/cgroup/memory/job/memory.usage_in_bytes":                    "5\n",
		"sys/fs/cgroup/memory/job/memory.oom_control":                       "oom_kill_disable 0\nunder_oom 0\noom_kill 6\n",
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
		{"cgroup.cpu.stat.usage", "/job"}:         "absent: this control group has no such controller",
		{"cgroup.pressure.io.some.total", "/job"}: "17", {"cgroup.pressure.io.full.total", "/job"}: "11",
		{"cgroup.pressure.cpu.some.total", "/job"}: "absent: the kernel does not account pressure, or not of this control group",
		{"cgroup.descendants", ""}:                 "1", {"cgroup.dying_descendants", ""}: "3",
		{"cgroup.io.read_bytes", "/job"}: "4096", {"cgroup.io.write_bytes", "/job"}: "512",
		{"cgroup.io.stat.rbytes", "/job::8:0"}: "4096", {"cgroup.io.stat.wios", "/job::8:0"}: "2",
		{"cgroup.io.stat.dios", "/job::8:0"}: "absent: this kernel does not count it",
		{"cgroup.io.read_bytes", "/"}:        "absent: this control group has no such controller",
		{"cgroup.memory.peak", "/job"}:       "99", {"cgroup.memory.events.max", "/job"}: "7",
		{"cgroup.memory.stat.anon", "/job"}: "8192", {"cgroup.memory.stat.file", "/job"}: "40960", {"cgroup.memory.swap.current", "/job"}: "12",
	})
	for _, d := range g.group.Metrics {
		want := ""
		switch d.Name {
		case "cgroup.tasks", "cgroup.pids.peak", "cgroup.pids.max", "cgroup.pids.events":
			want = "this kernel has no /sys/fs/cgroup/pids"
		case "cgroup.memory.events.low", "cgroup.memory.events.high", "cgroup.memory.events.oom", "cgroup.memory.events.oom_group_kill",
			"cgroup.cpusched.weight", "cgroup.memory.high", "cgroup.memory.swap.max", "cgroup.memory.stat.sock", "cgroup.memory.stat.slab":
			want = "version 1 of control groups has no such number"
		}
		if d.Unsupported != want {
			t.Errorf("%s: %q, want %q", d.Name, d.Unsupported, want)
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
	if len(g.groups.live) != mostGroups || !strings.Contains(g.Notice(), "processes of their own") {
		t.Errorf("%d groups, notice %q", len(g.groups.live), g.Notice())
	}
}
