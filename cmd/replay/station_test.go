package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"tachograph/cmd/replay/internal/scope"
	"tachograph/cmd/replay/internal/serve"
	"tachograph/cmd/replay/internal/serve/ask"
)

// A station is a server of a directory, with what its clients run.
type station struct {
	address   string
	running   atomic.Int64 // command lines of clients
	most      atomic.Int64 // how many ran at a time
	following atomic.Int64 // how often one has begun to follow
	stop      context.CancelFunc
	ended     chan error
}

// newStation serves what a stage records.
func newStation(t *testing.T, s *stage, limits serve.Limits) *station {
	t.Helper()
	return stationOf(t, s.dir, func() time.Time { return s.clock.Now().Time() }, limits)
}

// stationOf serves a directory, at a socket.
func stationOf(t *testing.T, archives string, now func() time.Time, limits serve.Limits) *station {
	t.Helper()
	dir, err := os.MkdirTemp("", "s") // the names of sockets must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	st := &station{ended: make(chan error, 1)}
	a := newApp(io.Discard, io.Discard, now)
	a.answers = answers
	a.lines = func(given scope.Given, now func() time.Time) ask.RunLine {
		run := commandLines(given, now)
		return func(ctx context.Context, l ask.Line) int {
			for n := st.running.Add(1); ; {
				most := st.most.Load()
				if n <= most || st.most.CompareAndSwap(most, n) {
					break
				}
			}
			defer st.running.Add(-1)
			follow := l.Follow
			l.Follow = func() (func() error, error) {
				goOn, err := follow()
				if err != nil {
					return nil, err
				}
				return func() error {
					err := goOn()
					if err == nil {
						st.following.Add(1)
					}
					return err
				}, nil
			}
			return run(ctx, l)
		}
	}
	ready := make(chan string, 1)
	of := &serving{a: a, opt: serve.Options{Listen: "unix:" + filepath.Join(dir, "s"), Limits: limits, Ready: func(at string) { ready <- at }}}
	of.of([]string{archives})
	if err := of.listen(); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	st.stop = stop
	go func() { st.ended <- of.run(ctx) }()
	t.Cleanup(func() { st.end(t) })
	st.address = <-ready
	return st
}

// end stops the server, once.
func (st *station) end(t *testing.T) {
	st.stop()
	err := <-st.ended
	st.ended <- err
	if err != nil {
		t.Error(err)
	}
}

func (st *station) quiet() bool { return st.running.Load() == 0 }
