package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"tachograph/cmd/replay/internal/browse"
	"tachograph/store/archive"
	"tachograph/store/follow"
	"tachograph/store/query"
)

// browsed is what browse is called with on descriptions.
func browsed(t *testing.T, at string, paths ...string) (*browsing, browse.Opened) {
	t.Helper()
	var o, e bytes.Buffer
	a := newApp(&o, &e, func() time.Time { return testNow })
	a.Open = openText
	a.format = "table"
	if err := a.load(paths...); err != nil {
		t.Fatal(err)
	}
	b := &browsing{a: a, at: at}
	open, err := b.host()
	if err != nil {
		t.Fatal(err)
	}
	opened, err := open()
	if err != nil {
		t.Fatal(err)
	}
	return b, opened
}

// Of several hosts the one recorded last is shown, which is said.
func TestBrowseChoosesAHost(t *testing.T) {
	t.Parallel()
	b, o := browsed(t, "", "testdata/fleet.txt")
	name := o.Engine.Host().Name
	_, to, _ := query.Covered(b.a.Archive, query.Window{Hosts: []string{o.Engine.Host().ID}})
	if _, last, _ := query.Covered(b.a.Archive, query.Window{}); to != last {
		t.Errorf("%s was not recorded last", name)
	}
	if want := "this is " + name + ", recorded last; --host shows one of the other 1"; o.Note != want {
		t.Errorf("it says %q, want %q", o.Note, want)
	}
	if _, o := browsed(t, "03:12", "testdata/mac.txt"); o.Note != "" || time.Unix(0, o.At).UTC().Format("15:04:05") != "03:12:00" {
		t.Errorf("one host is said to be %q, at %d", o.Note, o.At)
	}
}

// Times are read relative to the moment looked at.
func TestBrowseReadsTimes(t *testing.T) {
	t.Parallel()
	b, o := browsed(t, "", "testdata/mac.txt")
	from, _ := o.Engine.Span()
	for text, want := range map[string]string{"+90s": "03:01:30", "03:12": "03:12:00", "end-1m": "03:19:00", "start": "03:00:00"} {
		got, err := b.instant(text, from)
		if err != nil || time.Unix(0, got).UTC().Format("15:04:05") != want {
			t.Errorf("%s is %s (%v), want %s", text, time.Unix(0, got).UTC(), err, want)
		}
	}
	if _, err := b.instant("elevenses", from); err == nil {
		t.Error("elevenses is a time")
	}
}

func TestBrowseRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"browse"}, "browse draws on a terminal, and its output is none"},
		{[]string{"browse", "--format", "json"}, "browse draws on the whole screen; replay at TIME prints a moment as json"},
		{[]string{"browse", "nonsense"}, `there is no archive "nonsense"; a moment is given with --at`},
	} {
		if _, stderr, status := replay(openText, c.args...); status != 2 || !strings.Contains(stderr, c.want) {
			t.Errorf("%q: status %d, %s", c.args, status, stderr)
		}
	}
}

// steps are what a follower delivers, one by one.
type steps struct {
	items []archive.Item
	ended bool
}

func (s *steps) Next(context.Context) (archive.Item, error) {
	if len(s.items) == 0 {
		return archive.Item{}, context.Canceled
	}
	it := s.items[0]
	s.items = s.items[1:]
	return it, nil
}

func (s *steps) Position() follow.Position { return follow.Position{} }
func (s *steps) Close() error              { s.ended = true; return nil }

// Whoever has not looked yet is told once, however much has been recorded.
func TestTellChanges(t *testing.T) {
	t.Parallel()
	src := &steps{items: []archive.Item{{}, {Present: true}, {}, {Present: true}, {Present: true}}}
	one, other := make(chan struct{}, 1), make(chan struct{}, 1)
	tellChanges(context.Background(), src, one, other)
	if len(one) != 1 || len(other) != 1 || !src.ended {
		t.Errorf("told %d and %d times, ended %v", len(one), len(other), src.ended)
	}
}
