package push

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tachograph/sample/metric"
	"tachograph/store/archive"
	"tachograph/store/follow"
	"tachograph/store/storetest/recorded"
	"tachograph/testdata/seed"
)

// A receiver takes batches of text, and does with them what a script says.
type receiver struct {
	t        *testing.T
	rng      *rand.Rand
	kill     func()
	calm     bool              // everything is taken
	taken    map[string]string // batches by their ID
	order    []string
	sent     map[string]string // what was made under an ID, taken or not
	again    int
	standing int
	// refuse, where it is set, is asked about each batch; what it refuses is refused.
	refuse func() bool
}

type textBatch struct {
	r      *receiver
	id     BatchID
	b      strings.Builder
	values int
}

func newReceiver(t *testing.T, rng *rand.Rand) *receiver {
	return &receiver{t: t, rng: rng, taken: make(map[string]string), sent: make(map[string]string)}
}

func (r *receiver) Prepare(context.Context) error { return nil }
func (r *receiver) Standing(*archive.Item) error  { r.standing++; return nil }
func (r *receiver) NewBatch(id BatchID) Batch     { return &textBatch{r: r, id: id} }

func (b *textBatch) Add(it *archive.Item) error {
	if e := it.Event; e != nil {
		fmt.Fprintf(&b.b, "event %v %v %q\n", e.At, e.Kind, e.Text)
		b.values++
		return nil
	}
	b.values += it.Tick.Values()
	fmt.Fprintf(&b.b, "tick %v %v", it.Tick.Class, it.Tick.At)
	for _, block := range it.Tick.Blocks {
		var rows []string
		for i, in := range block.Rows { // in the order in which they come
			var s strings.Builder
			if in != nil {
				fmt.Fprintf(&s, " %q %q %q", in.Key, in.Name, in.Labels)
			}
			for c, d := range block.Group.Metrics {
				v := block.Cols[c].At(d.Type, i)
				fmt.Fprintf(&s, " %s=%v/%v", d.Name, v, v.Miss)
			}
			rows = append(rows, s.String())
		}
		fmt.Fprintf(&b.b, " [%s %s]", block.Group.Name, strings.Join(rows, ","))
	}
	b.b.WriteByte('\n')
	return nil
}

func (b *textBatch) Size() (int, int) { return b.values, b.b.Len() }

var errBusy = errors.New("busy")

func (b *textBatch) Send(ctx context.Context) error {
	r, id, text := b.r, b.id.String(), b.b.String()
	if b.id.Again {
		r.again++
	}
	if old, ok := r.sent[id]; ok && old != text {
		r.t.Fatalf("batch %v was made anew, and is another one:\n%.2000s\n---\n%.2000s", b.id, old, text)
	}
	r.sent[id] = text
	if r.refuse != nil && r.refuse() {
		return &Refused{errors.New("out of bounds")}
	}
	take := func() {
		if _, ok := r.taken[id]; !ok {
			r.order = append(r.order, id)
		}
		r.taken[id] = text
	}
	what := r.rng.IntN(10)
	if r.refuse != nil {
		what = r.rng.IntN(8) // without those that are waited for
	}
	switch {
	case r.calm || what < 6:
		take()
		return nil
	case what == 6: // taken, and nobody hears of it
		take()
		r.kill()
		return context.Canceled
	case what == 7:
		r.kill()
		return context.Canceled
	case what == 8:
		return &Retry{After: time.Nanosecond, Err: errBusy}
	}
	take()
	return &Retry{After: time.Nanosecond, Err: errors.New("the answer broke off")}
}

// lines are the items that were taken, in order.
func (r *receiver) lines() (list []string) {
	for _, id := range r.order {
		list = append(list, strings.Split(strings.TrimSuffix(r.taken[id], "\n"), "\n")...)
	}
	return list
}

// What an engine brings to a receiver is each item once, wherever it is killed, and
// the batch that was on its way is made again as it was.
func TestEachOnce(t *testing.T) {
	rng := rand.New(rand.NewPCG(seed.Of(t, 1), 1))
	dir, items := recorded.RecordDir(t, 7, 400)
	state := filepath.Join(t.TempDir(), "x.push")
	open, oldest := Archives(follow.Options{}, dir)
	r := newReceiver(t, rng)
	run := func() error {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		r.kill = cancel
		return New(Options{Target: "test", Sink: r, Open: open, Oldest: oldest, State: state, MaxValues: 1 + rng.IntN(500)}).Run(ctx)
	}
	runs := 0
	for err := run(); err != nil; err = run() {
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if runs++; runs > 1000 {
			t.Fatal("it does not come to an end")
		}
	}
	if r.again == 0 || r.standing == 0 {
		t.Fatalf("%d batches came again, and %d times standing values", r.again, r.standing)
	}
	ticks, events := 0, 0
	seen := make(map[string]int)
	last := make(map[string]int64)
	for _, l := range r.lines() {
		seen[l]++
		if strings.HasPrefix(l, "event") {
			events++
			continue
		}
		ticks++
		var class string
		var at metric.Stamp
		if _, err := fmt.Sscanf(l, "tick %s {%d %d %d}", &class, &at.Wall, &at.Awake, &at.Cont); err != nil {
			t.Fatal(err, l[:60])
		}
		if at.Wall <= last[class] {
			t.Fatalf("a tick of %s comes after a later one", class)
		}
		last[class] = at.Wall
	}
	for l, n := range seen {
		if n != 1 && !strings.Contains(l, string(metric.EventRotate)) { // which both archives tell
			t.Errorf("%d times: %.300s", n, l)
		}
	}
	wanted := 0
	for _, it := range items {
		if it.Tick != nil {
			wanted++
		}
	}
	if ticks != wanted {
		t.Errorf("%d ticks, want %d", ticks, wanted)
	}
	t.Logf("%d runs, %d batches, %d again, %d ticks, %d events", runs, len(r.order), r.again, ticks, events)
}

// What is pushed from an instant on is all that was recorded since, also in what is live,
// and what is older is not even read.
func TestSince(t *testing.T) {
	dir, items := recorded.RecordDir(t, 7, 400)
	var walls []int64
	for _, it := range items {
		if it.Tick != nil {
			walls = append(walls, it.Tick.At.Wall)
		}
	}
	slices.Sort(walls)
	skipped := false
	for _, since := range []int64{0, walls[0], walls[len(walls)/10], walls[len(walls)/4], walls[len(walls)/2], walls[len(walls)*3/4], walls[len(walls)-1], walls[len(walls)-1] + 1} {
		open, oldest := Archives(follow.Options{}, dir)
		r := newReceiver(t, nil)
		r.calm, r.rng = true, rand.New(rand.NewPCG(1, 1))
		e := New(Options{Target: "test", Sink: r, Oldest: oldest, State: filepath.Join(t.TempDir(), "x.push"), Since: since, Open: func(from follow.Position, base bool) (Follower, error) {
			skipped = skipped || from.Ticks != [metric.NumClasses]int64{}
			return open(from, base)
		}})
		if err := e.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		want := 0
		for _, wall := range walls {
			if wall >= since {
				want++
			}
		}
		got := 0
		for _, l := range r.lines() {
			if strings.HasPrefix(l, "tick") {
				got++
			}
		}
		if got != want {
			t.Errorf("since %d: %d ticks, want %d of %d", since, got, want, len(walls))
		}
	}
	if !skipped {
		t.Error("all was read each time")
	}
}
