package main

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"tachograph/cmd/internal/cli"
	"tachograph/cmd/internal/when"
	"tachograph/cmd/replay/internal/human"
	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/query"
)

const (
	// acrossLength is how long before and after an update is compared, unless --before says so.
	acrossLength = time.Hour
	// leastAcross is the shortest time that is worth comparing.
	leastAcross = int64(time.Minute)
	// oneUpdate is how far apart changes of one update are.
	oneUpdate = int64(2 * time.Minute)
)

// An upgrade is what was changed in one go.
type upgrade struct {
	meant    *store.Event // the change that was asked for, else that of the system or the first
	from, to int64        // of the first and the last change
	count    int
}

// across compares the time before the last update of the window, or of the named package, with the time
// after it; the update itself is left out.
func (q *diffQuestion) across() (*comparison, error) {
	if len(q.args) > 1 || q.f.after != "" || q.f.at != "" {
		return nil, fmt.Errorf("--across-update compares as much time after an update as before it: replay diff --across-update, replay diff --across-update nginx --before 30m")
	}
	length := int64(acrossLength)
	if q.f.before != "" {
		d, err := when.Duration(q.f.before)
		if err != nil || d <= 0 {
			return nil, fmt.Errorf("--before %s is not a length of time (write 10m)", q.f.before)
		}
		length = int64(d)
	}
	u, err := q.update()
	if err != nil {
		return nil, err
	}
	host := u.meant.Archive.Host
	one := query.Window{Hosts: []string{host.ID}}
	begin, end, _ := query.Covered(q.s.Archive, one)
	// An update may have needed a restart: what lies in between was not recorded.
	last, first := u.from, u.to
	if at := query.LastBefore(q.s.Archive, host.ID, u.from-1); at != 0 && u.from-at > leastAcross {
		last = at
	}
	if at := query.FirstAfter(q.s.Archive, host.ID, u.to); at-u.to > leastAcross {
		first = at
	}
	text := q.changeText(u)
	if last-begin < leastAcross {
		return nil, fmt.Errorf("nothing to compare %s with: what was recorded of %s begins at %s", text, host.Name, q.s.Show(begin))
	}
	if end-first < leastAcross {
		return nil, fmt.Errorf("nothing to compare %s with yet: what was recorded of %s ends at %s", text, host.Name, q.s.Show(end))
	}
	length = min(length, last-begin, end-first)
	return &comparison{a: query.Window{From: last - length, To: last}, b: query.Window{From: first, To: first + length}, only: host.ID, since: text}, nil
}

// update finds the last update of the window.
func (q *diffQuestion) update() (*upgrade, error) {
	name := ""
	if len(q.args) == 1 {
		name = q.args[0]
	}
	pattern, err := query.ParsePattern(name)
	if err != nil {
		return nil, err
	}
	kinds := []metric.EventKind{metric.EventSoftware, metric.EventUpdate}
	if name != "" { // settings are changed by programs, too: only one that is meant counts
		kinds = append(kinds, metric.EventTunableChange)
	}
	var found *upgrade
	any := 0
	open := make(map[string]*upgrade) // by host, and setting if it is one: the update that goes on
	for e := range query.SortedEvents(q.s.Archive, q.w, kinds...) {
		of := e.Archive.Host.ID
		if e.Kind == metric.EventTunableChange {
			of += e.Label("metric")
		} else {
			any++
		}
		u := open[of]
		if u == nil || e.At.Wall-u.to > oneUpdate {
			u = &upgrade{from: e.At.Wall}
			open[of] = u
		}
		u.to = e.At.Wall
		u.count++
		switch {
		case name == "":
			if found = u; u.meant == nil || e.Kind == metric.EventUpdate {
				u.meant = e
			}
		case pattern.Match(cmp.Or(e.Label("package"), e.Label("metric"))):
			u.meant, found = e, u
		}
	}
	switch {
	case found != nil:
		return found, nil
	case any > 0:
		return nil, nothing("no update of %s in this window, but %s of other software (replay events --kind software)", name, cli.Count(any, "change"))
	case name != "":
		return nil, nothing("no update of %s in this window, and none of other software", name)
	}
	return nil, nothing("no update in this window: neither of software nor of the system")
}

// changeText says what an update changed, and when: "nginx 1.26.3 → 1.28.0 at 02:11".
func (q *diffQuestion) changeText(u *upgrade) string {
	e := u.meant
	text := query.EventText(q.s.Archive, e, human.Bytes)
	if name, was, is := e.Label("package"), e.Label("was"), e.Label("is"); name != "" && was != "" && is != "" {
		text = strings.Join([]string{name, was, "→", is}, " ")
	}
	if more := u.count - 1; more > 0 {
		text += " and " + cli.Count(more, "other change")
	}
	return text + " at " + q.s.Show(e.At.Wall)
}
