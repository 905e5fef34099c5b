package store

import (
	"bytes"
	"cmp"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
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
	seconds, sealed  int
	// all is how many values and events there are, if not all of a recording.
	all int
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
	var err error
	if tot.Events, err = putEvents(tx, tot.Events, events); err != nil {
		return err
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

// repairAndCheck repairs rec and demands that the result is sound, holds
// nothing that was not recorded, and says what is missing.
func repairAndCheck(t *testing.T, rec *recorded, whole *content, what string) *RepairReport {
	t.Helper()
	dir := t.TempDir()
	defer os.RemoveAll(dir)
	dst := filepath.Join(dir, "repaired.tacho")
	r, err := Repair(rec.archive, dst, nil)
	if err != nil && strings.Contains(what, "cut to") && strings.Contains(err.Error(), "nothing can be read") {
		return &RepairReport{}
	}
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	findings, err := Verify(dst, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range findings {
		t.Errorf("%s: repaired, but: %v", what, f)
	}
	checkBolt(t, dst)
	c, damage, err := readDir(dir)
	if err != nil || len(damage) > 0 {
		t.Fatalf("%s: repaired, but: %v, %v", what, err, damage)
	}
	kept := 0
	for at, v := range c.values {
		switch want, ok := whole.values[at]; {
		case ok && v == want:
			kept++
		case v == "absent: "+chunk.Damaged.String():
		case strings.HasPrefix(at.metric, "lost."):
		default:
			t.Fatalf("%s: %v is %s, was recorded as %s", what, at, v, want)
		}
	}
	for at, v := range c.events {
		if want := whole.events[at]; want != v {
			t.Fatalf("%s: event at %d is %s, was recorded as %s", what, at, v, want)
		}
		kept++
	}
	all := cmp.Or(rec.all, len(whole.values)+len(whole.events))
	// A journal cut between two records looks like one that a kill left.
	undetectable := strings.Contains(what, ".live.j") && strings.Contains(what, "cut to")
	if kept < all && len(r.Lost) == 0 && !undetectable {
		t.Errorf("%s: %d of %d values and events are left and no loss is stated", what, kept, all)
	}
	r.Values = uint64(kept)
	return r
}

// checkBolt runs bbolt's own check of a file.
func checkBolt(t *testing.T, path string) {
	t.Helper()
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{ReadOnly: true, PreLoadFreelist: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	err = db.View(func(tx *bbolt.Tx) error {
		for err := range tx.Check() {
			t.Errorf("%s: bbolt check: %v", filepath.Base(path), err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestRepair(t *testing.T) {
	rec := makeArchive(t, 2, 90, 110)
	whole := recordedContent(2, 110)
	all := len(whole.values) + len(whole.events)
	sound, err := os.ReadFile(rec.archive)
	if err != nil {
		t.Fatal(err)
	}
	jsound, err := os.ReadFile(rec.journal)
	if err != nil {
		t.Fatal(err)
	}
	rnd := rand.New(rand.NewSource(4))
	wipe := func(b []byte, pages ...int) []byte {
		b = bytes.Clone(b)
		for _, p := range pages {
			clear(b[p*pageSize : (p+1)*pageSize])
		}
		return b
	}
	for _, c := range []struct {
		name    string
		archive []byte // nil: gone
		journal []byte
		atLeast float64
	}{
		{"nothing wrong", sound, jsound, 1},
		{"first meta page wiped", wipe(sound, 0), jsound, 1},
		{"second meta page wiped", wipe(sound, 1), jsound, 1},
		{"both meta pages wiped", wipe(sound, 0, 1), jsound, 1},
		{"archive gone", nil, jsound, 0.15},
		{"journal gone", sound, nil, 0.8},
		{"cut in the middle", sound[:len(sound)/2], jsound, 0.15},
		{"a sector of the journal gone", sound, append(append(bytes.Clone(jsound[:len(jsound)/2]), make([]byte, 512)...), jsound[min(len(jsound), len(jsound)/2+512):]...), 0.8},
	} {
		t.Run(c.name, func(t *testing.T) {
			putFile(t, rec.archive, c.archive)
			putFile(t, rec.journal, c.journal)
			r := repairAndCheck(t, rec, whole, c.name)
			if share := float64(r.Values) / float64(all); share < c.atLeast {
				t.Errorf("%.1f%% of the values are left, want %.1f%%; lost: %v", 100*share, 100*c.atLeast, r.Lost)
			}
			if c.atLeast == 1 && len(r.Lost) > 0 && c.name != "both meta pages wiped" {
				t.Errorf("lost: %v", r.Lost)
			}
		})
	}
	putFile(t, rec.journal, jsound)
	kept, tries := 0.0, pick(t, 40, 3000)
	for range tries {
		b, what := damaged(sound, rnd)
		putFile(t, rec.archive, b)
		kept += float64(repairAndCheck(t, rec, whole, what).Values) / float64(all)
	}
	t.Logf("flipped or cut %d times: %.1f%% of the values were saved on average", tries, 100*kept/float64(tries))
}

// TestRepairOfRecordings damages what a Writer made, finished and live.
func TestRepairOfRecordings(t *testing.T) {
	dir, list := recordDir(t, 31, 300)
	whole, damage, err := readDir(dir)
	if err != nil || len(damage) > 0 {
		t.Fatal(err, damage)
	}
	files, err := archiveFiles(dir)
	if err != nil {
		t.Fatal(err)
	}
	rnd := rand.New(rand.NewSource(8))
	for _, archive := range files {
		if isJournalName(filepath.Base(archive)) {
			continue
		}
		rec := &recorded{archive: archive, all: 1}
		checkBolt(t, archive)
		all := repairAndCheck(t, rec, whole, "undamaged").Values
		if rec.all = int(all); all < uint64(len(list)) {
			t.Fatalf("only %d values were repaired", all)
		}
		parts, err := filepath.Glob(globQuote(archive) + "*")
		if err != nil {
			t.Fatal(err)
		}
		kept, tries := 0.0, 0
		for _, part := range parts {
			sound, err := os.ReadFile(part)
			if err != nil {
				t.Fatal(err)
			}
			n := pick(t, 8, 2000)
			if isJournalName(filepath.Base(part)) {
				n = pick(t, 1, 200) // there are many
			}
			for range n {
				b, what := damaged(sound, rnd)
				putFile(t, part, b)
				kept += float64(repairAndCheck(t, rec, whole, filepath.Base(part)+": "+what).Values) / float64(all)
				tries++
			}
			putFile(t, part, sound)
		}
		t.Logf("%s: damaged %d times, %.1f%% saved on average", filepath.Base(archive), tries, 100*kept/float64(tries))
	}
}

// TestRepairOfWhatWasSetAside repairs an archive that a recorder could not take
// over and renamed, journals and all.
func TestRepairOfWhatWasSetAside(t *testing.T) {
	rec := makeArchive(t, 3, 60, 80)
	whole := repairAndCheck(t, rec, recordedContent(3, 80), "undamaged").Values
	for _, name := range []string{rec.archive, rec.journal} {
		if err := os.Rename(name, name+damagedSuffix); err != nil {
			t.Fatal(err)
		}
	}
	rec.archive += damagedSuffix
	if n := repairAndCheck(t, rec, recordedContent(3, 80), "set aside").Values; n != whole {
		t.Errorf("%d of %d values were saved", n, whole)
	}
}

// recordedContent is what a machine's first seconds hold.
func recordedContent(seed uint64, seconds int) *content {
	c := &content{values: map[cell]string{}, events: map[int64]string{}}
	for _, it := range sealedItems(seed, seconds) {
		if it.event != nil {
			c.events[it.event.At.Wall] = eventText(it.event)
			continue
		}
		cells(it.tick, func(at cell, v string) { c.values[at] = v })
	}
	return c
}

// putFile writes a file, or removes it if b is nil.
func putFile(t *testing.T, name string, b []byte) {
	t.Helper()
	err := os.Remove(name)
	if b != nil {
		err = os.WriteFile(name, b, 0o600)
	}
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
}
