package report

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// desk is a home with a folder of reports, and a clock.
type desk struct {
	t     *testing.T
	home  string
	place Place
	now   time.Time
	f     *Folder
}

func newDesk(t *testing.T) *desk {
	home := t.TempDir()
	d := &desk{t: t, home: home, place: HomePlace(home), now: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)}
	d.must(os.MkdirAll(d.path("Retired"), 0o755))
	d.f = NewFolder([]Place{d.place}, Mark{})
	return d
}

func (d *desk) must(err error) {
	d.t.Helper()
	if err != nil {
		d.t.Fatal(err)
	}
}

func (d *desk) path(name string) string { return filepath.Join(d.home, d.place.Below, name) }

// crash is a report about a process with a number.
func crash(n int) string {
	return fmt.Sprintf(`{"bug_type":"309","incident_id":"I%d","name":"p%[1]d"}`+"\n"+`{"pid":%[1]d}`, n)
}

// write writes a file of some age.
func (d *desk) write(name, text string, age time.Duration) {
	d.t.Helper()
	d.must(os.WriteFile(d.path(name), []byte(text), 0o644))
	d.must(os.Chtimes(d.path(name), d.now, d.now.Add(-age)))
}

// look looks at the folders and returns the pids of the reports.
func (d *desk) look() (pids []int32, found Found) {
	d.t.Helper()
	found = d.f.Look(d.now)
	for _, r := range found.Reports {
		pids = append(pids, r.Process.PID)
	}
	return pids, found
}

// restart keeps nothing but the mark.
func (d *desk) restart() {
	b, err := json.Marshal(d.f.Mark())
	d.must(err)
	var mark Mark
	d.must(json.Unmarshal(b, &mark))
	d.f = NewFolder([]Place{d.place}, mark)
}

func (d *desk) want(got []int32, want ...int32) {
	d.t.Helper()
	if !slices.Equal(got, want) {
		d.t.Errorf("got %v, want %v", got, want)
	}
}

func TestReportsAreReturnedOnce(t *testing.T) {
	d := newDesk(t)
	d.write("a.ips", crash(1), 100*time.Hour)
	d.write("b.ips", crash(2), 2*time.Hour)
	d.write("Retired/c.ips", crash(3), 50*time.Hour)
	d.write("notes.txt", crash(4), time.Hour)
	d.write(".d.ips", crash(5), time.Hour)
	d.write("e.ips", `{"bug_type":"211"}{}`, time.Hour)
	d.write("f.ips", "rubbish", time.Hour)
	got, found := d.look()
	d.want(got, 2, 3, 1)
	if found.Again || found.Telemetry != 1 || found.Unreadable != 1 || len(found.Refused) != 0 || found.Reports[0].Path != d.path("b.ips") {
		t.Errorf("%+v", found)
	}
	for range 2 {
		got, found = d.look()
		d.want(got)
		if found.Again || found.Telemetry+found.Unreadable != 0 {
			t.Errorf("%+v", found)
		}
		d.restart()
	}
	if m := d.f.Mark(); !m.Done.Equal(d.now.Add(-25*time.Hour)) || len(m.Seen) != 3 {
		t.Errorf("%+v", m)
	}
	// It is moved, copied and touched.
	d.must(os.Rename(d.path("b.ips"), d.path("Retired/b.ips")))
	d.write("Retired/g.ips", crash(2), time.Minute)
	got, _ = d.look()
	d.want(got)
	d.write("h.ips", crash(6), 2*time.Minute)
	got, _ = d.look()
	d.want(got, 6)
}

