package service

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestStatusFileComesAndStays(t *testing.T) {
	b := newBench(t)
	s, stop := b.run()
	wait(t, "there is a status file", func() bool { _, err := ReadStatus(b.dir); return err == nil })
	wait(t, "there is a tick", func() bool { return s.Status().Values > 0 })
	stop()
	st, err := ReadStatus(b.dir)
	if err != nil || !st.Stopped || st.PID != os.Getpid() || st.BootID != "this boot" || st.Values == 0 {
		t.Errorf("status: %+v, %v", st, err)
	}
	info, err := os.Stat(filepath.Join(b.dir, StatusName))
	if err != nil || info.Mode().Perm()&0o037 != 0 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	line := st.Line()
	if !strings.Contains(line, " values, archive ") || !strings.Contains(line, " 0 overruns") {
		t.Errorf("line: %s", line)
	}
}

func TestJudge(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	healthy := Status{
		PID: os.Getpid(), At: now.Add(-2 * time.Second), Started: now.Add(-24 * time.Hour), Values: 864000,
		Classes: []ClassStatus{{Class: "fast", IntervalSeconds: 1, LastTick: now.Add(-3 * time.Second), Ticks: 100}, {Class: "static", Ticks: 1, LastTick: now.Add(-23 * time.Hour)}},
		Archive: ArchiveStatus{Bytes: 10 << 20, Since: now.Add(-12 * time.Hour), Finished: 3, FinishedBytes: 60 << 20, Oldest: now.Add(-84 * time.Hour)},
		KeepFor: Seconds(30 * 24 * time.Hour), KeepSize: 100 << 20,
	}
	for _, tc := range []struct {
		name   string
		change func(*Status)
		locked bool
		want   string
	}{
		{"healthy", func(*Status) {}, true, ""},
		{"gone", func(*Status) {}, false, "it is gone without having been stopped"},
		{"stopped", func(s *Status) { s.Stopped = true }, false, "it was stopped"},
		{"silent", func(s *Status) { s.At = now.Add(-5 * time.Minute) }, true, "it has not shown any life for 5m"},
		{"a class stands still", func(s *Status) { s.Classes[0].LastTick = now.Add(-time.Minute) }, true, "class fast was last read 58s ago"},
		{"disk full", func(s *Status) { s.Archive.Trouble = "no space" }, true, "nothing can be stored: no space"},
		{"a source fails", func(s *Status) { s.Faults = []string{"source smc: no"} }, true, "source smc: no"},
		{"a reload is refused", func(s *Status) { s.LastReload = &Reload{At: now, Error: "f:3: no key\nf:4: no key"} }, true,
			"the last reload was refused: f:3: no key; f:4: no key"},
		{"shipping fails", func(s *Status) { s.LastShipping = &Shipping{Error: "no route"} }, true, "the last shipping failed: no route"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			f, err := os.Create(filepath.Join(dir, lockName))
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if tc.locked {
				if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
					t.Fatal(err)
				}
			}
			st := healthy
			st.Classes = append([]ClassStatus(nil), healthy.Classes...)
			tc.change(&st)
			r := Judge(dir, st, now)
			if got := r.Sentence(); got != tc.want || r.Healthy != (tc.want == "") {
				t.Errorf("problems %q, want %q", got, tc.want)
			}
			if tc.name == "healthy" && (r.DaysKept < 3.49 || r.DaysKept > 3.51 || r.BytesPerDay>>20 != 20 || r.DaysFit < 4.9 || r.DaysFit > 5.1 || r.ValuesPerSecond != 864000.0/86398) {
				t.Errorf("report: %+v", r)
			}
		})
	}
}

func TestSizes(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 999: "999 B", 1000: "0.977 KB", 1536: "1.5 KB", 150 << 20: "150 MB", 3 << 40: "3 TB"} {
		if got := Size(n); got != want {
			t.Errorf("%d bytes print as %s, want %s", n, got, want)
		}
	}
}

// TestStatusReadsOnlyAFile puts what would hang or mislead a reader in the
// place of the status file and of the lock.
func TestStatusReadsOnlyAFile(t *testing.T) {
	for name, put := range map[string]func(path string) error{
		"pipe":    func(path string) error { return syscall.Mkfifo(path, 0o644) },
		"link":    func(path string) error { return os.Symlink("/etc/passwd", path) },
		"device":  func(path string) error { return os.Symlink("/dev/zero", path) },
		"no end":  func(path string) error { os.WriteFile(path, nil, 0o644); return os.Truncate(path, 1<<40) },
		"folder":  func(path string) error { return os.Mkdir(path, 0o755) },
		"nothing": func(path string) error { return os.WriteFile(path, nil, 0o644) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := put(filepath.Join(dir, StatusName)); err != nil {
				t.Fatal(err)
			}
			if st, err := ReadStatus(dir); err == nil {
				t.Errorf("read %+v", st)
			}
			if err := put(filepath.Join(dir, lockName)); err != nil {
				t.Fatal(err)
			}
			Running(dir, Status{PID: os.Getpid()})
		})
	}
}
