package follow_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tachograph/sample/metric"
	"tachograph/store/archive"
	"tachograph/store/fault"
	"tachograph/store/follow"
	"tachograph/store/recording"
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
				fmt.Fprintf(&s, " %s=%v/%v", d.Name, b.Cols[c].At(d.Type, i), b.Cols[c].At(d.Type, i).Miss)
			}
			rows = append(rows, s.String())
		}
		slices.Sort(rows)
		out = append(out, fmt.Sprint(b.Group.Name, b.At, rows))
	}
	slices.Sort(out)
	return fmt.Sprint(t.Class, t.At, out)
}

// streams are what was recorded, or delivered: the ticks of each class, and the events
// of a machine. Within each the order is that of recording, wherever it is read.
type streams map[string][]string

func (s streams) tick(t *metric.Tick) { s[t.Class.String()] = append(s[t.Class.String()], tickText(t)) }
func (s streams) event(e *metric.Event) {
	if e.Kind == metric.EventProcessStart {
		s["events"] = append(s["events"], proof.EventText(e))
	} else {
		s["others"] = append(s["others"], proof.EventText(e))
	}
}

func (s streams) add(it archive.Item) {
	switch {
	case it.Standing:
	case it.Tick != nil:
		s.tick(it.Tick)
	case it.Event != nil:
		s.event(it.Event)
	}
}

// compare fails the test at the first difference to want.
func (s streams) compare(t *testing.T, who string, want streams) {
	t.Helper()
	for name, w := range want {
		if name == "others" {
			continue
		}
		g := s[name]
		for i := range w {
			if i >= len(g) || g[i] != w[i] {
				t.Fatalf("%s: %s: number %d of %d is\n%.400s\nwant, of %d,\n%.400s", who, name, i, len(g), append(g, make([]string, i+1)...)[i], len(w), w[i])
			}
		}
		if len(g) > len(w) {
			t.Fatalf("%s: %s: %d, want %d; one more is\n%.400s", who, name, len(g), len(w), g[len(w)])
		}
	}
}

// A recorder records a machine into a directory, item by item.
type recorder struct {
	t     *testing.T
	dir   string
	seed  uint64
	boot  int
	clock *proof.Clock
	w     *recording.Writer
	list  []proof.Item
	next  int
	want  streams
}

func newRecorder(t *testing.T, seed uint64, n int) *recorder {
	r := &recorder{t: t, dir: t.TempDir(), seed: seed, list: proof.Items(seed, n), want: streams{}}
	r.clock = proof.NewClock(r.list[0].At())
	r.start()
	t.Cleanup(func() { _ = r.w.Close() })
	return r
}

func (r *recorder) start() {
	r.t.Helper()
	opt := recorded.ProofOptions(r.dir, r.seed, r.clock.Now)
	opt.BootID = fmt.Sprint("boot-", r.boot)
	w, err := recording.Create(opt)
	if err != nil {
		r.t.Fatal(err)
	}
	r.w = w
}

// record records the next item.
func (r *recorder) record() {
	r.t.Helper()
	it := r.list[r.next]
	r.next++
	r.clock.Set(it.At())
	if err := it.Append(r.w); err != nil {
		r.t.Fatal(err)
	}
	if it.Tick != nil {
		r.want.tick(it.Tick)
	} else {
		r.want.event(it.Event)
	}
}

