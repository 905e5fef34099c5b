package recording

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/chunk"
	"tachograph/store/layout"
	"tachograph/store/storetest/proof"
)

// now reads the clocks. Tests run in bubbles of synctest, where time passes when all
// goroutines wait for it.
func now() metric.Stamp {
	up := int64(time.Since(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC))) // when bubbles begin
	return metric.Stamp{Wall: 1_790_000_000e9 + up, Awake: up, Cont: up}
}

// step lets time pass.
func step(d time.Duration) metric.Stamp {
	time.Sleep(d)
	return now()
}

// settle waits for as long as the Writer delays anything.
func settle() {
	time.Sleep(2 * retryMost)
	synctest.Wait()
}

func testOptions(dir string) Options {
	return Options{
		Dir: dir, Host: metric.Host{ID: "host-1", Name: "mac.example.com", OS: "Darwin"}, BootID: "boot-1", TimeZone: "Europe/Berlin",
		Recorder: "test", Config: "x = 1\n", Catalog: testGroup.Metrics,
		Intervals: metric.Intervals{metric.Fast: time.Second}, Sync: time.Hour, Now: now,
	}
}

var testGroup = &metric.Group{Name: "mem", Metrics: []*metric.Desc{
	{Name: "mem.a", Type: metric.U64, Sem: metric.Counter, Class: metric.Fast, Help: "first"},
	{Name: "mem.b", Type: metric.F64, Sem: metric.Instant, Class: metric.Fast, Help: "second"},
	{Name: "mem.c", Type: metric.String, Sem: metric.Discrete, Class: metric.Fast, Help: "third"},
}}

// testTick returns a tick whose values show its number.
func testTick(at metric.Stamp, n int) *metric.Tick {
	b := &metric.Block{Group: testGroup, At: at, Rows: []*metric.Instance{nil}, Cols: []metric.Column{
		{Bits: []uint64{uint64(n)}}, {Bits: []uint64{uint64(n) << 40}}, {Bits: []uint64{0}, Words: []string{fmt.Sprintf("s%d", n/10)}},
	}}
	if n%7 == 0 {
		b.Cols[1] = metric.Column{Bits: []uint64{0}, Miss: []metric.Reason{metric.Stale}}
	}
	return &metric.Tick{Class: metric.Fast, At: at, Blocks: []*metric.Block{b}}
}

// numbers returns the numbers of the ticks in the archives, and checks that each tick is
// whole.
func numbers(t testing.TB, paths ...string) []int {
	t.Helper()
	r, err := store.Open(paths...)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	return readNumbers(t, r)
}

func readNumbers(t testing.TB, r *store.Reader) []int {
	t.Helper()
	cols := map[string][]metric.Value{}
	var walls []int64
	for run := range r.Select(store.Selection{}) {
		for i := range run.Wall {
			cols[run.Metric.Name] = append(cols[run.Metric.Name], run.At(i))
			if run.Metric.Name == "mem.a" {
				walls = append(walls, run.Wall[i])
			}
		}
	}
	for _, a := range r.Archives() {
		if len(a.Damage) > 0 {
			t.Fatalf("%s: %v", a.Path, a.Damage)
		}
	}
	var out []int
	for i, v := range cols["mem.a"] {
		n := int(v.Bits)
		want := testTick(metric.Stamp{}, n).Blocks[0]
		for c, d := range testGroup.Metrics {
			if got := cols[d.Name][i]; got != want.Cols[c].At(d.Type, 0) {
				t.Fatalf("tick %d: %s = %+v, want %+v", n, d.Name, got, want.Cols[c].At(d.Type, 0))
			}
		}
		out = append(out, n)
	}
	if !slices.IsSorted(walls) {
		t.Fatalf("times out of order")
	}
	return out
}

func upTo(n int) []int {
	var out []int
	for i := range n {
		out = append(out, i)
	}
	return out
}

// recordTicks appends ticks from..to-1, a second apart.
func recordTicks(t testing.TB, w *Writer, from, to int) {
	t.Helper()
	for n := from; n < to; n++ {
		if err := w.Append(testTick(step(time.Second), n)); err != nil {
			t.Fatalf("tick %d: %v", n, err)
		}
	}
}

