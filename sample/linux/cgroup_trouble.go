package linux

import (
	"fmt"
	"math"
	"time"

	"tachograph/sample/metric"
)

var (
	colPeriods   = groupColumnNamed("cgroup.cpusched.periods")
	colThrottled = groupColumnNamed("cgroup.cpusched.throttled")
	colQuota     = groupColumnNamed("cgroup.cpusched.cfs_quota")
	colPeriod    = groupColumnNamed("cgroup.cpusched.cfs_period")
	colKilled    = groupColumnNamed("cgroup.memory.oom_kill")
	colOOM       = groupColumnNamed("cgroup.memory.events.oom")
	colAtLimit   = groupColumnNamed("cgroup.memory.events.max")
)

// number returns a cell of a group.
func (d *cgroup) number(col int) (uint64, bool) {
	v := &d.values[col]
	return v.v, v.why == metric.Present
}

// killCount counts the processes of a group that the kernel killed.
type killCount struct {
	known  bool
	killed uint64
	full   uint64 // times that it found no memory within its limit

	// Of the last sweep.
	rose   uint64 // killed, in this group and in version 2 also below it
	below  uint64 // killed, in the groups just below it
	filled bool   // full rose
	// ahead is what below was more than rose: a group is read before those below it.
	ahead uint64
}

// watchKills notes by how much the count of killed processes rose.
func (g *cgroups) watchKills(m *member[cgroup]) {
	k := &m.data.watch.kills
	k.rose, k.below, k.filled = 0, 0, false
	killed, ok := m.data.number(colKilled)
	if !ok {
		return
	}
	full, counted := m.data.number(colOOM)
	if !counted {
		full, _ = m.data.number(colAtLimit)
	}
	if k.known || m.data.watch.fresh {
		k.rose, k.filled = killed-min(k.killed, killed), full > k.full
	}
	k.known, k.killed, k.full = true, killed, full
	if above := m.data.parent; above != nil && g.two {
		above.data.watch.kills.below += k.rose
	}
}

// tellKills reports whose processes were killed: those of the groups farthest down whose counts
// rose. A group that ended has no count any more, but the one above it has.
func (g *cgroups) tellKills() {
	for _, m := range g.groups.live {
		k := &m.data.watch.kills
		if m.data.gone || k.rose+k.below+k.ahead == 0 {
			continue
		}
		if k.rose < k.below+k.ahead {
			k.ahead += k.below - k.rose
			continue
		}
		n := k.rose - k.below - k.ahead
		k.ahead = 0
		if n > 0 {
			g.tellKilled(m, n)
		}
	}
}

func (g *cgroups) tellKilled(m *member[cgroup], n uint64) {
	victim, ended := m, ""
	for _, l := range g.watching.lost {
		switch {
		case l.data.parent != m:
		case ended == "":
			victim, ended = l, ", and it ended"
		default:
			victim, ended = m, ", in groups below it that ended"
		}
	}
	what := fmt.Sprintf("%d processes", n)
	if n == 1 {
		what = "1 process"
	}
	where, limit := g.killedWhere(m, victim)
	g.tell(victim, metric.OwnerKilled, ": the kernel killed "+what+where+ended, append(limit, metric.Label{Name: "count", Value: fmt.Sprint(n)})...)
}

// killedWhere returns which limit left no memory to a victim: a group, or one below it that ended.
func (g *cgroups) killedWhere(m, victim *member[cgroup]) (string, []metric.Label) {
	at := m
	for at != nil && !at.data.watch.kills.filled {
		at = at.data.parent
	}
	if at == nil {
		return " for lack of memory", nil
	}
	if at == m {
		at = victim // the count of m includes it
	}
	if at.data.watch.limits[memoryLimit].text == "" {
		g.readLimits(at)
	}
	limit := &at.data.watch.limits[memoryLimit] // its own when it was last there
	labels := []metric.Label{{Name: "limit", Value: fmt.Sprint(limit.value.v)}}
	switch {
	case limit.text == "", limit.text == noneText:
		return " at its memory limit", nil
	case at == victim:
		return " at its memory limit of " + limit.text, labels
	}
	return " at the memory limit of " + titleOf(&at.in) + ", " + limit.text, labels
}

// throttleWatch looks at a group's quota minute by minute.
type throttleWatch struct {
	since              int64
	periods, throttled uint64
	known, held        bool
	from               metric.Stamp
}

// A group is held back if it used up its quota in so large a part of a minute's periods, until
// the part is small.
const (
	throttledOver  = 0.25
	throttledUnder = 0.1
	throttledFor   = int64(time.Minute)
)

