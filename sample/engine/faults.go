package engine

import (
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"time"

	"tachograph/sample/metric"
)

const (
	// summaryEvery is how often a lasting error is logged again.
	summaryEvery = time.Hour
	// newTextEvery is how often an error whose text changes may be reported again.
	newTextEvery = 10 * time.Minute
)

// quietFor is how long a source that is read every interval must work before its error counts as
// ended: an error at every other reading is one error.
func quietFor(interval time.Duration) time.Duration {
	if interval > time.Hour {
		interval = 0
	}
	return max(time.Minute, 3*interval)
}

func (c *class) quiet() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return quietFor(c.effective())
}

// fault is an error that happens again and again. It is reported when it begins and when it
// ends, and logged once an hour meanwhile.
type fault struct {
	what, text string
	from, last metric.Stamp
	count      uint64
	quiet      time.Duration
	told       int64 // awake clock
}

// faults holds the current errors, and counts all.
type faults struct {
	event func(metric.Event)
	log   *slog.Logger

	mu    sync.Mutex
	open  map[string]*fault
	total uint64
	// byMinute counts the errors of the last hour, one element per minute of the awake clock.
	byMinute [60]uint32
	minute   int64
}

// report records an error. Quiet is how long it must not happen again to count as ended.
func (f *faults) report(now metric.Stamp, quiet time.Duration, what, text string) {
	f.mu.Lock()
	f.total++
	f.turnTo(now.Awake)
	f.byMinute[f.minute%60]++
	ft := f.open[what]
	fresh := ft == nil
	if fresh {
		ft = &fault{what: what, from: now}
		f.open[what] = ft
	}
	ft.count++
	ft.last = now
	ft.quiet = quiet
	tell := fresh || ft.text != text && time.Duration(now.Awake-ft.told) >= newTextEvery
	if tell {
		ft.text, ft.told = text, now.Awake
	}
	f.mu.Unlock()
	if tell {
		f.log.Warn(what+": "+text, "times", ft.count)
		f.event(metric.Event{At: now, Kind: metric.EventErrorBegin, Text: what + ": " + text,
			Labels: []metric.Label{{Name: "what", Value: what}}})
	}
}

// settle ends the faults that have not happened for their quiet time and logs the lasting ones.
func (f *faults) settle(now metric.Stamp) {
	f.mu.Lock()
	var over, lasting []fault
	for what, ft := range f.open {
		switch {
		case time.Duration(now.Awake-ft.last.Awake) >= ft.quiet:
			over = append(over, *ft)
			delete(f.open, what)
		case time.Duration(now.Awake-ft.told) >= summaryEvery:
			ft.told = now.Awake
			lasting = append(lasting, *ft)
		}
	}
	f.mu.Unlock()
	slices.SortFunc(over, func(a, b fault) int { return int(min(max(a.from.Awake-b.from.Awake, -1), 1)) })
	for _, ft := range over {
		f.end(now, &ft)
	}
	for _, ft := range lasting {
		f.log.Warn(ft.what+": "+ft.text, "times", ft.count, "since", ft.from.Time().Format(time.DateTime))
	}
}

func (f *faults) end(now metric.Stamp, ft *fault) {
	length := ft.last.Cont - ft.from.Cont
	f.log.Info(ft.what+": works again", "errors", ft.count, "from", ft.from.Time().Format(time.DateTime), "lasted", span(length))
	e := ended(now, metric.EventErrorEnd, ft.from, length, fmt.Sprintf("%s: works again, after %d errors", ft.what, ft.count))
	e.Labels = append(e.Labels, metric.Label{Name: "what", Value: ft.what}, metric.Label{Name: "count", Value: strconv.FormatUint(ft.count, 10)})
	f.event(e)
}

// turnTo clears the minutes that have passed since the last error.
func (f *faults) turnTo(awake int64) {
	minute := awake / int64(time.Minute)
	for n := min(minute-f.minute, 60); n > 0; n-- {
		f.byMinute[(minute-n+1)%60] = 0
	}
	f.minute = minute
}

// lastHour counts the errors of the last hour.
func (f *faults) lastHour(now metric.Stamp) (n uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.turnTo(now.Awake)
	for _, m := range f.byMinute {
		n += uint64(m)
	}
	return n
}

// current lists the current errors.
func (f *faults) current() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []string
	for _, ft := range f.open {
		out = append(out, fmt.Sprintf("%s: %s (%d times)", ft.what, ft.text, ft.count))
	}
	slices.Sort(out)
	return out
}

func (f *faults) count() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.total
}
