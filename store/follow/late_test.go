package follow_test

import (
	"errors"
	"slices"
	"testing"

	"tachograph/sample/metric"
	"tachograph/store/follow"
	"tachograph/store/gather"
)

// What is recorded late disturbs no follower: who follows gets each class in its order,
// without it, also when it resumes; who begins once it stands in the archive gets it in
// its place.
func TestLateTicksArePassedOver(t *testing.T) {
	r := newRecorder(t, 3, 300)
	steady := open(t, follow.Options{}, r.dir)
	defer steady.Close()
	got, resumed, all := streams{}, streams{}, streams{}
	at := steady.Position()
	late := 0
	var last [metric.NumClasses]*metric.Tick
	for r.next < len(r.list) {
		it := r.list[r.next]
		r.record()
		if it.Tick == nil {
			continue
		}
		if before := last[it.Tick.Class]; before != nil && r.next%3 == 0 {
			tick := *before
			tick.Blocks = nil
			tick.At.Cont, tick.At.Wall, tick.At.Awake = tick.At.Cont+1e6, tick.At.Wall+1e6, tick.At.Awake+1e6
			for _, b := range before.Blocks {
				own := *b
				own.At = tick.At
				tick.Blocks = append(tick.Blocks, &own)
			}
			switch err := r.w.Late(&tick); {
			case err == nil:
				late++
				all.tick(&tick)
			case !errors.Is(err, gather.ErrTooLate):
				t.Fatal(err)
			}
		}
		all.tick(it.Tick)
		last[it.Tick.Class] = it.Tick
		until(t, steady, got, r.want)
		got.compare(t, "steady", r.want)
		f := open(t, follow.Options{From: at}, r.dir)
		present(t, f, resumed)
		at = f.Position()
		f.Close()
		resumed.compare(t, "resumed", r.want)
	}
	if late < 20 {
		t.Fatalf("%d ticks came late", late)
	}
	if err := r.w.Close(); err != nil {
		t.Fatal(err)
	}
	until(t, steady, got, r.want)
	got.compare(t, "steady", r.want)
	fresh := streams{}
	f := open(t, follow.Options{From: follow.Position{Archive: at.Archive}}, r.dir)
	defer f.Close()
	present(t, f, fresh)
	for class, want := range all {
		if !slices.Equal(fresh[class], want) {
			t.Errorf("%s: %d ticks from the archive, want %d", class, len(fresh[class]), len(want))
		}
	}
}
