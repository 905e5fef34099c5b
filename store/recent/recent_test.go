package recent_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/query"
	"tachograph/store/recent"
	"tachograph/store/storetest/proof"
)

// TestAnswersAreTheArchives puts questions about the last seconds to what is kept
// of them and to the archive.
func TestAnswersAreTheArchives(t *testing.T) {
	for seed := range uint64(proof.Pick(t, 4, 200)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			a := recent.New(recent.Keep{Ticks: 25})
			l := newLife(t, seed, a)
			// A Reader adds up by the names that it has come across so far.
			l.renames = seed%3 != 0
			for n := range 150 {
				l.step(n)
				if n%10 != 9 {
					continue
				}
				r := l.reader()
				for _, back := range []time.Duration{0, 2 * time.Second, 12 * time.Second} {
					from := l.clock.Now().Wall - int64(back)
					compare(t, l, r, a, query.Window{From: from}, n)
					compare(t, l, r, a, query.Window{From: from, To: from + 5e9}, n)
				}
				r.Close()
			}
		})
	}
}

// compare asks both, and demands that the answers are the same.
func compare(t *testing.T, l *life, r *store.Reader, a *recent.Archive, w query.Window, n int) {
	t.Helper()
	want, got := answers(t, r, w, l.renames), answers(t, a, w, l.renames)
	for i := range max(len(want), len(got)) {
		switch {
		case i >= len(got):
			t.Fatalf("second %d, window %v: lacks %q", n, w, want[i])
		case i >= len(want):
			t.Fatalf("second %d, window %v: %q is too much", n, w, got[i])
		case want[i] != got[i]:
			t.Fatalf("second %d, window %v:\n%s\nin the archive\n%s", n, w, got[i], want[i])
		}
	}
}

var expressions = []string{
	"k.level", "k.wide", "d.ops", "d.size", "fix.ncpu", "proc.psinfo.utime", "proc.memory.rss", "k.state", "d.errors", // metrics
	"c.speed", "c.total", // computed
	"rate(k.wide) / fix.ncpu", "k.level * 2 + d.size[sda]", "sum(rate(proc.psinfo.utime))", "max(proc.memory.rss)", "delta(k.time)",
	"rate(d.errors) + rate(d.ops)", "proc.memory.rss / 1024",
}

// answers are what an archive says about a window, in an order of its own.
func answers(t *testing.T, a query.Archive, w query.Window, renames bool) []string {
	var out []string
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	for _, text := range expressions {
		targets, err := query.Targets(a, nil, []string{text})
		if err != nil {
			t.Fatal(text, err)
		}
		for _, mode := range []query.Mode{query.Raw, query.Shown} {
			for _, step := range []int64{0, 3e9} {
				if step != 0 && mode == query.Raw {
					continue
				}
				req := query.Request{Window: w, Mode: mode, Step: step, Origin: w.From}
				req.Note = func(n query.Note) {
					if !strings.Contains(n.Text, "booted") {
						say("%s %d: note %d %d %s", text, mode, n.Prev, n.Wall, n.Text)
					}
				}
				if _, _, list := query.Covered(a, w); len(list) == 0 {
					continue
				}
				for s, err := range query.ReadTarget(a, targets[0], req) {
					if err != nil {
						t.Fatal(text, err)
					}
					for i := range s.Wall {
						say("%s mode %d step %d %s: %s at %d is %s %s (%s) %s %v", text, mode, step, s.Archive.BootID, named(s.Instance), s.Wall[i], s.Value(i), s.Units, why(s.Value(i)), s.Type, s.Rate)
					}
				}
			}
		}
	}
	for _, mode := range []query.Mode{query.Raw, query.Shown} {
		req := query.RangeRequest{Request: query.Request{Window: w, Mode: mode, Metrics: []string{"k.wide", "k.level", "d.ops", "d.size", "proc.psinfo.utime", "proc.memory.rss"}}, Percentiles: true, Exact: true}
		for x, err := range query.Ranges(a, req) {
			if err != nil {
				t.Fatal(err)
			}
			if x.Count+x.Missing == 0 {
				continue // An instance of an earlier boot.
			}
			say("range %s %s %d..%d %d-%d %s %s %s %s %.7g %.7g %.7g %.7g", x.Name, named(x.Instance), x.From, x.To, x.Count, x.Missing, x.First, x.Last, x.Min, x.Max, x.Mean, x.P50, x.P99, x.Increase)
		}
	}
	for _, p := range query.Processes(a, w, w.From, nil) {
		say("process %d %s %s %d %.7g %.7g %v", p.PID, p.Name, p.State, p.Start, p.Rates, p.Totals, p.Levels)
	}
	for _, group := range query.Groupings {
		if group == query.PerName && renames {
			continue
		}
		for _, by := range []query.By{query.ByCPU, query.ByMemory, query.ByRuns} {
			rank, err := query.Top(a, w, by, group, 50)
			if err != nil {
				say("top %s %s: %v", by, group, err)
				continue
			}
			var rows []string
			for _, c := range rank.Consumers {
				who := c.Name + " " + named(c.Instance)
				if renames {
					who = c.Instance.Key
				}
				rows = append(rows, fmt.Sprintf("%s %d %d %d..%d %.7g %.7g %.7g %.7g", who, c.Count, c.Runs, c.From, c.To, c.Gains, c.Mean, c.Peak, c.Resident))
			}
			slices.Sort(rows)
			say("top %s %s: %d..%d %.7g %d %v", by, group, rank.From, rank.To, rank.Total, rank.N, rows)
		}
	}
	for _, indom := range []string{"process", "disk"} {
		for l := range a.Lives(indom, w.From, w.To) {
			name := l.Names[0]
			for _, n := range l.Names {
				if n.From <= l.From {
					name = n
				}
			}
			say("life %s %d..%d %s %s", l.Instance.Key, l.From, l.To, l.Archive.BootID, name.Name)
		}
	}
	for e := range query.SortedEvents(a, w) {
		if e.Text == "It happened." {
			say("event %d %s %s %s", e.At.Wall, e.Kind, e.Key, e.Archive.BootID)
		}
	}
	slices.Sort(out)
	return out
}

// why says why a value is absent. A Reader knows of all earlier boots, however long
// past.
func why(v metric.Value) string {
	return strings.Replace(v.Miss.String(), "no rate across a reboot", "first value", 1)
}

func named(in *metric.Instance) string {
	if in == nil {
		return "-"
	}
	return strings.Join([]string{in.Key, in.Title(), in.Label("uid")}, "/")
}
