package query

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"tachograph/sample/metric"
	"tachograph/store"
)

// breakKinds are the kinds of events for which metric.Event.Breaks returns true.
var breakKinds = []metric.EventKind{
	metric.EventBoot, metric.EventShutdown, metric.EventPanic, metric.EventStart, metric.EventStop,
	metric.EventSleep, metric.EventWake, metric.EventGap,
}

// breakpoint is an instant that no rate may be taken across.
type breakpoint struct {
	cont int64
	kind metric.EventKind
}

// breaks are the breakpoints of each boot of each host, in order: those of the whole machine, and
// those of instances that came or went. An instance with the same key may then be another thing,
// whose counters have nothing to do with those of the first.
type breaks map[breaksOf][]breakpoint

// breaksOf is what breakpoints are about: one instance, or without a domain, everything.
type breaksOf struct{ host, boot, indom, key string }

// lookback is how far before a window a break still matters to the first rate in it. Anything
// longer is a gap by its length.
const lookback = int64(time.Hour)

// readBreaks collects the breaks of a window.
func readBreaks(a Archive, w Window) breaks {
	from := max(w.From-lookback, 0)
	if w.From == 0 {
		from = 0
	}
	b := make(breaks)
	for e := range a.Events(from, w.To, append(slices.Clone(breakKinds), metric.EventDevice)...) {
		device := e.Kind == metric.EventDevice && e.Key != ""
		if !e.Breaks() && !device || !w.Wants(e.Archive.Host.ID) {
			continue
		}
		key := breaksOf{host: e.Archive.Host.ID, boot: e.Archive.BootID}
		if device {
			key.indom, key.key = e.Indom, e.Key
		}
		b[key] = append(b[key], breakpoint{cont: middle(&e.Event), kind: e.Kind})
	}
	for _, list := range b {
		slices.SortFunc(list, func(x, y breakpoint) int { return cmp.Compare(x.cont, y.cont) })
	}
	return b
}

// middle returns an instant inside the period that e ended, or e's own: the middle is surely
// between the readings before and after, whichever of them the event was recorded with.
func middle(e *metric.Event) int64 {
	if s, err := strconv.ParseFloat(e.Label("seconds"), 64); err == nil && s > 0 {
		return e.At.Cont - int64(s*1e9/2)
	}
	return e.At.Cont
}

// of returns the list for the boot that an archive belongs to.
func (b breaks) of(info *store.ArchiveInfo) []breakpoint {
	return b[breaksOf{host: info.Host.ID, boot: info.BootID}]
}

// ofInstance returns the list for one instance.
func (b breaks) ofInstance(info *store.ArchiveInfo, indom string, in *metric.Instance) []breakpoint {
	if in == nil || metric.PerBoot(indom) {
		return nil
	}
	return b[breaksOf{host: info.Host.ID, boot: info.BootID, indom: indom, key: in.Key}]
}

// anyOf reports whether an instance of a host came or went, whatever the boot.
func (b breaks) anyOf(host, indom, key string) bool {
	for of := range b {
		if of.host == host && of.indom == indom && of.key == key {
			return true
		}
	}
	return false
}

// between finds a break after prev and not after cur.
func between(list []breakpoint, prev, cur int64) (metric.EventKind, bool) {
	if len(list) == 0 {
		return "", false
	}
	i, _ := slices.BinarySearchFunc(list, prev+1, func(b breakpoint, at int64) int { return cmp.Compare(b.cont, at) })
	if i < len(list) && list[i].cont <= cur {
		return list[i].kind, true
	}
	return "", false
}
