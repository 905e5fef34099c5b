package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"tachograph/launchd"
	"tachograph/launchd/launchdtest"
	"tachograph/sample/metric"
	"tachograph/sample/proc/procfs"
	"tachograph/sample/stack"
	"tachograph/sample/stack/symbol"
	"tachograph/store"
	"tachograph/testdata/built"
	"tachograph/testdata/child"
	"tachograph/testdata/patience"
)

// roleEnv has the test binary be another program: one whose stacks are sampled, or one that tries
// what a sampler calls.
const roleEnv = "TACHOGRAPH_TEST_ROLE"

func init() {
	launchdtest.TakeOn()
	switch role := os.Getenv(roleEnv); role {
	case "":
		return
	case "computes", "waits":
		if role == "computes" {
			go limitsCompute()
		}
		fmt.Printf("%d\n", uintptr(unsafe.Pointer(unsafe.StringData(limitsKnown))))
		io.Copy(io.Discard, os.Stdin)
	default:
		if err := tryCalls(role); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	}
	os.Exit(0)
}

// limitsKnown is what a process with rights finds in the memory of the sampled program.
const limitsKnown = "what the sampled program has in its memory"

var limitsSink atomic.Uint64

//go:noinline
func limitsInner(n int) {
	var x [32]uint64
	for i := range n {
		x[i%len(x)] += uint64(i)
	}
	limitsSink.Store(x[n%len(x)])
}

//go:noinline
func limitsCompute() {
	zeros, err := os.Open("/dev/zero")
	if err != nil {
		panic(err)
	}
	for b := make([]byte, 1<<20); ; {
		limitsInner(50_000)
		zeros.Read(b)
	}
}

// another starts the test binary in a role as another user, and returns what it said first.
func another(t *testing.T, program, role string) (*exec.Cmd, string) {
	t.Helper()
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), roleEnv+"="+role)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	_, out := child.Start(t, cmd)
	line, err := out.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return cmd, strings.TrimSpace(line)
}

// limited returns the test binary in a directory that every user may read, and the limits of the
// installed service, in which that directory stays.
func limited(t *testing.T) (launchdtest.Limits, string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root has rights that can be taken away")
	}
	if err := openEvent(os.Getpid()); err != nil {
		t.Skipf("this user may not sample here: %v", err)
	}
	alone := exec.Command("true")
	alone.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	if err := alone.Run(); err != nil {
		t.Skipf("the kernel gives this user no mounts of its own: %v", err)
	}
	limits := launchdtest.LimitsOf(t, launchd.LinuxLayout().SystemdUnit())
	dir, err := os.MkdirTemp("", "limits") // t.TempDir is its owner's alone
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	limits.Keep = dir
	program := filepath.Join(dir, "program")
	built.Copy(t, os.Args[0], program)
	return limits, program
}

// The recorder samples the stacks of other users' processes with the rights that the service has:
// of one that computes, whose program an update has removed since, and of one that waits.
func TestTheUnitMaySample(t *testing.T) {
	t.Parallel()
	limits, program := limited(t)
	computes, _ := another(t, program, "computes")
	waits, _ := another(t, program, "waits")
	if err := os.Remove(program); err != nil {
		t.Fatal(err)
	}
	// On a busy machine the process may not have run while it was sampled.
	until := func(of *exec.Cmd, what string, enough func(*seen) bool) {
		pid := strconv.Itoa(of.Process.Pid)
		file := filepath.Join(limits.Keep, pid+".tacho")
		var s seen
		defer func() {
			if t.Failed() {
				t.Logf("the last was sampled by %q; it waited for %q, in the calls %q", s.how, s.waits, s.calls)
			}
		}()
		patience.UntilFor(t, 30*time.Second, what, func() bool {
			os.Remove(file)
			cmd := command("sample", pid, "-o", file, "--for", "2s")
			limits.Apply(t, cmd)
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if s = seenIn(t, file); s.how != "perf" {
				t.Fatalf("it sampled by %q: %s", s.how, out)
			}
			return enough(&s)
		})
	}
	const call = "tachograph/cmd/recorder.limitsInner < tachograph/cmd/recorder.limitsCompute"
	until(computes, call, func(s *seen) bool { return slices.Contains(s.calls, call) })
	if kernelIsNamed() {
		until(computes, "the kernel's functions", func(s *seen) bool {
			return slices.ContainsFunc(s.calls, func(call string) bool { return strings.HasPrefix(call, "vfs_read < ") })
		})
	}
	until(waits, "what it waits for", func(s *seen) bool { return len(s.waits) > 0 && !slices.Contains(s.calls, call) })
}

// kernelIsNamed says whether the kernel shows root its functions.
func kernelIsNamed() bool {
	f, err := os.Open("/proc/kallsyms")
	if err != nil {
		return false
	}
	defer f.Close()
	_, err = symbol.ReadKernel(f)
	return err == nil
}

// seen is what an archive says of sampled stacks.
type seen struct {
	how   string   // by what they were sampled
	calls []string // "inner < its caller"
	waits []string // what was waited for
}

