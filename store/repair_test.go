package store

import (
	"bytes"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"testing"

	"go.etcd.io/bbolt"

	"tachograph/sample/metric"
	"tachograph/store/chunk"
	"tachograph/store/disk"
	"tachograph/store/journal"
	"tachograph/store/storetest"
)

// recorded is a recording of a storetest.Machine, as an archive of several
// chunks a class and a journal of what comes after them.
type recorded struct {
	archive, journal string
	from             metric.Stamp
	seconds, sealed  int
}

// makeArchive records seconds of a machine: those before sealed go into the
// archive, thirty to a chunk, the others into its journal.
func makeArchive(t *testing.T, seed uint64, sealed, seconds int) *recorded {
	t.Helper()
	dir := t.TempDir()
	rec := &recorded{archive: filepath.Join(dir, "host-20250615T120000Z.live"), seconds: seconds, sealed: sealed}
	rec.journal = rec.archive + ".j000001"
	db, err := disk.OS.OpenBolt(rec.archive, 0o600, bbolt.Options{NoFreelistSync: true})
	if err != nil {
		t.Fatal(err)
	}
	m := storetest.NewMachine(seed)
	h := &header{Format: FormatVersion, ID: "0123456789abcdef", Host: Host{Name: "host"}, BootID: "boot", TimeZone: "UTC"}
	cat := newCatalogue(nil)
	for _, d := range m.Catalogue() {
		cat.number(d)
	}
	tot := totals{Chunks: make(map[string]uint32)}
	update := func(fn func(tx *bbolt.Tx) error) {
		t.Helper()
		if err := db.Update(fn); err != nil {
			t.Fatal(err)
		}
	}
	update(func(tx *bbolt.Tx) error {
		if err := createLayout(tx, h); err != nil {
			return err
		}
		if err := putConfig(tx, "[sampling]\n"); err != nil {
			return err
		}
		first, ds := cat.pending()
		tot.Metrics = uint32(len(ds))
		return putMetrics(tx, first, ds)
	})
	f, err := disk.OS.OpenFile(rec.journal, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	jw := journal.NewWriter(f, journal.Header{Archive: h.ID, Generation: 1, At: m.At(sealed)}, nil)
	builders := map[metric.Class]*chunk.Builder{}
	var events []metric.Event
	for s := range seconds {
		for _, tick := range m.Ticks(s) {
			if s >= sealed {
				if err := jw.Tick(tick); err != nil {
					t.Fatal(err)
				}
				continue
			}
			b := builders[tick.Class]
			if b == nil {
				b = chunk.NewBuilder(tick.Class)
				builders[tick.Class] = b
			}
			if err := b.Append(tick); err != nil {
				t.Fatal(err)
			}
		}
		if e, ok := m.Event(s); ok {
			if s >= sealed {
				if err := jw.Event(&e); err != nil {
					t.Fatal(err)
				}
			} else {
				events = append(events, e)
			}
		}
		if s < sealed && s%30 == 29 {
			update(func(tx *bbolt.Tx) error { return sealAll(tx, builders, cat, events, &tot) })
			events = nil
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return rec
}

func sealAll(tx *bbolt.Tx, builders map[metric.Class]*chunk.Builder, cat *catalogue, events []metric.Event, tot *totals) error {
	for class, b := range builders {
		if b.Ticks() == 0 {
			continue
		}
		s, err := b.Seal(cat.number)
		if err != nil {
			return err
		}
		if err := putChunk(tx, tot.Chunks[class.String()], s); err != nil {
			return err
		}
		tot.Chunks[class.String()]++
		b.Reset()
	}
	if len(events) > 0 {
		if err := putEvents(tx, tot.Events, events); err != nil {
			return err
		}
		tot.Events++
	}
	return putTotals(tx, tot)
}

func TestVerifySound(t *testing.T) {
	rec := makeArchive(t, 1, 90, 120)
	var done, total int64
	findings, err := Verify(filepath.Dir(rec.archive), func(d, n int64) { done, total = d, n })
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range findings {
		t.Error(f)
	}
	if done != total || total == 0 {
		t.Errorf("progress ended at %d of %d", done, total)
	}
}

// TestVerifyFindsEveryFlippedBit demands a finding for every bit that matters,
// and demands of each repair that its result is sound.
func TestRepairFlippedBits(t *testing.T) {
	rec := makeArchive(t, 2, 90, 110)
	sound, err := os.ReadFile(rec.archive)
	if err != nil {
		t.Fatal(err)
	}
	whole := repairTo(t, rec.archive, filepath.Join(t.TempDir(), "whole.tacho"))
	if len(whole.Lost) > 0 || len(whole.Damage) > 0 {
		t.Fatalf("repairing a sound archive lost %v, found %v", whole.Lost, whole.Damage)
	}
	rnd := rand.New(rand.NewSource(4))
	n := 120
	if testing.Short() {
		n = 30
	}
	kept := 0.0
	for i := range n {
		b := bytes.Clone(sound)
		at := rnd.Intn(len(b))
		b[at] ^= 1 << rnd.Intn(8)
		if err := os.WriteFile(rec.archive, b, 0o600); err != nil {
			t.Fatal(err)
		}
		findings, err := Verify(rec.archive, nil)
		if err != nil {
			t.Fatal(err)
		}
		dst := filepath.Join(t.TempDir(), fmt.Sprintf("%d.tacho", i))
		r := repairTo(t, rec.archive, dst)
		kept += float64(r.Values) / float64(whole.Values)
		if r.Values < whole.Values && (len(r.Lost) == 0 || len(findings) == 0) {
			t.Errorf("byte %d: %d of %d values kept, lost: %v, findings: %v", at, r.Values, whole.Values, r.Lost, findings)
		}
		findings, err = Verify(dst, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range findings {
			t.Errorf("byte %d: repaired, but: %v", at, f)
		}
		os.Remove(dst)
	}
	t.Logf("%.1f%% of the values were kept on average", 100*kept/float64(n))
}

func repairTo(t *testing.T, src, dst string) *RepairReport {
	t.Helper()
	r, err := Repair(src, dst, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
