package query

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"tachograph/sample/metric"
	"tachograph/store"
)

// Runs are the processes of one name that ended in a window, according to the events of their
// exits.
type Runs struct {
	Archive *store.ArchiveInfo
	Name    string
	Count   int
	// Failed is how many of them failed: they ended neither with exit 0 nor by a signal that asks
	// a process to end.
	Failed      int
	First, Last int64 // times of the exits
	// Every is the usual time from one exit to the next; 0 where there is no
	// rhythm.
	Every time.Duration
	// Hows are the ways in which they ended, the most frequent first.
	Hows []How

	gaps []int64
	hows map[string]int
	last int64
}

// How is a way in which processes ended, and how many did.
type How struct {
	Text  string
	Count int
}

const (
	// mostRuns bounds the names that are counted, whatever an archive holds.
	mostRuns = 10_000
	mostGaps = 128
	mostHows = 16
	// leastCrashes is the fewest failures of a crash loop, which also fails most of the time.
	leastCrashes = 5
	// leastRhythm is the shortest time from one end to the next that counts as a rhythm: what
	// comes more quickly are commands in a script.
	leastRhythm = 50 * time.Millisecond
	// leastOfNo is how long failures with exit 1 must go on to mean trouble. Many commands, such
	// as grep, test and diff, say no by ending with 1.
	leastOfNo = 30 * time.Second
)

// CrashLoop reports whether something seems to start the program again and again, only for it to
// fail: the runs fail, with a rhythm.
func (r *Runs) CrashLoop() bool {
	if len(r.Hows) > 0 && r.Hows[0].Text == "exit 1" && r.Last-r.First < int64(leastOfNo) {
		return false
	}
	return r.Failed >= leastCrashes && 5*r.Failed >= 4*r.Count && r.Every > 0
}

// String describes the runs in a line: "ended 42 times, every 10 s: exit 1 (41), signal 9 (1)".
func (r *Runs) String() string {
	text := fmt.Sprintf("ended %d times", r.Count)
	if r.Count == 1 {
		text = "ended once"
	}
	if r.Every > 0 {
		text += ", every " + roughly(r.Every)
	}
	var hows []string
	for _, h := range r.Hows[:min(3, len(r.Hows))] {
		if h.Count == r.Count {
			hows = append(hows, h.Text)
		} else {
			hows = append(hows, fmt.Sprintf("%s (%d)", h.Text, h.Count))
		}
	}
	if len(hows) > 0 {
		text += ": " + strings.Join(hows, ", ")
	}
	return text
}

func roughly(d time.Duration) string {
	switch {
	case d >= time.Minute:
		return d.Round(time.Second).String()
	case d >= 10*time.Second:
		return d.Round(time.Second).String()
	case d >= time.Second:
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(10 * time.Millisecond).String()
}

// AllRuns lists the runs of a window by name, the most frequent first.
func AllRuns(a Archive, w Window) []*Runs { return runsOf(a, w, false) }

// runsOf lists the runs of a window by name, or by name and parent.
func runsOf(a Archive, w Window, byParent bool) []*Runs {
	type key struct{ host, name, parent string }
	all := make(map[key]*Runs)
	var out []*Runs
	for e := range SortedEvents(a, w, metric.EventProcessExit, metric.EventProcessExits) {
		k := key{host: e.Archive.Host.ID, name: e.Label("name")}
		if k.name == "" {
			continue
		}
		if byParent {
			k.parent = e.Label("parent")
		}
		r := all[k]
		if r == nil {
			if len(all) >= mostRuns {
				continue
			}
			r = &Runs{Archive: e.Archive, Name: k.name, First: e.At.Wall, hows: make(map[string]int)}
			all[k] = r
			out = append(out, r)
		}
		r.add(e)
	}
	for _, r := range out {
		r.finish()
	}
	slices.SortStableFunc(out, func(x, y *Runs) int {
		return cmp.Or(cmp.Compare(y.Count, x.Count), cmp.Compare(x.First, y.First), cmp.Compare(x.Name, y.Name))
	})
	return out
}

func (r *Runs) add(e *store.Event) {
	if e.Kind == metric.EventProcessExits {
		r.Count += countOf(e.Label("count"))
		r.Failed += countOf(e.Label("failed"))
		r.Last, r.last = e.At.Wall, 0
		return
	}
	r.Count++
	r.Last = e.At.Wall
	if r.last != 0 && len(r.gaps) < mostGaps {
		r.gaps = append(r.gaps, e.At.Wall-r.last)
	}
	r.last = e.At.Wall
	how := e.Label("how")
	if how == "" {
		return
	}
	if _, known := r.hows[how]; known || len(r.hows) < mostHows {
		r.hows[how]++
	}
	if Failed(how) {
		r.Failed++
	}
}

// countOf reads a count from a label; anything that is not a count is zero.
func countOf(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > 1<<40 {
		return 0
	}
	return n
}

// finish counts the ways in which they ended, and finds the rhythm.
func (r *Runs) finish() {
	for how, n := range r.hows {
		r.Hows = append(r.Hows, How{how, n})
	}
	slices.SortFunc(r.Hows, func(x, y How) int { return cmp.Or(cmp.Compare(y.Count, x.Count), cmp.Compare(x.Text, y.Text)) })
	if len(r.gaps) < leastCrashes-1 {
		return
	}
	r.Every = Rhythm(r.gaps)
}

// CrashLoops returns the runs that look like a crash loop, the most frequent first. Programs of
// one name are kept apart by their parents: a service that fails is no less in trouble because
// scripts call another program of its name. Each name is listed once.
func CrashLoops(a Archive, w Window) []*Runs {
	told := make(map[[2]string]bool)
	return slices.DeleteFunc(runsOf(a, w, true), func(r *Runs) bool {
		name := [2]string{r.Archive.Host.ID, r.Name}
		if told[name] || !r.CrashLoop() {
			return true
		}
		told[name] = true
		return false
	})
}
