package query

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"tachograph/sample/metric"
	"tachograph/store"
)

// State is what a machine was doing at an instant, as far as its recording shows.
type State int

const (
	Running    State = iota // it was being recorded
	Asleep                  // from a sleep to a wake
	Off                     // switched off, or between two boots
	Panicked                // its kernel had panicked, until it was started again
	Unrecorded              // it may have run: nothing was recorded, and nothing says why
	Unbegun                 // the instant lies before all that was recorded
	Over                    // the instant lies behind all that was recorded
)

// Stance describes an instant in the recording of one host.
type Stance struct {
	At    int64
	State State
	// Before and After are the samples around the instant: the last one not after it, and the
	// next one; zero where there is none.
	Before, After int64
	// Break is the interruption that the instant lies in, from where it is known to begin to
	// where it is known to end; nil while the machine was recorded, and outside of the recording.
	// After the end of the recording it is how that ended, if an event says so.
	Break *Break
}

// fewest and longest limit the time between the samples around an instant: where no event
// explains a time without samples, it counts as not recorded only if it is longer than so many
// intervals and than so much time.
const (
	fewest  = 3
	longest = int64(10 * time.Second)
)

// StanceAt describes an instant in the recording of a host.
func StanceAt(a Archive, host string, at int64) Stance {
	s := Stance{At: at, Before: LastBefore(a, host, at), After: FirstAfter(a, host, at)}
	limit, every := longest, int64(time.Second)
	for _, info := range a.Archives() {
		if info.Host.ID == host && info.Begin() <= at {
			every = max(interval(info, metric.Fast), every)
			limit = max(fewest*every, longest)
		}
	}
	switch {
	case s.Before == 0:
		s.State = Unbegun
		return s
	case s.After == 0:
		if at-s.Before > limit {
			s.State = Over
		}
		// The recording may go on: only an event says that it has ended.
		if b := s.broken(a, host); b != nil && b.Kind != metric.EventGap && b.From <= at && at-s.Before > 2*every {
			s.State, s.Break = Over, b
		}
		return s
	}
	b := s.broken(a, host)
	silent := s.After-s.Before > limit
	if b == nil && silent {
		b = &Break{From: s.Before, To: s.After, Kind: metric.EventGap, Text: "nothing was recorded", Last: s.Before}
	}
	if b == nil || !silent && (at < b.From || at >= b.To || b.Length() <= time.Second) {
		return s
	}
	s.Break = b
	switch b.Kind {
	case metric.EventSleep:
		s.State = Asleep
	case metric.EventShutdown:
		s.State = Off
	case metric.EventPanic:
		s.State = Panicked
	default:
		s.State = Unrecorded
	}
	return s
}

// broken returns the break that the events between the samples around the instant describe: the
// one that best explains why there are no samples; nil if there are no such events. Its kind is
// sleep, shutdown, panic, gap or, where no sample follows, stop.
func (s *Stance) broken(a Archive, host string) *Break {
	w := Window{Hosts: []string{host}, From: s.Before, To: s.After}
	if w.To != 0 {
		w.To += int64(2 * time.Second) // What was noticed with the first sample has its time or one just after it.
	}
	var asleep, woke, down, booted int64
	var panicked, off, gap, stopped bool
	var text string                       // of the gap event
	told := map[metric.EventKind]string{} // texts of the events, by kind
	for e := range SortedEvents(a, w, breakKinds...) {
		wall := e.At.Wall
		told[e.Kind] = e.Text
		switch e.Kind {
		case metric.EventSleep:
			asleep = cmp.Or(asleep, wall)
		case metric.EventWake:
			from := startOf(e)
			if from < s.Before-int64(time.Second) && asleep == 0 {
				continue // It had already slept when the sample before was taken.
			}
			asleep, woke = cmp.Or(asleep, from), max(woke, wall)
		case metric.EventPanic:
			panicked, down = true, cmp.Or(down, wall)
		case metric.EventShutdown:
			off, down = true, cmp.Or(down, wall)
		case metric.EventBoot:
			off, booted = true, wall
			panicked = panicked || strings.Contains(e.Text, "panic")
		case metric.EventStop:
			stopped = true
		case metric.EventGap:
			gap, text = true, e.Text
		}
	}
	if !off && !panicked && s.After != 0 && s.rebooted(a, host) {
		off = true
	}
	b := &Break{From: s.Before, To: cmp.Or(s.After, s.At), Kind: metric.EventGap, Text: text, Last: s.Before}
	within := func(wall int64) bool { return wall >= s.Before && (s.After == 0 || wall <= s.After) }
	switch {
	case panicked || off:
		if b.Kind = metric.EventShutdown; panicked {
			b.Kind = metric.EventPanic
		}
		b.Text = cmp.Or(told[metric.EventPanic], told[metric.EventShutdown], told[metric.EventBoot], "the machine was off or rebooting")
		if down != 0 && within(down) {
			b.From = down
		}
		if asleep != 0 && within(asleep) && booted > asleep {
			b.From = asleep // It went to sleep and never woke.
		}
		if booted > b.From && within(booted) {
			b.To = booted
		}
	case asleep != 0:
		b.Kind, b.From = metric.EventSleep, max(asleep, s.Before)
		b.Text = cmp.Or(told[metric.EventWake], told[metric.EventSleep])
		if woke > b.From {
			b.To = min(woke, b.To)
		}
	case gap:
	case stopped:
		b.Text = "the recorder was stopped"
		if s.After == 0 {
			b.Kind = metric.EventStop
		}
	default:
		return nil
	}
	return b
}

