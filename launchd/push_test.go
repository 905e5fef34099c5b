package launchd_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tachograph/launchd"
)

// somePush names a group that all systems have.
var somePush = launchd.Push{URL: "https://metrics.example/api/v1/write", Archives: "/var/lib/tachograph", Group: "daemon", State: "x.push", TokenFile: "/etc/token"}

// pushed lists, by service manager, the files of the push and the calls that start it.
var pushed = map[string]struct {
	files, up, down []string
}{
	"launchd": {
		[]string{"/Library/LaunchDaemons/org.tachograph.push.plist", "/Library/Logs/Tachograph/push.log"},
		[]string{"enable system/org.tachograph.push", "bootstrap system /Library/LaunchDaemons/org.tachograph.push.plist"},
		[]string{"bootout system/org.tachograph.push"},
	},
	"systemd": {
		[]string{"/etc/systemd/system/tachograph-push.service"},
		[]string{"daemon-reload", "enable tachograph-push.service", "restart tachograph-push.service"},
		[]string{"disable --now tachograph-push.service"},
	},
}

// TestPushIsInstalledAndGoes: the push is not installed unless requested, runs, survives an
// upgrade of all services, and is removed alone or with the recorder. Its progress is
// removed only with the archives.
func TestPushIsInstalledAndGoes(t *testing.T) {
	for manager, want := range pushed {
		t.Run(manager, func(t *testing.T) {
			m := newMachine(t, manager)
			pusher := m.in.Manager.Job(m.in.Layout, launchd.Pusher)
			there := func() (n int) {
				for _, path := range pusher.Paths() {
					if _, err := os.Lstat(filepath.Join(m.in.Root, path)); err == nil {
						n++
					}
				}
				return n
			}
			state := func(loaded bool) {
				t.Helper()
				if st, err := pusher.State(); err != nil || st.Loaded != loaded || st.Running != loaded {
					t.Errorf("state %+v, %v", st, err)
				}
			}
			called := func(from int, want []string) {
				t.Helper()
				if got := strings.Join(m.calls()[from:], "|"); !strings.Contains(got, strings.Join(want, "|")) {
					t.Errorf("calls %s\nlack  %s", got, strings.Join(want, "|"))
				}
			}
			m.install(t)
			if there() != 0 {
				t.Error("it is there unasked")
			}
			state(false)

			m.in.Push = &somePush
			before := len(m.calls())
			m.install(t)
			called(before, want.up)
			if there() != len(want.files) {
				t.Errorf("%d files, want %v", there(), want.files)
			}
			state(true)

			m.in.Push = nil // an upgrade that does not mention it
			before = len(m.calls())
			m.install(t)
			called(before, want.up)
			state(true)

			m.in.Unpush = true
			before = len(m.calls())
			m.install(t)
			called(before, want.down)
			state(false)
			if there() != 0 {
				t.Error("it is left")
			}
			m.install(t) // there is nothing to remove

			m.in.Push, m.in.Unpush = &somePush, false
			m.install(t)
			m.in.Push = nil
			file := filepath.Join(m.in.Root, m.in.Layout.PushState, "x.push")
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			before = len(m.calls())
			if err := m.in.Uninstall(false); err != nil {
				t.Fatal(err)
			}
			called(before, want.down)
			if _, err := os.Lstat(file); err != nil || there() != 0 {
				t.Errorf("%d files are left; what it had pushed: %v", there(), err)
			}
			if err := m.in.Uninstall(true); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Lstat(filepath.Dir(file)); err == nil {
				t.Error("how far it had come is left")
			}
		})
	}
}

func TestPushNeedsItsProgram(t *testing.T) {
	m := newMachine(t, "systemd")
	if err := os.Remove(filepath.Join(m.in.From, "replay")); err != nil {
		t.Fatal(err)
	}
	m.in.Push = &somePush
	if err := m.in.Install(); err == nil || !strings.HasPrefix(err.Error(), "there is no replay in ") {
		t.Errorf("no program: %v", err)
	}
}

func TestPushIsShown(t *testing.T) {
	for manager, want := range pushed {
		m := newMachine(t, manager)
		m.in.Push = &somePush
		text, err := m.in.Print()
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range slices.Concat([]string{"https://metrics.example/api/v1/write"}, want.files, want.up) {
			if !strings.Contains(text, part) {
				t.Errorf("%s: %q is not shown:\n%s", manager, part, text)
			}
		}
	}
}

// TestPushPlistReadByPython reads the plist with Python's plistlib, if Python is installed.
func TestPushPlistReadByPython(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no Python here")
	}
	odd := somePush
	odd.URL = `https://metrics.example/<&>"'é`
	cmd := exec.Command(python, "-c", "import plistlib,sys,json; json.dump(plistlib.loads(sys.stdin.buffer.read()), sys.stdout)")
	cmd.Stdin = strings.NewReader(string(launchd.MacLayout().PushPlist(odd)))
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		ProgramArguments []string
		RunAtLoad        bool
		UserName         string
	}
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	want := []string{"/Library/Tachograph/bin/replay", "push", "--follow", "--to", odd.URL, "--archive", "/var/lib/tachograph",
		"--state", "/Library/Application Support/Tachograph/Push/x.push", "--token-file", "/etc/token", "--run-as", "nobody"}
	if !slices.Equal(got.ProgramArguments, want) || !got.RunAtLoad || got.UserName != "" {
		t.Errorf("%+v, want %q", got, want)
	}
}

// TestPushUnitIsHeldTight checks that systemd understands the unit, and how systemd-analyze
// rates it.
func TestPushUnitIsHeldTight(t *testing.T) {
	l := launchd.LinuxLayout()
	unit := filepath.Join(t.TempDir(), launchd.PushUnit)
	push := somePush
	push.User, push.PasswordFile, push.TokenFile = "me", "/etc/a password%", ""
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("no systemd-analyze here")
	}
	text := strings.Replace(string(l.PushSystemdUnit(push)), l.Replay(), "/bin/true", 1) // a program that exists
	if err := os.WriteFile(unit, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(analyze, "verify", "--man=no", unit).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("systemd-analyze verify: %v\n%s", err, out)
	}
	out, err := exec.Command(analyze, "security", "--offline=true", "--no-pager", unit).CombinedOutput()
	_, mark, ok := strings.Cut(string(out), "Overall exposure level for "+launchd.PushUnit+": ")
	if !ok {
		t.Skipf("systemd-analyze gives no mark: %v", err)
	}
	if v, err := strconv.ParseFloat(strings.Fields(mark)[0], 64); err != nil || v > 2.1 {
		t.Errorf("exposure %s, want 2.1 at most\n%s", strings.Fields(mark)[0], out)
	}
}