// TestMain creates the compressors that all archives share: if the first test created them
// inside its bubble, they would not work outside.
func TestMain(m *testing.M) {
	if _, err := chunk.Unpack(chunk.Pack(make([]byte, 100)), 100); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// create begins a recording. At the end of the test its finished archives must be sound.
func create(t testing.TB, opt Options) *Writer {
	t.Helper()
	w := createUnchecked(t, opt)
	t.Cleanup(func() { w.Close(); proof.Sound(t, opt.Dir) })
	return w
}

// createUnchecked is create for tests that damage what was recorded, or put other files
// beside it.
func createUnchecked(t testing.TB, opt Options) *Writer {
	t.Helper()
	w, err := Create(opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

func names(t testing.TB, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

func TestWhatIsRecordedIsReadBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		opt := testOptions(dir)
		opt.Seal = 100 * time.Second
		w := create(t, opt)
		recordTicks(t, w, 0, 100)
		// Not sealed yet: read from the journal.
		if got := numbers(t, dir); !slices.Equal(got, upTo(100)) {
			t.Fatalf("live, unsealed: %v", got)
		}
		recordTicks(t, w, 100, 2700)
		if n := w.Status().Commits; n < 1 {
			t.Fatalf("%d commits", n)
		}
		if got := numbers(t, dir); !slices.Equal(got, upTo(2700)) {
			t.Fatalf("live, sealed in part: %d ticks", len(got))
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if got := numbers(t, dir); !slices.Equal(got, upTo(2700)) {
			t.Fatalf("closed: %d ticks", len(got))
		}
		if got := names(t, dir); len(got) != 2 || !strings.HasSuffix(got[0], ".live") || got[1] != layout.LockName {
			t.Fatalf("files: %v", got)
		}
		if err := w.Append(testTick(now(), 1)); !errors.Is(err, ErrClosed) {
			t.Fatalf("append after close: %v", err)
		}
	})
}

func TestTheSameBootContinuesItsArchive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		w := create(t, testOptions(dir))
		recordTicks(t, w, 0, 400)
		id := w.Status().ID
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		w = create(t, testOptions(dir))
		recordTicks(t, w, 400, 500)
		if w.Status().ID != id {
			t.Fatal("another archive")
		}
		if got := numbers(t, dir); !slices.Equal(got, upTo(500)) {
			t.Fatalf("%d ticks", len(got))
		}
	})
}

func TestAnotherBootBeginsAnotherArchive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		w := create(t, testOptions(dir))
		recordTicks(t, w, 0, 400)
		id := w.Status().ID
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		opt := testOptions(dir)
		opt.BootID = "boot-2"
		w = create(t, opt)
		recordTicks(t, w, 400, 500)
		if w.Status().ID == id {
			t.Fatal("the same archive")
		}
		if got := numbers(t, dir); !slices.Equal(got, upTo(500)) {
			t.Fatalf("%d ticks", len(got))
		}
		finished := 0
		for _, name := range names(t, dir) {
			if _, _, ok := layout.ParseFinishedName(name); ok {
				finished++
			}
		}
		if finished != 1 {
			t.Fatalf("%d finished archives: %v", finished, names(t, dir))
		}
	})
}

func TestRotate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		w := create(t, testOptions(dir))
		recordTicks(t, w, 0, 650)
		path, err := w.Rotate("on command")
		if err != nil {
			t.Fatal(err)
		}
		recordTicks(t, w, 650, 700)
		if got := numbers(t, path); !slices.Equal(got, upTo(650)) {
			t.Fatalf("finished: %d ticks", len(got))
		}
		if got := numbers(t, dir); !slices.Equal(got, upTo(700)) {
			t.Fatalf("both: %d ticks", len(got))
		}
		from, to, ok := layout.ParseFinishedName(filepath.Base(path))
		first, last := 1_790_000_001, 1_790_000_650
		if !ok || from.Unix() != int64(first) || to.Unix() != int64(last) {
			t.Fatalf("name %s: %v %v", path, from, to)
		}
		st, err := os.Stat(path)
		if err != nil || st.Mode().Perm() != fileMode {
			t.Fatalf("mode %v, %v", st.Mode(), err)
		}
		r, err := store.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		in := r.Archives()[0]
		if in.Live || in.Host.Name != "mac.example.com" || in.BootID != "boot-1" || in.TimeZone != "Europe/Berlin" || in.Recorder != "test" || in.Config != "x = 1\n" || in.Intervals[metric.Fast] != time.Second {
			t.Fatalf("%+v", in)
		}
		if d := r.Lookup("mem.a"); d == nil || d.Help != "first" {
			t.Fatalf("catalogue: %+v", d)
		}
	})
}

// If a run ends before its first tick, its archive holds only events. Such an archive also
// has its place in the order of time.
func TestAnArchiveWithoutTicksHasItsPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		for i, boot := range []string{"boot-1", "boot-2", "boot-3"} {
			opt := testOptions(dir)
			opt.BootID = boot
			w := create(t, opt)
			if err := w.Event(metric.Event{At: step(time.Second), Kind: metric.EventBoot, Text: boot}); err != nil {
				t.Fatal(err)
			}
			if i != 1 {
				recordTicks(t, w, 10*i, 10*i+5)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			step(time.Minute)
		}
		r, err := store.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		var told string
		for e := range r.Events(0, 0, metric.EventBoot) {
			told += e.Text + " "
		}
		if want := "boot-1 boot-2 boot-3 "; told != want {
			t.Errorf("told %q, want %q", told, want)
		}
	})
}
