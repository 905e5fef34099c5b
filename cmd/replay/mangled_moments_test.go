package main

import (
	"context"
	"time"

	"tachograph/cmd/replay/internal/moment"
)

// mangledMoments makes all moves through what there is. Answers do not matter: a
// question that fails, takes too long or too much memory is noticed by who asks.
func mangledMoments(dir string) {
	a, err := openArchives(dir)
	if err != nil {
		return
	}
	defer a.Close()
	for _, h := range a.Hosts()[:min(2, len(a.Hosts()))] {
		r, err := moment.Open(a, h.ID, nil)
		if err != nil {
			continue
		}
		from, to := r.Span()
		for range 20 { // Until it is exact, or for as long as somebody would look.
			if t, err := r.Timeline(from, to, 100); err != nil || !t.Rough {
				break
			}
		}
		for _, l := range r.Lanes() {
			_, _, _, _ = r.Peak(l.Name, from, to)
		}
		for _, at := range []int64{from - 1, from, from + (to-from)/2, to, to + int64(time.Hour)} {
			_ = r.Step(at, 1)
			_ = r.Step(at, -1)
			_ = r.Step(at, 3600)
			_, _ = r.Next(at, true)
			_, _ = r.Next(at, false)
			_, _ = r.Timeline(at-int64(time.Minute), at+int64(time.Minute), 80)
			m, err := r.At(at)
			if err != nil {
				continue
			}
			for _, p := range m.Processes[:min(2, len(m.Processes))] {
				_, _ = r.Life(p.Key)
			}
		}
		ctx, stop := context.WithTimeout(context.Background(), 2*time.Second)
		for _, forward := range []bool{true, false} {
			_, _, _, _ = r.Holds(ctx, "mem.util.used > 1", (from+to)/2, forward)
		}
		stop()
		_, _ = r.Diff(from, to)
		_ = r.Refresh()
	}
}
