package sys

import (
	"errors"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

func TestSysctl(t *testing.T) {
	name, err := SysctlText("kern.ostype")
	if err != nil || name != "Darwin" {
		t.Fatalf("kern.ostype = %q, %v", name, err)
	}
	n, err := SysctlUint("hw.memsize")
	if err != nil || n < 1<<30 {
		t.Fatalf("hw.memsize = %d, %v", n, err)
	}
	if _, err := Lookup("no.such.name"); !errors.Is(err, syscall.ENOENT) || !strings.Contains(err.Error(), "no.such.name") {
		t.Errorf("lookup of a missing name: %v", err)
	}
	m, err := Lookup("kern.version")
	if err != nil {
		t.Fatal(err)
	}
	if _, errno := Sysctl(m, make([]byte, 3)); errno != syscall.ENOMEM {
		t.Errorf("a short buffer: errno %v, want ENOMEM", errno)
	}
	list, next, errno := SysctlList(m, make([]byte, 3))
	if errno != 0 || len(list) < 10 || len(next) < len(list) {
		t.Errorf("SysctlList: %d bytes, errno %v", len(list), errno)
	}
}

func TestMach(t *testing.T) {
	h := OpenHost()
	defer h.Close()
	words := make([]uint32, 38)
	if n, err := h.Statistics64(4, words); err != nil || n < 24 {
		t.Errorf("Statistics64: %d words, %v", n, err)
	}
	all, ncpu, err := h.ProcessorInfo(2, nil)
	if err != nil || ncpu == 0 || len(all) != 4*ncpu {
		t.Errorf("ProcessorInfo: %d words for %d processors, %v", len(all), ncpu, err)
	}
	set, err := h.DefaultProcessorSet()
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	load := make([]uint32, 4)
	if n, err := set.Statistics(4, load); err != nil || n != 4 || load[0] == 0 {
		t.Errorf("processor set: %v, %d words, %v", load, n, err)
	}
	if n, err := SelfInfo(20, make([]uint32, 12)); err != nil || n != 12 {
		t.Errorf("SelfInfo: %d words, %v", n, err)
	}
	if _, err := h.Statistics64(99, words); err == nil || !strings.Contains(err.Error(), "host_statistics64: KERN_INVALID_ARGUMENT") {
		t.Errorf("unknown flavour: %v", err)
	}
	a, c := AbsoluteTime(), ContinuousTime()
	if numer, denom := Timebase(); a == 0 || c < a || numer == 0 || denom == 0 {
		t.Errorf("clocks: absolute %d, continuous %d, timebase %d/%d", a, c, numer, denom)
	}
}

func TestLibproc(t *testing.T) {
	self := int32(os.Getpid())
	const taskAllInfo, listFDs = 2, 1
	if n, errno := PidInfo(self, taskAllInfo, 0, make([]byte, 232)); n != 232 || errno != 0 {
		t.Errorf("PidInfo of myself: %d bytes, errno %v", n, errno)
	}
	if n, errno := PidInfo(99999, taskAllInfo, 0, make([]byte, 232)); n != 0 || errno != syscall.ESRCH {
		t.Errorf("PidInfo of nobody: %d bytes, errno %v", n, errno)
	}
	if n, errno := PidList(self, listFDs, 0, make([]byte, 8192)); n == 0 || n%8 != 0 || errno != 0 {
		t.Errorf("descriptors of myself: %d bytes, errno %v", n, errno)
	}
	if errno := PidRusage(self, 4, make([]byte, 296)); errno != 0 {
		t.Errorf("PidRusage of myself: %v", errno)
	}
	if errno := PidRusage(99999, 4, make([]byte, 296)); errno != syscall.ESRCH {
		t.Errorf("PidRusage of nobody: %v", errno)
	}
	list, _, errno := KernProcAll(nil)
	if errno != 0 || len(list) == 0 || len(list)%648 != 0 {
		t.Errorf("kern.proc.all: %d bytes, errno %v", len(list), errno)
	}
	if n, errno := KernProc(self, make([]byte, 648)); n != 648 || errno != 0 {
		t.Errorf("kern.proc.pid of myself: %d bytes, errno %v", n, errno)
	}
	if n, errno := KernProc(99999, make([]byte, 648)); n != 0 || errno != 0 {
		t.Errorf("kern.proc.pid of nobody: %d bytes, errno %v", n, errno)
	}
}

func TestFilesLoginsNotifications(t *testing.T) {
	list, _, err := Mounts(make([]byte, StatfsSize))
	if err != nil || len(list) == 0 || len(list)%StatfsSize != 0 {
		t.Errorf("Mounts: %d bytes, %v", len(list), err)
	}
	Logins(func(b []byte) {
		if len(b) != UtmpxSize {
			t.Errorf("a login record of %d bytes", len(b))
		}
	})
	n, err := Notify("com.apple.system.thermalpressurelevel")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := n.State(); err != nil {
		t.Error(err)
	}
	if err := n.Close(); err != nil {
		t.Error(err)
	}
}

// Calls must work although the stack that holds an out-parameter may be deep and about to
// grow.
func TestCallsOnAGrowingStack(t *testing.T) {
	var descend func(depth int) uint64
	descend = func(depth int) uint64 {
		var pad [200]byte
		pad[depth%200] = 1
		numer, denom := Timebase()
		if numer == 0 || denom == 0 {
			t.Errorf("timebase %d/%d at depth %d", numer, denom, depth)
		}
		if depth == 0 {
			return uint64(pad[0])
		}
		if depth%64 == 0 {
			runtime.GC()
		}
		return descend(depth-1) + uint64(pad[1])
	}
	done := make(chan uint64)
	go func() { done <- descend(500) }()
	<-done
}

// A text is written as it is, whatever looks like a format in it. Where DARWINHOST_SYSLOG names
// a file, that is what the unified log got.
func TestSyslog(t *testing.T) {
	path := os.Getenv("DARWINHOST_SYSLOG")
	Syslog(4, "100 % of %s, %n and \x00 all")
	if path == "" {
		return
	}
	b, err := os.ReadFile(path)
	if err != nil || !strings.HasSuffix(string(b), "<4>100 % of %s, %n and  all\n") {
		t.Errorf("%q, %v", b, err)
	}
}
