package launchd_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"tachograph/launchd"
	"tachograph/launchd/launchdtest"
)

// mac is a Mac below a temporary directory.
type mac struct {
	t    *testing.T
	ctl  *launchdtest.Launchctl
	in   *launchd.Installer
	said []string
}

// program returns a file that looks like a program built by Go.
func program(name, text string) []byte {
	return []byte("\x7fELF " + text + " path\ttachograph/cmd/" + name + "\n")
}

func newMac(t *testing.T) *mac {
	root, from := t.TempDir(), t.TempDir()
	for _, name := range []string{"recorder", "replay"} {
		if err := os.WriteFile(filepath.Join(from, name), program(name, "first"), 0o700); err != nil {
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

// TestInstallAgain installs over everything that an earlier installation may have left,
// whole or half.
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
	os.WriteFile(filepath.Join(m.in.From, "recorder"), program("recorder", "newer"), 0o700)
	os.WriteFile(m.path(m.in.Layout.Config), []byte("# edited\n"), 0o644)
	if err := m.in.Install(); err != nil {
		t.Fatal(err)
	}
	binary, _ := os.ReadFile(m.path(m.in.Layout.Recorder()))
	config, _ := os.ReadFile(m.path(m.in.Layout.Config))
	after, _ := m.in.Manager.State()
	if string(binary) != string(program("recorder", "newer")) || string(config) != "# edited\n" || after.PID == before.PID {
		t.Errorf("program %q, configuration %q, pid %d then %d", binary, config, before.PID, after.PID)
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
		}, "/Library/Tachograph cannot be trusted: everybody may write it"},
		{"somebody else's directory", func(m *mac) {
			os.MkdirAll(m.path("/Library/Tachograph"), 0o755)
			os.Chown(m.path("/Library/Tachograph"), 501, 20)
		}, "/Library/Tachograph cannot be trusted: it belongs to"},
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

const stranger = 12345

// TestInstallCopiesOnlyWhatItMay puts beside the recorder, and in the directories above it,
// what another user may have put there. The shadow file is an example of a file that only
// root may read: install must not copy it to where everybody can read it.
func TestInstallCopiesOnlyWhatItMay(t *testing.T) {
	for _, tc := range []struct {
		name  string
		spoil func(m *mac, replay string)
		want  string // of the error; empty: no error
		said  string
	}{
		{name: "fine", spoil: func(*mac, string) {}},
		{name: "no replay", spoil: func(m *mac, replay string) { os.Remove(replay) }, said: "there is no replay beside the recorder"},
		{name: "a link to the shadow file", spoil: func(m *mac, replay string) {
			os.Remove(replay)
			os.Symlink("/etc/shadow", replay)
		}, want: "it is not a program"},
		{name: "a stranger's link", spoil: func(m *mac, replay string) {
			os.Rename(replay, replay+".real")
			os.Symlink(replay+".real", replay)
			os.Lchown(replay, stranger, stranger)
		}, want: "belongs to user 12345"},
		{name: "root's link", spoil: func(m *mac, replay string) {
			os.Rename(replay, replay+".real")
			os.Symlink("replay.real", replay)
		}, said: "is a link: "},
		{name: "root's link to a stranger's place", spoil: func(m *mac, replay string) {
			other := filepath.Join(m.t.TempDir(), "x")
			os.Mkdir(other, 0o755)
			os.Rename(replay, filepath.Join(other, "replay"))
			os.Symlink(filepath.Join(other, "replay"), replay)
			os.Chown(other, stranger, stranger)
		}, want: "belongs to user 12345"},
		{name: "a stranger's replay", spoil: func(m *mac, replay string) { os.Chown(replay, stranger, stranger) }, want: "belongs to user 12345"},
		{name: "everybody's replay", spoil: func(m *mac, replay string) { os.Chmod(replay, 0o777) }, want: "everybody may write it"},
		{name: "another program", spoil: func(m *mac, replay string) { os.WriteFile(replay, []byte("#!/bin/sh\n"), 0o755) }, want: "it is not Tachograph's replay"},
		{name: "a pipe", spoil: func(m *mac, replay string) { os.Remove(replay); syscall.Mkfifo(replay, 0o755) }, want: "is not a file"},
		{name: "a stranger's directory", spoil: func(m *mac, replay string) { os.Chown(m.in.From, stranger, stranger) }, want: "belongs to user 12345"},
		{name: "everybody's directory", spoil: func(m *mac, replay string) { os.Chmod(m.in.From, 0o777) }, want: "everybody may write it"},
		{name: "a directory far above", spoil: func(m *mac, replay string) { os.Chown(filepath.Dir(m.in.From), stranger, stranger) }, want: "belongs to user 12345"},
		{name: "the directory of him who asked", spoil: func(m *mac, replay string) {
			m.in.Asker = stranger
			os.Chown(m.in.From, stranger, stranger)
			os.Chown(replay, stranger, stranger)
		}},
		{name: "somebody else's in the directory of him who asked", spoil: func(m *mac, replay string) {
			m.in.Asker = stranger
			os.Chown(m.in.From, stranger, stranger)
			os.Chown(replay, stranger+1, stranger)
		}, want: "belongs to user 12346"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := newMac(t)
			tc.spoil(m, filepath.Join(m.in.From, "replay"))
			err := m.in.Install()
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Fatalf("error %v, want %q", err, tc.want)
			}
			if err != nil && m.tree() != "" {
				t.Errorf("refused, and left\n%s", m.tree())
			}
			if all := strings.Join(m.said, "\n"); !strings.Contains(all, tc.said) {
				t.Errorf("said %q, want %q", all, tc.said)
			}
		})
	}
}

