package openmetrics

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"tachograph/cmd/replay/internal/naming"
	"tachograph/sample/metric"
	"tachograph/store/query"
)

// A host writes the part of a family that one host has.
type host struct {
	*exporter
	metric.Host
	window query.Window
	mine   func(*query.Series) bool // whether a series belongs to the family
}

func (h *host) metric(d *metric.Desc) error {
	if d.Indom == metric.NoIndom {
		if d.Type == metric.String {
			return h.gather(d)
		}
		return h.stream(d)
	}
	groups := h.grouped(d)
	for len(groups) > 0 {
		n, values := 0, int64(0)
		var keys []string
		for n < len(groups) && (n == 0 || values+groups[n].values(d) <= h.batch) {
			values += groups[n].values(d)
			keys = append(keys, groups[n].keys...)
			n++
		}
		var err error
		if n == 1 && groups[0].single && d.Type != metric.String {
			err = h.stream(d, keys...)
		} else {
			err = h.gather(d, keys...)
		}
		if err != nil {
			return err
		}
		groups = groups[n:]
	}
	return nil
}

// stream writes values that are all of one series, as they are read.
func (h *host) stream(d *metric.Desc, keys ...string) error {
	source := &naming.Source{Metric: d.Name}
	begun := false
	for s, err := range h.values(d, keys...) {
		if err != nil {
			return err
		}
		if !h.mine(s) {
			continue
		}
		if !begun {
			begun = true
			h.series(h.labelsOf(source, s, ""))
		}
		scale := source.Scale(s.Metric)
		for i, wall := range s.Wall {
			if s.Miss != nil && s.Miss[i] != metric.Present {
				continue
			}
			if err := h.sample(wall, scale.Of(naming.Number(s.Value(i)))); err != nil {
				return err
			}
		}
	}
	return nil
}

// A track is the part of a series that comes from one instance.
type track struct {
	labels, key string
	at          []int64
	x           []float64
}

// gather reads the series of some instances into memory, and then writes them.
func (h *host) gather(d *metric.Desc, keys ...string) error {
	source := &naming.Source{Metric: d.Name}
	tracks := make(map[[2]string]*track)
	of := func(s *query.Series, word string) *track {
		key := ""
		if s.Instance != nil {
			key = s.Instance.Key
		}
		labels := h.labelsOf(source, s, word)
		t := tracks[[2]string{string(labels), key}]
		if t == nil {
			t = &track{labels: string(labels), key: key}
			tracks[[2]string{t.labels, key}] = t
		}
		return t
	}
	for s, err := range h.values(d, keys...) {
		if err != nil {
			return err
		}
		if !h.mine(s) {
			continue
		}
		scale := source.Scale(s.Metric)
		var t *track
		word := ""
		for i, wall := range s.Wall {
			if s.Miss != nil && s.Miss[i] != metric.Present {
				continue
			}
			x := 1.0
			if s.Type != metric.String {
				x = scale.Of(naming.Number(s.Value(i)))
			} else if w := s.Word(i); t == nil || w != word {
				t, word = of(s, w), w
			}
			if t == nil {
				t = of(s, "")
			}
			t.at, t.x = append(t.at, wall), append(t.x, x)
		}
	}
	return h.tracks(tracks)
}

// tracks writes series; tracks with the same labels are written together.
func (h *host) tracks(all map[[2]string]*track) error {
	list := make([]*track, 0, len(all))
	for _, t := range all {
		list = append(list, t)
	}
	slices.SortFunc(list, func(x, y *track) int {
		return cmp.Or(strings.Compare(x.labels, y.labels), cmp.Compare(x.at[0], y.at[0]), strings.Compare(x.key, y.key))
	})
	for len(list) > 0 {
		n := 1
		for n < len(list) && list[n].labels == list[0].labels {
			n++
		}
		if err := h.alike(list[:n]); err != nil {
			return err
		}
		list = list[n:]
	}
	return nil
}

// alike writes tracks with the same labels. Those that follow each other in time are one series,
// as they would be with occasional scrapes. Those at the same time get their key as an
// additional label.
func (h *host) alike(list []*track) error {
	var apart []*track
	h.series([]byte(list[0].labels))
	end := int64(math.MinInt64)
	for _, t := range list {
		if t.at[0] <= end {
			apart = append(apart, t)
			continue
		}
		end = max(end, t.at[len(t.at)-1])
		if err := h.track(t); err != nil {
			return err
		}
	}
	for _, t := range apart {
		key := naming.AppendLabels(nil, []naming.Label{{Name: "key", Value: t.key}})
		h.series([]byte(t.labels[:len(t.labels)-1] + "," + string(key[1:])))
		if err := h.track(t); err != nil {
			return err
		}
	}
	return nil
}

