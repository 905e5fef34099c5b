package simulation

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"tachograph/sample/darwin/darwintest"
	"tachograph/testdata/built"
	"tachograph/testdata/patience"
)

// machine is the simulated Mac with a recorder on it.
type machine struct {
	t    *testing.T
	plan plan
	dir  string // of everything
	mac  darwintest.Mac
	exe  string // the recorder
	// speed is how much faster than time the Mac lives.
	speed float64
	rss   [][]int64
	open  [][]int
	logs  logBuffer
}

// logBuffer is what the recorders said.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

const (
	archives = "/Library/Application Support/Tachograph/Archives"
	moduleIs = "../../.."
)

// wentDown is the exit status that says that the machine went down.
const wentDown = 64

func newMachine(t *testing.T, p plan) *machine {
	m := &machine{t: t, plan: p, dir: t.TempDir()}
	mac, err := darwintest.FindMac(moduleIs)
	darwintest.Need(t, err)
	if mac.Emulated() {
		t.Skip("an emulated processor is too slow to live through days")
	}
	m.mac = mac
	if m.exe, err = built.Package(built.Target{OS: "darwin", Arch: mac.Arch}, "tachograph/cmd/recorder"); err != nil {
		t.Fatal(err)
	}
	// What a machine with other work does late weighs more the faster the Mac lives.
	m.speed = max(float64(p.speed)/patience.Late(), float64(p.speed)/3)
	for _, dir := range []string{"root", "kept"} {
		if err := os.Mkdir(m.path(dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	m.write("scenario", p.scenario(mac.Shipped), 0o644)
	// Shipping keeps what retention will remove. The script is a program of
	// the real machine, which finds the simulated one's files below root.
	m.write("ship", fmt.Sprintf("#!/bin/sh\nexec cp %q\"$1\" %q\n", m.path("root"), m.path("kept")), 0o755)
	m.configure(false)
	return m
}

func (m *machine) path(name string) string { return filepath.Join(m.dir, name) }

func (m *machine) write(name, text string, mode os.FileMode) {
	m.t.Helper()
	tmp := m.path(name + ".new")
	if err := os.WriteFile(tmp, []byte(text), mode); err != nil {
		m.t.Fatal(err)
	}
	if err := os.Rename(tmp, m.path(name)); err != nil {
		m.t.Fatal(err)
	}
}

func (m *machine) configure(changed bool) {
	m.write("config.toml", m.plan.config(archives, m.path("ship"), changed), 0o644)
}

// run lives through the whole plan; false when the simulated Mac stood still.
func (m *machine) run() bool {
	for boot := range m.plan.ends {
		switch status := m.boot(boot); status {
		case wentDown:
		case stoodStill:
			return false
		default:
			m.t.Fatalf("boot %d ended with status %d:\n%s", boot, status, m.tail())
		}
	}
	return true
}

// stoodStill is the status of a simulated Mac that hung: its file layer cannot
// bear a signal that is delivered to a thread in the middle of a write.
const stoodStill = -2

// standstill is for how long nothing may be written before it counts as that, on an
// idle machine.
const standstill = 20 * time.Second

// recording is what the program logs once it listens.
const recording = "msg=recording"

// boot lives until the machine goes down.
func (m *machine) boot(n int) int {
	report := m.path(fmt.Sprintf("leaks.%d", n))
	cmd := m.mac.Command([]string{"--speed", strconv.FormatFloat(m.speed, 'f', 0, 64), "--scenario", m.path("scenario"), "--root", m.path("root"),
		"--resume", m.path("state"), "--leaks", "--report", report}, m.exe, "run", "--config", m.path("config.toml"))
	cmd.Env = append(os.Environ(), "TZ=Europe/Berlin")
	cmd.Stderr = &m.logs
	boots := strings.Count(m.logs.String(), recording)
	if err := cmd.Start(); err != nil {
		m.t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { cmd.Wait(); close(done) }()
	m.rss, m.open = append(m.rss, nil), append(m.open, nil)
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	status := filepath.Join(m.path("root"), archives, "recorder.status")
	var written time.Time
	still := 0.0 // seconds of an idle machine
	for listened, looked := 0, time.Now(); ; {
		select {
		case <-done:
			return cmd.ProcessState.ExitCode()
		case <-ticker.C:
		}
		if kb := resident(cmd.Process.Pid); kb > 0 {
			m.rss[n] = append(m.rss[n], kb)
			m.open[n] = append(m.open[n], descriptors(cmd.Process.Pid))
		}
		if info, err := os.Stat(status); err == nil && info.ModTime() != written {
			written, still = info.ModTime(), 0
		}
		now := time.Now()
		still += now.Sub(looked).Seconds() / patience.Late()
		looked = now
		if still > standstill.Seconds() {
			cmd.Process.Kill()
			<-done
			return stoodStill
		}
		// Two reloads, once the program listens, however long that took.
		if listened > 0 || strings.Count(m.logs.String(), recording) > boots {
			listened++
		}
		if listened == 20 || listened == 60 {
			m.configure(listened == 20)
			cmd.Process.Signal(syscall.SIGHUP)
		}
	}
}

// resident is a process's memory in KB; 0 when it cannot be told.
func resident(pid int) int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kb, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return kb
		}
	}
	return 0
}

func (m *machine) tail() string {
	text := m.logs.String()
	return text[max(0, len(text)-4000):]
}

// gather puts all archives of the simulation into one directory: those that
// were shipped, and those that were not yet.
func (m *machine) gather() string {
	all := m.path("all")
	if err := os.Mkdir(all, 0o755); err != nil {
		m.t.Fatal(err)
	}
	for _, dir := range []string{m.path("kept"), filepath.Join(m.path("root"), archives)} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			m.t.Fatal(err)
		}
		for _, e := range entries {
			if !strings.Contains(e.Name(), ".tacho") && !strings.Contains(e.Name(), ".live") {
				continue
			}
			if err := os.Link(filepath.Join(dir, e.Name()), filepath.Join(all, e.Name())); err != nil && !errors.Is(err, fs.ErrExist) {
				m.t.Fatal(err)
			}
		}
	}
	return all
}

