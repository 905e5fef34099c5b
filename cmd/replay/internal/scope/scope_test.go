package scope

import (
	"errors"
	"strings"
	"testing"
	"time"

	"tachograph/store/query"
	"tachograph/store/query/querytest"
)

type memory struct{ *querytest.Archive }

func (memory) Refresh() error { return nil }
func (memory) Close() error   { return nil }

// opened returns the scope of a program that has opened a recording of 03:00 to 03:20.
func opened(t *testing.T) *Scope {
	t.Helper()
	now := func() time.Time { return time.Date(2026, 11, 20, 3, 30, 0, 0, time.UTC) }
	s := New(&Clock{Now: now, UTC: true}, func(paths ...string) (Reader, error) {
		parts, err := querytest.Load(paths[0])
		return memory{querytest.New(parts...)}, err
	}, nil)
	if err := s.Load([]string{"../../testdata/mac.txt"}); err != nil {
		t.Fatal(err)
	}
	return s
}

// A program gives times as times, people give words; both mean the same window.
func TestWindows(t *testing.T) {
	s := opened(t)
	s.Hosts, s.From, s.To = []string{"mbp-*"}, "03:05", "+10m"
	asked, err := s.Window()
	if err != nil {
		t.Fatal(err)
	}
	given, err := opened(t).Within(query.Window{Hosts: asked.Hosts, From: asked.From, To: asked.To})
	if err != nil || given.From != asked.From || given.To != asked.To || len(given.Hosts) != 1 {
		t.Errorf("%v and %v: %v", asked, given, err)
	}
	if got := s.Show(given.From) + " to " + s.TimeOfDay(given.To); got != "2026-11-20 03:05:00 UTC to 03:15:00" {
		t.Error(got)
	}
}

func TestWindowsOfNothing(t *testing.T) {
	for _, c := range []struct {
		from, to string
		kind     Kind
		want     string
	}{
		{"2026-11-20 04:00", "", Outside, "nothing was recorded after 2026-11-20 04:00:00 UTC: the archive covers"},
		{"03:10", "03:05", Mistake, "--from 2026-11-20 03:10:00 UTC is after --to"},
		{"elevenses", "", Mistake, "--from: "},
	} {
		s := opened(t)
		s.From, s.To = c.from, c.to
		_, err := s.Window()
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.from, err)
		}
		if of := (*Error)(nil); errors.As(err, &of) && of.Kind != c.kind || of == nil && c.kind != Mistake {
			t.Errorf("%s: kind of %v", c.from, err)
		}
	}
}
