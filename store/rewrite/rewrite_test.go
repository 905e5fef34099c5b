package rewrite_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/fault"
	"tachograph/store/rewrite"
	"tachograph/store/storetest"
	"tachograph/store/storetest/proof"
	"tachograph/store/storetest/recorded"
)

// tickText is a tick in the plainest form, its rows in the order of their keys.
func tickText(t *metric.Tick) string {
	var out []string
	for _, b := range t.Blocks {
		var rows []string
		for i, in := range b.Rows {
			var s strings.Builder
			if in != nil {
				fmt.Fprintf(&s, "%q %q %q", in.Key, in.Name, in.Labels)
			}
			for c, d := range b.Group.Metrics {
				v := b.Cols[c].At(d.Type, i)
				fmt.Fprintf(&s, " %s=%v/%v", d.Name, v, v.Miss)
			}
			rows = append(rows, s.String())
		}
		slices.Sort(rows)
		out = append(out, fmt.Sprint(b.Group.Name, b.At, rows))
	}
	slices.Sort(out)
	return fmt.Sprint(t.Class, t.At, out)
}

// streams are what an archive holds: the ticks of each class and the two streams of
// events, each in its order.
type streams map[string][]string

func (s streams) tick(t *metric.Tick) { s[t.Class.String()] = append(s[t.Class.String()], tickText(t)) }
func (s streams) event(e *metric.Event) {
	name := "events"
	if e.Kind == metric.EventProcessStart || e.Kind == metric.EventProcessExit || e.Kind == metric.EventProcessExec {
		name = "churn"
	}
	s[name] = append(s[name], proof.EventText(e))
}

func (s streams) compare(t testing.TB, want streams) {
	t.Helper()
	for name := range want {
		if !slices.Equal(s[name], want[name]) {
			for i := range min(len(s[name]), len(want[name])) {
				if s[name][i] != want[name][i] {
					t.Errorf("%s, number %d:\n%s\nwant\n%s", name, i, s[name][i], want[name][i])
					break
				}
			}
			t.Fatalf("%s: %d, want %d", name, len(s[name]), len(want[name]))
		}
	}
	for name := range s {
		if want[name] == nil {
			t.Errorf("%d of %s, which nothing was put into", len(s[name]), name)
		}
	}
}

// read reads everything.
func read(t testing.TB, opt rewrite.ReadOptions, paths ...string) streams {
	t.Helper()
	s := make(streams)
	if opt.Note == nil {
		opt.Note = func(l store.Loss) { t.Errorf("lost: %v", l) }
	}
	ends := make(turns)
	for it, err := range rewrite.Read(opt, paths...) {
		switch {
		case err != nil:
			t.Fatal(err)
		case it.Tick != nil:
			s.tick(it.Tick)
		case !ends.again(it.Event):
			s.event(it.Event)
		}
	}
	return s
}

var about = rewrite.About{
	Host: metric.Host{ID: "host-1", Name: "mac.example.com", OS: "Darwin", Labels: []metric.Label{{Name: "cores", Value: "8"}}},
	Boot: "boot-1", TimeZone: "Europe/Berlin", Recorder: "1.2.3", Config: "[intervals]\n", ID: "0123456789abcdef",
}

