package live

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tachograph/sample/metric"
	"tachograph/store/archive"
	"tachograph/store/follow"
	"tachograph/store/storetest"
)

// A tape is a follower that delivers what a test puts into it.
type tape struct {
	items  chan archive.Item
	pos    follow.Position
	closed atomic.Bool
}

func newTape() *tape { return &tape{items: make(chan archive.Item)} }

func (t *tape) Next(ctx context.Context) (archive.Item, error) {
	select {
	case <-ctx.Done():
		return archive.Item{}, ctx.Err()
	case it := <-t.items:
		if it.Archive == nil {
			return it, errors.New("the tape is torn")
		}
		t.pos.Archive = it.Archive.ID
		if it.Tick != nil {
			t.pos.Ticks[it.Tick.Class] = it.Tick.At.Cont
		}
		return it, nil
	}
}

func (t *tape) Position() follow.Position { return t.pos }
func (t *tape) Close() error              { t.closed.Store(true); return nil }

func testArchive(id, boot string) *archive.Info {
	info := &archive.Info{ID: id, BootID: boot, Host: metric.Host{ID: "h", Name: "host", Platform: "linux"}}
	for c := range info.Intervals {
		info.Intervals[c] = time.Second
	}
	return info
}

// shown is what a block holds, for comparing.
func shown(b *metric.Block) []string {
	var out []string
	for c, d := range b.Group.Metrics {
		for r, in := range b.Rows {
			key := ""
			if in != nil {
				key = fmt.Sprint(in.Key, "=", in.Name, in.Labels)
			}
			v := b.Cols[c].At(d.Type, r)
			out = append(out, fmt.Sprintf("%s[%s] at %d: %s %x %s", d.Name, key, b.At.Cont, v, v.Bits*uint64(min(1, len(v.Type.String())-1)), v.Miss))
		}
	}
	return out
}

// What a state holds of a metric is what was read of it last, whatever the
// follower has done with its memory since, and a state that was kept stays.
func TestStateIsWhatWasReadLast(t *testing.T) {
	for seed := range uint64(30) {
		w := storetest.NewWorld(seed)
		a, info := newAssembler(nil), testArchive("a", "b")
		want := make(map[string][]string)
		type kept struct {
			*State
			want map[string][]string
		}
		var states []kept
		for range 60 {
			tick := w.Tick()
			s := a.take(&archive.Item{Archive: info, Tick: tick}, follow.Position{})
			for _, b := range tick.Blocks {
				want[b.Group.Name] = shown(b)
			}
			now := make(map[string][]string)
			for k, v := range want {
				now[k] = v
			}
			states = append(states, kept{s.State, now})
		}
		for n, k := range states {
			for i, g := range k.plan.groups {
				if b := k.blocks[i]; b != nil && !slices.Equal(shown(b), k.want[g.group.Name]) {
					t.Fatalf("world %d, tick %d, %s:\n%q\nwant\n%q", seed, n, g.group.Name, shown(b), k.want[g.group.Name])
				}
			}
			for r := range k.Readings() {
				if got, ok := k.Lookup(r.Metric.Name); !ok || got.Block != r.Block {
					t.Fatalf("%s is looked up elsewhere", r.Metric.Name)
				}
			}
		}
	}
}

