package launchd_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tachograph/launchd"
	"tachograph/launchd/launchdtest"
)

// mac is a Mac in a directory.
type mac struct {
	t    *testing.T
	ctl  *launchdtest.Launchctl
	in   *launchd.Installer
	said []string
}

func newMac(t *testing.T) *mac {
	root, from := t.TempDir(), t.TempDir()
	for _, name := range []string{"recorder", "replay"} {
		if err := os.WriteFile(filepath.Join(from, name), []byte("program "+name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	m := &mac{t: t, ctl: &launchdtest.Launchctl{Root: root}}
	m.in = &launchd.Installer{
		Layout: launchd.MacLayout(), Manager: &launchd.Launchd{Runner: m.ctl, Pause: func(time.Duration) {}},
		Root: root, From: from, Config: "# default\n", EUID: os.Geteuid(),
		Say:       func(format string, args ...any) { m.said = append(m.said, fmt.Sprintf(format, args...)) },
		Recording: func(time.Time) error { return nil },
	}
	if m.in.EUID != 0 {
		t.Skip("only root can install")
	}
	return m
}

func (m *mac) path(p string) string { return filepath.Join(m.in.Root, p) }

// tree lists everything below the root with its mode.
func (m *mac) tree() string {
	var b strings.Builder
	filepath.WalkDir(m.in.Root, func(path string, d fs.DirEntry, err error) error {
		info, _ := d.Info()
		if path != m.in.Root {
			fmt.Fprintf(&b, "%s %s\n", info.Mode(), strings.TrimPrefix(path, m.in.Root))
		}
		return err
	})
	return b.String()
}

const installed = `drwxr-xr-x /Library
drwxr-xr-x /Library/Application Support
drwxr-xr-x /Library/Application Support/Tachograph
drwxr-x--- /Library/Application Support/Tachograph/Archives
-rw-r--r-- /Library/Application Support/Tachograph/tachograph.toml
drwxr-xr-x /Library/LaunchDaemons
-rw-r--r-- /Library/LaunchDaemons/org.tachograph.recorder.plist
drwxr-xr-x /Library/Logs
drwxr-xr-x /Library/Logs/Tachograph
-rw-r----- /Library/Logs/Tachograph/recorder.log
drwxr-xr-x /Library/Tachograph
drwxr-xr-x /Library/Tachograph/bin
-rwxr-xr-x /Library/Tachograph/bin/recorder
-rwxr-xr-x /Library/Tachograph/bin/replay
drwxr-xr-x /etc
drwxr-xr-x /etc/newsyslog.d
-rw-r--r-- /etc/newsyslog.d/org.tachograph.recorder.conf
drwxr-xr-x /etc/paths.d
-rw-r--r-- /etc/paths.d/tachograph
`

const calls = "enable system/org.tachograph.recorder|bootstrap system /Library/LaunchDaemons/org.tachograph.recorder.plist"

func TestInstallOnAFreshMac(t *testing.T) {
	m := newMac(t)
	if err := m.in.Install(); err != nil {
		t.Fatal(err)
	}
	if got := m.tree(); got != installed {
		t.Errorf("installed\n%s\nwant\n%s", got, installed)
	}
	if got := strings.Join(m.ctl.Calls, "|"); got != calls {
		t.Errorf("calls %s", got)
	}
	if st, err := m.in.Manager.State(); err != nil || !st.Running || st.PID == 0 {
		t.Errorf("state %+v, %v", st, err)
	}
	if all := strings.Join(m.said, "\n"); !strings.Contains(all, "archives        /Library/Application Support/Tachograph/Archives") {
		t.Errorf("said %s", all)
	}
}

// TestInstallAgain goes over everything that an earlier installation may have
// left, whole or half.
func TestInstallAgain(t *testing.T) {
	const bootout = "bootout system/org.tachograph.recorder|"
	for _, tc := range []struct {
		name   string
		before func(*mac)
		calls  string
	}{
		{"over a running one", func(m *mac) { m.in.Install() }, bootout + calls},
		{"over one that was stopped", func(m *mac) { m.in.Install(); m.in.Manager.Stop() }, bootout + calls},
		{"teardown takes its time", func(m *mac) { m.in.Install(); m.ctl.Teardown = 5 }, bootout + calls},
		{"bootstrap is busy twice", func(m *mac) { m.ctl.Busy = 2 }, calls + strings.Repeat("|bootstrap system /Library/LaunchDaemons/org.tachograph.recorder.plist", 2)},
		{"disabled by the administrator", func(m *mac) { m.ctl.Preload(false, false, true) }, calls},
		{"files without a job", func(m *mac) { m.in.Stage = true; m.in.Install(); m.in.Stage = false }, calls},
		{"a job without files", func(m *mac) { m.ctl.Preload(true, false, false) }, bootout + calls},
		{"a damaged plist", func(m *mac) {
			m.in.Install()
			os.WriteFile(m.path(m.in.Layout.Job), []byte("<plist>"), 0o666)
			os.Chmod(m.path(m.in.Layout.Job), 0o666)
		}, bootout + calls},
		{"the wrong modes", func(m *mac) {
			m.in.Install()
			os.Chmod(m.path(m.in.Layout.Archives), 0o777)
			os.Chmod(m.path(m.in.Layout.Recorder()), 0o700)
		}, bootout + calls},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := newMac(t)
			tc.before(m)
			m.ctl.Calls = nil
			if err := m.in.Install(); err != nil {
				t.Fatal(err)
			}
			if got := m.tree(); got != installed {
				t.Errorf("installed\n%s\nwant\n%s", got, installed)
			}
			if got := strings.Join(m.ctl.Calls, "|"); got != tc.calls {
				t.Errorf("calls %s\nwant  %s", got, tc.calls)
			}
			if st, err := m.in.Manager.State(); err != nil || !st.Running {
				t.Errorf("state %+v, %v", st, err)
			}
		})
	}
}

func TestUpgradeReplacesProgramsAndKeepsTheConfiguration(t *testing.T) {
	m := newMac(t)
	if err := m.in.Install(); err != nil {
		t.Fatal(err)
	}
	before, _ := m.in.Manager.State()
	os.WriteFile(filepath.Join(m.in.From, "recorder"), []byte("a newer program"), 0o700)
	os.WriteFile(m.path(m.in.Layout.Config), []byte("# edited\n"), 0o644)
	if err := m.in.Install(); err != nil {
		t.Fatal(err)
	}
	program, _ := os.ReadFile(m.path(m.in.Layout.Recorder()))
	config, _ := os.ReadFile(m.path(m.in.Layout.Config))
	after, _ := m.in.Manager.State()
	if string(program) != "a newer program" || string(config) != "# edited\n" || after.PID == before.PID {
		t.Errorf("program %q, configuration %q, pid %d then %d", program, config, before.PID, after.PID)
	}
}

func TestInstallFailuresAreSentences(t *testing.T) {
	for _, tc := range []struct {
		name   string
		before func(*mac)
		want   string
	}{
		{"not root", func(m *mac) { m.in.EUID = 501 }, "a service can be installed only by root: run `sudo recorder install`"},
		{"launchctl without privilege", func(m *mac) { m.ctl.Unprivileged = true }, "launchd obeys only root here: run it with sudo"},
		{"switched off in Login Items", func(m *mac) { m.ctl.Refused = true; m.ctl.Preload(false, false, true) }, "switch Tachograph (recorder) on in System Settings, General, Login Items & Extensions"},
		{"a recorder that ends at once", func(m *mac) { m.ctl.Crashing = true }, "the recorder ends as soon as it is started (last exit code 78: EX_CONFIG): its log says why"},
		{"nothing recorded", func(m *mac) { m.in.Recording = func(time.Time) error { return errors.New("nothing recorded") } }, "nothing recorded"},
		{"others may write the directory above", func(m *mac) {
			os.MkdirAll(m.path("/Library/Tachograph"), 0o755)
			os.Chmod(m.path("/Library/Tachograph"), 0o777)
		}, "/Library/Tachograph and could replace the recorder: chmod go-w it and install again"},
		{"somebody else's directory", func(m *mac) {
			os.MkdirAll(m.path("/Library/Tachograph"), 0o755)
			os.Chown(m.path("/Library/Tachograph"), 501, 20)
		}, "does not belong to root, so that its owner could replace the recorder"},
		{"a directory in place of the configuration", func(m *mac) { os.MkdirAll(m.path(m.in.Layout.Job), 0o755) }, "is not a file: move it away and install again"},
		{"no such group", func(m *mac) { m.in.Group = "no such group" }, "there is no group no such group"},
		{"no program", func(m *mac) { os.Remove(filepath.Join(m.in.From, "recorder")) }, "recorder cannot be read: no such file or directory"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := newMac(t)
			tc.before(m)
			err := m.in.Install()
			if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %v\nwant  %s", err, tc.want)
			}
		})
	}
}