// rebooted reports whether the samples around the instant come from two boots.
func (s *Stance) rebooted(a Archive, host string) bool {
	before, after := "", ""
	for _, info := range a.Archives() {
		if info.Host.ID != host {
			continue
		}
		if info.Begin() <= s.Before && s.Before <= info.To {
			before = info.BootID
		}
		if after == "" && info.Begin() <= s.After && s.After <= info.To && info.Begin() > s.Before {
			after = info.BootID
		}
	}
	return before != "" && after != "" && before != after
}

// startOf returns when the period began that an event ends, by the wall clock of its end. Where
// that clock was set in between, the period's length decides: it is by a clock that is never set.
func startOf(e *store.Event) int64 {
	at := e.At.Wall
	if s, err := strconv.ParseFloat(e.Label("seconds"), 64); err == nil {
		at -= int64(max(s, 0) * 1e9)
	}
	if from, err := time.Parse(time.RFC3339Nano, e.Label("from")); err == nil {
		if off := from.UnixNano() - at; at == e.At.Wall || max(off, -off) < int64(time.Second) {
			at = from.UnixNano()
		}
	}
	return min(at, e.At.Wall)
}

// pulse returns a few metrics of the fastest class, whose values show when samples were taken: any
// one of them that an archive has suffices.
func pulse(a Archive) []string {
	const enough = 4
	var names []string
	for _, d := range a.Metrics() {
		if d.Indom != metric.NoIndom || d.Type == metric.String || d.Unsupported != "" || d.Formula != "" || d.Class != metric.Fast {
			continue
		}
		if names = append(names, d.Name); len(names) == enough {
			break
		}
	}
	return names
}

// firstLook is how far from an instant LastBefore and FirstAfter first look for a sample. They
// look ever farther, and from farLook on in the whole archive.
const (
	firstLook = 5 * time.Minute
	farLook   = int64(30 * 24 * time.Hour)
)

// LastBefore returns the time of a host's last sample of the fastest class that is not after an
// instant; zero where there is none.
func LastBefore(a Archive, host string, at int64) int64 {
	archives, names := ofHost(a, host), pulse(a)
	var last int64
	for _, info := range slices.Backward(archives) {
		if info.From > at {
			continue
		}
		to := min(at, info.To)
		for back := int64(firstLook); last == 0 && len(names) > 0; back *= 16 {
			from := info.From
			if back < farLook && to-info.From > back {
				from = to - back
			}
			for run := range a.Select(Window{Hosts: []string{host}, From: from, To: to}.Selection(names...)) {
				last = max(last, run.Wall[len(run.Wall)-1])
			}
			if from == info.From {
				break
			}
		}
		if last != 0 {
			break
		}
	}
	return last
}

// FirstAfter returns the time of a host's first sample of the fastest class after an instant;
// zero where there is none.
func FirstAfter(a Archive, host string, at int64) int64 {
	names := pulse(a)
	var first int64
	for _, info := range ofHost(a, host) {
		if info.To <= at {
			continue
		}
		from := max(at+1, info.Begin()) // It is before the archive's end, so at+1 does not overflow.
		for on := int64(firstLook); first == 0 && len(names) > 0; on *= 16 {
			to := info.To
			if on < farLook && info.To-from > on {
				to = from + on
			}
			for run := range a.Select(Window{Hosts: []string{host}, From: from, To: to}.Selection(names...)) {
				if first == 0 || run.Wall[0] < first {
					first = run.Wall[0]
				}
			}
			if to == info.To {
				break
			}
		}
		if first != 0 {
			break
		}
	}
	return first
}

// ofHost returns the archives of a host, in order.
func ofHost(a Archive, host string) []*store.ArchiveInfo {
	var list []*store.ArchiveInfo
	for _, info := range a.Archives() {
		if info.Host.ID == host {
			list = append(list, info)
		}
	}
	slices.SortStableFunc(list, func(x, y *store.ArchiveInfo) int { return cmp.Compare(x.From, y.From) })
	return list
}
