package said

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"tachograph/sample/metric"
	"tachograph/sample/report"
)

// The watch notices what comes into folders, folders that come, go and are renamed, and homes of
// users who log in for the first time. When nothing changes it opens nothing, but once a minute.
func TestWatch(t *testing.T) {
	base := t.TempDir()
	users := []string{"ana"}
	asked := 0
	w := newWatch(func() (all []report.Place) {
		asked++
		for _, u := range users {
			all = append(all, report.HomePlace(filepath.Join(base, u)))
		}
		return all
	})
	defer w.close()
	at := func(u, sub string) string { return filepath.Join(base, u, "Library/Logs/DiagnosticReports", sub) }
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	open := func() (n int) {
		for _, f := range w.folders {
			if f.fd >= 0 {
				n++
			}
		}
		return n
	}
	now := metric.Stamp{Awake: int64(time.Hour)}
	step := func(what string, change func() error, after time.Duration, changed bool, folders int) {
		t.Helper()
		do(change())
		now.Awake += int64(after)
		places, got := w.changed(now)
		if got != changed || len(places) != len(users) || open() != folders {
			t.Errorf("%s: changed %v, %d places, %d folders are watched", what, got, len(places), open())
		}
	}
	nothing := func() error { return nil }
	step("nothing is there", nothing, 0, false, 0)
	step("it comes", func() error { return os.MkdirAll(at("ana", ""), 0o700) }, time.Second, false, 0)
	step("a minute later", nothing, time.Minute, true, 1)
	before := asked
	for range 50 {
		step("rest", nothing, time.Second, false, 1)
	}
	if asked != before {
		t.Errorf("places were looked for %d times", asked-before)
	}
	step("a report", func() error { return os.WriteFile(at("ana", "a.ips"), nil, 0o600) }, time.Second, true, 1)
	step("seen", nothing, time.Second, false, 1)
	step("moved", func() error {
		do(os.Mkdir(at("ana", "Retired"), 0o700))
		return os.Rename(at("ana", "a.ips"), at("ana", "Retired/a.ips"))
	}, time.Second, true, 2)
	step("another home", func() error { users = append(users, "ben"); return os.MkdirAll(at("ben", ""), 0o700) }, time.Minute, true, 3)
	step("renamed, and there again", func() error {
		do(os.Rename(at("ana", ""), at("ana", "")+" old"))
		return os.Mkdir(at("ana", ""), 0o700)
	}, time.Second, true, 3)
	step("in the new one", func() error { return os.WriteFile(at("ana", "b.ips"), nil, 0o600) }, time.Second, true, 3)
	step("a home is gone", func() error { users = users[1:]; return os.RemoveAll(filepath.Join(base, "ana")) }, time.Minute, true, 1)
}
