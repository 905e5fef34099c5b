//go:build linux && amd64

package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// mends are where the recorder finds by itself that macOS 27 tells it something else
// than it should, and what stands there instead where it does not look.
var mends = []struct{ file, mend, without string }{
	{"sample/darwin/interface.go", "case a.x.stands(l):", "case a.x.stands(l) && false:"},
	{"sample/darwin/tcpconn_darwin.go", "return list, l.withheld", "return list, metric.Present"},
	{"sample/darwin/memory_darwin.go", "if s.fresh.stale(", "if false && s.fresh.stale("},
	{"sample/proc/hardware_mac.go", "case !h.rests && h.still >= standsAfter:", "case !h.rests && h.still >= standsAfter && false:"},
}

// unmended builds a recorder for the simulated Mac without its mends.
func unmended(t *testing.T, arch string) string {
	t.Helper()
	root, err := filepath.Abs(moduleRoot)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	replace := make(map[string]string)
	for _, m := range mends {
		path := filepath.Join(root, m.file)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Count(string(text), m.mend) != 1 {
			t.Fatalf("%s has no %q: the mend is somewhere else now", m.file, m.mend)
		}
		replace[path] = filepath.Join(dir, filepath.Base(path))
		if err := os.WriteFile(replace[path], []byte(strings.Replace(string(text), m.mend, m.without, 1)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	list, program := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "recorder")
	if err := os.WriteFile(list, overlay, 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "build", "-buildvcs=false", "-overlay", list, "-o", program, "./cmd/recorder")
	cmd.Dir, cmd.Env = root, append(os.Environ(), "CGO_ENABLED=0", "GOOS=darwin", "GOARCH="+arch)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// What macOS 27 does is found by comparing sources alone, by a recorder that knows
// nothing of it.
func TestWitnessesAlone(t *testing.T) {
	if os.Getenv("TACHO_LONG") == "" {
		t.Skip("TACHO_LONG=1 builds a recorder without what it knows of macOS 27")
	}
	t.Parallel()
	s := laptop(t, beginning+contradictions)
	s.p.recorder = unmended(t, s.p.Arch)
	found, status := s.witnesses(t)
	if status != 1 {
		t.Errorf("status %d", status)
	}
	for _, pair := range []string{"faults: processes, machine", "energy: cpu, processes", "sockets: count, list", "interface: packets, bytes in [en0]"} {
		if !strings.HasPrefix(found[pair], "disagrees") {
			t.Errorf("%s: %q in %v", pair, found[pair], found)
		}
	}
}
