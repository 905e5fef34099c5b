package simulation

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"tachograph/sample/metric"
	"tachograph/store"
)

// tick is one reading of the class fast.
type tick struct{ wall, cont int64 }

// boot is what the archives hold of one boot of the machine.
type boot struct {
	id     string
	ticks  []tick
	events []metric.Event
}

// ledger is what the archives hold of all boots, in order of time.
type ledger struct {
	t        *testing.T
	archives int
	boots    []*boot
	// withheld counts the values of a metric that its source could not read
	// for a while, by reason.
	withheld  map[string]int
	rotations []metric.Event
}

// read opens all archives of a directory.
func read(t *testing.T, dir string) *ledger {
	r, err := store.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	l := &ledger{t: t, withheld: make(map[string]int)}
	for _, a := range r.Archives() {
		l.archives++
		for _, d := range a.Damage {
			t.Errorf("%s: %s", a.Path, d)
		}
		// A clock that was set back may put archives of two boots into the
		// order 1, 2, 1.
		if !slices.ContainsFunc(l.boots, func(b *boot) bool { return b.id == a.BootID }) {
			l.boots = append(l.boots, &boot{id: a.BootID})
		}
	}
	for run := range r.Select(store.Selection{Metrics: []string{"kernel.all.cpu.user"}}) {
		b := l.boot(run.Archive.BootID)
		for i := range run.Wall {
			at := tick{run.Wall[i], run.Cont[i]}
			if n := len(b.ticks); n > 0 && b.ticks[n-1].cont >= at.cont {
				t.Errorf("boot %s: the tick at %v is not after the one before it", b.id, time.Unix(0, at.wall))
			}
			b.ticks = append(b.ticks, at)
		}
	}
	for run := range r.Select(store.Selection{Metrics: []string{"mem.util.free"}}) {
		for _, why := range run.Miss {
			if why != metric.Present {
				l.withheld[why.String()]++
			}
		}
	}
	for e := range r.Events(0, 0) {
		b := l.boot(e.Archive.BootID)
		b.events = append(b.events, e.Event)
		if e.Kind == metric.EventRotate {
			l.rotations = append(l.rotations, e.Event)
		}
	}
	return l
}

func (l *ledger) boot(id string) *boot {
	for _, b := range l.boots {
		if b.id == id {
			return b
		}
	}
	l.t.Fatalf("an archive of the unknown boot %s", id)
	return nil
}

// span is the stretch of the continuous clock that an event speaks of.
func span(e *metric.Event) (from, to int64) {
	if e.Kind == metric.EventErrorEnd {
		// An error counts as over only when nothing has gone wrong for a
		// while; until then its source may be left alone.
		if began, err := time.Parse(time.RFC3339Nano, e.Label("from")); err == nil {
			return e.At.Cont - (e.At.Wall - began.UnixNano()), e.At.Cont
		}
	}
	s, _ := strconv.ParseFloat(e.Label("seconds"), 64)
	return e.At.Cont - int64(s*1e9), e.At.Cont
}

// explains reports whether e accounts for missing ticks of the class fast.
func explains(e *metric.Event) bool {
	switch e.Kind {
	case metric.EventSleep, metric.EventWake, metric.EventGap, metric.EventStart, metric.EventStop:
		return true
	case metric.EventOverrun:
		return e.Label("fast") != ""
	case metric.EventErrorBegin, metric.EventErrorEnd:
		// A source that is given up leaves its values out.
		return strings.HasPrefix(e.Label("what"), "source ")
	}
	return false
}

// check sees to it that every tick is stored or explained.
func (b *boot) check(t *testing.T, interval time.Duration) (missed int) {
	for i := 1; i < len(b.ticks); i++ {
		before, after := b.ticks[i-1], b.ticks[i]
		// Ticks may be late by half an interval, and sources within a tick by
		// what those before them take; the sum below finds what this lets
		// through.
		if time.Duration(after.cont-before.cont) < interval*5/2 {
			continue
		}
		if !slices.ContainsFunc(b.events, func(e metric.Event) bool {
			from, to := span(&e)
			return explains(&e) && from <= after.cont && to+int64(interval) >= before.cont
		}) {
			t.Errorf("boot %s: nothing explains why there is no tick between %v and %v", b.id, time.Unix(0, before.wall), time.Unix(0, after.wall))
		}
	}
	if len(b.ticks) == 0 {
		t.Errorf("boot %s has no ticks", b.id)
		return 0
	}
	first, last := b.ticks[0], b.ticks[len(b.ticks)-1]
	// Deadlines = ticks stored + ticks missed, over the awake time.
	var slept float64
	givenUp, wakes := 0, 0
	for _, e := range b.events {
		switch {
		case e.At.Cont < first.cont || e.At.Cont > last.cont:
		case e.Kind == metric.EventWake:
			s, _ := strconv.ParseFloat(e.Label("seconds"), 64)
			slept += s * 1e9
			wakes++
		case e.Kind == metric.EventOverrun || e.Kind == metric.EventGap:
			n, _ := strconv.Atoi(e.Label("fast"))
			missed += n
		case strings.Contains(e.Text, "it does not answer"):
			givenUp++
		}
	}
	awake := float64(last.cont-first.cont) - slept
	deadlines := int(awake/float64(interval)+0.5) + 1
	// A source that was given up is left alone for a tick or two. After a sleep
	// the deadlines begin anew, so that there may be one more than the awake
	// time alone would hold.
	if d := deadlines - len(b.ticks) - missed; d < -1-wakes || d > 1+3*givenUp {
		t.Errorf("boot %s: %d deadlines, but %d ticks stored and %d told as missed", b.id, deadlines, len(b.ticks), missed)
	}
	return missed
}

// checkRotations sees to it that archives were rotated at local midnight, or as
// soon as the machine was there after one.
func (l *ledger) checkRotations(slack time.Duration) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		l.t.Fatal(err)
	}
	var back []int64 // when the machine came back, or its clock changed
	for _, b := range l.boots {
		for _, e := range b.events {
			switch e.Kind {
			case metric.EventWake, metric.EventStart, metric.EventClockStep, metric.EventGap, metric.EventOverrun:
				back = append(back, e.At.Wall)
			}
		}
	}
	seen := make(map[string]bool)
	for _, e := range l.rotations {
		local := e.At.Time().In(berlin)
		midnight := time.Date(local.Year(), local.Month(), local.Day(), 0, 0, 0, 0, berlin)
		soon := slices.ContainsFunc(back, func(at int64) bool {
			d := time.Duration(e.At.Wall - at)
			return d > -slack && d < slack
		})
		if late := local.Sub(midnight); late > slack && !soon {
			l.t.Errorf("an archive was rotated at %v", local)
		}
		seen[local.Format(time.DateOnly)] = true
	}
	l.t.Logf("archives were rotated on %d days", len(seen))
}

// count counts the events of a kind.
func (l *ledger) count(kind metric.EventKind) (n int) {
	for _, b := range l.boots {
		for _, e := range b.events {
			if e.Kind == kind {
				n++
			}
		}
	}
	return n
}

// days is how much of the wall clock the ledger covers.
func (l *ledger) days() string {
	var from, to int64
	for _, b := range l.boots {
		for _, at := range b.ticks {
			from, to = min(cmp.Or(from, at.wall), at.wall), max(to, at.wall)
		}
	}
	return fmt.Sprintf("%.1f days", time.Duration(to-from).Hours()/24)
}
