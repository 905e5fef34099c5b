package rewrite_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/fault"
	"tachograph/store/rewrite"
	"tachograph/store/storetest/proof"
	"tachograph/store/storetest/recorded"
)

// answers are what a Reader answers about a window, in the plainest form: every value of
// every series with the one before the window, what everything is called and when, events.
func answers(t testing.TB, from, to int64, paths ...string) map[string][]string {
	t.Helper()
	r, err := store.Open(paths...)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	out := make(map[string][]string)
	domains := make(map[string]bool)
	for _, prior := range []bool{false, true} {
		for run := range r.Select(store.Selection{From: from, To: to, Prior: prior}) {
			name := fmt.Sprint(run.Metric.Name, " ", run.Metric.Class, " ", prior)
			if run.Instance != nil {
				name += " " + run.Instance.Key
				domains[run.Metric.Indom] = true
			}
			for i := range run.Wall {
				v := run.At(i)
				out[name] = append(out[name], fmt.Sprint(run.Wall[i], run.Cont[i], v, v.Miss))
			}
		}
	}
	for d := range domains {
		for l := range r.Lives(d, from, to) {
			text := fmt.Sprint(l.Instance.Key, l.From, l.To)
			for i, n := range l.Names {
				if i > 0 { // since when the first name is known is the source's
					text += fmt.Sprint(" ", n.From)
				}
				text += fmt.Sprintf(" %q %q", n.Name, n.Labels)
			}
			out["lives "+d] = append(out["lives "+d], text)
		}
		slices.Sort(out["lives "+d])
	}
	ends := make(turns)
	for e := range r.Events(from, to) {
		if !ends.again(&e.Event) {
			out["events"] = append(out["events"], proof.EventText(&e.Event))
		}
	}
	for _, l := range r.Losses() {
		t.Errorf("lost: %v", l)
	}
	return out
}

// turns counts how often each turn from one archive to the next was told.
type turns map[metric.Stamp]int

// again reports whether e is a turn that the one archive told of and now the other tells of.
// More often nothing may be told.
func (t turns) again(e *metric.Event) bool {
	if e.Kind != metric.EventRotate {
		return false
	}
	t[e.At]++
	return t[e.At] == 2
}

// same fails the test where two answers differ.
func same(t testing.TB, got, want map[string][]string) {
	t.Helper()
	for name := range want {
		if !slices.Equal(got[name], want[name]) {
			for i := range max(len(got[name]), len(want[name])) {
				g, w := "nothing", "nothing"
				if i < len(got[name]) {
					g = got[name][i]
				}
				if i < len(want[name]) {
					w = want[name][i]
				}
				if g != w {
					t.Errorf("%s, number %d of %d and %d:\n%s, want\n%s", name, i, len(got[name]), len(want[name]), g, w)
					break
				}
			}
		}
	}
	for name := range got {
		if want[name] == nil {
			t.Errorf("%s: %d, want none", name, len(got[name]))
		}
	}
}

