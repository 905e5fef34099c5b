package launchd_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"tachograph/launchd"
	"tachograph/launchd/launchdtest"
)

// someServe names a group that all systems have, with the same number.
var someServe = launchd.Serve{Archives: "/var/lib/tachograph", Group: "daemon", SocketGroup: "daemon", Mode: 0o660}

// served lists, by service manager, the files of the server and the calls that start it.
var served = map[string]struct {
	files, up, down []string
}{
	"launchd": {
		[]string{"/Library/LaunchDaemons/org.tachograph.serve.plist", "/Library/Logs/Tachograph/serve.log"},
		[]string{"enable system/org.tachograph.serve", "bootstrap system /Library/LaunchDaemons/org.tachograph.serve.plist"},
		[]string{"bootout system/org.tachograph.serve"},
	},
	"systemd": {
		[]string{"/etc/systemd/system/tachograph-serve.service", "/etc/systemd/system/tachograph-serve.socket"},
		[]string{"daemon-reload", "stop tachograph-serve.service", "enable tachograph-serve.socket", "restart tachograph-serve.socket"},
		[]string{"disable --now tachograph-serve.socket", "stop tachograph-serve.service"},
	},
}

// machine is an installer for a machine in a directory, with the commands that the service
// manager received.
type machine struct {
	in      *launchd.Installer
	calls   func() []string
	connect func()
}

func newMachine(t *testing.T, manager string) *machine {
	m := newMac(t)
	if manager == "launchd" {
		return &machine{m.in, func() []string { return m.ctl.Calls }, func() { m.ctl.Connect(launchd.ServeLabel) }}
	}
	ctl := &launchdtest.Systemctl{Root: m.in.Root}
	m.in.Layout, m.in.Manager = launchd.LinuxLayout(), &launchd.Systemd{Runner: ctl}
	return &machine{m.in, func() []string { return ctl.Calls }, ctl.Connect}
}

func (m *machine) install(t *testing.T) {
	t.Helper()
	if err := m.in.Install(); err != nil {
		t.Fatal(err)
	}
}

// there returns which of the server's files exist.
func (m *machine) there() (paths []string) {
	for _, path := range m.in.Manager.Job(m.in.Layout, launchd.Server).Paths() {
		if _, err := os.Lstat(filepath.Join(m.in.Root, path)); err == nil {
			paths = append(paths, path)
		}
	}
	return paths
}

// TestServerIsInstalledAndGoes: the server is not installed unless requested, waits until
// somebody connects, survives an upgrade of all services, is removed alone or with the
// recorder, and leaves nothing.
func TestServerIsInstalledAndGoes(t *testing.T) {
	for manager, want := range served {
		t.Run(manager, func(t *testing.T) {
			m := newMachine(t, manager)
			server := m.in.Manager.Job(m.in.Layout, launchd.Server)
			state := func(loaded, running bool) {
				t.Helper()
				if st, err := server.State(); err != nil || st.Loaded != loaded || st.Running != running {
					t.Errorf("state %+v, %v", st, err)
				}
				if st, err := m.in.Manager.State(); err != nil || !st.Running {
					t.Errorf("the recorder: %+v, %v", st, err)
				}
			}
			called := func(from int, want []string) {
				t.Helper()
				if got := strings.Join(m.calls()[from:], "|"); !strings.Contains(got, strings.Join(want, "|")) {
					t.Errorf("calls %s\nlack  %s", got, strings.Join(want, "|"))
				}
			}
			m.install(t)
			if got := m.there(); len(got) > 0 {
				t.Errorf("unasked: %v", got)
			}
			state(false, false)

			m.in.Serve = &someServe
			before := len(m.calls())
			m.install(t)
			called(before, want.up)
			if got := m.there(); len(got) != len(want.files) {
				t.Errorf("files %v, want %v", got, want.files)
			}
			state(true, false)
			m.connect()
			state(true, true)

			m.in.Serve = nil // an upgrade that does not mention it
			before = len(m.calls())
			m.install(t)
			called(before, want.up)
			state(true, false)

			m.connect()
			m.in.Unserve = true
			before = len(m.calls())
			m.install(t)
			called(before, want.down)
			state(false, false)
			if got := m.there(); len(got) > 0 {
				t.Errorf("left: %v", got)
			}
			m.install(t) // there is nothing to remove

			m.in.Serve, m.in.Unserve = &someServe, false
			m.install(t)
			m.in.Serve = nil
			before = len(m.calls())
			if err := m.in.Uninstall(true); err != nil {
				t.Fatal(err)
			}
			called(before, want.down)
			if got := m.there(); len(got) > 0 {
				t.Errorf("left: %v", got)
			}
			if st, err := server.State(); err != nil || st.Loaded || st.Running {
				t.Errorf("state %+v, %v", st, err)
			}
		})
	}
}

