package service

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tachograph/sample/metric"
	"tachograph/testdata/patience"
)

// command writes a shell script and returns its path.
func command(t *testing.T, text string) string {
	path := filepath.Join(t.TempDir(), "ship")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func wait(t *testing.T, what string, ok func() bool) {
	t.Helper()
	patience.Until(t, what, ok)
}

func TestFinishedArchivesAreShipped(t *testing.T) {
	b := newBench(t)
	seen := filepath.Join(t.TempDir(), "seen")
	b.cfg.Archive.OnFinish = []string{command(t, `echo "$1 $2" >> `+seen), "--to"}
	s, stop := b.run()
	path, err := s.Rotate("test")
	if err != nil {
		t.Fatal(err)
	}
	wait(t, "it is shipped", func() bool { return s.Status().LastShipping != nil && s.Status().LastShipping.Waiting == 0 })
	stop()
	text, _ := os.ReadFile(seen)
	if got := string(text); got != "--to "+path+"\n" {
		t.Errorf("the command saw %q", got)
	}
	if evs := b.archive.kinds(metric.EventShip); len(evs) != 1 || evs[0].Text != "archive shipped: "+path {
		t.Errorf("events: %+v", evs)
	}
	if _, err := os.Stat(filepath.Join(b.dir, unshippedName)); err == nil {
		t.Error("the list still exists")
	}
}

func TestFailedShippingIsToldAndKept(t *testing.T) {
	b := newBench(t)
	b.cfg.Archive.OnFinish = []string{command(t, "echo first; echo no route >&2; exit 3")}
	s, stop := b.run()
	path, err := s.Rotate("test")
	if err != nil {
		t.Fatal(err)
	}
	wait(t, "it has failed", func() bool { return s.Status().LastShipping != nil && s.Status().LastShipping.Error != "" })
	stop()
	evs := b.archive.kinds(metric.EventShip)
	if len(evs) != 1 || !strings.HasSuffix(evs[0].Text, "exit status 3: no route") {
		t.Fatalf("events: %+v", evs)
	}
	// The next run takes it up again.
	seen := filepath.Join(t.TempDir(), "seen")
	b.cfg.Archive.OnFinish = []string{command(t, `echo "$1" >> `+seen)}
	_, stop = b.run()
	wait(t, "it is tried again", func() bool { text, _ := os.ReadFile(seen); return string(text) == path+"\n" })
	stop()
}

func TestCommandThatHangsIsKilledWithAllItStarted(t *testing.T) {
	b := newBench(t)
	b.cfg.Archive.OnFinish = []string{command(t, "sleep 600 & sleep 600")}
	b.cfg.Archive.OnFinishLimit = 200 * time.Millisecond
	s, stop := b.run()
	if _, err := s.Rotate("test"); err != nil {
		t.Fatal(err)
	}
	// Which is long before it would end by itself.
	wait(t, "the command has ended", func() bool { return s.Status().LastShipping != nil && s.Status().LastShipping.Error != "" })
	stop()
	if got := s.Status().LastShipping.Error; !strings.HasSuffix(got, "did not end within 200ms") {
		t.Errorf("error: %s", got)
	}
}

func TestTheCommandsEnvironmentIsClean(t *testing.T) {
	t.Setenv("LD_PRELOAD_OF_A_STRANGER", "x")
	t.Setenv("PATH", "/tmp/strangers:"+os.Getenv("PATH"))
	t.Setenv("HOME", "/tmp/strangers")
	b := newBench(t)
	seen := filepath.Join(t.TempDir(), "seen")
	b.cfg.Archive.OnFinish = []string{command(t, `/usr/bin/env | /usr/bin/sort > `+seen+".new; mv "+seen+".new "+seen)}
	s, stop := b.run()
	path, err := s.Rotate("test")
	if err != nil {
		t.Fatal(err)
	}
	wait(t, "it is shipped", func() bool { return s.Status().LastShipping != nil && s.Status().LastShipping.Waiting == 0 })
	stop()
	text, _ := os.ReadFile(seen)
	known := map[string]string{
		"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "LC_ALL": "C", "SHELL": "/bin/sh", "TACHOGRAPH_ARCHIVE": path, "TACHOGRAPH_DIR": b.dir,
		"HOME": "*", "USER": "*", "LOGNAME": "*",
		"PWD": "/", "_": "*", "SHLVL": "*", "OLDPWD": "*", // the shell's own
	}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		if want, ok := known[name]; !ok || want != "*" && want != value || strings.Contains(value, "strangers") {
			t.Errorf("the command has %s=%s, want %q", name, value, want)
		}
	}
	if !strings.Contains(string(text), "TACHOGRAPH_ARCHIVE="+path+"\n") {
		t.Errorf("environment %q", text)
	}
}

// TestAStrangersCommandIsNotRun exchanges the command's owner behind the back
// of a configuration that was read long ago.
func TestAStrangersCommandIsNotRun(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root") // who can give files away
	}
	b := newBench(t)
	program := command(t, "exit 0")
	b.cfg.Archive.OnFinish = []string{program}
	s, stop := b.run()
	defer stop()
	if err := os.Chown(program, 12345, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Rotate("test"); err != nil {
		t.Fatal(err)
	}
	wait(t, "it is shipped", func() bool { return s.Status().LastShipping != nil && s.Status().LastShipping.Error != "" })
	if ship := s.Status().LastShipping; !strings.Contains(ship.Error, "is not run") || !strings.Contains(ship.Error, "belongs to user 12345") || ship.Waiting != 1 {
		t.Errorf("%+v", ship)
	}
}

// TestOnlyArchivesFromHereAreShipped gives the recorder a list that somebody
// has written to.
func TestOnlyArchivesFromHereAreShipped(t *testing.T) {
	dir := t.TempDir()
	mine := filepath.Join(dir, "h-20250615T110000Z--20250615T120000Z.tacho")
	list := `["/etc/shadow","` + dir + `/../x.tacho","--option","` + mine + `","` + filepath.Join(dir, "recorder.lock") + `"]`
	os.WriteFile(filepath.Join(dir, unshippedName), []byte(list), 0o600)
	if sh := newShipper(&Service{}, dir); len(sh.waiting) != 1 || sh.waiting[0] != mine {
		t.Errorf("waiting %q", sh.waiting)
	}
}
