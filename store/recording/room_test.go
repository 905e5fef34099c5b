package recording

import (
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"tachograph/store/disk/disktest"
	"tachograph/store/layout"
)

// The journal grows by steps of roomStep, and no other write makes it longer. Files that
// commits free are used again. At the end none of them is left.
func TestJournalIsWrittenOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		fs := disktest.New(dir)
		opt := testOptions(dir)
		opt.FS, opt.Seal = fs, 10*time.Second // a commit each two minutes
		w := create(t, opt)
		longer, writes := 0, 0
		end := make(map[string]int64)
		recordTicks(t, w, 0, 600)
		synctest.Wait()
		created, again := 0, 0
		for _, op := range fs.Ops() {
			name, journal := op.Name, strings.Contains(op.Name, ".live.j")
			switch {
			case op.Kind == disktest.Create && journal:
				created++
				end[strings.TrimSuffix(name, layout.TmpSuffix)] = 0
			case op.Kind == disktest.Rename && layout.IsSpareName(name):
				again++
				end[strings.TrimSuffix(op.To, layout.TmpSuffix)] = roomStep
			case op.Kind == disktest.Write && journal:
				name = strings.TrimSuffix(name, layout.TmpSuffix)
				writes++
				if to := op.Off + int64(len(op.Data)); to > end[name] {
					longer++
					end[name] = to
				}
			}
		}
		// The first writes to a new file are its beginning, the first record and the zeros.
		if longer > 4*created || writes < 600 {
			t.Errorf("%d of %d writes made one of %d files longer", longer, writes, created)
		}
		if again < 3*created/2 {
			t.Errorf("%d files were used again, %d made", again, created)
		}
		if !slices.ContainsFunc(names(t, dir), layout.IsSpareName) {
			t.Error("there is no spare file")
		}
		if s := w.Status(); s.JournalBytes >= roomStep {
			t.Errorf("the journal is said to have %d bytes", s.JournalBytes)
		}
		path, err := w.Rotate("test")
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names(t, dir) {
			if layout.IsSpareName(name) {
				t.Errorf("%s is left after the rotation", name)
			}
		}
		if got := numbers(t, path); !slices.Equal(got, upTo(600)) {
			t.Errorf("recorded: %v", got)
		}
		recordTicks(t, w, 600, 900)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		for _, name := range names(t, dir) {
			if layout.IsSpareName(name) || layout.IsJournalName(name) {
				t.Errorf("%s is left at the end", name)
			}
		}
	})
}

// If the disk has no room for the zeros, the journal grows with each record.
func TestNoRoomForTheJournal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		fs := disktest.New(dir)
		fs.Fail(func(op disktest.Op) error {
			if op.Kind == disktest.Write && len(op.Data) == roomStep {
				return &disktest.Short{N: 5000, Err: syscall.ENOSPC}
			}
			return nil
		})
		opt := testOptions(dir)
		opt.FS = fs
		w := create(t, opt)
		recordTicks(t, w, 0, 100)
		s := w.Status()
		if s.Degraded != "" || s.Held != 0 {
			t.Errorf("%+v", s)
		}
		st, err := os.Stat(layout.JournalName(s.Path, 1))
		if err != nil || st.Size() > s.JournalBytes+100 {
			t.Errorf("%d bytes of the journal are in a file of %d: %v", s.JournalBytes, st.Size(), err)
		}
		if got := numbers(t, copied(t, dir, func(string) bool { return true })); !slices.Equal(got, upTo(100)) {
			t.Errorf("recorded: %v", got)
		}
	})
}
