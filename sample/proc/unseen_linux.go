package proc

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"tachograph/sample/metric"
)

// Processes that lived between two sweeps get a row and an event when the kernel reports them.
// A machine that starts thousands of processes a second must not fill the archive with them, so
// those beyond the allowance are only counted, by name.
const (
	// unseenRate is how many such rows there may be per second in the long run, and unseenBurst
	// how many may be saved up.
	unseenRate  = 20
	unseenBurst = 2400
	// crowdEvery is how often events report the processes beyond the allowance, and crowdNames
	// how many names are counted separately between two reports.
	crowdEvery = time.Minute
	crowdNames = 64
)

// unseen is the allowance, and the processes beyond it.
type unseen struct {
	left   float64
	at     int64 // awake clock: when left was computed
	crowds map[string]*crowd
	others crowd
	since  metric.Stamp // the first of crowds
}

// crowd counts the processes of one name that have ended without a row.
type crowd struct {
	name   string
	count  uint64
	failed uint64 // how many of them did not exit with 0
}

// allow takes one row from the allowance, and returns false if none is left.
func (u *unseen) allow(now metric.Stamp) bool {
	if u.at == 0 {
		u.left = unseenBurst
	} else {
		u.left = min(unseenBurst, u.left+unseenRate*float64(now.Awake-u.at)/1e9)
	}
	u.at = now.Awake
	if u.left < 1 {
		return false
	}
	u.left--
	return true
}

// beyond counts a process that gets no row.
func (u *unseen) beyond(name []byte, failed bool, now metric.Stamp) {
	if u.crowds == nil {
		u.crowds = make(map[string]*crowd)
	}
	if len(u.crowds) == 0 && u.others.count == 0 {
		u.since = now
	}
	c := u.crowds[string(name)]
	if c == nil {
		if len(u.crowds) < crowdNames {
			c = &crowd{name: string(name)}
			u.crowds[c.name] = c
		} else {
			c = &u.others
		}
	}
	c.count++
	if failed {
		c.failed++
	}
}

// tell emits the events about the processes beyond the allowance, each crowdEvery.
func (u *unseen) tell(now metric.Stamp, each func(metric.Event)) {
	if len(u.crowds) == 0 && u.others.count == 0 || time.Duration(now.Awake-u.since.Awake) < crowdEvery {
		return
	}
	var list []*crowd
	for _, c := range u.crowds {
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b *crowd) int {
		return cmp.Or(cmp.Compare(b.count, a.count), cmp.Compare(a.name, b.name))
	})
	if u.others.count > 0 {
		others := u.others
		list = append(list, &others)
	}
	for _, c := range list {
		each(c.event(u.since, now))
	}
	clear(u.crowds)
	u.others = crowd{}
}

func (c *crowd) event(from, now metric.Stamp) metric.Event {
	who := "of other names"
	labels := make([]metric.Label, 0, 5)
	if c.name != "" {
		who = "called " + c.name
		labels = append(labels, metric.Label{Name: "name", Value: c.name})
	}
	labels = append(labels,
		metric.Label{Name: "count", Value: strconv.FormatUint(c.count, 10)},
		metric.Label{Name: "failed", Value: strconv.FormatUint(c.failed, 10)},
		metric.Label{Name: "from", Value: wallText(from.Wall)},
		metric.Label{Name: "seconds", Value: strconv.FormatFloat(float64(now.Awake-from.Awake)/1e9, 'f', -1, 64)})
	return metric.Event{At: now, Kind: metric.EventProcessExits, Indom: indom, Labels: labels,
		Text: fmt.Sprintf("%d more short-lived processes %s ended, too many for a row each", c.count, who)}
}
