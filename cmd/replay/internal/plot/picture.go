package plot

import (
	"cmp"
	"slices"
	"strings"

	"tachograph/cmd/replay/internal/picture"
	"tachograph/sample/metric"
	"tachograph/store/query"
)

// What a picture shows at most.
const (
	linesMost = 8 // in a panel; as many as there are colours
	marksMost = 40
)

// Picture draws series over a window: a panel for each metric, and what happened to the hosts of
// the window. left is the number of series for which there is no room.
func Picture(a query.Archive, w query.Window, list []*Series) (p *picture.Picture, left int) {
	p = &picture.Picture{From: w.From, To: w.To}
	hosts := slices.DeleteFunc(slices.Clone(a.Hosts()), func(h metric.Host) bool { return !w.Wants(h.ID) })
	many := len(hosts) > 1
	p.Panels, left = panels(list, many)
	var names []string
	for _, h := range hosts {
		names = append(names, h.Name)
		before := ""
		if many {
			before = h.Name + ": "
		}
		mark(p, a, query.Window{Hosts: []string{h.ID}, From: w.From, To: w.To}, before)
	}
	p.Title = strings.Join(names, ", ")
	return p, left
}

// panels puts the series of one metric into one panel. If they are too many, it takes those with
// the largest values.
func panels(list []*Series, hosts bool) (panels []picture.Panel, left int) {
	var names []string
	byName := make(map[string][]*Series)
	for _, s := range list {
		if byName[s.Name] == nil {
			names = append(names, s.Name)
		}
		byName[s.Name] = append(byName[s.Name], s)
	}
	for i, n := range names {
		some := byName[n]
		if i >= Most {
			left += len(some)
			continue
		}
		if len(some) > linesMost {
			slices.SortStableFunc(some, func(x, y *Series) int { return cmp.Compare(y.sum(), x.sum()) })
			left += len(some) - linesMost
			some = some[:linesMost]
		}
		panel := picture.Panel{Title: n, Units: some[0].Units, Rate: some[0].Rate}
		for _, s := range some {
			name := s.Instance
			if hosts {
				name = strings.TrimSpace(s.Host + " " + name)
			}
			panel.Lines = append(panel.Lines, picture.Line{Name: name, Values: s.Values})
		}
		panels = append(panels, panel)
	}
	return panels, left
}

// bandTexts are the names of breaks in a picture.
var bandTexts = map[metric.EventKind]string{metric.EventSleep: "asleep", metric.EventWake: "asleep", metric.EventShutdown: "off", metric.EventPanic: "panic", metric.EventBoot: "off"}

// mark marks what happened to a host, and when it was not recorded. Each text begins with before.
func mark(p *picture.Picture, a query.Archive, w query.Window, before string) {
	for _, b := range query.Breaks(a, query.Window{Hosts: w.Hosts, From: w.From}) {
		if b.Length() <= 0 || b.From > w.To {
			continue
		}
		p.Bands = append(p.Bands, picture.Band{From: b.From, To: b.To, Text: before + cmp.Or(bandTexts[b.Kind], "not recorded")})
	}
	for e := range query.SortedEvents(a, w) {
		if len(p.Marks) < marksMost && !query.Everyday(e.Kind) && !unmarked[e.Kind] {
			p.Marks = append(p.Marks, picture.Mark{At: e.At.Wall, Text: before + string(e.Kind) + ": " + e.Text})
		}
	}
}

// unmarked are events without a mark: bands show them, or they are the recorder's own affairs.
var unmarked = map[metric.EventKind]bool{
	metric.EventSleep: true, metric.EventWake: true, metric.EventGap: true, metric.EventRotate: true, metric.EventShip: true,
	metric.EventRemoved: true, metric.EventBudget: true, metric.EventConfig: true, metric.EventOverrun: true,
}
