package linux

import (
	"encoding/binary"
	"testing"

	"tachograph/sample/metric"
)

const procStat = `cpu  300 2 40 5000 6 7 8 9 10 11
cpu0 100 1 20 2000 3 4 5 6 7 8
cpu3 200 1 20 3000 3 3 3 3 3 3
intr 1880291 0 0 0 7
ctxt 5140772
btime 1795158429
processes 23813
procs_running 3
procs_blocked 1
softirq 270571 0 32923
`

func TestStat(t *testing.T) {
	root := tree(t, map[string]string{
		"proc/stat": procStat,
		"sys/devices/system/cpu/cpu3/topology/physical_package_id": "1\n",
		"sys/devices/system/cpu/cpu3/topology/core_id":             "2\n",
	})
	s, err := newStat(root)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	fs := framesOf(s)
	if err := s.Read(clock(nil), fs); err != nil {
		t.Fatal(err)
	}
	expect(t, cells(fs), map[cell]string{
		{"kernel.all.cpu.user", ""}:            "3000",
		{"kernel.all.cpu.guest_nice", ""}:      "110",
		{"kernel.all.cpu.wait.total", ""}:      "60",
		{"kernel.percpu.cpu.idle", "cpu0"}:     "20000",
		{"kernel.percpu.cpu.idle", "cpu3"}:     "30000",
		{"kernel.percpu.cpu.irq.soft", "cpu3"}: "30",
		{"kernel.all.intr", ""}:                "1880291",
		{"kernel.all.pswitch", ""}:             "5140772",
		{"kernel.all.sysfork", ""}:             "23813",
		{"kernel.all.running", ""}:             "3",
		{"kernel.all.blocked", ""}:             "1",
		{"kernel.all.boottime", ""}:            "1795158429",
		{"kernel.all.softirqs.total", ""}:      "270571",
		{"hinv.ncpu", ""}:                      "2",
		{"kernel.all.hz", ""}:                  "100",
	})
	for _, f := range fs {
		if f.Full() == s.percpu {
			in := f.Block().Rows[1]
			if in.ID != 4 || in.Label("package") != "1" || in.Label("core") != "2" {
				t.Errorf("cpu3 is %+v", in)
			}
		}
	}

	// A tick that the kernel takes back is not a reset. A processor that is switched off
	// disappears.
	write(t, root, "proc/stat", "cpu  310 2 40 4999 6 7 8 9 10 11\ncpu0 110 1 20 1999 3 4 5 6 7 8\n")
	if err := s.Read(clock(nil), fs); err != nil {
		t.Fatal(err)
	}
	got := cells(fs)
	expect(t, got, map[cell]string{
		{"kernel.all.cpu.idle", ""}: "50000", {"kernel.all.cpu.user", ""}: "3100",
		{"kernel.percpu.cpu.idle", "cpu0"}: "20000", {"hinv.ncpu", ""}: "1",
		{"kernel.all.pswitch", ""}: "absent: not read",
	})
	if _, there := got[cell{"kernel.percpu.cpu.idle", "cpu3"}]; there {
		t.Error("a processor that is off is still listed")
	}

	// A real reset is passed on.
	write(t, root, "proc/stat", "cpu  1 2 3 4 5 6 7 8 9 10\n")
	if err := s.Read(clock(nil), fs); err != nil {
		t.Fatal(err)
	}
	expect(t, cells(fs), map[cell]string{{"kernel.all.cpu.idle", ""}: "40", {"kernel.all.cpu.user", ""}: "10"})
}

func TestStatOfAnOldKernel(t *testing.T) {
	s, err := newStat(tree(t, map[string]string{"proc/stat": "cpu  1 2 3 4\ncpu0 1 2 3 4\n"}))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for i, d := range s.percpu.Metrics {
		if (d.Unsupported == "") != (i < 4) {
			t.Errorf("%s: unsupported %q", d.Name, d.Unsupported)
		}
	}
	expect(t, readAll(t, clock(nil), s), map[cell]string{{"kernel.percpu.cpu.idle", "cpu0"}: "40"})
}

func TestClockTicks(t *testing.T) {
	if got := clockTicks(t.TempDir()); got != 100 {
		t.Errorf("without the vector: %d", got)
	}
	var aux []byte
	for _, v := range []uint64{3, 99, 17, 250, 0, 0} {
		aux = binary.NativeEndian.AppendUint64(aux, v)
	}
	if got := clockTicks(tree(t, map[string]string{"proc/self/auxv": string(aux)})); got != 250 {
		t.Errorf("with the vector: %d", got)
	}
}