func (h *host) track(t *track) error {
	for i, wall := range t.at {
		if err := h.sample(wall, t.x[i]); err != nil {
			return err
		}
	}
	return nil
}

// ours are the labels of our own that every series has, or some have.
var ours = []string{"host", "host_id", "instance", "job", "key", "value"}

// labelsOf returns the labels of a series, with the text of an info.
func (h *host) labelsOf(source *naming.Source, s *query.Series, word string) []byte {
	return h.labelsWith(source, s.Metric, s.Instance, word)
}

func (h *host) labelsWith(source *naming.Source, d *metric.Desc, in *metric.Instance, word string) []byte {
	labels, _ := source.Series(d, in)
	for i := range labels {
		if slices.Contains(ours, labels[i].Name) {
			labels[i].Name = "of_" + labels[i].Name
		}
	}
	if d.Type == metric.String {
		labels = append(labels, naming.Label{Name: "value", Value: word})
	}
	labels = append(labels, naming.Label{Name: "host", Value: h.Name}, naming.Label{Name: "host_id", Value: h.ID},
		naming.Label{Name: "instance", Value: h.Name}, naming.Label{Name: "job", Value: Job})
	labels = slices.DeleteFunc(labels, func(l naming.Label) bool { return l.Value == "" })
	slices.SortStableFunc(labels, func(x, y naming.Label) int { return strings.Compare(x.Name, y.Name) })
	return naming.AppendLabels(nil, labels)
}

// A group is a set of instances of which some had the same labels at some time.
type group struct {
	keys   []string
	single bool // it is one instance whose labels never changed
	length int64
}

// values returns about how many values of a metric there are.
func (g *group) values(d *metric.Desc) int64 {
	return g.length/int64(max(d.Class.Interval(), time.Second)) + int64(len(g.keys))
}

// grouped returns the groups of the requested instances of a metric's domain.
func (h *host) grouped(d *metric.Desc) []group {
	indom, from := d.Indom, h.window.From
	cached := h.ID + "/" + indom
	if d.Class == metric.Static {
		cached, from = cached+"/static", 0 // instances that were read before the window still exist
	}
	if list, ok := h.groups[cached]; ok {
		return list
	}
	var g grouping
	for l := range h.r.Archive.Lives(indom, from, h.window.To) {
		if l.Archive.Host.ID != h.ID || h.r.Instance != nil && !h.r.Instance(indom, l.Instance) && len(l.Names) < 2 {
			continue
		}
		names := []string{called(indom, l.Instance)}
		for _, n := range l.Names {
			in := *l.Instance
			in.Name, in.Labels = n.Name, n.Labels
			names = append(names, called(indom, &in))
		}
		g.add(l.Instance.Key, l.To-l.From, names)
	}
	list := g.groups()
	h.groups[cached] = list
	return list
}

// called returns the labels of an instance, as one text.
func called(indom string, in *metric.Instance) string {
	return string(naming.AppendLabels(nil, naming.InstanceLabels(indom, in)))
}

// A grouping puts instances together that had the same labels at some time.
type grouping struct {
	members []member
	byName  map[string]int
	byKey   map[string]int
}

type member struct {
	key    string
	length int64
	name   string // its first labels
	names  int
	leader int // a member of the same group; its own index if it leads the group
}

func (g *grouping) add(key string, length int64, names []string) {
	if g.byName == nil {
		g.byName, g.byKey = make(map[string]int), make(map[string]int)
	}
	me, known := g.byKey[key]
	if !known {
		me = len(g.members)
		g.byKey[key] = me
		g.members = append(g.members, member{key: key, name: names[0], leader: me})
	}
	m := &g.members[me]
	m.length += length
	for _, name := range names {
		if name != m.name {
			m.names++
		}
		if other, taken := g.byName[name]; taken {
			g.members[g.leads(other)].leader = g.leads(me)
		} else {
			g.byName[name] = me
		}
	}
}

// leads returns the leader of a member's group.
func (g *grouping) leads(i int) int {
	for g.members[i].leader != i {
		g.members[i].leader = g.members[g.members[i].leader].leader
		i = g.members[i].leader
	}
	return i
}

func (g *grouping) groups() []group {
	at := make(map[int]int)
	var list []group
	for i := range g.members {
		m, leader := &g.members[i], g.leads(i)
		n, ok := at[leader]
		if !ok {
			n = len(list)
			at[leader] = n
			list = append(list, group{single: m.names == 0})
		}
		list[n].single = list[n].single && len(list[n].keys) == 0
		list[n].keys = append(list[n].keys, m.key)
		list[n].length += m.length
	}
	return list
}
