package klog

import (
	"strings"
	"testing"
	"time"
)

func TestFindings(t *testing.T) {
	for _, c := range []struct {
		line string // several lines are read one after the other
		want Finding
	}{
		{"oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=/shop.slice,task_memcg=/shop.slice/cart.service,task=a,pid=7, b,pid=4711,uid=33\n" +
			"Memory cgroup out of memory: Killed process 4711 (a,pid=7, b) total-vm:2048kB, anon-rss:1024kB, file-rss:4kB, shmem-rss:0kB, UID:33 pgtables:48kB oom_score_adj:0",
			Finding{Topic: OutOfMemory, Rule: killed, PID: 4711, Process: "a,pid=7, b", Group: "/shop.slice", Bytes: 1 << 20}},
		{"oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,task_memcg=/user.slice,task=java,pid=12,uid=0\n" +
			"Out of memory: Killed process 12 (java) total-vm:9kB, anon-rss:8kB, file-rss:0kB, shmem-rss:0kB",
			Finding{Topic: OutOfMemory, Rule: killed, PID: 12, Process: "java", Bytes: 8 << 10}},
		{"oom-kill:constraint=CONSTRAINT_MEMCG,oom_memcg=/x,task_memcg=/x,task=a,pid=1,uid=0\nOut of memory: Killed process 2 (b) total-vm:9kB, anon-rss:8kB",
			Finding{Topic: OutOfMemory, Rule: killed, PID: 2, Process: "b", Bytes: 8 << 10}},
		{"java invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0", Finding{}},
		{"oom_reaper: reaped process 12 (java), now anon-rss:0kB, file-rss:0kB, shmem-rss:0kB", Finding{}},

		{"worker[99]: segfault at 10 ip 000055d0c0a01139 sp 00007ffd0 error 4 in worker[55d0c0a01000+1000] likely on CPU 3 (core 1, socket 0)",
			Finding{Topic: Crash, Rule: "segfault", PID: 99, Process: "worker", Address: 0x10, File: "worker", Offset: 0x139}},
		{"a b[c][99]: segfault at 0 ip 0000000000401136 sp 00007ffd0 error 6 in lib c.so.6[1136,400000+1000]",
			Finding{Topic: Crash, Rule: "segfault", PID: 99, Process: "a b[c]", File: "lib c.so.6", Offset: 0x1136}},
		{"x[1]: segfault at 7f00 ip 00007f00 sp 00007ffd0 error 14", Finding{Topic: Crash, Rule: "segfault", PID: 1, Process: "x", Address: 0x7f00, Offset: 0x7f00}},
		{"x[5]: unhandled level 2 translation fault (11) at 0x00000010, esr 0x92000006, in x[aaaad0000000+1000]",
			Finding{Topic: Crash, Rule: "fault", PID: 5, Process: "x", Address: 0x10, File: "x"}},
		{"traps: x[5] general protection fault ip:401136 sp:7ffd0 error:0 in x[401000+1000]", Finding{Topic: Crash, Rule: "trap", PID: 5, Process: "x", File: "x", Offset: 0x136}},
		{"traps: x[5] trap invalid opcode ip:401136 sp:7ffd0 error:0 in x[401000+1000]", Finding{Topic: Crash, Rule: "trap", PID: 5, Process: "x", File: "x", Offset: 0x136}},

		{"INFO: task jbd2/sda1-8:312 blocked for more than 122 seconds.", Finding{Topic: Hang, Rule: hungTask, PID: 312, Process: "jbd2/sda1-8", Seconds: 122}},
		{"INFO: task a:1 blocked for more than 122 seconds.\nINFO: task a:1 is blocked on a mutex likely owned by task b c:2.",
			Finding{Topic: Hang, Rule: lockOwner, PID: 1, Process: "a", Seconds: 122, Owner: "b c:2"}},
		{"watchdog: BUG: soft lockup - CPU#3 stuck for 23s! [kworker/3:1:88]", Finding{Topic: Hang, Rule: "soft lockup", PID: 88, Process: "kworker/3:1", Device: "CPU#3", Seconds: 23}},
		{"watchdog: Watchdog detected hard LOCKUP on cpu 3", Finding{Topic: Hang, Rule: "hard lockup", Device: "cpu 3"}},
		{"rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:", Finding{Topic: Hang, Rule: "rcu stall"}},

		{"BUG: kernel NULL pointer dereference, address: 0000000000000008", Finding{Topic: Oops, Rule: "oops"}},
		{"Kernel panic - not syncing: Fatal exception", Finding{Topic: Oops, Rule: "panic"}},
		{"WARNING: CPU: 1 PID: 22 at fs/ext4/inode.c:3 fn+0x1/0x2", Finding{Topic: Oops, Rule: "warning", PID: 22}},

		{"I/O error, dev sdb, sector 123 op 0x0:(READ) flags 0x0 phys_seg 1 prio class 0", Finding{Topic: Disk, Rule: "i/o error", Device: "sdb"}},
		{"blk_update_request: I/O error, dev sdb, sector 123", Finding{Topic: Disk, Rule: "i/o error", Device: "sdb"}},
		{"critical medium error, dev nvme0n1, sector 5", Finding{Topic: Disk, Rule: "medium error", Device: "nvme0n1"}},
		{"Buffer I/O error on dev sdb1, logical block 5, async page read", Finding{Topic: Disk, Rule: "buffer i/o error", Device: "sdb1"}},
		{"ata3.00: exception Emask 0x0 SAct 0x0 SErr 0x0 action 0x6 frozen", Finding{Topic: Disk, Rule: "ata exception", Device: "ata3.00"}},
		{"sd 2:0:0:0: [sdb] tag#0 FAILED Result: hostbyte=DID_OK driverbyte=DRIVER_OK", Finding{Topic: Disk, Rule: "scsi failure", Device: "sdb"}},
		{"nvme nvme0: I/O 12 (Read) QID 3 timeout, aborting", Finding{Topic: Disk, Rule: "nvme timeout", Device: "nvme0"}},
		{"md/raid1:md0: Disk failure on sdb1, disabling device.", Finding{Topic: Disk, Rule: "raid failure", Device: "md0"}},

		{"EXT4-fs error (device sda1): ext4_lookup:1: inode #2: comm ls: deleted inode referenced: 3", Finding{Topic: FileSystem, Rule: "error", Device: "sda1"}},
		{"EXT4-fs (sda1): Remounting filesystem read-only", Finding{Topic: ReadOnly, Rule: "remounted", Device: "sda1"}},
		{"XFS (sdb1): Filesystem has been shut down due to log error (0x2).", Finding{Topic: ReadOnly, Rule: "shut down", Device: "sdb1"}},
		{"XFS (sdb1): Metadata corruption detected at xfs_agf_read_verify", Finding{Topic: FileSystem, Rule: "error", Device: "sdb1"}},
		{"BTRFS info (device sdc state E): forced readonly", Finding{Topic: ReadOnly, Rule: "remounted", Device: "sdc"}},
		{"BTRFS warning (device sdc): csum failed root 5 ino 257", Finding{Topic: FileSystem, Rule: "error", Device: "sdc"}},
		{"nfs: server files not responding, still trying", Finding{Topic: FileSystem, Rule: "server does not answer", Device: "files"}},
		{"nfs: server files OK", Finding{Topic: FileSystem, Rule: "server is back", Device: "files", Good: true}},

		{"e1000e 0000:00:1f.6 eno1: NIC Link is Down", Finding{Topic: Link, Rule: "down", Device: "eno1"}},
		{"r8169 0000:02:00.0 eth0: Link is Up - 1Gbps/Full - flow control off", Finding{Topic: Link, Rule: "up", Device: "eth0", Good: true}},
		{"wlan0: deauthenticated from 00:00:5e:00:53:01 (Reason: 3=DEAUTH_LEAVING)", Finding{Topic: Link, Rule: "deauthenticated", Device: "wlan0"}},
		{"NETDEV WATCHDOG: eth0 (r8169): transmit queue 0 timed out 5000 ms", Finding{Topic: Network, Rule: "transmit timeout", Device: "eth0"}},
		{"nf_conntrack: nf_conntrack: table full, dropping packet", Finding{Topic: Network, Rule: "connection table full"}},
		{"TCP: request_sock_TCP: Possible SYN flooding on port 0.0.0.0:443. Sending cookies.", Finding{Topic: Network, Rule: "syn flood", Device: "0.0.0.0:443"}},

		{"mce: [Hardware Error]: Machine check events logged", Finding{Topic: Hardware, Rule: "machine check"}},
		{"EDAC MC0: 1 CE memory read error on CPU_SrcID#0", Finding{Topic: Hardware, Rule: "memory error corrected", Device: "MC0"}},
		{"CPU2: Core temperature above threshold, cpu clock throttled (total events = 1)", Finding{Topic: Thermal, Rule: "throttled", Device: "CPU2"}},
		{"CPU2: Core temperature/speed normal", Finding{Topic: Thermal, Rule: "normal", Device: "CPU2", Good: true}},
		{"NVRM: Xid (PCI:0000:01:00): 79, pid=1234, GPU has fallen off the bus.", Finding{Topic: Graphics, Rule: "nvidia xid", Device: "0000:01:00", PID: 1234}},
		{"amdgpu 0000:03:00.0: amdgpu: ring gfx_0.0.0 timeout, signaled seq=1", Finding{Topic: Graphics, Rule: "ring timeout", Device: "0000:03:00.0"}},
		{"usb 1-2: USB disconnect, device number 5", Finding{Topic: Device, Rule: "went", Device: "1-2"}},
		{"usb 1-2: new high-speed USB device number 6 using xhci_hcd", Finding{Topic: Device, Rule: "came", Device: "1-2", Good: true}},

		{"systemd[1]: Started something.", Finding{}},
		{"EXT4-fs (sda1): mounted filesystem with ordered data mode", Finding{}},
	} {
		var r Reader
		var got Finding
		lines := strings.Split(c.line, "\n")
		for _, l := range lines {
			got, _ = r.Read(Line{Level: 6, Kernel: true, Text: l})
		}
		want := c.want
		if want.Topic != "" {
			want.Text = lines[len(lines)-1]
		}
		if got != want {
			t.Errorf("%s\n got %+v\nwant %+v", c.line, got, want)
		}
	}
}

