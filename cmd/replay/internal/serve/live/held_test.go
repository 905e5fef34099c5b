package live

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"connectrpc.com/connect"

	tachographv1 "tachograph/api/tachograph/v1"
	"tachograph/cmd/replay/internal/serve/budget"
	"tachograph/testdata/patience"
)

// A stuck answer is one that its client does not take, unless it is a refusal.
type stuck struct {
	header  http.Header
	refused bool
	gone    <-chan struct{}
	begun   sync.Once
	writes  chan<- struct{}
}

func (s *stuck) Header() http.Header  { return s.header }
func (s *stuck) WriteHeader(code int) { s.refused = code != http.StatusOK }
func (s *stuck) Flush()               {}
func (s *stuck) Write(b []byte) (int, error) {
	if s.refused {
		return len(b), nil
	}
	s.begun.Do(func() { s.writes <- struct{}{} })
	<-s.gone
	return 0, errors.New("gone")
}

// What waits for clients that take nothing is in the budget, by JSON as by gRPC; there is
// no more than there is room for, questions have some left, and all is given back by who
// leaves.
func TestWhatWaitsForClientsCounts(t *testing.T) {
	r := newMachineRig(t, 31)
	r.play(5)
	for _, by := range []string{"JSON", "gRPC"} {
		// siege has so many clients come, until somebody is written to, and tells how much
		// of the budget that took and how many there was room for.
		siege := func(total int64, clients int) (taken int64, written int) {
			b := budget.New(total)
			root, cancel := context.WithCancel(t.Context())
			writes := make(chan struct{}, clients)
			var all sync.WaitGroup
			ended := make(chan struct{}, clients)
			for range clients {
				all.Go(func() {
					defer func() { ended <- struct{}{} }()
					account := b.Open(budget.Client{Name: "x"})
					ctx := account.In(root)
					defer account.Close()
					if by == "JSON" {
						w := httptest.NewRequest("GET", "/v1/subscribe?metrics=*", nil).WithContext(ctx)
						r.pub.ServeHTTP(&stuck{header: make(http.Header), gone: root.Done(), writes: writes}, w)
						return
					}
					err := r.pub.Stream(ctx, everything(), func(*tachographv1.SubscribeResponse) error {
						writes <- struct{}{}
						<-root.Done()
						return root.Err()
					})
					if code := connect.CodeOf(err); code != connect.CodeResourceExhausted && !errors.Is(err, context.Canceled) {
						t.Errorf("%s: %v", by, err)
					}
				})
			}
			patience.Until(t, by+": clients are written to, wait or are refused", func() bool {
				taken, written = total-b.Free(), len(writes)
				return written > 0 && (clients == 1 || written+len(ended) > 4)
			})
			cancel()
			all.Wait()
			if b.Free() != total {
				t.Errorf("%s: %d of %d are given back", by, b.Free(), total)
			}
			return taken, written
		}
		one, _ := siege(64<<20, 1)
		total := 8 * one
		taken, written := siege(total, 40)
		if t.Logf("%s: one client takes %d, and %d clients %d", by, one, written, taken); taken > total*3/4 || written > 8 {
			t.Errorf("%s: of %d for 6 clients %d take %d", by, total, written, taken)
		}
	}
	r.stop()
	settled(t)
}
