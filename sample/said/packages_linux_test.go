package said

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tachograph/sample/metric"
	"tachograph/sample/software"
)

func utc() *time.Location { return time.UTC }

// looks has a reader look again and again until nothing is being read, with ten seconds between two
// looks, and returns the sentences.
func looks(t *testing.T, p *packages, now *time.Time) (all []string) {
	t.Helper()
	for range 4 {
		*now = now.Add(10 * time.Second)
		err := p.look(metric.Stamp{Wall: now.UnixNano()}, time.Time{}, func(f Fact) { all = append(all, f.Text) })
		if err != nil {
			all = append(all, err.Error())
		}
		for _, l := range p.lists {
			if l.reading != nil {
				l.reading <- <-l.reading // it is there
			}
		}
	}
	slices.Sort(all)
	return all
}

func write(t *testing.T, path, text string) {
	t.Helper()
	os.MkdirAll(filepath.Dir(path), 0o755)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// A list is read when its file has changed and rests, and says what has changed.
func TestLists(t *testing.T) {
	root := t.TempDir()
	p := newPackages(root, utc)
	now := time.Now()
	expect := func(want ...string) {
		t.Helper()
		if got := looks(t, p, &now); !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	expect()
	path := filepath.Join(root, "lib/apk/db/installed")
	write(t, path, "P:musl\nV:1.2.4-r2\n\nP:curl\nV:8.1\n")
	expect()
	write(t, path, "P:musl\nV:1.2.5-r0\n")
	expect("curl 8.1 was removed (apk)", "musl 1.2.4-r2 → 1.2.5-r0 (apk)")
	os.Remove(path)
	expect()
	write(t, path, "P:musl\nV:1.2.5-r1\n")
	expect("musl 1.2.5-r0 → 1.2.5-r1 (apk)")
	os.Remove(path)
	os.Symlink("/etc/passwd", path)
	if got := looks(t, p, &now); len(got) == 0 || !strings.Contains(got[0], "too many levels") {
		t.Errorf("a link is a list: %q", got)
	}
}

// Snap and flatpak keep several versions, and a link to the one in use.
func TestLinks(t *testing.T) {
	root := t.TempDir()
	p := newPackages(root, utc)
	now := time.Now()
	link := func(path, to string) {
		t.Helper()
		path = filepath.Join(root, path)
		os.MkdirAll(filepath.Dir(path), 0o755)
		os.Remove(path)
		if err := os.Symlink(to, path); err != nil {
			t.Fatal(err)
		}
	}
	const commit = "9c8b7a6d5e4f30211234567890abcdef9c8b7a6d5e4f30211234567890abcdef"
	link("snap/firefox/current", "5273")
	link("snap/core22/current", "1621")
	link("var/lib/snapd/snap", filepath.Join(root, "snap"))
	link("var/lib/flatpak/app/org.gimp.GIMP/x86_64/stable/active", commit)
	link("var/lib/flatpak/app/org.gimp.GIMP/current", "x86_64/stable")
	if got := looks(t, p, &now); len(got) != 0 {
		t.Errorf("%q", got)
	}
	link("snap/firefox/current", "/snap/firefox/53210")
	link("snap/hello/current", "x1")
	os.RemoveAll(filepath.Join(root, "snap/core22"))
	link("var/lib/flatpak/app/org.gimp.GIMP/x86_64/stable/active", commit[1:])
	want := []string{"core22 1621 was removed (snap)", "firefox 5273 → 53210 (snap)", "hello x1 was installed (snap)", "org.gimp.GIMP 9c8b7a6d5e4f → c8b7a6d5e4f3 (flatpak)"}
	if got := looks(t, p, &now); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// What a log has said is not said again because the list shows it. What the log does not say of the
// version before is in the list.
func TestListsBesideLogs(t *testing.T) {
	root := t.TempDir()
	database := filepath.Join(root, "usr/lib/sysimage/rpm/rpmdb.sqlite")
	write(t, database, "")
	var installed software.List
	var fault error
	busy := false
	rpm := newRPM(software.RPM(root))
	rpm.busy = func() bool { return busy }
	rpm.read = func(context.Context) (software.List, error) { return installed, fault }
	p := &packages{software.NewLogs(root, utc), []*list{rpm}}
	now := time.Now()
	versions := func(text ...string) (all []software.Version) {
		for _, v := range text {
			all = append(all, software.Version{Text: v})
		}
		return all
	}
	changed := 0
	expect := func(want ...string) {
		t.Helper()
		changed++
		write(t, database, strings.Repeat("x", changed))
		if got := looks(t, p, &now); !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	installed = software.List{"nginx": versions("1.26-1"), "kernel-default": versions("6.4-1"), "curl": versions("8-1")}
	write(t, filepath.Join(root, "var/log/zypp/history"), "2026-01-02 03:04:05|install|curl|8-1|x86_64|\n")
	expect("curl 8-1 was installed (zypper)")
	stamp := now.Add(10 * time.Second).UTC().Format(time.DateTime)
	old, _ := os.ReadFile(filepath.Join(root, "var/log/zypp/history"))
	for _, line := range []string{"install|nginx|1.28-1", "install|kernel-default|6.5-1", "remove|curl|8-1"} {
		old = fmt.Appendf(old, "%s|%s|x86_64|\n", stamp, line)
	}
	write(t, filepath.Join(root, "var/log/zypp/history"), string(old))
	installed = software.List{"nginx": versions("1.28-1"), "kernel-default": versions("6.4-1", "6.5-1"), "zlib": versions("1-1")}
	expect("curl 8-1 was removed (zypper)", "kernel-default 6.5-1 was installed (zypper)", "nginx 1.26-1 → 1.28-1 (zypper)", "zlib 1-1 was installed (rpm)")
	installed = software.List{"nginx": versions("1.28-1"), "kernel-default": versions("6.5-1")}
	expect("kernel-default 6.4-1 was removed (rpm)", "zlib 1-1 was removed (rpm)")
	installed, busy = software.List{"nginx": versions("1.28-1", "1.29-1")}, true
	expect()
	installed, busy = software.List{"nginx": versions("1.29-1")}, false
	expect("kernel-default 6.5-1 was removed (rpm)", "nginx 1.28-1 → 1.29-1 (rpm)")
	fault = errors.New("the list of rpm: it is broken")
	if got := looks(t, p, &now); len(got) != 0 {
		t.Errorf("it is read without a change: %q", got)
	}
	expect(slices.Repeat([]string{fault.Error()}, 2)...)
}

// The real rpm, with a database of its own.
func TestRealRPM(t *testing.T) {
	if _, err := exec.LookPath("rpmbuild"); err != nil {
		t.Skip("rpm and rpmbuild cannot be had here")
	}
	root := t.TempDir()
	dir := filepath.Join(root, "usr/lib/sysimage/rpm")
	rpm := func(args ...string) {
		t.Helper()
		cmd := exec.Command("rpm", append([]string{"--dbpath", dir}, args...)...)
		cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + root, "LC_ALL=C"}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("rpm %q: %v\n%s", args, err, out)
		}
	}
	packed := func(name, version string) string {
		t.Helper()
		spec := filepath.Join(root, name+".spec")
		write(t, spec, fmt.Sprintf("Name: %s\nVersion: %s\nRelease: 1\nEpoch: 1\nSummary: x\nLicense: MIT\nBuildArch: noarch\n%%description\nx\n%%files\n", name, version))
		cmd := exec.Command("rpmbuild", "-bb", "--define", "_topdir "+root, spec)
		cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + root, "LC_ALL=C"}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("rpmbuild: %v\n%s", err, out)
		}
		return filepath.Join(root, "RPMS/noarch", fmt.Sprintf("%s-%s-1.noarch.rpm", name, version))
	}
	os.MkdirAll(dir, 0o755)
	rpm("--initdb")
	rpm("-i", "--justdb", "--nodeps", packed("nginx", "1.26"), packed("curl", "8"))
	p := &packages{software.NewLogs(root, utc), []*list{newRPM(software.RPM(root))}}
	now := time.Now()
	if got := looks(t, p, &now); len(got) != 0 {
		t.Errorf("%q", got)
	}
	rpm("-U", "--justdb", "--nodeps", packed("nginx", "1.28"), packed("zlib", "1.3"))
	rpm("-e", "--justdb", "--nodeps", "curl")
	if got, want := looks(t, p, &now), []string{"curl 1:8-1 was removed (rpm)", "nginx 1:1.26-1 → 1:1.28-1 (rpm)", "zlib 1:1.3-1 was installed (rpm)"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	was := p.lists[0].was
	if got := looks(t, p, &now); len(got) != 0 || !slices.Equal(was, versionsOf(software.RPM(root).Files())) {
		t.Errorf("the question has changed the database, or %q", got)
	}
}
