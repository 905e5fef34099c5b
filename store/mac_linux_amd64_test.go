package store_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tachograph/sample/darwin/darwintest"
	"tachograph/store/mend"
	"tachograph/store/storetest/proof"
	"tachograph/testdata/built"
)

// TestSimulatedMac records with the real Mac executable of this package on the
// simulated host, whose kernel panics and whose power fails: its files then
// fall back to what F_BARRIERFSYNC and F_FULLFSYNC had covered. After each
// crash everything that was covered must be there, right, and the next run
// must go on from it.
func TestSimulatedMac(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds of the simulated machine's time")
	}
	mac, err := darwintest.FindMac("..")
	darwintest.Need(t, err)
	dir := t.TempDir()
	exe, err := built.Package(built.Target{OS: "darwin", Arch: mac.Arch}, "tachograph/store.test")
	if err != nil {
		t.Fatal(err)
	}
	var crashes strings.Builder
	fmt.Fprintf(&crashes, "include %q\n", filepath.Join(mac.Shipped, "macbook-m.scn"))
	seconds, at := 0, 0
	for i := range proof.Pick(t, 2, 60) {
		at += 6 + i%3
		fmt.Fprintf(&crashes, "%s at %d down 2\n", []string{"panic", "powercut"}[i%2], at)
		at += 2
		seconds += 8
	}
	story := filepath.Join(dir, "crashes.scn")
	if err := os.WriteFile(story, []byte(crashes.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	m := &simulatedMac{
		list: proof.SealedItems(macSeed, seconds+4), root: filepath.Join(dir, "root"),
		flags: []string{"--scenario", story, "--root", filepath.Join(dir, "root"), "--resume", filepath.Join(dir, "state"), "--speed", "8"},
		mac:   mac, exe: exe,
	}
	if err := os.MkdirAll(filepath.Join(m.root, "Library"), 0o755); err != nil {
		t.Fatal(err)
	}
	for i := 0; m.run(t); i++ {
		m.check(t, []string{"panic", "power cut"}[i%2], i%2 == 1)
		if t.Failed() {
			return
		}
	}
	m.check(t, "the end", false)
	findings, err := mend.Verify(m.archives(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range findings {
		t.Error(f)
	}
}

// simulatedMac is a recording that goes on over crashes.
type simulatedMac struct {
	mac   darwintest.Mac
	flags []string
	exe   string
	root  string
	list  []proof.Item
	boots int
	from  int    // the item the next run begins with
	there []bool // items that survived the crashes so far
	said  macNotes
}

func (m *simulatedMac) archives() string { return filepath.Join(m.root, macDir) }

// run lets the machine run until it crashes, or reports false when the
// recording has come to its end.
func (m *simulatedMac) run(t *testing.T) bool {
	t.Helper()
	m.boots++
	cmd := m.mac.Command(m.flags, m.exe, "-test.run=^TestMacWriter$")
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", macFrom, m.from), fmt.Sprintf("%s=%d", macCount, len(m.list)),
		fmt.Sprintf("%s=boot-%d", macBoot, m.boots))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	m.said = readMacNotes(out)
	var exit *exec.ExitError
	switch err := cmd.Wait(); {
	case err == nil:
		return false
	case errors.As(err, &exit) && exit.ExitCode() == 64:
		return true
	default:
		t.Fatalf("boot %d: %v", m.boots, err)
		return false
	}
}

// check compares what is there with what the run said was covered.
func (m *simulatedMac) check(t *testing.T, what string, power bool) {
	t.Helper()
	c, _, err := proof.ReadDir(m.archives())
	if err != nil {
		t.Fatalf("boot %d, %s: %v", m.boots, what, err)
	}
	now, next, err := c.Survivors(m.list)
	if err != nil {
		t.Fatalf("boot %d, %s: %v", m.boots, what, err)
	}
	must := m.said.kept
	if power {
		must = m.said.safe
	}
	for i := range m.list {
		if i < len(m.there) && m.there[i] && !now[i] {
			t.Errorf("boot %d, %s: item %d survived an earlier crash and is gone", m.boots, what, i)
		}
		if m.from <= i && i < must && !now[i] {
			t.Errorf("boot %d, %s: item %d of %d covered ones is lost", m.boots, what, i, must)
		}
	}
	t.Logf("boot %d, %s: from item %d, %d accepted, %d covered, %d there", m.boots, what, m.from, m.said.accepted, must, next)
	m.there, m.from = now, max(next, m.from)
}
