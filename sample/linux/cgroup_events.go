package linux

import (
	"fmt"
	"strings"
	"time"

	"tachograph/sample"
	"tachograph/sample/metric"
	"tachograph/sample/owner"
)

// Events tell what happened to the owners of control groups: services, containers, apps and
// sessions. A group whose owners are those of the group above it is a part of it and gives none,
// and neither do slices, which only hold others.

const (
	// mostToldOwner is how many events an hour there are at most of each kind of thing that happens to one owner.
	mostToldOwner = 4
)

// groupsWatch is what the events of all groups have in common.
type groupsWatch struct {
	started bool // a walk has found the groups that were there at the start
	c       *sample.Context
	at      metric.Stamp
	lost    []*member[cgroup] // groups that ended since the last sweep
	comings owner.Comings
}

// groupWatch is what must be known of a group to see what happens to it.
type groupWatch struct {
	known bool // it was there at the start, or an event has reported that it came
	fresh bool // it was not there at the start
	met   int64
	told  map[string]*timesTold // by what happened

	kills    killCount
	throttle throttleWatch
	limits   [numGroupLimits]knownLimit
}

// timesTold counts the events about something since an instant.
type timesTold struct {
	n     int
	since int64
}

func (w *groupsWatch) begin(c *sample.Context, at metric.Stamp) {
	w.c, w.at = c, at
	if e, ok := w.comings.Rest(at.Cont, groupDomain); ok {
		w.emit(e)
	}
}

const groupDomain = "cgroup"

func (w *groupsWatch) emit(e metric.Event) {
	if w.c.Emit != nil {
		e.At, e.Kind = w.at, metric.EventOwner
		w.c.Emit(e)
	}
}

// titleOf returns how an event calls the owner of a group.
func titleOf(in *metric.Instance) string {
	kind, name := in.MainOwner()
	switch kind {
	case "":
		return "control group " + in.Key
	case metric.OwnerService, metric.OwnerApp:
		return name
	case metric.OwnerPod:
		if box := in.Label(metric.OwnerContainer); box != "" {
			return "container " + box + " of pod " + name
		}
	}
	return kind + " " + name
}

// owns reports whether a group is where its owner begins.
func owns(m *member[cgroup]) bool {
	kind, name := m.in.MainOwner()
	switch {
	case kind == "", kind == metric.OwnerService && strings.HasSuffix(m.data.path, ".slice"):
		return false
	case kind == metric.OwnerService && strings.HasPrefix(name, "/"):
		return false // nobody we know of makes such groups
	}
	above := m.data.parent
	return above == nil || titleOf(&above.in) != titleOf(&m.in)
}

// tell emits an event about the owner of a group, unless there were too many.
func (g *cgroups) tell(m *member[cgroup], what, text string, labels ...metric.Label) {
	w := &m.data.watch
	about := what
	for _, l := range labels {
		if l.Name == "metric" {
			about += l.Value
		}
	}
	t := w.told[about]
	if t == nil {
		if w.told == nil {
			w.told = make(map[string]*timesTold)
		}
		t = &timesTold{since: g.watching.at.Cont}
		w.told[about] = t
	}
	if g.watching.at.Cont-t.since >= int64(time.Hour) {
		*t = timesTold{since: g.watching.at.Cont}
	}
	if t.n++; t.n > mostToldOwner {
		return
	}
	if t.n == mostToldOwner {
		text += "; it happens again and again, and is not reported for an hour"
	}
	all := append([]metric.Label{{Name: metric.OwnerWhat, Value: what}}, m.in.Owners()...)
	g.watching.emit(metric.Event{Text: titleOf(&m.in) + text, Indom: groupDomain, Key: m.in.Key, Labels: append(all, labels...)})
}

// settled reports a group that came, once it has been there for a while.
func (g *cgroups) settled(m *member[cgroup]) {
	w := &m.data.watch
	if w.known || g.watching.at.Cont-w.met < owner.Settled {
		return
	}
	w.known = true
	if !owns(m) {
		return
	}
	g.readLimits(m)
	if !g.watching.comings.Came() {
		return
	}
	g.tell(m, metric.OwnerCame, " started")
}

// gone reports a group that is gone.
func (g *cgroups) gone(m *member[cgroup]) {
	g.watching.lost = append(g.watching.lost, m)
	if !m.data.watch.known || !owns(m) {
		return
	}
	if !g.watching.comings.Went() {
		return
	}
	g.tell(m, metric.OwnerWent, " ended")
}

// remade reports a group that was removed and made again.
func (g *cgroups) remade(m *member[cgroup]) {
	if m.data.watch.known && owns(m) {
		g.tell(m, metric.OwnerRestarted, " was restarted", metric.Label{Name: "runs", Value: fmt.Sprint(m.data.runs)})
	}
}

// watch looks at what has been read of all groups.
func (g *cgroups) watch() {
	for _, m := range g.groups.live {
		if m.data.gone {
			g.watching.lost = append(g.watching.lost, m)
			continue
		}
		g.watchKills(m)
		g.watchThrottling(m)
		g.watchLimits(m)
	}
	g.tellKills()
	clear(g.watching.lost)
	g.watching.lost = g.watching.lost[:0]
}
