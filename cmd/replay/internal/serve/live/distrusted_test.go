package live

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"

	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/archive"
	"tachograph/store/follow"
	"tachograph/store/query"
)

// A state has the distrusts that lasted when following began and those that have begun since,
// until they end or the recorder begins anew; one that was kept stays as it was.
func TestStateHasWhatIsDistrusted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		info := testArchive("1", "b")
		event := func(kind metric.EventKind, pair string) metric.Event {
			return metric.Event{Kind: kind, Labels: []metric.Label{{Name: "pair", Value: pair}, {Name: "metrics", Value: pair}, {Name: "because", Value: "x"}}}
		}
		tp := newTape()
		h := NewHub(Options{Open: func(follow.Position) (Follower, error) { return tp, nil }, Distrusted: func() (query.Distrusted, error) {
			return query.Distrusted(nil).After(&store.Event{Event: event(metric.EventDistrustBegin, "disk"), Archive: info}), nil
		}})
		ended := make(chan error)
		ctx, cancel := context.WithCancel(t.Context())
		go func() { ended <- h.Run(ctx) }()
		defer func() { cancel(); <-ended }()
		defer h.Use()()
		tp.items <- archive.Item{Archive: info, Present: true}
		var first []string
		var kept *State
		for _, c := range []struct {
			kind metric.EventKind
			pair string
			want []string
		}{
			{metric.EventSleep, "", []string{"disk"}},
			{metric.EventDistrustBegin, "net", []string{"disk", "net"}},
			{metric.EventDistrustBegin, "disk", []string{"disk", "net"}}, // told again
			{metric.EventDistrustEnd, "disk", []string{"net"}},
			{metric.EventDistrustBegin, "disk", []string{"net", "disk"}},
			{metric.EventStart, "", nil},
		} {
			e := event(c.kind, c.pair)
			tp.items <- archive.Item{Archive: info, Event: &e}
			synctest.Wait()
			e.Kind = metric.EventSleep // a follower uses its memory again
			s, err := h.Now(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, d := range s.Distrusted {
				got = append(got, d.Metrics...)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("after %s of %q: %q, want %q", c.kind, c.pair, got, c.want)
			}
			if kept == nil {
				kept, first = s, got
			}
		}
		if len(kept.Distrusted) != 1 || kept.Distrusted[0].Metrics[0] != first[0] {
			t.Errorf("the first state has changed: %v", kept.Distrusted)
		}
	})
}