// Of the boot before nothing holds, and of the archive before what goes on being
// recorded.
func TestTurns(t *testing.T) {
	a, m := newAssembler(nil), storetest.NewMachine(1)
	feed := func(info *archive.Info) (s *step) {
		for _, tick := range m.Ticks(0) {
			s = a.take(&archive.Item{Archive: info, Tick: tick}, follow.Position{})
		}
		return s
	}
	first := testArchive("1", "boot 1")
	before := feed(first)
	if _, ok := before.Lookup("test.kernel.count"); !ok {
		t.Fatal("nothing there")
	}
	second := testArchive("2", "boot 1")
	second.Intervals[metric.Process] = 0
	s := a.take(&archive.Item{Archive: second, Event: &metric.Event{Kind: metric.EventRotate}}, follow.Position{})
	if _, ok := s.Lookup("test.kernel.count"); !ok || !s.turned {
		t.Error("what goes on being recorded is forgotten")
	}
	if _, ok := s.Lookup("test.proc.count"); ok {
		t.Error("what is not recorded any more stands as it stood")
	}
	if why := s.Why(&metric.Desc{Class: metric.Process}); why == "" {
		t.Error("no reason")
	}
	if _, ok := before.Lookup("test.proc.count"); !ok {
		t.Error("a state has changed")
	}
	s = a.take(&archive.Item{Archive: testArchive("3", "boot 2"), Event: &metric.Event{Kind: metric.EventBoot}}, follow.Position{})
	if _, ok := s.Lookup("test.kernel.count"); ok {
		t.Error("values of another boot are present")
	}
	if len(s.Recent) != 2 || s.Events != 2 {
		t.Errorf("%d events, %v", s.Events, s.Recent)
	}
}

// A hub follows while somebody needs it, and for a while after; it tries again
// when following fails.
func TestHubFollowsWhileNeeded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tapes []*tape
		h := NewHub(Options{Linger: time.Minute, Open: func(follow.Position) (Follower, error) {
			tp := newTape()
			tapes = append(tapes, tp)
			return tp, nil
		}})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- h.Run(ctx) }()
		synctest.Wait()
		if len(tapes) != 0 {
			t.Fatal("it follows and nobody needs it")
		}
		got := make(chan *State)
		go func() {
			s, err := h.Now(ctx)
			if err != nil {
				t.Error(err)
			}
			got <- s
		}()
		synctest.Wait()
		m, info := storetest.NewMachine(1), testArchive("1", "b")
		for _, tick := range m.Ticks(0) {
			tapes[0].items <- archive.Item{Archive: info, Tick: tick, Standing: true}
		}
		select {
		case <-got:
			t.Fatal("the present is not there yet")
		default:
		}
		tapes[0].items <- archive.Item{Archive: info, Present: true}
		if s := <-got; s.Ticks[metric.Fast] != 1 {
			t.Errorf("%v ticks", s.Ticks)
		}
		time.Sleep(50 * time.Second)
		if _, err := h.Now(ctx); err != nil || len(tapes) != 1 || tapes[0].closed.Load() {
			t.Error("it does not linger", err)
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if !tapes[0].closed.Load() {
			t.Error("it still follows")
		}
		release := h.Use()
		synctest.Wait()
		if len(tapes) != 2 {
			t.Fatal("it does not follow again")
		}
		tapes[1].items <- archive.Item{}
		synctest.Wait()
		if _, err := h.Now(ctx); err == nil {
			t.Error("following failed and nobody is told")
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if len(tapes) != 3 || !tapes[1].closed.Load() {
			t.Error("it does not try again")
		}
		release()
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if _, err := h.Now(t.Context()); !errors.Is(err, ErrStopped) {
			t.Error(err)
		}
	})
}

// A tick is taken in by far less than a millisecond.
func BenchmarkTake(b *testing.B) {
	g := &metric.Group{Name: "proc", Indom: "process"}
	for c := range 40 {
		g.Metrics = append(g.Metrics, &metric.Desc{Name: fmt.Sprint("m", c), Type: metric.U64, Indom: "process"})
	}
	block := &metric.Block{Group: g, Cols: make([]metric.Column, 40)}
	for r := range 400 {
		block.Rows = append(block.Rows, &metric.Instance{Key: fmt.Sprint(r)})
	}
	for c := range block.Cols {
		block.Cols[c].Bits = make([]uint64, 400)
	}
	a, info := newAssembler(nil), testArchive("1", "b")
	tick := &metric.Tick{Class: metric.Process, Blocks: []*metric.Block{block}}
	b.ReportAllocs()
	for n := range b.N {
		for c := range 20 {
			block.Cols[c].Bits[n%400]++
		}
		a.take(&archive.Item{Archive: info, Tick: tick}, follow.Position{})
	}
}
