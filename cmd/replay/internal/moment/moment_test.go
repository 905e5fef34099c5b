package moment

import (
	"context"
	"testing"

	"tachograph/store/query/querytest"
)

// open opens a description of cmd/replay's tests.
func open(t testing.TB, file, host string) *Recording {
	t.Helper()
	parts, err := querytest.Load("../../testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Open(querytest.New(parts...), host, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestMac(t *testing.T) {
	r := open(t, "mac.txt", "")
	from, to := r.Span()
	lanes := r.Lanes()
	if len(lanes) < 6 {
		t.Fatalf("lanes: %+v", lanes)
	}
	tl, err := r.Timeline(from, to, 60)
	if err != nil {
		t.Fatal(err)
	}
	for _, track := range tl.Lanes {
		known := 0
		for k := range track.Mean {
			if track.Mean[k] == track.Mean[k] {
				known++
				if track.High[k] < track.Mean[k]-1e-9 {
					t.Errorf("%s: column %d is %v on average and %v at most", track.Name, k, track.Mean[k], track.High[k])
				}
			}
		}
		if known < 55 {
			t.Errorf("%s: %d columns of 60 are known", track.Name, known)
		}
	}
	at := from + 11*60e9
	m, err := r.At(at)
	if err != nil {
		t.Fatal(err)
	}
	if m.At != at || m.Before != at-1e9 || m.After != at+1e9 {
		t.Errorf("asked for %d: %d, before it %d, after it %d", at, m.At, m.Before, m.After)
	}
	if len(m.Processes) == 0 || len(m.Sections) == 0 || len(m.Volumes) == 0 || len(m.Interfaces) == 0 || len(m.Sensors) == 0 {
		t.Errorf("%d processes, %d sections, %d volumes, %d interfaces, %d sensors", len(m.Processes), len(m.Sections), len(m.Volumes), len(m.Interfaces), len(m.Sensors))
	}
	if got := r.Step(at, 5); got != at+5e9 {
		t.Errorf("5 steps on: %d", got-at)
	}
	if got := r.Step(at, -5); got != at-5e9 {
		t.Errorf("5 steps back: %d", got-at)
	}
	if _, _, ok, err := r.Peak("cpu", from, to); !ok || err != nil {
		t.Errorf("no peak: %v", err)
	}
	if _, ok := r.Next(from, true); !ok {
		t.Error("no mark")
	}
	if _, _, ok, err := r.Holds(context.Background(), "mem.util.used > 9 GB", from, true); err != nil {
		t.Errorf("%v %v", ok, err)
	}
	for _, p := range m.Processes {
		l, err := r.Life(p.Key)
		if err != nil || len(l.Rows) == 0 {
			t.Errorf("the life of %s: %v", p.Name, err)
		}
	}
	if _, err := r.Diff(from+5*60e9, from+15*60e9); err != nil {
		t.Error(err)
	}
}