func TestLoad(t *testing.T) {
	root := tree(t, map[string]string{
		"proc/loadavg": "0.63 0.89 120.99 3/123 4567\n", "proc/uptime": "2796.05 4758.21\n",
	})
	l, err := newLoad(root)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	expect(t, readAll(t, clock(nil), l), map[cell]string{
		{"kernel.all.load", "1 minute"}: "0.63", {"kernel.all.load", "5 minute"}: "0.89",
		{"kernel.all.load", "15 minute"}: "120.99",
		{"kernel.all.nprocs", ""}:        "123", {"kernel.all.nthreads", ""}: "123", {"kernel.all.runnable", ""}: "3",
		{"kernel.all.lastpid", ""}: "4567", {"kernel.all.uptime", ""}: "2796.05", {"kernel.all.idletime", ""}: "4758.21",
	})
	write(t, root, "proc/loadavg", "garbage\n")
	expect(t, readAll(t, clock(nil), l), map[cell]string{
		{"kernel.all.load", "1 minute"}: "absent: not understood", {"kernel.all.uptime", ""}: "2796.05",
	})
}

func FuzzLoad(f *testing.F) {
	f.Add([]byte("0.63 0.89 0.99 3/123 4567\n"))
	f.Add([]byte("1 2 3 4/ /5"))
	f.Fuzz(func(t *testing.T, data []byte) {
		l, ok := parseLoad(data)
		if ok && (l.averages[0] < 0 || l.averages[0] != l.averages[0]) {
			t.Errorf("parseLoad(%q) = %+v", data, l)
		}
	})
}

func TestValues(t *testing.T) {
	root := tree(t, map[string]string{
		"proc/sys/fs/file-nr":        "950\t7\t2466170\n",
		"proc/sys/fs/inode-nr":       "103127\t11\n",
		"proc/sys/kernel/pid_max":    "32768\n",
		"proc/sys/kernel/sem":        "32000\t1024000000\t500\n",
		"proc/sys/kernel/shmmax":     "18446744073692774399\n",
		"proc/sys/net/core/rmem_max": "nonsense\n",
		"proc/sys/vm/page-cluster":   "3\n", "proc/sys/kernel/perf_event_paranoid": "-1\n",
	})
	v, err := newValues(root)
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	expect(t, readAll(t, clock(nil), v), map[cell]string{
		{"vfs.files.count", ""}: "950", {"vfs.files.free", ""}: "7", {"vfs.files.max", ""}: "2466170",
		{"vfs.vnodes.count", ""}: "103127", {"kernel.limits.maxproc", ""}: "32768", {"kernel.all.pid_max", ""}: "32768",
		{"vm.page_cluster", ""}: "3", {"kernel.perf_event_paranoid", ""}: "-1",
		{"ipc.sem.max_ops", ""}: "500", {"ipc.shm.max_segsz", ""}: "18446744073692774399",
	})
	unsupported := make(map[string]string)
	for _, d := range v.group.Metrics {
		unsupported[d.Name] = d.Unsupported
	}
	for name, want := range map[string]string{
		"ipc.sem.max_semid": "this kernel's /proc/sys/kernel/sem has fewer fields",
		"ipc.maxsockbuf":    "this kernel's /proc/sys/net/core/rmem_max has fewer fields",
		"ipc.somaxconn":     "this kernel has no /proc/sys/net/core/somaxconn",
	} {
		t.Run(name, func(t *testing.T) {
			if unsupported[name] != want {
				t.Errorf("unsupported %q, want %q", unsupported[name], want)
			}
		})
	}
	write(t, root, "proc/sys/fs/file-nr", "951\t7\n")
	got := readAll(t, clock(nil), v)
	expect(t, got, map[cell]string{{"vfs.files.count", ""}: "951", {"vfs.files.max", ""}: "absent: unsupported"})
	if got[cell{"vfs.vnodes.count", ""}].Type != metric.U32 {
		t.Error("the type is not the catalogue's")
	}
	// Most distributions raise the limit to the largest number of 63 bits.
	write(t, root, "proc/sys/fs/file-nr", "951\t0\t9223372036854775807\n")
	expect(t, readAll(t, clock(nil), v), map[cell]string{{"vfs.files.max", ""}: "9223372036854775807"})
}
