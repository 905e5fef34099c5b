package query

import (
	"cmp"
	"slices"
	"time"

	"tachograph/sample/metric"
	"tachograph/store"
)

// Overview is what a machine did in a window, at a glance.
type Overview struct {
	Host metric.Host // as in its last archive: it may have been updated
	// From and To are the part of the window that Archives cover.
	From, To int64
	Archives []*store.ArchiveInfo
	// Breaks are the interruptions of the recording.
	Breaks []Break
	// Distrusts are metrics that their witness contradicted.
	Distrusts []*Distrust
	// Loops are programs that were started again and again, only to fail.
	Loops  []*Runs
	Gauges []*Gauge
	// CPU and Memory rank the processes of each name, and Belongings say whose these are.
	CPU, Memory *Ranking
	Belongings  Belongings
}

// OverviewOf composes the overview of one host: gauges with so many points at most, rankings with
// so many names. It returns nil where nothing was recorded.
func OverviewOf(a Archive, host string, w Window, points, names int) (*Overview, error) {
	w.Hosts = []string{host}
	from, to, list := Covered(a, w)
	if len(list) == 0 {
		return nil, nil
	}
	o := &Overview{Host: list[len(list)-1].Host, From: max(from, w.From), To: to, Archives: list}
	if w.To != 0 {
		o.To = min(to, w.To)
	}
	for _, b := range Breaks(a, w) {
		// Starts and stops of the recorder are not breaks of the recording.
		if b.From >= from && b.Kind != metric.EventStart && b.Kind != metric.EventStop {
			o.Breaks = append(o.Breaks, b)
		}
	}
	o.Distrusts = Distrusts(a, w)
	o.Loops = CrashLoops(a, w)
	if iv := interval(list[len(list)-1], metric.Fast); iv > 0 {
		points = int(min(int64(points), (o.To-o.From)/iv)) // There are no more samples.
	}
	err := Beside(a, func(a Archive) (err error) {
		o.Gauges, err = Gauges(a, w, max(points, 1))
		return err
	}, func(a Archive) error {
		top, err := TopNames(a, w, names, ByCPU, ByMemory)
		if err == nil {
			o.CPU, o.Memory = top[0], top[1]
			o.Belongings = BelongingsOf(a, w)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return o, nil
}

// Break is a time in which nothing was recorded, or an instant that cuts the recording in two.
type Break struct {
	From, To int64 // equal where only the instant is known
	Kind     metric.EventKind
	Text     string
	// Last is the last sample before the break, zero if there is none.
	Last int64
}

// Length returns how long the break was.
func (b Break) Length() time.Duration { return time.Duration(b.To - b.From) }

// Breaks lists what interrupted the recording of a host: sleeps, gaps, boots,
// panics, and archives with nothing between them.
func Breaks(a Archive, w Window) []Break {
	var out []Break
	for e := range SortedEvents(a, w, breakKinds...) {
		out = append(out, Break{From: startOf(e), To: e.At.Wall, Kind: e.Kind, Text: e.Text})
	}
	out = append(out, silences(a, w)...)
	slices.SortStableFunc(out, func(x, y Break) int { return cmp.Compare(x.From, y.From) })
	return merge(out)
}

// silences returns the times between archives that no archive covers.
func silences(a Archive, w Window) []Break {
	var out []Break
	var prev *store.ArchiveInfo
	for _, info := range a.Archives() {
		if !w.Wants(info.Host.ID) {
			continue
		}
		if prev != nil && prev.Host.ID == info.Host.ID {
			limit := int64(30 * time.Second)
			if gap := info.Begin() - prev.To; gap > limit && w.Holds(info.Begin()) && w.Holds(prev.To) {
				text := "nothing was recorded"
				if prev.BootID != info.BootID {
					text = "the machine was off or rebooting"
				}
				out = append(out, Break{From: prev.To, To: info.Begin(), Kind: metric.EventGap, Text: text, Last: prev.To})
			}
		}
		if prev == nil || info.To > prev.To || prev.Host.ID != info.Host.ID {
			prev = info
		}
	}
	return out
}

// merge drops a break that is within another one, such as the sleep whose length a wake event
// reports.
func merge(list []Break) []Break {
	var out []Break
	for _, b := range list {
		if n := len(out); n > 0 {
			last := &out[n-1]
			near := b.From-last.To < int64(2*time.Second)
			sleep := last.Kind == metric.EventSleep && b.Kind == metric.EventWake
			if sleep || near && (last.Kind == b.Kind || last.To == last.From && b.To > b.From) {
				if sleep {
					b.From, b.Kind = last.From, metric.EventSleep
				} else {
					b.From = min(b.From, last.From)
				}
				if b.Text == "" || len(last.Text) > len(b.Text) && !sleep {
					b.Text = last.Text
				}
				*last = b
				continue
			}
			if b.To <= last.To && b.From >= last.From && last.To > last.From {
				if tells(b.Kind) && !tells(last.Kind) {
					// The reason for a gap is worth more than the gap itself.
					last.Kind, last.Text = b.Kind, b.Text
				}
				continue
			}
		}
		out = append(out, b)
	}
	return out
}

// tells reports whether a break of this kind says why nothing was recorded.
func tells(k metric.EventKind) bool {
	return k == metric.EventBoot || k == metric.EventPanic || k == metric.EventShutdown
}
