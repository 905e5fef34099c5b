package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"tachograph/cmd/internal/cli"
	"tachograph/cmd/recorder/service"
	"tachograph/launchd"
	"tachograph/launchd/launchdtest"
	"tachograph/sample/metric"
	"tachograph/testdata/patience"

	"tachograph/testdata/built"
)

// keeper starts and stops the programs of a manager of services whose system
// lies below root.
type keeper struct {
	t    *testing.T
	root string
	mu   sync.Mutex
	runs map[int]chan struct{}
	log  string // what the manager writes standard error to
}

// newKeeper keeps a system in a new directory.
func newKeeper(t *testing.T) *keeper {
	k := &keeper{t: t, root: t.TempDir(), runs: make(map[int]chan struct{})}
	k.log = filepath.Join(k.root, "journal")
	return k
}

// managers are the stand-ins, by the name of what they stand in for.
var managers = map[string]func(*keeper) host{
	"launchd": func(k *keeper) host {
		layout := launchd.MacLayout()
		k.log = filepath.Join(k.root, layout.Log)
		ctl := &launchdtest.Launchctl{Root: k.root, Start: k.start, Stop: k.stop, Alive: k.alive}
		return host{layout: layout, manager: &launchd.Launchd{Runner: ctl, Pause: time.Sleep}, root: k.root, waits: k.waits()}
	},
	"systemd": func(k *keeper) host {
		journal := func() string {
			text, _ := os.ReadFile(k.log)
			return string(text)
		}
		ctl := &launchdtest.Systemctl{Root: k.root, Start: k.start, Stop: k.stop, Alive: k.alive, Journal: journal}
		return host{layout: launchd.LinuxLayout(), manager: &launchd.Systemd{Runner: ctl}, root: k.root, waits: k.waits()}
	},
}

// waits are the usual ones, for a busy machine.
func (k *keeper) waits() waits {
	return waits{firstTick: patience.Stretch(usualWaits.firstTick), downFor: usualWaits.downFor}
}

func (k *keeper) start(words []string) (int, error) {
	var args []string
	for _, w := range words[1:] {
		if strings.HasPrefix(w, "/") {
			w = filepath.Join(k.root, w)
		}
		args = append(args, w)
	}
	cmd := exec.Command(filepath.Join(k.root, words[0]), args...)
	cmd.Env = recorderEnv()
	log, err := os.OpenFile(k.log, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o640)
	if err != nil {
		return 0, err
	}
	defer log.Close()
	cmd.Stderr = log
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	done := make(chan struct{})
	go func() { cmd.Wait(); close(done) }()
	k.mu.Lock()
	defer k.mu.Unlock()
	k.runs[cmd.Process.Pid] = done
	return cmd.Process.Pid, nil
}

func (k *keeper) alive(pid int) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	select {
	case <-k.runs[pid]:
		return false
	default:
		return k.runs[pid] != nil
	}
}

func (k *keeper) stop(pid int) {
	k.mu.Lock()
	done := k.runs[pid]
	delete(k.runs, pid)
	k.mu.Unlock()
	if done == nil {
		return
	}
	syscall.Kill(pid, syscall.SIGTERM)
	select {
	case <-done:
	case <-time.After(patience.Stretch(time.Minute)):
		syscall.Kill(pid, syscall.SIGKILL)
		<-done
		k.t.Errorf("process %d did not obey SIGTERM", pid)
	}
}

// TestLifeOfAService installs the recorder into a system in a directory, with
// stand-ins for the managers of services that really start it, and goes
// through everything that is done to a service.
func TestLifeOfAService(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root") // who can install
	}
	if testing.Short() {
		t.Skip("starts a dozen recorders")
	}
	t.Parallel()
	for name, newHost := range managers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHost(newKeeper(t))
			h.from = t.TempDir()
			t.Cleanup(func() { h.manager.Unload() })
			live(t, h)
		})
	}
}