func TestAFileGrows(t *testing.T) {
	d := newDesk(t)
	whole := crash(1)
	later := func(after time.Duration, text string, again bool, want ...int32) {
		t.Helper()
		d.now = d.now.Add(after)
		if text != "" {
			d.write("a.ips", text, 0)
		}
		got, found := d.look()
		d.want(got, want...)
		if found.Again != again {
			t.Errorf("again: %v", found.Again)
		}
	}
	step := func(text string, again bool, want ...int32) {
		t.Helper()
		later(2*time.Second, text, again, want...)
	}
	step(whole[:20], true)
	step(whole[:50], true)
	step("", true)                     // as large as before, but incomplete
	later(25*time.Second, whole, true) // it took its time
	step("", true)
	later(3*time.Second, "", false, 1)
	step("", false)

	// One that is never complete.
	d.write("b.ips", crash(2)[:len(crash(2))-2], 0)
	for range 14 {
		step("", true)
	}
	d.now = d.now.Add(2 * time.Second)
	got, found := d.look()
	d.want(got, 0)
	if found.Again || !found.Reports[0].Incomplete || found.Reports[0].Incident != "I2" {
		t.Errorf("%+v", found)
	}
	// One that vanishes.
	d.write("c.ips", crash(3), 0)
	step("", true)
	d.must(os.Remove(d.path("c.ips")))
	step("", false)
	if len(d.f.growing) != 0 {
		t.Errorf("%v", d.f.growing)
	}
	// One whose time lies in the future is not waited for.
	d.write("d.ips", crash(4), -time.Hour)
	step("", false, 4)
}

func TestManyReports(t *testing.T) {
	d := newDesk(t)
	for i := range 120 {
		d.write(fmt.Sprintf("%03d.ips", i), crash(i+1), time.Duration(i+1)*time.Hour)
	}
	var all []int32
	for look := range 3 {
		got, found := d.look()
		all = append(all, got...)
		if found.Again != (look < 2) {
			t.Errorf("look %d: again %v", look, found.Again)
		}
		d.restart()
	}
	if len(all) != 120 || !slices.IsSorted(all) {
		t.Errorf("%v", all)
	}
	if m := d.f.Mark(); len(m.Seen) != 24 {
		t.Errorf("%d files are remembered", len(m.Seen))
	}
}

func TestNothingOutsideIsRead(t *testing.T) {
	d := newDesk(t)
	outside := filepath.Join(t.TempDir(), "secret.ips")
	d.must(os.WriteFile(outside, []byte(crash(9)), 0o644))
	d.must(os.Symlink(outside, d.path("link.ips")))
	d.must(os.Link(outside, d.path("hard.ips")))
	d.must(syscall.Mkfifo(d.path("pipe.ips"), 0o644))
	d.must(os.Mkdir(d.path("dir.ips"), 0o755))
	d.must(os.Remove(d.path("Retired")))
	d.must(os.Symlink(filepath.Dir(outside), d.path("Retired")))
	got, found := d.look()
	d.want(got)
	if len(found.Refused) != 1 || !strings.Contains(found.Refused[0].Error(), "Retired") || found.Again {
		t.Errorf("%+v", found)
	}

	// The folder itself is a link, and so is one above it.
	for _, name := range []string{"Library/Logs/DiagnosticReports", "Library"} {
		home := t.TempDir()
		link := filepath.Join(home, name)
		d.must(os.MkdirAll(filepath.Dir(link), 0o755))
		d.must(os.Symlink(filepath.Join(d.home, name), link))
		d.f = NewFolder([]Place{HomePlace(home)}, Mark{})
		d.write("own.ips", crash(1), time.Hour)
		got, found = d.look()
		d.want(got)
		if len(found.Refused) == 0 {
			t.Errorf("%s: not refused", name)
		}
	}
}

func TestNoFolder(t *testing.T) {
	d := newDesk(t)
	d.f = NewFolder([]Place{HomePlace(filepath.Join(d.home, "nobody"))}, Mark{})
	if _, found := d.look(); len(found.Refused) != 0 || found.Again {
		t.Errorf("%+v", found)
	}
}

// TestAFlood writes more files than are remembered.
func TestAFlood(t *testing.T) {
	f := NewFolder(nil, Mark{})
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for i := range 2 * mostSeen {
		id := fmt.Sprint(i)
		f.seen[id] = Seen{File: id, Written: now.Add(-time.Duration(i) * time.Second)}
	}
	f.forget(now, true)
	if m := f.Mark(); len(m.Seen) > mostSeen || !m.Done.Equal(now.Add(-(mostSeen-1)*time.Second)) {
		t.Errorf("%d, %v", len(m.Seen), m.Done)
	}
}
