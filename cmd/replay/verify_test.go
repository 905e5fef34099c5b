package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tachograph/cmd/internal/cli"
	"tachograph/sample/metric"
	"tachograph/store/recording"
	"tachograph/store/storetest"
	"tachograph/store/storetest/proof"
)

// finishedArchive records two minutes of a made-up machine.
func finishedArchive(t *testing.T) string {
	t.Helper()
	m := storetest.NewMachine(1)
	clock := proof.NewClock(m.At(0))
	w, err := recording.Create(recording.Options{
		Dir: t.TempDir(), Host: metric.Host{ID: "1", Name: "mac"}, BootID: "b", TimeZone: "UTC",
		Catalog: m.Catalog(), Intervals: m.Intervals(), Now: clock.Now,
	})
	if err != nil {
		t.Fatal(err)
	}
	for s := range 120 {
		clock.Set(m.At(s))
		for _, tick := range m.Ticks(s) {
			if err := w.Append(tick); err != nil {
				t.Fatal(err)
			}
		}
	}
	path, err := w.Rotate("test")
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	proof.Sound(t, path)
	return path
}

// fullest is the stretch of n bytes with the fewest zeros.
func fullest(b []byte, n int) []byte {
	best, at := n+1, 0
	for i := 0; i+n <= len(b); i += n / 4 {
		if zeros := bytes.Count(b[i:i+n], []byte{0}); zeros < best {
			best, at = zeros, i
		}
	}
	return b[at : at+n]
}

// runReplay runs a command line.
func runReplay(args ...string) (status int, stdout, stderr string) {
	var out, errs bytes.Buffer
	status = newApp(&out, &errs, time.Now).run(args)
	return status, out.String(), errs.String()
}

func TestVerifyAndRepairCommands(t *testing.T) {
	t.Parallel()
	path := finishedArchive(t)
	if status, out, errs := runReplay("verify", path); status != cli.Yes || !strings.Contains(out, "as it was written") {
		t.Fatalf("verify of a sound archive: %d %q %q", status, out, errs)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// The largest stretch of the file without empty space holds values.
	clear(fullest(b, 600))
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	status, out, errs := runReplay("verify", path)
	if status != cli.No || errs != "" {
		t.Fatalf("verify of a damaged archive: %d %q %q", status, out, errs)
	}
	for _, line := range strings.Split(strings.TrimSpace(out), "\n") {
		if !strings.HasPrefix(line, path+": ") {
			t.Errorf("a finding that does not name its file: %q", line)
		}
	}
	if status, out, _ := runReplay("verify", "--format", "json", path); status != cli.No || !strings.Contains(out, `"where":`) {
		t.Errorf("verify --format json: %d %q", status, out)
	}

	dst := filepath.Join(t.TempDir(), "new.tacho")
	status, out, errs = runReplay("repair", path, "-o", dst)
	if status != cli.No || !strings.Contains(out, "lost: ") {
		t.Fatalf("repair: %d %q %q", status, out, errs)
	}
	if status, out, errs := runReplay("verify", dst); status != cli.Yes {
		t.Errorf("verify of the repaired archive: %d %q %q", status, out, errs)
	}
	if status, _, errs := runReplay("repair", path, "-o", dst); status != cli.Failed || !strings.Contains(errs, "exists") {
		t.Errorf("repair onto an existing file: %d %q", status, errs)
	}
	if status, _, errs := runReplay("repair", path); status != cli.Failed || !strings.Contains(errs, "-o NEW") {
		t.Errorf("repair without a name: %d %q", status, errs)
	}
	if status, _, errs := runReplay("verify", filepath.Join(t.TempDir(), "none")); status != cli.Failed || errs == "" {
		t.Errorf("verify of nothing: %d %q", status, errs)
	}
}