// TestInstallFollowsNoLinks puts links at paths that install writes and uninstall removes,
// on the machine and below a root for packages.
func TestInstallFollowsNoLinks(t *testing.T) {
	for _, tc := range []struct {
		name  string
		stage bool
		path  string // is a link to a directory elsewhere
		owner int
		want  string
	}{
		{"stage: the first directory", true, "/Library", 0, "is a symbolic link, which would lead out of"},
		{"stage: the archives", true, "/Library/Application Support/Tachograph/Archives", 0, "is a symbolic link, which would lead out of"},
		{"stage: a stranger's directory", true, "", stranger, "belongs to user 12345"},
		{"a stranger's link", false, "/Library/Logs", stranger, "belongs to user 12345"},
		{"a link in place of the programs", false, "/Library/Tachograph/bin", 0, "is not a directory"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := newMac(t)
			elsewhere := t.TempDir()
			os.WriteFile(filepath.Join(elsewhere, "precious"), nil, 0o600)
			path := m.path(tc.path)
			m.in.Stage = tc.stage
			if tc.path != "" {
				os.MkdirAll(filepath.Dir(path), 0o755)
				os.Symlink(elsewhere, path)
			}
			os.Lchown(path, tc.owner, 0)
			if err := m.in.Install(); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("install: %v, want %q", err, tc.want)
			}
			m.in.Uninstall(true)
			if entries, _ := os.ReadDir(elsewhere); len(entries) != 1 {
				t.Errorf("elsewhere there is now %v", entries)
			}
		})
	}
}

func TestPurgeFollowsNoLink(t *testing.T) {
	m := newMac(t)
	if err := m.in.Install(); err != nil {
		t.Fatal(err)
	}
	elsewhere := t.TempDir()
	os.WriteFile(filepath.Join(elsewhere, "a.tacho"), nil, 0o600)
	archives := m.path(m.in.Layout.Archives)
	os.Remove(archives)
	os.Symlink(elsewhere, archives)
	if err := m.in.Uninstall(true); err == nil || !strings.Contains(err.Error(), "is a symbolic link: what it leads to is not removed") {
		t.Errorf("uninstall: %v", err)
	}
	if _, err := os.Stat(filepath.Join(elsewhere, "a.tacho")); err != nil {
		t.Error(err)
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
	if err := man.Unload(); err != nil || state().Loaded {
		t.Errorf("unload: %v, %+v", err, state())
	}
	if err := man.Start(m.in.Layout); err != nil || !state().Running {
		t.Errorf("start of one that is not loaded: %v, %+v", err, state())
	}
	os.Remove(m.path(m.in.Layout.Job))
	man.Unload()
	if err := man.Start(m.in.Layout); err == nil || !strings.Contains(err.Error(), "error 5") {
		t.Errorf("start without a plist: %v", err)
	}
}

func TestPrintAndStageTouchNothing(t *testing.T) {
	m := newMac(t)
	text, err := m.in.Print()
	if err != nil {
		t.Fatal(err)
	}
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
	os.WriteFile(filepath.Join(from, "recorder"), program("recorder", ""), 0o700)
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

// install puts manual pages where man looks for them, and uninstall removes them.
func TestManualPages(t *testing.T) {
	m := newMac(t)
	m.in.Manuals = map[string]string{"recorder.1": "page\n", "tachograph.toml.5": "keys\n"}
	if err := m.in.Install(); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"/Library/Tachograph/share/man/man1/recorder.1": "page\n", "/Library/Tachograph/share/man/man5/tachograph.toml.5": "keys\n",
	} {
		text, err := os.ReadFile(m.path(path))
		info, serr := os.Stat(m.path(path))
		if err != nil || serr != nil || string(text) != want || info.Mode().Perm() != 0o644 {
			t.Errorf("%s: %q %v %v", path, text, err, serr)
		}
	}
	if err := m.in.Uninstall(true); err != nil {
		t.Fatal(err)
	}
	if tree := m.tree(); strings.Contains(tree, "/Library/Tachograph") {
		t.Errorf("what is left:\n%s", tree)
	}
}