// checkLeaks looks at what the simulated Mac says about each boot that ended in
// an orderly way.
func (m *machine) checkLeaks() {
	reports := 0
	for n := range m.plan.ends {
		text, err := os.ReadFile(m.path(fmt.Sprintf("leaks.%d", n)))
		if err != nil {
			// A crash leaves no report, nor does a program that is slower to
			// end than the machine is to go down.
			continue
		}
		reports++
		for _, want := range []string{
			"mach: 0 vm regions, 0 port references, 0 suspended threads", "cf: 0 references, io: 0 references, notify: 0 tokens",
		} {
			if !bytes.Contains(text, []byte(want)) {
				m.t.Errorf("boot %d leaks: %s", n, text)
			}
		}
	}
	if reports == 0 {
		m.t.Error("no boot ended in an orderly way")
	}
}

// checkMemory compares the second half of each boot with the first, and the
// last boot with the first one.
func (m *machine) checkMemory() {
	for n, kb := range m.rss {
		// A process that lived for less than some seconds is still warming up.
		if len(kb) < 200 {
			continue
		}
		first, second := peak(kb[:len(kb)/2]), peak(kb[len(kb)/2:])
		m.t.Logf("boot %d: at most %d KB resident in its first half, %d KB in its second, host included", n, first, second)
		if second > 2*first {
			m.t.Errorf("boot %d: memory grew from %d to %d KB", n, first, second)
		}
	}
	first, last := peak(m.rss[0]), peak(m.rss[len(m.rss)-1])
	if len(m.rss[0]) >= 200 && last > first+first/4 {
		m.t.Errorf("memory grew from %d KB in the first boot to %d KB in the last", first, last)
	}
}

func peak(v []int64) (top int64) {
	for _, x := range v {
		top = max(top, x)
	}
	return top
}