// machine writes the first n records of a machine, and returns what they are.
func machine(t testing.TB, path string, seed uint64, n int) streams {
	t.Helper()
	m := storetest.NewMachine(seed)
	a := about
	a.Catalog, a.Intervals = m.Catalog(), m.Intervals()
	w, err := rewrite.Create(path, a)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	want := make(streams)
	for _, it := range proof.Items(seed, n) {
		if it.Tick != nil {
			want.tick(it.Tick)
			err = w.Append(it.Tick)
		} else {
			want.event(it.Event)
			err = w.Event(it.Event)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Finish(); err != nil {
		t.Fatal(err)
	}
	proof.Sound(t, path)
	return want
}

func TestWriterMakesAnArchive(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.tacho")
	want := machine(t, path, 3, 4000)
	read(t, rewrite.ReadOptions{}, path).compare(t, want)
	r, err := store.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	in := r.Archives()[0]
	if in.Live || in.ID != about.ID || in.Host.Name != about.Host.Name || in.BootID != about.Boot || in.TimeZone != about.TimeZone ||
		in.Recorder != about.Recorder || in.Config != about.Config || in.Intervals != storetest.NewMachine(3).Intervals() {
		t.Errorf("it says of itself %+v", in)
	}
	if got, want := len(r.Metrics()), len(storetest.NewMachine(3).Catalog()); got != want {
		t.Errorf("%d metrics, want %d", got, want)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*")); len(left) != 1 {
		t.Errorf("beside it there is %v", left)
	}
}

// TestWriterOfAnything holds what comes out of random ticks, in chunks small and large,
// against what went in.
func TestWriterOfAnything(t *testing.T) {
	for seed := range uint64(proof.Pick(t, 12, 200)) {
		path := filepath.Join(t.TempDir(), "a.tacho")
		w, err := rewrite.Create(path, about)
		if err != nil {
			t.Fatal(err)
		}
		world := storetest.NewWorld(seed)
		world.Class = metric.Process
		want := make(streams)
		last := int64(0)
		for range 20 + 40*int(seed) {
			tick := world.Tick()
			if tick.At.Cont <= last {
				continue
			}
			last = tick.At.Cont
			want.tick(tick)
			if err := w.Append(tick); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Finish(); err != nil {
			t.Fatal(err)
		}
		proof.Sound(t, path)
		read(t, rewrite.ReadOptions{}, path).compare(t, want)
	}
}

// TestReadOfARecording reads a directory as a killed recorder leaves it: a finished archive,
// and one that stands half in its journal.
func TestReadOfARecording(t *testing.T) {
	for _, n := range []int{300, 1000, 2500}[:proof.Pick(t, 3, 3)] {
		dir, items := recorded.RecordDir(t, 5, n)
		want := make(streams)
		for _, it := range items {
			if it.Tick != nil {
				want.tick(it.Tick)
			} else {
				want.event(it.Event)
			}
		}
		got := read(t, rewrite.ReadOptions{}, dir)
		delete(got, "events") // what the Writer says of itself
		got.compare(t, want)
	}
}

func TestReadOfAWindow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.tacho")
	machine(t, path, 3, 3000)
	var ats []int64
	for it := range rewrite.Read(rewrite.ReadOptions{}, path) {
		if it.Tick != nil {
			ats = append(ats, it.Tick.At.Wall)
		}
	}
	from, to := ats[len(ats)/3], ats[len(ats)/2]
	want := make(streams)
	for it := range rewrite.Read(rewrite.ReadOptions{}, path) {
		switch {
		case it.Tick != nil:
			it.Tick.Blocks = slices.DeleteFunc(it.Tick.Blocks, func(b *metric.Block) bool { return b.At.Wall < from || b.At.Wall > to })
			if len(it.Tick.Blocks) > 0 {
				want.tick(it.Tick)
			}
		case it.Event != nil && it.Event.At.Wall >= from && it.Event.At.Wall <= to:
			want.event(it.Event)
		}
	}
	read(t, rewrite.ReadOptions{From: from, To: to}, path).compare(t, want)
}

// TestReadOfSome wants of some metrics and instances exactly these, and of others nothing.
func TestReadOfSome(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.tacho")
	machine(t, path, 3, 1000)
	var domain, key, name string
	for it := range rewrite.Read(rewrite.ReadOptions{}, path) {
		if it.Tick == nil {
			continue
		}
		for _, b := range it.Tick.Blocks {
			if b.Group.Indom != "" && len(b.Rows) > 1 && len(b.Group.Metrics) > 1 {
				domain, key, name = b.Group.Indom, b.Rows[1].Key, b.Group.Metrics[1].Name
			}
		}
	}
	seen := 0
	opt := rewrite.ReadOptions{
		NoEvents: true,
		Metrics:  func(d *metric.Desc) bool { return d.Name == name },
		Instance: func(indom string, in *metric.Instance) bool { return indom == domain && in.Key == key },
	}
	for it := range rewrite.Read(opt, path) {
		if it.Tick == nil {
			t.Fatal("an event that was not wanted")
		}
		for _, b := range it.Tick.Blocks {
			if len(b.Rows) != 1 || b.Rows[0].Key != key || len(b.Group.Metrics) != 1 || b.Group.Metrics[0].Name != name || len(b.Cols[0].Bits) != 1 {
				t.Fatalf("a block with %d rows of %d metrics", len(b.Rows), len(b.Group.Metrics))
			}
			seen++
		}
	}
	if seen == 0 {
		t.Fatal("nothing was read")
	}
}

func TestWriterRefuses(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.tacho")
	proof.PutFile(t, path, []byte("mine"))
	if _, err := rewrite.Create(path, about); fault.Of(err) != fault.Exists {
		t.Errorf("over a file: %v", err)
	}
	other := filepath.Join(dir, "b.tacho")
	w, err := rewrite.Create(other, about)
	if err != nil {
		t.Fatal(err)
	}
	ticks := storetest.NewMachine(1).Ticks(0)
	if err := w.Append(ticks[0]); err != nil {
		t.Fatal(err)
	}
	if err := w.Append(ticks[0]); err == nil || !strings.Contains(err.Error(), "in the order") {
		t.Errorf("the same tick again: %v", err)
	}
	proof.PutFile(t, other, []byte("mine"))
	if err := w.Finish(); fault.Of(err) != fault.Exists {
		t.Errorf("over a file that has come meanwhile: %v", err)
	}
	if b, _ := os.ReadFile(other); string(b) != "mine" {
		t.Errorf("it was written over")
	}
	if err := w.Append(ticks[1]); err == nil {
		t.Error("appended after the end")
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) != 2 {
		t.Errorf("left behind: %v", left)
	}
	for it, err := range rewrite.Read(rewrite.ReadOptions{}, filepath.Join(dir, "none.tacho")) {
		if !errors.Is(err, os.ErrNotExist) {
			t.Errorf("of no archive: %v %v", it, err)
		}
	}
}

// TestWriterAborted wants nothing left of what was not finished.
func TestWriterAborted(t *testing.T) {
	dir := t.TempDir()
	w, err := rewrite.Create(filepath.Join(dir, "a.tacho"), about)
	if err != nil {
		t.Fatal(err)
	}
	w.Abort()
	if err := w.Finish(); err == nil {
		t.Error("finished what was aborted")
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}
