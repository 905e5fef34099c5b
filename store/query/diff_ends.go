package query

import (
	"maps"
	"slices"
	"time"

	"tachograph/sample/metric"
)

// badEnds counts how processes of a name ended in a window.
type badEnds struct {
	failed, all int
	crashed     int            // or were killed
	tried       int            // ran for long enough to have tried something
	hows        map[string]int // how the ones that failed ended
	at          []int64        // when processes failed that have an event each
}

// longTry is how long a process must have run for its failure to be more than an answer, such as
// the answer to a script that asks again and again.
const longTry = int64(400 * time.Millisecond)

// ends counts the ends of processes in a window by name.
func (d *differ) ends(w Window) map[string]*badEnds {
	out := make(map[string]*badEnds)
	for e := range d.a.Events(w.From, w.To, metric.EventProcessExit, metric.EventProcessExits) {
		name := e.Label("name")
		if name == "" || !w.Wants(e.Archive.Host.ID) || out[name] == nil && len(out) >= mostNames {
			continue
		}
		n := out[name]
		if n == nil {
			n = &badEnds{hows: make(map[string]int)}
			out[name] = n
		}
		if e.Kind == metric.EventProcessExits {
			n.all += countOf(e.Label("count"))
			n.failed += countOf(e.Label("failed"))
			continue
		}
		how := e.Label("how")
		n.all++
		if !Failed(how) {
			continue
		}
		n.failed++
		n.hows[how]++
		n.at = append(n.at, e.At.Wall)
		if Crashed(how) || how == "signal 9" {
			n.crashed++
		}
		start, err := time.Parse(time.RFC3339Nano, e.Label("start"))
		if err != nil || e.At.Wall-start.UnixNano() >= longTry { // A sweep saw it, or it ran for long.
			n.tried++
		}
	}
	return out
}

// rhythm returns how far apart processes of the name failed.
func (n *badEnds) rhythm() time.Duration {
	slices.Sort(n.at)
	var gaps []int64
	for i := 1; i < len(n.at); i++ {
		gaps = append(gaps, n.at[i]-n.at[i-1])
	}
	return Rhythm(gaps)
}

const (
	// leastEnds is how many processes of a name must end badly, and leastEndsPart the part of all
	// that end, for that to be a line.
	leastEnds     = 4
	leastEndsPart = 0.8
	// leastSignals is how many are enough where a signal ended them.
	leastSignals = 2
	// endsImpact is how much of the machine a service is that fails again and again.
	endsImpact = 0.4
)

// failures returns the names whose processes end badly again and again in the second window, and
// did not before.
func (d *differ) failures(p *processPair) []*Change {
	if d.elsewhere() || d.group() != PerName {
		return nil // Ends are counted by name.
	}
	before, after := d.ends(d.r.A), d.ends(d.r.B)
	var out []*Change
	for _, name := range slices.Sorted(maps.Keys(after)) {
		n, was := after[name], before[name]
		if was == nil {
			was = &badEnds{}
		}
		c := p.a.byName[name]
		lasted := c != nil && c.seconds >= p.a.seconds*mostlyThere
		crashes := 2*n.crashed > n.failed && n.failed >= leastSignals
		service := n.failed >= leastEnds && (lasted || 2*n.tried > n.failed) && n.rhythm() > 0
		rate, old := float64(n.failed)/p.b.seconds, float64(was.failed)/p.a.seconds
		if !crashes && !service || float64(n.failed) < leastEndsPart*float64(n.all) || rate < leastEffect*old {
			continue
		}
		how := ""
		for _, h := range slices.Sorted(maps.Keys(n.hows)) {
			if how == "" || n.hows[h] > n.hows[how] {
				how = h
			}
		}
		change := &Change{Kind: ProcessChange, Subject: name, Aspect: EndsBadly, Before: old, After: rate, Units: perSecond, Rate: true,
			Times: n.failed, NewText: how, Effect: 5 * leastEffect, Impact: endsImpact, Process: p.b.byName[name]}
		if change.Process != nil {
			change.Archive = change.Process.Archive
		}
		change.Score = score(change)
		out = append(out, change)
	}
	return d.seldomFailing(out)
}

// EndsBadly is the aspect of processes that end badly again and again.
const EndsBadly = "ends"

// seldomFailing drops names that fail as often in other windows.
func (d *differ) seldomFailing(list []*Change) []*Change {
	for _, w := range d.usual {
		if len(list) == 0 {
			break
		}
		ended, seconds := d.ends(w), d.seconds(w)
		list = slices.DeleteFunc(list, func(c *Change) bool {
			n := ended[c.Subject]
			return n != nil && float64(n.failed)/seconds*extreme >= c.After
		})
	}
	return list
}
