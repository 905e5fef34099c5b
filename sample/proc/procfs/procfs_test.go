package procfs

import (
	"fmt"
	"math"
	"os"
	"reflect"
	"runtime"
	"strings"
	"testing"
)

const statText = "1234 (a (b) c) R 1 1200 1100 34816 1234 4194304 101 102 103 104 105 106 107 108 20 -5 3 0 87086 3133440 394 18446744073709551615 " +
	"94447878115328 94447878135209 140731845485376 0 0 0 0 0 0 1 0 0 17 1 2 3 11 12 13 0 0 0 0 0 0 0 256\n"

func TestStat(t *testing.T) {
	var s Stat
	if err := s.Parse([]byte(statText)); err != nil {
		t.Fatal(err)
	}
	want := Stat{Comm: []byte("a (b) c"), StatNumbers: StatNumbers{
		PID: 1234, State: 'R', PPID: 1, PGrp: 1200, Session: 1100, TTY: 34816, TPGID: 1234,
		Flags: 4194304, MinFlt: 101, CMinFlt: 102, MajFlt: 103, CMajFlt: 104, UTime: 105, STime: 106, CUTime: 107, CSTime: 108,
		Priority: 20, Nice: -5, Threads: 3, StartTime: 87086, VSize: 3133440, RSS: 394,
		StartCode: 94447878115328, StartStack: 140731845485376, WChan: 1, ExitSignal: 17, Processor: 1, RTPriority: 2, Policy: 3,
		BlkIOTicks: 11, GuestTime: 12, CGuestTime: 13, ExitCode: 256,
	}}
	if !reflect.DeepEqual(s, want) {
		t.Errorf("got  %+v\nwant %+v", s, want)
	}
}

func TestStatRefuses(t *testing.T) {
	for _, text := range []string{
		"", "x", "1 (a", "1 a) S", ") (", "1 (a) ", "1 (a) SS 1", "1 (a) S 1 2 3", "x (a) S" + statText[16:],
		"1 (a) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 x 21 22 23", "99999999999 (a) S" + statText[16:],
		"1 (a) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 99999999999999999999 21 22 23",
	} {
		t.Run(fmt.Sprintf("%.40q", text), func(t *testing.T) {
			var s Stat
			if err := s.Parse([]byte(text)); err == nil {
				t.Errorf("accepted %q as %+v", text, s)
			}
		})
	}
}

func TestStatus(t *testing.T) {
	var s Status
	s.Parse([]byte("Name:\tx: y\nUmask:\t0022\nTgid:\t7\nNSpid:\t7\t31\t5\nUid:\t1\t2\t3\t4\nGid:\t5\t6\t7\t8\nVmSize:\t    3060 kB\nVmHWM:\t 12 kB\n" +
		"nonsense\nThreads:\t9\nvoluntary_ctxt_switches:\t18446744073709551615\nnonvoluntary_ctxt_switches:\t1"))
	want := Status{Tgid: 7, Inner: 5, UID: 1, EUID: 2, SUID: 3, FSUID: 4, GID: 5, EGID: 6, SGID: 7, FSGID: 8, Threads: 9,
		HasMemory: true, VmSize: 3060, VmHWM: 12, Voluntary: 1<<64 - 1, Involun: 1}
	if s != want {
		t.Errorf("got  %+v\nwant %+v", s, want)
	}
}

func TestSmallFiles(t *testing.T) {
	var io IO
	if !io.Parse([]byte("rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: 5\nwrite_bytes: 6\ncancelled_write_bytes: 7\n")) ||
		io != (IO{1, 2, 3, 4, 5, 6, 7}) {
		t.Errorf("io %+v", io)
	}
	if io.Parse(nil) || io.Parse([]byte("hello")) {
		t.Error("garbage passed for io")
	}
	var d SchedStat
	if !d.Parse([]byte("1 2 3\n")) || d != (SchedStat{1, 2, 3}) || d.Parse([]byte("1 2")) {
		t.Errorf("schedstat %+v", d)
	}
	forks, boot, ok := Forks([]byte("cpu  1 2\nbtime 1700000000\nprocesses 42\n"))
	if forks != 42 || boot != 1700000000 || !ok {
		t.Errorf("forks %d, boot %d, %v", forks, boot, ok)
	}
	if running, last, ok := Running([]byte("0.52 1.20 2.15 3/401 123456\n")); running != 3 || last != 123456 || !ok {
		t.Errorf("%d run, %d was made last, %v", running, last, ok)
	}
	if _, _, ok := Running([]byte("0.52 1.20 2.15 3/401")); ok {
		t.Error("a line without its end is taken")
	}
	if got := Reclaimed([]byte("pgfault 9\npgsteal_kswapd 1\npgsteal_direct 20\npswpin 7\npswpout 300\nthp_collapse_alloc 4000\nthp_collapse_alloc_failed 5\npgsteal_x")); got != 4321 {
		t.Errorf("%d pages reclaimed", got)
	}
	if _, _, ok := Forks([]byte("processes x\n")); ok {
		t.Error("garbage passed for forks")
	}
	for text, want := range map[string]uint64{"socket:[12]": 12, "net:[4026531840]": 4026531840} {
		t.Run(text, func(t *testing.T) {
			kind, _, _ := strings.Cut(text, ":")
			if got, ok := LinkInode([]byte(text), kind); !ok || got != want {
				t.Errorf("%s: %d, %v", text, got, ok)
			}
		})
	}
	for _, text := range []string{"", "socket", "socket:", "socket:[", "socket:[]", "socket:[x]", "pipe:[1]", "/tmp/socket:[1]"} {
		t.Run(fmt.Sprintf("%q", text), func(t *testing.T) {
			if _, ok := LinkInode([]byte(text), "socket"); ok {
				t.Errorf("%q passed for a socket", text)
			}
		})
	}
}

