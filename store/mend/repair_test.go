package mend_test

import (
	"bytes"
	"cmp"
	"errors"
	"math/rand"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.etcd.io/bbolt"

	"tachograph/sample/metric"
	"tachograph/store/chunk"
	"tachograph/store/disk"
	"tachograph/store/fault"
	"tachograph/store/journal"
	"tachograph/store/layout"
	"tachograph/store/mend"
	"tachograph/store/storetest"
	"tachograph/store/storetest/proof"
	"tachograph/store/storetest/recorded"
)

// A sample is a recording of a storetest.Machine: an archive with several chunks of a class,
// and a journal of the seconds after them.
type sample struct {
	archive, journal string
	seconds, sealed  int
	// all is the number of values and events, if it is not all of a recording.
	all int
}

// makeArchive records seconds of a machine. Those before sealed go into the archive, thirty
// to a chunk, the others into its journal.
func makeArchive(t *testing.T, seed uint64, sealed, seconds int) *sample {
	t.Helper()
	dir := t.TempDir()
	rec := &sample{archive: filepath.Join(dir, "host-20250615T120000Z.live"), seconds: seconds, sealed: sealed}
	rec.journal = rec.archive + ".j000001"
	db, err := disk.OS.OpenBolt(rec.archive, 0o600, bbolt.Options{NoFreelistSync: true})
	if err != nil {
		t.Fatal(err)
	}
	m := storetest.NewMachine(seed)
	h := &layout.Header{Format: layout.FormatVersion, ID: "0123456789abcdef", Host: metric.Host{Name: "host"}, BootID: "boot", TimeZone: "UTC"}
	cat := layout.NewCatalog(nil)
	for _, d := range m.Catalog() {
		cat.Number(d)
	}
	var tot layout.Totals
	update := func(fn func(*layout.Builder)) {
		t.Helper()
		if err := db.Update(layout.Build(&tot, fn)); err != nil {
			t.Fatal(err)
		}
	}
	update(func(b *layout.Builder) {
		b.Create(h)
		b.Settings("[sampling]\n", metric.Intervals{})
		b.Descs(cat.Pending())
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
			update(func(b *layout.Builder) { sealAll(b, builders, cat, events) })
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

func sealAll(to *layout.Builder, builders map[metric.Class]*chunk.Builder, cat *layout.Catalog, events []metric.Event) {
	for _, b := range builders {
		if b.Ticks() == 0 {
			continue
		}
		s, err := b.Seal(cat.Number)
		if err != nil {
			to.Fail(err)
			return
		}
		to.Chunk(s)
		b.Reset()
	}
	to.Events(slices.Values(events))
	to.Count()
}

// An error of progress ends the check where it is.
func TestVerifyEnds(t *testing.T) {
	rec := makeArchive(t, 1, 90, 120)
	enough := errors.New("enough")
	calls := 0
	findings, err := mend.Verify(filepath.Dir(rec.archive), func(done, total int64) error {
		if calls++; done == total {
			t.Error("it went on to the end")
		}
		return enough
	})
	if !errors.Is(err, enough) || findings != nil || calls != 1 {
		t.Errorf("%v, %v after %d calls", findings, err, calls)
	}
}

func TestVerifySound(t *testing.T) {
	rec := makeArchive(t, 1, 90, 120)
	var done, total int64
	findings, err := mend.Verify(filepath.Dir(rec.archive), func(d, n int64) error { done, total = d, n; return nil })
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

// repairAndCheck repairs rec and checks that the result is sound, holds nothing that was not
// recorded, and says what is missing.
func repairAndCheck(t *testing.T, rec *sample, whole *proof.Content, what string) *mend.RepairReport {
	t.Helper()
	dir := t.TempDir()
	defer os.RemoveAll(dir)
	dst := filepath.Join(dir, "repaired.tacho")
	r, err := mend.Repair(rec.archive, dst, nil)
	if err != nil && strings.Contains(what, "cut to") && (strings.Contains(err.Error(), "nothing can be read") || fault.Of(err) == fault.NotArchive) {
		return &mend.RepairReport{}
	}
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	findings, err := mend.Verify(dst, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range findings {
		t.Errorf("%s: repaired, but: %v", what, f)
	}
	proof.CheckBolt(t, dst)
	c, damage, err := proof.ReadDir(dir)
	if err != nil || len(damage) > 0 {
		t.Fatalf("%s: repaired, but: %v, %v", what, err, damage)
	}
	kept := 0
	for at, v := range c.Values {
		switch want, ok := whole.Values[at]; {
		case ok && v == want:
			kept++
		case v == "absent: "+chunk.Damaged.String():
		case strings.HasPrefix(at.Metric, "lost."):
		default:
			t.Fatalf("%s: %v is %s, was recorded as %s", what, at, v, want)
		}
	}
	for at, v := range c.Events {
		if want := whole.Events[at]; want != v {
			t.Fatalf("%s: event at %d is %s, was recorded as %s", what, at, v, want)
		}
		kept++
	}
	all := cmp.Or(rec.all, len(whole.Values)+len(whole.Events))
	// A journal that is cut between two records looks as if a kill had left it so.
	undetectable := strings.Contains(what, ".live.j") && strings.Contains(what, "cut to")
	if kept < all && len(r.Lost) == 0 && !undetectable {
		t.Errorf("%s: %d of %d values and events are left and no loss is stated", what, kept, all)
	}
	r.Values = uint64(kept)
	return r
}

func TestRepair(t *testing.T) {
	rec := makeArchive(t, 2, 90, 110)
	whole := recordedContent(2, 110)
	all := len(whole.Values) + len(whole.Events)
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
			clear(b[p*disk.PageSize : (p+1)*disk.PageSize])
		}
		return b
	}
	for _, c := range []struct {
		name    string
		File    []byte // nil: the file is removed
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
			proof.PutFile(t, rec.archive, c.File)
			proof.PutFile(t, rec.journal, c.journal)
			r := repairAndCheck(t, rec, whole, c.name)
			if share := float64(r.Values) / float64(all); share < c.atLeast {
				t.Errorf("%.1f%% of the values are left, want %.1f%%; lost: %v", 100*share, 100*c.atLeast, r.Lost)
			}
			if c.atLeast == 1 && len(r.Lost) > 0 && c.name != "both meta pages wiped" {
				t.Errorf("lost: %v", r.Lost)
			}
		})
	}
	proof.PutFile(t, rec.journal, jsound)
	kept, tries := 0.0, proof.Pick(t, 40, 3000)
	for range tries {
		b, what := damaged(sound, rnd)
		proof.PutFile(t, rec.archive, b)
		kept += float64(repairAndCheck(t, rec, whole, what).Values) / float64(all)
	}
	t.Logf("flipped or cut %d times: %.1f%% of the values were saved on average", tries, 100*kept/float64(tries))
}

// TestRepairOfRecordings damages recordings of a Writer, finished and live.
func TestRepairOfRecordings(t *testing.T) {
	dir, list := recorded.RecordDir(t, 31, 300)
	whole, damage, err := proof.ReadDir(dir)
	if err != nil || len(damage) > 0 {
		t.Fatal(err, damage)
	}
	files, err := layout.FilesAt(dir)
	if err != nil {
		t.Fatal(err)
	}
	rnd := rand.New(rand.NewSource(8))
	for _, archive := range files {
		if layout.IsJournalName(filepath.Base(archive)) {
			continue
		}
		rec := &sample{archive: archive, all: 1}
		proof.CheckBolt(t, archive)
		all := repairAndCheck(t, rec, whole, "undamaged").Values
		if rec.all = int(all); all < uint64(len(list)) {
			t.Fatalf("only %d values were repaired", all)
		}
		parts, err := filepath.Glob(layout.GlobQuote(archive) + "*")
		if err != nil {
			t.Fatal(err)
		}
		kept, tries := 0.0, 0
		for _, part := range parts {
			sound, err := os.ReadFile(part)
			if err != nil {
				t.Fatal(err)
			}
			n := proof.Pick(t, 8, 2000)
			if layout.IsJournalName(filepath.Base(part)) {
				n = proof.Pick(t, 1, 200) // there are many
			}
			for range n {
				b, what := damaged(sound, rnd)
				proof.PutFile(t, part, b)
				kept += float64(repairAndCheck(t, rec, whole, filepath.Base(part)+": "+what).Values) / float64(all)
				tries++
			}
			proof.PutFile(t, part, sound)
		}
		t.Logf("%s: damaged %d times, %.1f%% saved on average", filepath.Base(archive), tries, 100*kept/float64(tries))
	}
}

// TestRepairOfWhatWasSetAside repairs an archive that a recorder could not continue, and
// therefore renamed with its journals.
func TestRepairOfWhatWasSetAside(t *testing.T) {
	rec := makeArchive(t, 3, 60, 80)
	whole := repairAndCheck(t, rec, recordedContent(3, 80), "undamaged").Values
	for _, name := range []string{rec.archive, rec.journal} {
		if err := os.Rename(name, name+layout.DamagedSuffix); err != nil {
			t.Fatal(err)
		}
	}
	rec.archive += layout.DamagedSuffix
	if n := repairAndCheck(t, rec, recordedContent(3, 80), "set aside").Values; n != whole {
		t.Errorf("%d of %d values were saved", n, whole)
	}
}

// recordedContent returns what a machine records in its first seconds.
func recordedContent(seed uint64, seconds int) *proof.Content {
	c := &proof.Content{Values: map[proof.Cell]string{}, Events: map[int64]string{}}
	for _, it := range proof.SealedItems(seed, seconds) {
		if it.Event != nil {
			c.Events[it.Event.At.Wall] = proof.EventText(it.Event)
			continue
		}
		proof.Cells(it.Tick, func(at proof.Cell, v string) { c.Values[at] = v })
	}
	return c
}