func seenIn(t *testing.T, path string) (s seen) {
	t.Helper()
	r, err := store.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	names, callers := make(map[string]string), make(map[string]string)
	for run := range r.Select(store.Selection{Metrics: []string{stack.FrameSamples, stack.Samples}}) {
		i := run.Instance
		if run.Metric.Name == stack.Samples {
			if wait := i.Label(stack.LabelWait); wait != "" {
				s.waits = append(s.waits, wait)
			}
			continue
		}
		names[i.Key], callers[i.Key] = i.Name, i.Label(stack.LabelCaller)
	}
	for key, name := range names {
		s.calls = append(s.calls, name+" < "+names[callers[key]])
	}
	for e := range r.Events(0, 0) {
		if e.Kind == metric.EventStacks {
			s.how = e.Label("how")
		}
	}
	return s
}

// What the sampler calls besides works too, and the limits are those of the unit: what it does not
// grant is refused.
func TestTheUnitMayReadOtherProcesses(t *testing.T) {
	t.Parallel()
	limits, program := limited(t)
	other, address := another(t, program, "computes")
	file := filepath.Join(t.TempDir(), "private")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(file, 65534, 65534); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d %s %s", roleEnv, other.Process.Pid, address, file))
	limits.Apply(t, cmd)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// tryCalls makes calls about another process, given by its number, the address of limitsKnown
// in its memory, and a file that it sees and this process does not.
func tryCalls(role string) error {
	var pid int
	var address uint64
	var file string
	if _, err := fmt.Sscan(role, &pid, &address, &file); err != nil {
		return err
	}
	text := make([]byte, len(limitsKnown))
	known := func(n int, err error) error {
		if err == nil && string(text[:n]) != limitsKnown {
			err = fmt.Errorf("it has read %q", text[:n])
		}
		clear(text)
		return err
	}
	dir := fmt.Sprintf("/proc/%d/", pid)
	var all error
	for name, try := range map[string]func() error{
		"perf_event_open with registers and stacks": func() error { return openEvent(pid) },
		"process_vm_readv": func() error {
			return known(unix.ProcessVMReadv(pid, []unix.Iovec{{Base: &text[0], Len: uint64(len(text))}}, []unix.RemoteIovec{{Base: uintptr(address), Len: len(text)}}, 0))
		},
		"memory": func() error {
			f, err := os.Open(dir + "mem")
			if err != nil {
				return err
			}
			defer f.Close()
			return known(f.ReadAt(text, int64(address)))
		},
		"the mapped file": func() error {
			maps, err := os.ReadFile(dir + "maps")
			if err != nil {
				return err
			}
			err = errors.New("nothing is mapped")
			procfs.Maps(maps, func(m *procfs.Mapping) {
				if m.Executable && m.Inode != 0 {
					_, err = os.Stat(fmt.Sprintf("%smap_files/%x-%x", dir, m.Start, m.End))
				}
			})
			return err
		},
		"a file in its root": func() error {
			_, err := os.ReadFile(dir + "root" + file)
			return err
		},
		"the kernel's wait": func() error {
			_, err := os.ReadFile(dir + "wchan")
			return err
		},
		"refused: ptrace": func() error { return mustRefuse(unix.PtraceAttach(pid)) },
		"refused: bpf": func() error {
			_, _, errno := unix.Syscall(unix.SYS_BPF, 0, 0, 0)
			return mustRefuse(errno)
		},
		"refused: a name for the machine": func() error { return mustRefuse(unix.Sethostname([]byte("other"))) },
		"refused: a file's mode":          func() error { return mustRefuse(os.WriteFile(dir+"oom_score_adj", []byte("0"), 0)) },
	} {
		if err := try(); err != nil {
			all = errors.Join(all, fmt.Errorf("%s: %w", name, err))
		}
	}
	return all
}

// mustRefuse returns an error if a call did not fail for lack of rights.
func mustRefuse(err error) error {
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) {
		return nil
	}
	return fmt.Errorf("it was not refused: %v", err)
}

// openEvent opens the kernel's sampler of a process, with a ring for each processor as the recorder
// has them, and with copies of registers and stacks.
func openEvent(pid int) error {
	const ring = 129 * 4096
	attributes := &unix.PerfEventAttr{
		Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_CPU_CLOCK, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})), Sample: 99,
		Sample_type:      unix.PERF_SAMPLE_TID | unix.PERF_SAMPLE_CALLCHAIN | unix.PERF_SAMPLE_REGS_USER | unix.PERF_SAMPLE_STACK_USER,
		Sample_regs_user: 1<<7 | 1<<8, Sample_stack_user: 8 << 10,
		Bits: unix.PerfBitFreq,
	}
	for cpu := range runtime.NumCPU() {
		fd, err := unix.PerfEventOpen(attributes, pid, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		memory, err := unix.Mmap(fd, 0, ring, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		if err != nil {
			return err
		}
		defer unix.Munmap(memory)
	}
	return nil
}
