package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"tachograph/sample/metric"
	"tachograph/testdata/built"
)

// troubleEnv has the test binary get into a trouble, as soon as it reads a line.
const troubleEnv = "TACHOGRAPH_TEST_TROUBLE"

// troubles are what a program may do wrong.
var troubles = map[string]func(){
	"segfault": func() {
		defaultAction(unix.SIGSEGV)
		*(*int)(unsafe.Add(nil, 16)) = 1
	},
	"abort": func() {
		defaultAction(unix.SIGABRT)
		unix.Kill(os.Getpid(), unix.SIGABRT)
	},
	"memory": func() {
		for {
			held = append(held, bytes.Repeat([]byte{1}, 1<<20))
		}
	},
}

var held [][]byte

// defaultAction has the kernel itself deal with a signal, which the Go runtime would handle.
func defaultAction(sig syscall.Signal) {
	var action [4]uintptr // struct sigaction of the kernel, all of it zero
	unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(&action)), 0, 8, 0, 0)
}

func init() {
	if cause := troubles[os.Getenv(troubleEnv)]; cause != nil {
		bufio.NewReader(os.Stdin).ReadString('\n')
		cause()
		select {}
	}
}

// controlGroup is a control group that a service of systemd might have, with a memory limit.
func controlGroup(t *testing.T, name string, limit int) (dir string) {
	t.Helper()
	dir, file := "/sys/fs/cgroup/memory/system.slice", "memory.limit_in_bytes"
	if _, err := os.Stat("/sys/fs/cgroup/cgroup.controllers"); err == nil {
		dir, file = "/sys/fs/cgroup/system.slice", "memory.max"
	}
	if os.Mkdir(dir, 0o755) == nil {
		t.Cleanup(func() { os.Remove(dir) })
	}
	group := filepath.Join(dir, name)
	if err := os.Mkdir(group, 0o755); err != nil {
		t.Skipf("only root may make a control group, where there are any: %v", err)
	}
	t.Cleanup(func() { os.Remove(group) })
	if err := os.WriteFile(filepath.Join(group, file), []byte(strconv.Itoa(limit)), 0); err != nil {
		t.Skipf("the kernel gives this control group no memory limit: %v", err)
	}
	for _, swap := range []string{"memory.swap.max", "memory.swappiness"} { // either version has one of them
		os.WriteFile(filepath.Join(group, swap), []byte("0"), 0)
	}
	return group
}

// A victim is a program that gets into trouble when a line comes on its input.
type victim struct {
	cmd *exec.Cmd
	in  *os.File
}

// begin starts a victim in a control group.
func begin(t *testing.T, exe, trouble, group string) *victim {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	v := &victim{exec.Command(exe), w}
	v.cmd.Env = append(os.Environ(), troubleEnv+"="+trouble)
	v.cmd.Stdin = r
	v.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := v.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { v.in.Close(); v.cmd.Process.Kill(); v.cmd.Wait() })
	if err := unix.Prlimit(v.pid(), unix.RLIMIT_CORE, &unix.Rlimit{}, nil); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(group, "cgroup.procs"), []byte(strconv.Itoa(v.pid())), 0); err != nil {
		t.Fatal(err)
	}
	return v
}

// death is a row of replay deaths.
type death struct {
	PID         int
	Owner, What string
}

func (v *victim) pid() int { return v.cmd.Process.Pid }