// A program that runs as root can write lines that look like the kernel's.
func TestProgramsAreNotTheKernel(t *testing.T) {
	l, ok := Parse("14,9,5,-;Kernel panic - not syncing: not really")
	if !ok || l.Kernel {
		t.Fatalf("%+v, %v", l, ok)
	}
	if f, ok := new(Reader).Read(l); ok {
		t.Errorf("%+v", f)
	}
}

func TestPatternsCompile(t *testing.T) {
	for _, r := range rules {
		r.pattern()
	}
}

func TestUnknownErrors(t *testing.T) {
	var r Reader
	if f, ok := r.Read(Line{Level: 3, Kernel: true, Text: "foo: the bar is broken\x1b[2J"}); !ok || f.Topic != Unknown || f.Text != "foo: the bar is broken?[2J" {
		t.Errorf("an error: %+v, %v", f, ok)
	}
	if f, ok := r.Read(Line{Level: 4, Kernel: true, Text: "foo: the bar is odd"}); ok {
		t.Errorf("a warning: %+v", f)
	}
}

func TestRecords(t *testing.T) {
	for _, c := range []struct {
		record string
		want   Line
		ok     bool
	}{
		{"6,191,305643,-;acpi PNP0A08:00: x\n SUBSYSTEM=acpi\n DEVICE=+acpi:PNP0A08:00\n",
			Line{Since: 305643 * time.Microsecond, Sequence: 191, Level: 6, Kernel: true, Text: "acpi PNP0A08:00: x", Device: "+acpi:PNP0A08:00"}, true},
		{"3,1,0,-,caller=T12;a\\x0ab", Line{Sequence: 1, Level: 3, Kernel: true, Text: "a\nb"}, true},
		{"30,2,7,-;systemd[1]: x", Line{Since: 7 * time.Microsecond, Sequence: 2, Level: 6, Text: "systemd[1]: x"}, true},
		{"6,1,1;too few fields", Line{}, false},
		{"no fields at all", Line{}, false},
		{"6,1,99999999999999999999,-;far in the future", Line{}, false},
	} {
		if got, ok := Parse(c.record); ok != c.ok || got != c.want {
			t.Errorf("%q: %+v, %v; want %+v, %v", c.record, got, ok, c.want, c.ok)
		}
	}
}