// TestCopyOfAWindow holds what a part answers about its window against what its source does:
// of one finished archive, and of a directory with a live one half in its journal, for
// windows that begin and end anywhere.
func TestCopyOfAWindow(t *testing.T) {
	proof.Unraced(t)
	dir := t.TempDir()
	finished := filepath.Join(dir, "a.tacho")
	machine(t, finished, 3, proof.Pick(t, 1500, 3000))
	killed, _ := recorded.RecordDir(t, 7, 900)
	random := rand.New(rand.NewPCG(1, 2))
	for _, src := range []string{finished, killed} {
		r, err := store.Open(src)
		if err != nil {
			t.Fatal(err)
		}
		infos := r.Archives()
		first, last := infos[0].From, infos[len(infos)-1].To
		_ = r.Close()
		for n := range proof.Pick(t, 10, 400) {
			from := first + random.Int64N(last-first)
			to := from + random.Int64N(last-from+1)
			switch n {
			case 0:
				from, to = first, last
			case 1:
				from = first - 1e9
			case 2:
				to = last + 1e9
			}
			dst := filepath.Join(dir, fmt.Sprint(filepath.Base(src), n, ".tacho"))
			report, err := rewrite.Copy(dst, rewrite.CopyOptions{ReadOptions: rewrite.ReadOptions{From: from, To: to}}, src)
			if fault.Of(err) == fault.NotFound {
				if got := answers(t, from, to, src); len(got["events"]) > 0 {
					t.Errorf("nothing is copied of %d events", len(got["events"]))
				}
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			proof.Sound(t, dst)
			want := answers(t, from, to, src)
			same(t, answers(t, from, to, dst), want)
			if t.Failed() {
				t.Fatalf("window %d of %s, %d to %d of %d to %d, %+v", n, src, from, to, first, last, report)
			}
			// By itself it is about its window.
			if r, err := store.Open(dst); err != nil || len(r.Archives()) != 1 || r.Archives()[0].Begin() < from || r.Archives()[0].Live {
				t.Fatalf("it says that it is from %d, and begins at %d: %v", r.Archives()[0].Begin(), from, err)
			}
		}
	}
}

// TestCopyOfAll wants a copy of everything to hold everything.
func TestCopyOfAll(t *testing.T) {
	killed, _ := recorded.RecordDir(t, 9, 900)
	dst := filepath.Join(t.TempDir(), "all.tacho")
	if _, err := rewrite.Copy(dst, rewrite.CopyOptions{}, killed); err != nil {
		t.Fatal(err)
	}
	proof.Sound(t, dst)
	want := read(t, rewrite.ReadOptions{}, killed)
	want["events"] = slices.Compact(want["events"]) // the turn from one archive to the next is told by both
	read(t, rewrite.ReadOptions{}, dst).compare(t, want)
	r, _ := store.Open(dst)
	defer r.Close()
	if r.Archives()[0].Since != 0 {
		t.Error("it says that it is a part")
	}
}

// TestCopyOfACopy wants the copy of a window to end where the window does, also when it is
// copied again.
func TestCopyOfACopy(t *testing.T) {
	dir := t.TempDir()
	src := filepath.Join(dir, "a.tacho")
	machine(t, src, 3, 1500)
	span := func(path string) [2]int64 {
		r, err := store.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		in := r.Archives()[0]
		return [2]int64{in.Begin(), in.To}
	}
	whole := span(src)
	from, to := whole[0]+(whole[1]-whole[0])/3+1, whole[0]+(whole[1]-whole[0])/2+1
	for i, c := range []struct {
		opt  rewrite.ReadOptions
		want [2]int64
	}{
		{rewrite.ReadOptions{From: from, To: to}, [2]int64{from, to}},
		{rewrite.ReadOptions{}, [2]int64{from, to}},
		{rewrite.ReadOptions{From: whole[0], To: whole[1]}, [2]int64{from, to}},
		{rewrite.ReadOptions{To: to - 1}, [2]int64{from, to - 1}},
	} {
		dst := filepath.Join(dir, fmt.Sprint(i, ".tacho"))
		if _, err := rewrite.Copy(dst, rewrite.CopyOptions{ReadOptions: c.opt}, src); err != nil {
			t.Fatal(err)
		}
		if got := span(dst); got != c.want {
			t.Errorf("copy %d is from %d to %d, want %d", i, got[0], got[1], c.want)
		}
		src = dst
	}
}

// renaming is a Mapping that changes everything that it is asked about.
type renaming struct{}

func (renaming) Host(h metric.Host) metric.Host { h.Name = "pseudonym"; return h }
func (renaming) Boot(id string) string          { return "boot of " + id }
func (renaming) Zone(name string) string        { return name }
func (renaming) Config(string) string           { return "" }
func (renaming) Instance(_ string, in *metric.Instance) *metric.Instance {
	return &metric.Instance{Key: "k" + in.Key, Name: "n" + in.Name}
}
func (renaming) Text(_ *metric.Desc, _ *metric.Instance, s string) (string, bool) {
	return "t" + s, len(s)%2 == 0
}
func (renaming) Maps(d *metric.Desc) bool { return d.Type != metric.String && d.Indom != "" }
func (renaming) Number(_ *metric.Desc, bits uint64) (uint64, bool) {
	return bits + 1, bits%5 != 0
}
func (renaming) Reason(metric.Reason) metric.Reason { return metric.ReasonFor("for some reason") }
func (renaming) Desc(d *metric.Desc) *metric.Desc {
	to := *d
	to.Help = "of " + d.Name
	return &to
}
func (renaming) Event(e metric.Event) (metric.Event, bool) {
	e.Text = "something"
	return e, e.Kind != metric.EventProcessStart
}

func TestCopyMapped(t *testing.T) {
	dir := t.TempDir()
	src, dst := filepath.Join(dir, "a.tacho"), filepath.Join(dir, "b.tacho")
	machine(t, src, 3, 800)
	if _, err := rewrite.Copy(dst, rewrite.CopyOptions{Mapping: renaming{}}, src); err != nil {
		t.Fatal(err)
	}
	proof.Sound(t, dst)
	names, texts, absent := 0, 0, 0
	for it := range rewrite.Read(rewrite.ReadOptions{}, dst) {
		if it.Archive.Host.Name != "pseudonym" || it.Archive.BootID != "boot of boot-1" {
			t.Fatalf("of %s, %s", it.Archive.Host.Name, it.Archive.BootID)
		}
		if it.Event != nil {
			if it.Event.Text != "something" || it.Event.Kind == metric.EventProcessStart {
				t.Fatalf("event %+v", it.Event)
			}
			continue
		}
		for _, b := range it.Tick.Blocks {
			for i, in := range b.Rows {
				if in != nil && (in.Key[0] != 'k' || in.Name[0] != 'n' || len(in.Labels) > 0) {
					t.Fatalf("instance %+v", in)
				} else if in != nil {
					names++
				}
				for c, d := range b.Group.Metrics {
					v := b.Cols[c].At(d.Type, i)
					if d.Help != "of "+d.Name || v.Miss > metric.Other && v.Miss != rewrite.Redacted && v.Miss != metric.ReasonFor("for some reason") {
						t.Fatalf("%s (%s) is absent for %s", d.Name, d.Help, v.Miss)
					}
					switch {
					case d.Type != metric.String && d.Indom != "" && v.Miss == metric.Present && v.Bits%5 == 1:
						t.Fatalf("%s is still %d", d.Name, v.Bits-1)
					case d.Type != metric.String:
					case v.Miss == rewrite.Redacted:
						absent++
					case v.Miss == metric.Present && v.Str[0] != 't':
						t.Fatalf("%s is %q", d.Name, v.Str)
					default:
						texts++
					}
				}
			}
		}
	}
	if names == 0 || texts == 0 || absent == 0 {
		t.Errorf("%d names, %d texts, %d absent", names, texts, absent)
	}
}