// TestServiceThatDoesNotComeUp installs a service whose configuration it will
// not take: whatever is done to it says so, with what it complained of.
func TestServiceThatDoesNotComeUp(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root") // who can install
	}
	t.Parallel()
	for name, newHost := range managers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHost(newKeeper(t))
			h.waits.downFor = 300 * time.Millisecond // nobody starts it again
			h.from = t.TempDir()
			t.Cleanup(func() { h.manager.Unload() })
			built.Copy(t, os.Args[0], filepath.Join(h.from, "recorder"))
			config := filepath.Join(h.root, h.layout.Config)
			err := os.MkdirAll(filepath.Dir(config), 0o755)
			if err == nil {
				err = os.WriteFile(config, []byte("[classes]\n\nfsat = \"1s\"\n"), 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
			archives := filepath.Join(h.root, h.layout.Archives)
			for _, args := range [][]string{
				{"install"}, {"restart"}, {"start"}, {"rotate", "--archive", archives}, {"reload", "--archive", archives}, {"status", "--archive", archives},
			} {
				var out, errs bytes.Buffer
				a := newApp(&out, &errs)
				a.host = func() (host, error) { return h, nil }
				status := a.run(args)
				if said := errs.String(); status == cli.Yes || strings.Count(said, "\n") != 1 ||
					!strings.Contains(said, "; its last error: "+config+":3: classes.fsat is not a key of the configuration; did you mean classes.fast?") {
					t.Errorf("%v: status %d: %s%s", args, status, out.String(), said)
				}
			}
		})
	}
}

// live goes through a service's life on h.
func live(t *testing.T, h host) {
	built.Copy(t, os.Args[0], filepath.Join(h.from, "recorder"))
	archives := filepath.Join(h.root, h.layout.Archives)
	// run runs a subcommand that must succeed.
	run := func(args ...string) string {
		t.Helper()
		var out, errs bytes.Buffer
		a := newApp(&out, &errs)
		a.host = func() (host, error) { return h, nil }
		if status := a.run(args); status != cli.Yes {
			t.Fatalf("%v: status %d: %s%s", args, status, out.String(), errs.String())
		}
		return out.String()
	}
	status := func() service.Report {
		t.Helper()
		var r service.Report
		if err := json.Unmarshal([]byte(run("status", "--archive", archives, "--json")), &r); err != nil {
			t.Fatal(err)
		}
		return r
	}
	// The configuration names a directory of the real system.
	config := filepath.Join(h.root, h.layout.Config)
	if err := os.MkdirAll(filepath.Dir(config), 0o755); err != nil {
		t.Fatal(err)
	}
	text := "[archive]\ndir = \"" + archives + "\"\n"
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}

	if said := run("install"); !strings.Contains(said, "has recorded its first values") {
		t.Errorf("install said %s", said)
	}
	first := status().Status.PID
	if said := run("install"); !strings.Contains(said, "is up to date") {
		t.Errorf("install said %s", said)
	}
	second := status().Status.PID
	if first == second {
		t.Error("the second installation did not restart the service")
	}
	if info, err := os.Stat(archives); err != nil || info.Mode().Perm() != 0o750 {
		t.Errorf("archives: %v, %v", info.Mode(), err)
	}

	if err := os.WriteFile(config, []byte(text+"[classes]\nfast = \"100ms\"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(second, syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	patience.Until(t, "it has the new configuration", func() bool { return len(events(archives, metric.EventConfig)) == 1 })
	if said := run("reload", "--archive", archives); said != "the configuration was read again: "+config+"\n" {
		t.Errorf("reload said %s", said)
	}
	finished := strings.TrimSpace(run("rotate", "--archive", archives))
	if _, err := os.Stat(finished); err != nil {
		t.Error(err)
	}
	run("restart")
	if st, err := service.ReadStatus(archives); err != nil || st.PID == second || st.Values == 0 {
		t.Errorf("after restart: %+v, %v", st, err)
	}
	run("start") // it runs already
	run("stop")
	if st, err := service.ReadStatus(archives); err != nil || !st.Stopped {
		t.Errorf("after stop: %+v, %v", st, err)
	}
	run("start")
	if st, err := service.ReadStatus(archives); err != nil || st.Stopped || st.Values == 0 {
		t.Errorf("after start: %+v, %v", st, err)
	}
	if log := h.layout.Log; log != "" {
		if text, err := os.ReadFile(filepath.Join(h.root, log)); err != nil || !bytes.Contains(text, []byte("recording")) {
			t.Errorf("the log: %s, %v", text, err)
		}
	}

	said := run("uninstall")
	if !strings.Contains(said, "kept "+archives) || !strings.Contains(said, "kept "+config) {
		t.Errorf("uninstall said %s", said)
	}
	if st, err := h.manager.State(); err != nil || st.Loaded {
		t.Errorf("after uninstall: %+v, %v", st, err)
	}
	run("uninstall", "--purge")
	for _, path := range []string{archives, config} {
		if _, err := os.Lstat(path); err == nil {
			t.Errorf("%s is still there", path)
		}
	}
}