func (g *cgroups) watchThrottling(m *member[cgroup]) {
	t := &m.data.watch.throttle
	periods, counted := m.data.number(colPeriods)
	throttled, _ := m.data.number(colThrottled)
	at := g.watching.at
	if !counted || t.known && at.Cont-t.since < throttledFor {
		return
	}
	part := 0.0
	if periods > t.periods {
		part = float64(throttled-min(t.throttled, throttled)) / float64(periods-t.periods)
	}
	known := t.known
	t.known, t.since, t.periods, t.throttled = true, at.Cont, periods, throttled
	switch {
	case !known:
	case !t.held && part >= throttledOver:
		t.held, t.from = true, at
		text := " was held back by its quota"
		if quota, ok := m.data.quota(); ok {
			text += " of " + quota
		}
		part := fmt.Sprintf("%.0f", part*100)
		g.tell(m, metric.OwnerThrottled, text+", which it used up in "+part+" % of the periods of a minute", metric.Label{Name: "percent", Value: part})
	case t.held && part < throttledUnder:
		t.held = false
		length := time.Duration(at.Cont - t.from.Cont)
		g.tell(m, metric.OwnerThrottled, " is no longer held back by its quota, after "+length.Round(time.Second).String(), metric.Period(t.from.Time(), length)...)
	}
}

// quota returns the part of a processor that a group may use; "" if it is not known or there is
// none.
func (d *cgroup) quota() (string, bool) {
	quota, ok := d.number(colQuota)
	period, known := d.number(colPeriod)
	if !ok || !known || period == 0 {
		return "", false
	}
	return fmt.Sprintf("%.3g %% of a processor", float64(quota)/float64(period)*100), true
}

const (
	numGroupLimits = 5
	memoryLimit    = 1 // in groupLimits
)

// groupLimits are the limits whose changes are reported.
var groupLimits = [numGroupLimits]struct {
	col  int
	name string
	text func(d *cgroup, col int) string
}{
	{colQuota, "its quota", func(d *cgroup, _ int) string { quota, _ := d.quota(); return quota }},
	{groupColumnNamed("cgroup.memory.limit"), "its memory limit", limitBytes},
	{groupColumnNamed("cgroup.memory.high"), "the memory above which it is slowed down", limitBytes},
	{groupColumnNamed("cgroup.memory.swap.max"), "its limit of swap space", limitBytes},
	{groupColumnNamed("cgroup.pids.max"), "its limit of threads", func(d *cgroup, col int) string { n, _ := d.number(col); return fmt.Sprint(n) }},
}

func limitBytes(d *cgroup, col int) string {
	n, _ := d.number(col)
	return bytesText(n)
}

// knownLimit is a limit when it was last known: none is the word for none.
type knownLimit struct {
	value groupValue
	text  string
}

const noneText = "none"

// readLimits reads the limits of a group before it is time to.
func (g *cgroups) readLimits(m *member[cgroup]) {
	if m.data.gone || g.groups.members[m.data.path] != m {
		return
	}
	var places uint64
	for i := range g.places {
		for _, col := range g.places[i].cols {
			for _, l := range groupLimits {
				if col == l.col {
					places |= 1 << i
				}
			}
		}
	}
	if g.readGroup(m, places); !m.data.gone {
		g.watchLimits(m)
	}
}

func (g *cgroups) watchLimits(m *member[cgroup]) {
	w := &m.data.watch
	for i, l := range groupLimits {
		v := m.data.values[l.col]
		if v.why != metric.Present && v.why != noLimit {
			continue
		}
		old := &w.limits[i]
		if old.text != "" && old.value == v {
			continue
		}
		was, is := old.text, noneText
		if v.why == metric.Present {
			is = l.text(&m.data, l.col)
		}
		old.value, old.text = v, is
		if was != "" && is != "" && was != is {
			g.tell(m, metric.OwnerLimit, ": "+l.name+" is "+is+" now, before that "+was, metric.Label{Name: "metric", Value: groupColumns[l.col].metric},
				metric.Label{Name: "was", Value: was}, metric.Label{Name: "is", Value: is})
		}
	}
}

// bytesText writes a number of bytes as people do: "512 MB".
func bytesText(n uint64) string {
	x, unit := float64(n), 0
	names := [...]string{"B", "KB", "MB", "GB", "TB", "PB", "EB"}
	for x >= 1024 && unit < len(names)-1 {
		x /= 1024
		unit++
	}
	if x = math.Round(x*10) / 10; x >= 100 {
		x = math.Round(x)
	}
	return fmt.Sprintf("%.4g %s", x, names[unit])
}