func TestServerNeedsItsProgramAndItsGroup(t *testing.T) {
	m := newMachine(t, "launchd")
	m.in.Serve = &launchd.Serve{Archives: "/a", Group: "daemon", SocketGroup: "no-such-group", Mode: 0o660}
	if err := m.in.Install(); err == nil || err.Error() != "there is no group no-such-group" {
		t.Errorf("no group: %v", err)
	}
	if err := os.Remove(filepath.Join(m.in.From, "replay")); err != nil {
		t.Fatal(err)
	}
	m.in.Serve = &someServe
	if err := m.in.Install(); err == nil || !strings.HasPrefix(err.Error(), "there is no replay in ") {
		t.Errorf("no program: %v", err)
	}
	if entries, err := os.ReadDir(m.in.Root); err != nil || len(entries) > 0 {
		t.Errorf("something was installed all the same: %v, %v", entries, err)
	}
}

func TestServerIsShown(t *testing.T) {
	for manager, want := range served {
		m := newMachine(t, manager)
		m.in.Serve = &someServe
		text, err := m.in.Print()
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range append(append([]string{"replay serve --listen"}, want.files...), want.up...) {
			if manager == "launchd" && strings.HasPrefix(part, "replay serve") {
				part = "<string>serve</string>"
			}
			if !strings.Contains(text, part) {
				t.Errorf("%s: %q is not shown:\n%s", manager, part, text)
			}
		}
		if m.there() != nil || len(m.calls()) > 0 {
			t.Errorf("%s: showing it has installed it", manager)
		}
	}
}

// TestServerLogIsItsGroups: launchd opens the log as the user of the server.
func TestServerLogIsItsGroups(t *testing.T) {
	m := newMachine(t, "launchd")
	m.in.Serve = &someServe
	m.install(t)
	info, err := os.Stat(filepath.Join(m.in.Root, m.in.Layout.ServeLog))
	if err != nil || info.Mode().Perm() != fs.FileMode(0o660) {
		t.Errorf("%v, %v", info, err)
	}
}

// TestServerUnitsAreHeldTight checks that systemd understands the units, and how
// systemd-analyze rates them.
func TestServerUnitsAreHeldTight(t *testing.T) {
	l, dir := launchd.LinuxLayout(), t.TempDir()
	unit, socket := filepath.Join(dir, launchd.ServeUnit), filepath.Join(dir, launchd.ServeSocket)
	text := l.ServeSystemdUnit(someServe)
	// The server would see every client as the user nobody.
	if strings.Contains(string(text), "PrivateUsers=yes") {
		t.Error("the server cannot tell who connects")
	}
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("no systemd-analyze here")
	}
	text = []byte(strings.Replace(string(text), l.Replay(), "/bin/true", 1)) // a program that exists
	for path, text := range map[string][]byte{unit: text, socket: l.ServeSystemdSocket(someServe)} {
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command(analyze, "verify", "--man=no", unit, socket).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("systemd-analyze verify: %v\n%s", err, out)
	}
	out, err := exec.Command(analyze, "security", "--offline=true", "--no-pager", unit).CombinedOutput()
	_, mark, ok := strings.Cut(string(out), "Overall exposure level for "+launchd.ServeUnit+": ")
	if !ok {
		t.Skipf("systemd-analyze gives no mark: %v", err)
	}
	if v, err := strconv.ParseFloat(strings.Fields(mark)[0], 64); err != nil || v > 1.5 {
		t.Errorf("exposure %s, want 1.5 at most\n%s", strings.Fields(mark)[0], out)
	}
}