func TestUninstall(t *testing.T) {
	for _, tc := range []struct {
		name   string
		before func(*mac)
		purge  bool
		left   string
	}{
		{"all untouched", func(*mac) {}, false, ""},
		{"archives and an edited configuration stay", func(m *mac) {
			os.WriteFile(m.path(m.in.Layout.Config), []byte("# edited\n"), 0o644)
			os.WriteFile(m.path(m.in.Layout.Archives)+"/a.tacho", nil, 0o640)
			os.WriteFile(m.path(m.in.Layout.Log)+".0.bz2", nil, 0o640)
		}, false, "/Library/Application Support/Tachograph/Archives/a.tacho /Library/Application Support/Tachograph/tachograph.toml"},
		{"purge", func(m *mac) {
			os.WriteFile(m.path(m.in.Layout.Config), []byte("# edited\n"), 0o644)
			os.WriteFile(m.path(m.in.Layout.Archives)+"/a.tacho", nil, 0o640)
		}, true, ""},
		{"it was not running", func(m *mac) { m.in.Manager.Stop() }, false, ""},
		{"files are missing", func(m *mac) { os.Remove(m.path(m.in.Layout.Job)) }, false, ""},
		{"teardown takes its time", func(m *mac) { m.ctl.Teardown = 4 }, false, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := newMac(t)
			if err := m.in.Install(); err != nil {
				t.Fatal(err)
			}
			tc.before(m)
			if err := m.in.Uninstall(tc.purge); err != nil {
				t.Fatal(err)
			}
			var left []string
			filepath.WalkDir(m.in.Root, func(path string, d fs.DirEntry, err error) error {
				if !d.IsDir() {
					left = append(left, strings.TrimPrefix(path, m.in.Root))
				}
				return err
			})
			if got := strings.Join(left, " "); got != tc.left {
				t.Errorf("left %s, want %s", got, tc.left)
			}
			if st, err := m.in.Manager.State(); err != nil || st.Loaded {
				t.Errorf("state %+v, %v", st, err)
			}
			if strings.Contains(m.tree(), "/Library/Tachograph") {
				t.Errorf("left\n%s", m.tree())
			}
			if err := m.in.Uninstall(tc.purge); err != nil {
				t.Errorf("a second time: %v", err)
			}
		})
	}
}

