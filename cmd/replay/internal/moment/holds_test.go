package moment

import (
	"context"
	"errors"
	"testing"

	"tachograph/store/query"
)

// Going from one time at which a condition holds to the next, either way, meets
// each of those that are found at once.
func TestHoldsMeetsAll(t *testing.T) {
	for _, c := range []struct{ file, condition string }{
		{"mac.txt", "rate(kernel.all.cpu.user) > 1"},
		{"mac.txt", "rate(kernel.all.cpu.user) > 0.8"},
		{"mac.txt", "rate(network.all.in.bytes) > 30 KB/s"},
		{"mac.txt", "mem.util.used > 1 TB"},
	} {
		r := open(t, c.file, "")
		from, to := r.Span()
		cond, err := query.CompileCondition(r.a, nil, c.condition)
		if err != nil {
			t.Fatal(err)
		}
		var want []span
		for h, err := range query.Find(r.a, cond, query.Request{Window: r.window(from, to), Mode: query.Shown}, 0) {
			if err != nil {
				t.Fatal(err)
			}
			want = append(want, span{h.From, h.To})
		}
		walk := func(at int64, forward bool) (got []span) {
			for len(got) <= len(want) {
				begin, end, ok, err := r.Holds(context.Background(), c.condition, at, forward)
				if err != nil {
					t.Fatal(err)
				}
				if !ok {
					break
				}
				got = append(got, span{begin, end})
				at = begin
			}
			return got
		}
		check := func(way string, got []span, want func(i int) span, n int) {
			if len(got) != n {
				t.Errorf("%s, %s, %s: %d times, want %d", c.file, c.condition, way, len(got), n)
				return
			}
			for i := range got {
				if got[i] != want(i) {
					t.Errorf("%s, %s, %s: time %d is %v, want %v", c.file, c.condition, way, i, got[i], want(i))
					return
				}
			}
		}
		check("forward", walk(from-1, true), func(i int) span { return want[i] }, len(want))
		check("back", walk(to+1, false), func(i int) span { return want[len(want)-1-i] }, len(want))
	}
}

func TestHoldsEndsWithItsContext(t *testing.T) {
	r := open(t, "mac.txt", "")
	from, _ := r.Span()
	ctx, stop := context.WithCancel(context.Background())
	stop()
	if _, _, ok, err := r.Holds(ctx, "mem.util.used > 1 TB", from, true); ok || !errors.Is(err, context.Canceled) {
		t.Errorf("%v %v", ok, err)
	}
	if _, _, _, err := r.Holds(context.Background(), "mem.util.used", from, true); err == nil {
		t.Error("that is no condition")
	}
}
