package recording

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/disk"
	"tachograph/store/journal"
	"tachograph/store/layout"
	"tachograph/store/storetest"
	"tachograph/store/storetest/proof"
)

// machineOf records an invented machine and knows what a reader must find.
type machineOf struct {
	*storetest.Machine
	w      *Writer
	clock  *proof.Clock
	ledger storetest.Ledger
	second int
}

func newMachineOf(t *testing.T, dir string, processes int) *machineOf {
	t.Helper()
	m := storetest.NewMachine(5)
	m.Processes = processes
	k := &machineOf{Machine: m, clock: proof.NewClock(m.Start), ledger: make(storetest.Ledger)}
	opt := testOptions(dir)
	opt.Catalog, opt.Intervals, opt.Now, opt.Seal = m.Catalog(), m.Intervals(), k.clock.Now, DefaultSeal
	k.w = create(t, opt)
	return k
}

// step records one second, and lets goroutines that wait for the disk continue.
func (m *machineOf) step(t *testing.T) {
	t.Helper()
	time.Sleep(time.Second)
	m.clock.Set(m.At(m.second))
	for _, tick := range m.Ticks(m.second) {
		if err := m.w.Append(tick); err != nil {
			t.Fatal(err)
		}
		for _, b := range tick.Blocks {
			for i, in := range b.Rows {
				for c, d := range b.Group.Metrics {
					m.ledger.Note(d, in, metric.Stamp{Wall: b.At.Wall, Cont: b.At.Cont}, b.Cols[c].At(d.Type, i))
				}
			}
		}
	}
	m.second++
	synctest.Wait()
}

// check compares what r reads with what was recorded.
func (m *machineOf) check(t *testing.T, r *store.Reader) {
	t.Helper()
	got := make(storetest.Ledger)
	for run := range r.Select(store.Selection{}) {
		for i := range run.Wall {
			got.Note(run.Metric, run.Instance, metric.Stamp{Wall: run.Wall[i], Cont: run.Cont[i]}, run.At(i))
		}
	}
	got.Compare(t, m.ledger)
	for _, a := range r.Archives() {
		if len(a.Damage) > 0 {
			t.Fatal(a.Damage)
		}
	}
}

// part describes one generation of a journal.
type part struct {
	records, copies int64 // bytes
	first, last     int64 // continuous clocks of ticks
}

func parts(t *testing.T, dir string) (list []part) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*"+layout.LiveSuffix+".j*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		f, err := disk.OS.OpenFile(name, os.O_RDONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		r, err := journal.NewReader(f, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		var p part
		for at := r.Offset(); ; at = r.Offset() {
			rec, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if rec.Copy != nil {
				p.copies += r.Offset() - at
				continue
			}
			p.records += r.Offset() - at
			if rec.Tick != nil {
				if p.last = rec.Tick.At.Cont; p.first == 0 {
					p.first = p.last
				}
			}
		}
		list = append(list, p)
	}
	return list
}

// A reader of a live archive decodes few records one by one, however much the journal holds.
// It reads what was recorded, both a new reader and one that stays open, at any time, across
// rotations, copies, commits and the end.
func TestALiveArchiveOpensByParts(t *testing.T) {
	proof.Unraced(t)
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		m := newMachineOf(t, dir, 150)
		m.step(t)
		stays, err := store.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer stays.Close()
		most, commits, last := 0, int64(0), 1100
		if proof.Long() {
			last = 1500
		}
		for m.second < last {
			m.step(t)
			now := m.w.Status().Commits
			if m.second%97 != 0 && now == commits {
				continue
			}
			commits = now
			list := parts(t, dir)
			most = max(most, len(list))
			for i, p := range list {
				young := p.last-p.first < partLeast+5e9
				if !young && p.records > partBytes+partBytes/8 {
					t.Fatalf("second %d: part %d of %d has %d bytes of records", m.second, i, len(list), p.records)
				}
				if i > 0 && p.copies == 0 {
					t.Fatalf("second %d: part %d of %d has no copy of the one before", m.second, i, len(list))
				}
				if i+1 < len(list) && p.last-p.first < partLeast-5e9 {
					t.Fatalf("second %d: part %d of %d is of %v", m.second, i, len(list), time.Duration(p.last-p.first))
				}
			}
			anew, err := store.Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			m.check(t, anew)
			anew.Close()
			if err := stays.Refresh(); err != nil {
				t.Fatal(err)
			}
			m.check(t, stays)
		}
		if most < 4 || commits == 0 {
			t.Errorf("there were %d parts at most, and %d commits", most, commits)
		}
		path, err := m.w.Rotate("test")
		if err != nil {
			t.Fatal(err)
		}
		if err := stays.Refresh(); err != nil {
			t.Fatal(err)
		}
		m.check(t, stays)
		r, err := store.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		m.check(t, r)
	})
}
