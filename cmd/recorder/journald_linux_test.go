package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"tachograph/launchd"
	"tachograph/launchd/launchdtest"
	"tachograph/sample/metric"
	"tachograph/sample/systemd/journaldtest"
	"tachograph/testdata/built"
)

// With the capabilities of the installed service the recorder reads what systemd has written down
// in places that are another user's alone, and follows its journal through a rotation.
func TestTheUnitMayReadWhatSystemdWrites(t *testing.T) {
	t.Parallel()
	journaldtest.Need(t, "setpriv")
	d := journaldtest.Start(t)
	d.Flush(t)
	built.Copy(t, os.Args[0], filepath.Join(d.Root, "tmp/recorder"))
	in := func(path string) string { return filepath.Join(d.Root, path) }
	write := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(in(path)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(in(path), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// hide gives a directory and what is in it to somebody else.
	hide := func(dir string) {
		t.Helper()
		files, err := filepath.Glob(in(dir + "/*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range append(files, in(dir)) {
			if err := os.Chown(path, 1000, 1000); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Chmod(in(dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	journal := filepath.Join("var/log/journal", journaldtest.Machine)
	write("tmp/config.toml", "[classes]\npolled = \"1s\"\n")
	write("var/crash/README", "")
	write("var/lib/systemd/pstore/README", "")
	hide("var/crash")
	hide("var/lib/systemd/pstore")
	hide(journal)

	rights := launchdtest.Settings(launchd.LinuxLayout().SystemdUnit(), "CapabilityBoundingSet")
	if len(rights) == 0 {
		t.Fatal("the unit names no capabilities")
	}
	bounding := "-all"
	for _, name := range rights {
		bounding += ",+" + strings.ToLower(strings.TrimPrefix(name, "CAP_"))
	}
	cmd := d.Command("setpriv", "--bounding-set", bounding, "--no-new-privs", "/tmp/recorder", "run", "--archive", "/var/lib/tachograph", "--config", "/tmp/config.toml")
	cmd.Env = recorderEnv()
	p := launch(t, cmd)
	p.dir = in("var/lib/tachograph")
	p.await("the first values are there", func() bool { return p.valuesOf("system.report.services") > 0 })

	const failed, restarted = "d9b373ed55a64feb8242e02dbe79a49c", "5eb03494b6584870a536b337290809b3"
	first := journaldtest.Sender{PID: 1}
	d.Send(t, first, "MESSAGE_ID="+failed, "MESSAGE=failed", "UNIT=shop.service", "UNIT_RESULT=exit-code")
	d.Rotate(t)
	hide(journal)
	d.Send(t, first, "MESSAGE_ID="+restarted, "MESSAGE=again", "UNIT=shop.service", "N_RESTARTS=3")
	write("var/crash/_usr_bin_shop.1000.crash", "ProblemType: Crash\nExecutablePath: /usr/bin/shop\nSignal: 11\n")
	write("var/lib/systemd/pstore/1/dmesg.txt", "<0>[ 12.5] Kernel panic - not syncing: the disk is gone\n")
	hide("var/crash")
	hide("var/lib/systemd/pstore/1")
	want := []string{"shop.service failed: exit-code", "shop.service is started again, restart 3", "shop crashed: SIGSEGV", "the boot before ended in a panic: Kernel panic - not syncing: the disk is gone"}
	var got []string
	p.await("the events are there", func() bool {
		got = nil
		for _, e := range events(p.dir, metric.EventService, metric.EventCrash, metric.EventPanic) {
			got = append(got, e.Text)
		}
		return len(got) >= len(want)
	})
	for _, text := range want {
		if !slices.Contains(got, text) {
			t.Errorf("%q lacks %q", got, text)
		}
	}
	p.end(syscall.SIGTERM)
	if strings.Contains(p.said(), "permission") || strings.Contains(p.said(), "not permitted") {
		t.Errorf("it said: %s", p.said())
	}
}