func TestReadsItself(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("there is no /proc here")
	}
	text, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		t.Fatal(err)
	}
	var s Stat
	if err := s.Parse(text); err != nil {
		t.Fatal(err)
	}
	if int(s.PID) != os.Getpid() || int(s.PPID) != os.Getppid() || s.Threads < 1 || s.RSS <= 0 || s.StartTime == 0 {
		t.Errorf("this test is %+v", s)
	}
}

func TestParsersDoNotAllocate(t *testing.T) {
	stat := []byte(statText)
	status := []byte("Name:\tx\nTgid:\t7\nNSpid:\t7\t31\t5\nUid:\t1\t2\t3\t4\nVmSize:\t 1 kB\n")
	io := []byte("rchar: 1\nread_bytes: 5\n")
	n := testing.AllocsPerRun(100, func() {
		var s Stat
		var st Status
		var i IO
		if s.Parse(stat) != nil || !i.Parse(io) {
			t.Error("not parsed")
		}
		st.Parse(status)
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestOpenFiles(t *testing.T) {
	const head = "Limit                     Soft Limit           Hard Limit           Units     \nMax processes             95000                95000                processes \n"
	for _, c := range []struct {
		text string
		want uint64
		ok   bool
	}{
		{head + "Max open files            1024                 1048576              files     \nMax locked memory  8  8  bytes\n", 1024, true},
		{head + "Max open files            unlimited            unlimited            files     \n", math.MaxUint64, true},
		{head, 0, false},
		{head + "Max open files", 0, false},
		{head + "Max open files            many                 1                    files\n", 0, false},
		{"", 0, false},
	} {
		if got, ok := OpenFiles([]byte(c.text)); got != c.want || ok != c.ok {
			t.Errorf("OpenFiles(%q) = %d, %v, want %d, %v", c.text, got, ok, c.want, c.ok)
		}
	}
}

func FuzzText(f *testing.F) {
	f.Add([]byte(statText))
	f.Add(append([]byte("1 (a) \x00"), strings.Repeat(" 1", statFields)...)) // a zero byte is no state
	f.Add([]byte("Uid:\t1\t2\nVmSize: x\n"))
	f.Add([]byte("rchar: 1\n Pss: 2"))
	f.Add([]byte("socket:[1]"))
	f.Fuzz(func(t *testing.T, b []byte) {
		var s Stat
		if s.Parse(b) == nil && (s.PID < 0 || s.State == 0) {
			t.Errorf("accepted %q as %+v", b, s)
		}
		new(Status).Parse(b)
		new(IO).Parse(b)
		new(SchedStat).Parse(b)
		new(Smaps).Parse(b)
		Forks(b)
		Reclaimed(b)
		Running(b)
		OpenFiles(b)
		Sockets(b, func(uint64) {})
		LinkInode(b, "socket")
	})
}

func FuzzBinary(f *testing.F) {
	f.Add([]byte{20, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 8, 0, 1, 0})
	f.Add(make([]byte, 400))
	f.Fuzz(func(t *testing.T, b []byte) {
		new(Exit).Parse(b)
		Dirents(b, func(n int32) {
			if n < 0 {
				t.Errorf("a negative number in %x", b)
			}
		})
		Messages(b, func(_ uint16, payload []byte) {
			Attributes(payload, func(_ uint16, v []byte) { Attributes(v, func(uint16, []byte) {}) })
		})
	})
}
