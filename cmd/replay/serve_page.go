package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"tachograph/cmd/replay/internal/report"
	"tachograph/cmd/replay/internal/scope"
	"tachograph/cmd/replay/internal/serve"
	"tachograph/cmd/replay/internal/serve/live"
	"tachograph/cmd/replay/internal/serve/livepage"
	"tachograph/sample"
	"tachograph/sample/catalog"
	"tachograph/store/follow"
	"tachograph/store/query"
)

// liveColumns is the largest number of columns in a window that moves with the time: 24 hours
// are then read in steps of two minutes, an hour in steps of five seconds.
const liveColumns = 730

// servePage serves browsers the page of a report, over what is being recorded or was recorded.
func (s *serving) servePage() {
	shell, policy := report.Shell()
	limits := livepage.DefaultLimits
	pages := livepage.New(livepage.Options{
		Shell: shell, Policy: policy, Stopping: s.server.Stopping(), Limits: limits,
		Window: s.pageWindow, More: s.pageMore,
		Follow: func() (live.Follower, error) {
			return follow.Open(follow.Options{Standing: true, Complete: catalog.Complete, Wait: true}, s.served...)
		},
	})
	s.server.Home(pages.Shell())
	s.server.Add(serve.Part{Path: "/v1/page", Handler: pages, Timeout: limits.Longest + 5*time.Second, AtOnce: mostStreams,
		About: "what the page shows that browsers get at /: /v1/page?from=03:00&to=03:30"})
}

// recording opens the archives for a page's question.
func (s *serving) recording(ctx context.Context) (*scope.Scope, error) {
	c := scope.New(&scope.Clock{Now: s.a.Now}, func(paths ...string) (scope.Reader, error) { return openFor(ctx, paths...) }, nil)
	c.Derived = s.a.Derived
	if err := c.Load(s.served); err != nil {
		return nil, err
	}
	if err := c.None(); err != nil {
		_ = c.Close()
		return nil, err
	}
	return c, nil
}

// pageWindow returns the data of a window.
func (s *serving) pageWindow(ctx context.Context, w livepage.Window) ([]byte, error) {
	c, err := s.recording(ctx)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	r := report.Request{Hosts: c.Archive.Hosts(), Version: sample.Version(), Made: s.a.Now()}
	if r.Host, err = pageHost(c.Archive, w.Host); err != nil {
		return nil, err
	}
	if w.Last > 0 && w.At == "" {
		r.Columns = liveColumns
	}
	win, err := pageTimes(c, w, &r)
	if err != nil {
		return nil, err
	}
	if w.Last > 0 {
		_, to, _ := query.Covered(c.Archive, win)
		win.From, win.To = to-int64(w.Last), to
	}
	r.From, r.To, r.Zone = win.From, win.To, c.Zone()
	return pageData(ctx, c.Archive, r)
}

// pageTimes returns the window that w means of r's host, and sets r's cursor if w is about an
// instant.
func pageTimes(c *scope.Scope, w livepage.Window, r *report.Request) (query.Window, error) {
	c.Hosts, c.From, c.To = []string{r.Host}, w.From, w.To
	if w.At == "" {
		return c.Window()
	}
	if w.From != "" || w.To != "" {
		return query.Window{}, errors.New("at means a window around an instant: from and to say another one")
	}
	c.Choose(r.Host)
	t, err := c.Reference().Parse(w.At)
	if err != nil {
		return query.Window{}, fmt.Errorf("at: %w", err)
	}
	r.Cursor = t.UnixNano()
	const around = int64(30 * time.Minute)
	return c.Within(query.Window{Hosts: c.Hosts, From: r.Cursor - around, To: r.Cursor + around})
}

// pageHost returns the host called name, or the host recorded last if name is empty.
func pageHost(a query.Archive, name string) (string, error) {
	found, last := "", int64(0)
	for _, info := range a.Archives() {
		if (name == "" || info.Host.ID == name || info.Host.Name == name) && info.To >= last {
			found, last = info.Host.ID, info.To
		}
	}
	if found == "" {
		return "", fmt.Errorf("no host %q in the archives", name)
	}
	return found, nil
}

// pageMore returns what has been recorded since m.Since.
func (s *serving) pageMore(ctx context.Context, recent query.Archive, m livepage.More) ([]byte, error) {
	r := report.Request{Host: m.Host, From: m.From, To: m.To, Step: m.Step, Brief: true, Since: m.Since}
	if recent != nil {
		return pageData(ctx, recent, r)
	}
	c, err := s.recording(ctx)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	_, end, _ := query.Covered(c.Archive, query.Window{Hosts: []string{m.Host}})
	if nothing, err := m.Check(end); nothing || err != nil {
		return nil, err
	}
	return pageData(ctx, c.Archive, r)
}

func pageData(ctx context.Context, a query.Archive, r report.Request) ([]byte, error) {
	p, err := report.Collect(ctx, a, r)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := p.WriteData(&b); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
