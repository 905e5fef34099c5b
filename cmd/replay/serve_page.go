package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"tachograph/cmd/replay/internal/report"
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
			return follow.Open(follow.Options{Base: true, Complete: catalog.Complete, Wait: true}, s.served...)
		},
	})
	s.server.Home(pages.Shell())
	s.server.Add(serve.Part{Path: "/v1/page", Handler: pages, Timeout: limits.Longest + 5*time.Second, AtOnce: mostStreams,
		About: "what the page shows that browsers get at /: /v1/page?from=03:00&to=03:30"})
}

// pageApp returns an app that answers a page's question as a command would.
func (s *serving) pageApp(ctx context.Context) *app {
	a := newApp(io.Discard, io.Discard, s.Now)
	a.ctx, a.Derived, a.damageTold = ctx, s.Derived, nil
	a.OwnDefinitions = func() string { return "" }
	a.Open = func(paths ...string) (reader, error) {
		r, err := openArchives(paths...)
		if err != nil {
			return nil, err
		}
		return forClient(ctx, r), nil
	}
	return a
}

// pageWindow returns the data of a window.
func (s *serving) pageWindow(ctx context.Context, w livepage.Window) ([]byte, error) {
	a := s.pageApp(ctx)
	if err := a.load(s.served...); err != nil {
		return nil, err
	}
	defer a.Close()
	r := report.Request{Hosts: a.Archive.Hosts(), Version: sample.Version(), Made: s.Now()}
	var err error
	if r.Host, err = a.pageHost(w.Host); err != nil {
		return nil, err
	}
	a.Hosts, a.From, a.To = []string{r.Host}, w.From, w.To
	switch {
	case w.At != "":
		if w.From != "" || w.To != "" {
			return nil, errors.New("at means a window around an instant: from and to say another one")
		}
		t, err := a.Reference().Parse(w.At)
		if err != nil {
			return nil, fmt.Errorf("at: %w", err)
		}
		r.Cursor = t.UnixNano()
		a.From, a.To = fmt.Sprintf("@%d", t.Add(-30*time.Minute).Unix()), fmt.Sprintf("@%d", t.Add(30*time.Minute).Unix())
	case w.Last > 0:
		r.Columns = liveColumns
	}
	win, err := a.Window()
	if err != nil {
		return nil, err
	}
	if w.Last > 0 {
		_, to, _ := query.Covered(a.Archive, win)
		win.From, win.To = to-int64(w.Last), to
	}
	r.From, r.To, r.Zone = win.From, win.To, a.Zone()
	return pageData(ctx, a.Archive, r)
}

// pageHost returns the host called name, or the host recorded last if name is empty.
func (a *app) pageHost(name string) (string, error) {
	found, last := "", int64(0)
	for _, info := range a.Archive.Archives() {
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
	a := s.pageApp(ctx)
	if err := a.load(s.served...); err != nil {
		return nil, err
	}
	defer a.Close()
	_, end, _ := query.Covered(a.Archive, query.Window{Hosts: []string{m.Host}})
	if nothing, err := m.Check(end); nothing || err != nil {
		return nil, err
	}
	return pageData(ctx, a.Archive, r)
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