// A trouble that a program really has, on this machine, is an event with the process that it is
// about and that process's owner, one death in replay deaths, with what came before, and the first
// thing that replay why says.
func TestRealTroubles(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	lines, err := os.Open("/dev/kmsg")
	if err != nil {
		t.Skipf("the kernel keeps its lines from this process: %v", err)
	}
	lines.Close()
	replay := built.Program(t, "replay")
	unit := fmt.Sprintf("tachograph-test-%d.service", os.Getpid())
	group := controlGroup(t, unit, 48<<20)
	exe := filepath.Join(t.TempDir(), "shopd")
	if err := os.Link(os.Args[0], exe); err != nil {
		if err := os.Symlink(os.Args[0], exe); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	p := start(t, dir, configFile(t, busy))
	ask := func(args ...string) string {
		t.Helper()
		cmd := exec.Command(replay, append(args, "--archive", dir, "--utc")...)
		var errs bytes.Buffer
		cmd.Stderr = &errs
		text, err := cmd.Output()
		if err != nil {
			t.Fatalf("replay %v: %v: %s", args, err, errs.Bytes())
		}
		return string(text)
	}
	for _, c := range []struct {
		trouble string
		kind    metric.EventKind
		says    string // the event
		died    string // replay deaths
		cause   string // replay why
	}{
		// From what weighs least to what weighs most: the question is about some seconds, and the
		// answer about the minute before as well.
		{"abort", metric.EventProcessExit, "signal 6", "signal 6", "signal 6"},
		{"segfault", metric.EventCrash, "crashed: segfault", "signal 11", "crashed"},
		{"memory", metric.EventKill, "for want of memory", "killed for want of memory", "for want of memory"},
	} {
		began := time.Now()
		v := begin(t, exe, c.trouble, group)
		pid := strconv.Itoa(v.pid())
		of := func(kinds ...metric.EventKind) *metric.Event {
			for _, e := range events(dir, kinds...) {
				if e.Label("pid") == pid {
					return &e
				}
			}
			return nil
		}
		n := p.valuesOf("proc.nprocs")
		p.await("the recorder has met "+c.trouble, func() bool { return p.valuesOf("proc.nprocs") > n+5 })
		if _, err := v.in.WriteString("now\n"); err != nil {
			t.Fatal(err)
		}
		v.cmd.Wait()
		var e *metric.Event
		p.await(c.trouble+" has its event", func() bool { e = of(c.kind); return e != nil && of(metric.EventProcessExit) != nil })
		if !strings.Contains(e.Text+e.Label("how"), c.says) || e.Key == "" || e.Key != of(metric.EventProcessExit).Key || c.kind != metric.EventProcessExit && e.Label(metric.OwnerService) != unit {
			t.Errorf("%s: %+v", c.trouble, e)
		}
		from, to := began.Format(time.RFC3339Nano), time.Now().Format(time.RFC3339Nano)
		// Other programs of this machine may die at the same time.
		var died []death
		list := json.NewDecoder(strings.NewReader(ask("deaths", "--from", from, "--to", to, "--format", "json")))
		for list.More() {
			var d death
			if err := list.Decode(&d); err != nil {
				t.Fatal(err)
			}
			if d.PID == v.pid() {
				died = append(died, d)
			}
		}
		if len(died) != 1 || !strings.Contains(died[0].What, c.died) || died[0].Owner != unit {
			t.Errorf("%s: deaths: %+v", c.trouble, died)
		}
		if story := ask("deaths", pid, "--explain"); !strings.Contains(story, "\nmemory ") || !strings.Contains(story, "\ncpu ") || !strings.Contains(story, "\nlimit     48 MB in ") {
			t.Errorf("%s: %s", c.trouble, story)
		}
		why := strings.Join(strings.Fields(ask("why", "--from", from, "--to", to)), " ") // it breaks lines
		if _, first, _ := strings.Cut(why, "shopd (pid "); !strings.HasPrefix(first, pid) || !strings.Contains(strings.SplitN(first, "replay events", 2)[0], c.cause) {
			t.Errorf("%s: why: %s", c.trouble, why)
		}
	}
	failing := badDisk(t)
	p.await("the failed disk has its event", func() bool {
		for _, e := range events(dir, metric.EventKernel) {
			if e.Label("device") == failing {
				return e.Label("topic") == "disk"
			}
		}
		return false
	})
	p.end(syscall.SIGTERM)
}

// badDisk has a disk fail a request, and returns its name: it is a file that became shorter than
// the disk.
func badDisk(t *testing.T) (name string) {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "disk"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := file.Truncate(1 << 20); err != nil {
		t.Fatal(err)
	}
	control, err := os.OpenFile("/dev/loop-control", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("the kernel makes no disks of files: %v", err)
	}
	defer control.Close()
	n, err := unix.IoctlRetInt(int(control.Fd()), unix.LOOP_CTL_GET_FREE)
	if err != nil {
		t.Skipf("the kernel makes no disks of files: %v", err)
	}
	name = fmt.Sprintf("loop%d", n)
	disk, err := os.OpenFile("/dev/"+name, os.O_RDWR|unix.O_DIRECT, 0)
	if err != nil {
		t.Skipf("the kernel makes no disks of files: %v", err)
	}
	defer disk.Close()
	if err := unix.IoctlSetInt(int(disk.Fd()), unix.LOOP_SET_FD, int(file.Fd())); err != nil {
		t.Fatal(err)
	}
	defer unix.IoctlSetInt(int(disk.Fd()), unix.LOOP_CLR_FD, 0)
	if err := file.Truncate(64 << 10); err != nil {
		t.Fatal(err)
	}
	block, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE) // as aligned as disks want it
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(block)
	if _, err := disk.ReadAt(block, 512<<10); err == nil {
		t.Error("a block that is not there was read")
	}
	return name
}