func open(t *testing.T, opt follow.Options, paths ...string) *follow.Follower {
	t.Helper()
	f, err := follow.Open(opt, paths...)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// present reads what there is by now.
func present(t *testing.T, f *follow.Follower, got streams) {
	t.Helper()
	ctx, cancel := proof.Waiting(t)
	defer cancel()
	for {
		it, err := f.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if it.Lost != nil {
			t.Fatal("lost:", it.Lost)
		}
		if it.Present {
			return
		}
		got.add(it)
	}
}

// until reads until as many ticks and events of the machine were delivered as want has.
func until(t *testing.T, f *follow.Follower, got, want streams) {
	t.Helper()
	ctx, cancel := proof.Waiting(t)
	defer cancel()
	missing := func() bool {
		for name := range want {
			if name != "others" && len(got[name]) < len(want[name]) {
				return true
			}
		}
		return false
	}
	for missing() {
		it, err := f.Next(ctx)
		if err != nil {
			got.compare(t, "waiting", want)
			t.Fatal(err)
		}
		if it.Lost != nil {
			t.Fatal("lost:", it.Lost)
		}
		got.add(it)
	}
}

// TestFollow follows a writer that seals, turns, commits, rotates, is restarted and
// whose machine is booted: all the time, and dropped and resumed at each item.
func TestFollow(t *testing.T) {
	for seed := range uint64(proof.Pick(t, 2, 20)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			rnd := rand.New(rand.NewPCG(seed, 7))
			r := newRecorder(t, seed, 400)
			steady := open(t, follow.Options{}, r.dir)
			defer steady.Close()
			got, resumed := streams{}, streams{}
			at := steady.Position()
			for r.next < len(r.list) {
				switch rnd.IntN(40) {
				case 0, 1:
					if _, err := r.w.Rotate("test"); err != nil {
						t.Fatal(err)
					}
				case 2:
					if err := r.w.Close(); err != nil {
						t.Fatal(err)
					}
					r.start()
				case 3:
					if err := r.w.Close(); err != nil {
						t.Fatal(err)
					}
					r.boot++
					r.start()
				}
				r.record()
				if rnd.IntN(10) > 0 {
					until(t, steady, got, r.want)
					got.compare(t, "steady", r.want)
				}
				token, err := follow.ParsePosition(at.String())
				if err != nil {
					t.Fatal(err)
				}
				f := open(t, follow.Options{From: token}, r.dir)
				present(t, f, resumed)
				at = f.Position()
				f.Close()
				resumed.compare(t, "resumed", r.want)
			}
			until(t, steady, got, r.want)
			present(t, steady, got)
			got.compare(t, "steady", r.want)
			if !slices.Equal(got["others"], resumed["others"]) {
				t.Fatalf("events of the writer, steadily: %q\nresumed: %q", got["others"], resumed["others"])
			}
		})
	}
}

// TestStanding opens followers at the present end and at positions, and compares how things
// stood there with the last tick of each class.
func TestStanding(t *testing.T) {
	r := newRecorder(t, 5, 300)
	type place struct {
		pos  follow.Position
		last map[metric.Class]string
	}
	var places []place
	last := make(map[metric.Class]string)
	check := func(f *follow.Follower, want map[metric.Class]string) {
		t.Helper()
		got := make(map[metric.Class]string)
		for {
			it, err := f.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if !it.Standing {
				break
			}
			got[it.Tick.Class] = tickText(it.Tick)
		}
		if len(got) != len(want) {
			t.Fatalf("%d classes, want %d", len(got), len(want))
		}
		for c, text := range want {
			if got[c] != text {
				t.Fatalf("%v stood at\n%.300s\nwant\n%.300s", c, got[c], text)
			}
		}
	}
	for r.next < len(r.list) {
		if r.next == 150 {
			if _, err := r.w.Rotate("test"); err != nil {
				t.Fatal(err)
			}
		}
		r.record()
		if it := r.list[r.next-1]; it.Tick != nil {
			last[it.Tick.Class] = tickText(it.Tick)
		}
		f := open(t, follow.Options{Standing: true}, r.dir)
		check(f, last)
		places = append(places, place{f.Position(), maps.Clone(last)})
		f.Close()
		if r.next%7 == 0 {
			p := places[max(0, len(places)-1-r.next%20)]
			f := open(t, follow.Options{Standing: true, From: p.pos}, r.dir)
			check(f, p.last)
			f.Close()
		}
	}
	if err := r.w.Close(); err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(places); i += 11 {
		f := open(t, follow.Options{Standing: true, From: places[i].pos}, r.dir)
		check(f, places[i].last)
		f.Close()
	}
}

// TestGone opens followers of positions in archives that are not there.
func TestGone(t *testing.T) {
	r := newRecorder(t, 6, 30)
	r.record()
	pos := open(t, follow.Options{}, r.dir).Position()
	pos.Archive = "00ff"
	if _, err := follow.Open(follow.Options{From: pos}, r.dir); !errors.Is(err, follow.ErrGone) || fault.Of(err) != fault.NotFound {
		t.Fatal(err)
	}
	if _, err := follow.Open(follow.Options{}, filepath.Join(r.dir, "none")); fault.Of(err) != fault.NotFound {
		t.Fatal(err)
	}
	if _, err := follow.Open(follow.Options{Host: "another"}, r.dir); fault.Of(err) != fault.NotFound {
		t.Fatal(err)
	}
}