func TestStartStopRestart(t *testing.T) {
	m := newMac(t)
	man := m.in.Manager
	if err := m.in.Install(); err != nil {
		t.Fatal(err)
	}
	state := func() launchd.State {
		st, err := man.State()
		if err != nil {
			t.Fatal(err)
		}
		return st
	}
	first := state().PID
	if err := man.Restart(m.in.Layout); err != nil || state().PID == first {
		t.Errorf("restart: %v, pid %d", err, state().PID)
	}
	if err := man.Stop(); err != nil || state().Running || !state().Loaded {
		t.Errorf("stop: %v, %+v", err, state())
	}
	if err := man.Stop(); err != nil {
		t.Errorf("stop a second time: %v", err)
	}
	if err := man.Restart(m.in.Layout); err != nil || !state().Running {
		t.Errorf("restart of a stopped one: %v, %+v", err, state())
	}
	if err := man.Start(m.in.Layout); err != nil || !state().Running {
		t.Errorf("start of a running one: %v, %+v", err, state())
	}
	if err := man.Unload(m.in.Layout); err != nil || state().Loaded {
		t.Errorf("unload: %v, %+v", err, state())
	}
	if err := man.Start(m.in.Layout); err != nil || !state().Running {
		t.Errorf("start of one that is not loaded: %v, %+v", err, state())
	}
	os.Remove(m.path(m.in.Layout.Job))
	man.Unload(m.in.Layout)
	if err := man.Start(m.in.Layout); err == nil || !strings.Contains(err.Error(), "error 5") {
		t.Errorf("start without a plist: %v", err)
	}
}

func TestPrintAndStageTouchNothing(t *testing.T) {
	m := newMac(t)
	text := m.in.Print()
	for _, want := range []string{
		"# directory " + m.path("/Library/Tachograph/bin") + " (root:wheel 0755)", "<key>KeepAlive</key>",
		"/bin/launchctl bootstrap system /Library/LaunchDaemons/org.tachograph.recorder.plist",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("printed\n%s\nwithout %s", text, want)
		}
	}
	if m.tree() != "" || len(m.ctl.Calls) != 0 {
		t.Errorf("printing made\n%s\nand called %v", m.tree(), m.ctl.Calls)
	}
	m.in.Stage = true
	if err := m.in.Install(); err != nil || m.tree() != installed || len(m.ctl.Calls) != 0 {
		t.Errorf("staging: %v\n%s\ncalled %v", err, m.tree(), m.ctl.Calls)
	}
}

func TestSystemd(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can install")
	}
	root, from := t.TempDir(), t.TempDir()
	os.WriteFile(filepath.Join(from, "recorder"), []byte("program"), 0o700)
	ctl := &launchdtest.Systemctl{Root: root}
	in := &launchd.Installer{
		Layout: launchd.LinuxLayout(), Manager: &launchd.Systemd{Runner: ctl}, Root: root, From: from,
		Config: "# default\n", Say: func(string, ...any) {},
	}
	if err := in.Manager.Start(in.Layout); err == nil || !strings.Contains(err.Error(), "run `sudo recorder install`") {
		t.Errorf("start before install: %v", err)
	}
	for range 2 {
		if err := in.Install(); err != nil {
			t.Fatal(err)
		}
		if st, err := in.Manager.State(); err != nil || !st.Loaded || !st.Running || st.Disabled {
			t.Errorf("state %+v, %v", st, err)
		}
	}
	if link, err := os.Readlink(filepath.Join(root, "/usr/local/bin/recorder")); err != nil || link != "/usr/local/lib/tachograph/recorder" {
		t.Errorf("link %q, %v", link, err)
	}
	if err := in.Manager.Stop(); err != nil {
		t.Error(err)
	}
	if err := in.Uninstall(false); err != nil {
		t.Error(err)
	}
	if st, err := in.Manager.State(); err != nil || st.Loaded {
		t.Errorf("state %+v, %v", st, err)
	}
	if _, err := os.Lstat(filepath.Join(root, "/usr/local/bin/recorder")); err == nil {
		t.Error("the link is still there")
	}
}