func TestTextsAreBounded(t *testing.T) {
	f, ok := new(Reader).Read(Line{Level: 2, Kernel: true, Text: strings.Repeat("ü", 5<<10)})
	if !ok || len(f.Text) > MostText || !strings.HasSuffix(f.Text, "ü…") {
		t.Errorf("%d bytes, %v", len(f.Text), ok)
	}
}

func FuzzLines(f *testing.F) {
	for _, s := range []string{
		"6,191,305643,-;acpi x\n DEVICE=n3\n",
		"4,1,1,-;oom-kill:constraint=CONSTRAINT_MEMCG,oom_memcg=/x,task_memcg=/x,task=a,pid=1,uid=0",
		"3,1,1,-;Memory cgroup out of memory: Killed process 1 (a) total-vm:1kB, anon-rss:1kB",
		"6,2,2,-;x[9]: segfault at 10 ip 000055 sp 0 error 4 in x[55+1]",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, record string) {
		l, ok := Parse(record)
		if !ok {
			l = Line{Kernel: true, Text: record}
		}
		found, ok := new(Reader).Read(l)
		if !ok {
			return
		}
		for _, s := range []string{found.Text, found.Process, found.Device, found.File, found.Owner, found.Group} {
			if len(s) > MostText || strings.ContainsAny(s, "\x1b\n\x00") {
				t.Errorf("%q", s)
			}
		}
	})
}

// Kernels that complain write thousands of lines.
func BenchmarkRead(b *testing.B) {
	lines := []Line{
		{Level: 6, Kernel: true, Text: "EXT4-fs (sda1): mounted filesystem with ordered data mode"},
		{Level: 3, Kernel: true, Text: "I/O error, dev sdb, sector 123 op 0x0:(READ) flags 0x0 phys_seg 1 prio class 0"},
		{Level: 6, Kernel: true, Text: "usb 1-2: New USB device found, idVendor=0000, idProduct=0000"},
	}
	var r Reader
	for i := range b.N {
		r.Read(lines[i%len(lines)])
	}
}
