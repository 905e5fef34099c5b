package store_test

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/disk/disktest"
	"tachograph/store/recording"
	"tachograph/store/storetest/proof"
	"tachograph/store/storetest/recorded"
)

// faulty records list through trouble that begins and ends at given items,
// and returns which items were accepted, held and dropped.
type faulty struct {
	dir      string
	list     []proof.Item
	log      proof.Log
	w        *recording.Writer
	clock    proof.Passing
	outcomes []error
}

func newFaulty(t *testing.T, opt func(*recording.Options)) *faulty {
	t.Helper()
	tr := &faulty{dir: filepath.Join(t.TempDir(), "archive"), list: proof.Items(21, 20000)}
	tr.clock = proof.From(tr.list[0].At())
	o := recorded.ProofOptions(tr.dir, 21, tr.clock.Now)
	o.Log = slog.New(&tr.log)
	if opt != nil {
		opt(&o)
	}
	var err error
	if tr.w, err = recording.Create(o); err != nil {
		t.Fatal(err)
	}
	return tr
}

// record gives the writer the items up to number to, each in its second.
func (tr *faulty) record(t *testing.T, to int) {
	t.Helper()
	for i := len(tr.outcomes); i < to; i++ {
		tr.clock.Until(tr.list[i].At())
		err := tr.list[i].Append(tr.w)
		if err != nil && !errors.Is(err, recording.ErrHeld) && !errors.Is(err, recording.ErrDropped) {
			t.Fatalf("item %d: %v", i, err)
		}
		tr.outcomes = append(tr.outcomes, err)
	}
}

// until records on until the writer is in trouble, or out of it.
func (tr *faulty) until(t *testing.T, trouble bool) {
	t.Helper()
	for end := len(tr.outcomes) + 1000; (tr.w.Status().Degraded != "") != trouble; {
		if tr.record(t, len(tr.outcomes)+1); len(tr.outcomes) == end {
			t.Fatalf("the trouble that was waited for: %v; the status %+v", trouble, tr.w.Status())
		}
	}
}

// check closes the writer and compares what is there with what was promised:
// all that was not dropped, from item from on.
func (tr *faulty) check(t *testing.T, from int) {
	t.Helper()
	if err := tr.w.Close(); err != nil {
		t.Fatal(err)
	}
	c, damage, err := proof.ReadDir(tr.dir)
	if err != nil || len(damage) > 0 {
		t.Fatalf("reading: %v, %v", err, damage)
	}
	there, _, err := c.Survivors(tr.list)
	if err != nil {
		t.Fatal(err)
	}
	dropped := 0
	for i, err := range tr.outcomes {
		want := !errors.Is(err, recording.ErrDropped)
		if !want {
			dropped++
		}
		if i >= from && there[i] != want && !empty(tr.list[i]) {
			t.Errorf("item %d: is there: %v, outcome was %v", i, there[i], err)
		}
	}
	told, ended := 0, 0
	for _, line := range tr.log.All() {
		if strings.Contains(line, "recording goes on in memory") {
			told++
		}
		if strings.Contains(line, "can be written again") {
			ended++
		}
	}
	if told != 1 || ended != 1 {
		t.Errorf("the trouble was told %d times, its end %d times:\n%s", told, ended, strings.Join(tr.log.All(), "\n"))
	}
	tr.checkEvent(t, dropped)
}

// checkEvent demands an event that tells of the trouble.
func (tr *faulty) checkEvent(t *testing.T, dropped int) {
	t.Helper()
	r, err := store.Open(tr.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	said, n := 0, 0
	for e := range r.Events(0, 0, metric.EventErrorEnd, metric.EventGap) {
		n++
		if _, count, ok := strings.Cut(e.Text, "memory was full: "); ok {
			k, err := strconv.Atoi(strings.Fields(count)[0])
			if err != nil {
				t.Errorf("event %q: %v", e.Text, err)
			}
			said += k
		}
	}
	if n != 1 {
		t.Errorf("%d events tell of the trouble", n)
	}
	if said != dropped {
		t.Errorf("%d items were dropped, events say %d", dropped, said)
	}
}

// count counts outcomes.
func (tr *faulty) count(want error) int {
	n := 0
	for _, err := range tr.outcomes {
		if errors.Is(err, want) {
			n++
		}
	}
	return n
}

// TestFaults makes the disk refuse in several ways and then not.
func TestFaults(t *testing.T) {
	for _, c := range []struct {
		name  string
		bound int64
		fault string
		held  bool // Append must say so
		drops bool
	}{
		{"disk full", 0, "write, bolt commit, create: ENOSPC", true, false},
		{"disk full in the middle of a record", 0, "write, bolt commit: ENOSPC after 3 bytes", true, false},
		{"disk full for longer than memory lasts", 1, "write, bolt commit, create: ENOSPC", true, true},
		{"read-only file system", 0, "write, bolt commit, create, truncate, rename, remove: EROFS", true, false},
		{"input/output errors", 0, "write, bolt commit, barrier, sync: EIO", true, false},
		{"syncs fail", 0, "barrier, sync: EIO", false, false},
		{"commits fail", 0, "bolt commit: EIO", false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var d *disktest.FS
				tr := newFaulty(t, func(o *recording.Options) {
					d = disktest.New(o.Dir)
					o.FS, o.MemoryBound, o.Sync = d, c.bound, time.Second
				})
				tr.record(t, 60)
				d.Fail(disktest.Faults(c.fault))
				tr.record(t, 140)
				tr.until(t, true)
				tr.record(t, len(tr.outcomes)+10)
				if held := tr.count(recording.ErrHeld) > 0; held != c.held {
					t.Errorf("%d items were held", tr.count(recording.ErrHeld))
				}
				if drops := tr.count(recording.ErrDropped) > 0; drops != c.drops {
					t.Errorf("%d items were dropped", tr.count(recording.ErrDropped))
				}
				d.Fail(nil)
				tr.until(t, false)
				tr.record(t, max(300, len(tr.outcomes)))
				tr.check(t, 0)
			})
		})
	}
}

// TestDirectoryTakenAway takes the archive away under the writer. It must begin
// a new one in the same place; what it has in memory goes there.
func TestDirectoryTakenAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := newFaulty(t, nil)
		tr.record(t, 60)
		old := tr.w.Status().ID
		if err := os.RemoveAll(tr.dir); err != nil {
			t.Fatal(err)
		}
		tr.record(t, 300)
		if s := tr.w.Status(); s.Degraded != "" || s.ID == old {
			t.Fatalf("%+v", s)
		}
		tr.record(t, 360)
		tr.check(t, 300)
	})
}

// empty reports whether an item leaves no trace: a tick without instances.
func empty(it proof.Item) bool {
	n := 0
	if it.Event == nil {
		proof.Cells(it.Tick, func(proof.Cell, string) { n++ })
	}
	return it.Event == nil && n == 0
}
