package remote

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"tachograph/cmd/replay/internal/naming"
	"tachograph/sample/metric"
	"tachograph/store"
	tquery "tachograph/store/query"
)

// mostCollected bounds how many samples of one name are collected before they are sent.
const mostCollected = 5_000_000

// candidate is a family of one host whose name is matched.
type candidate struct {
	naming.Family
	host     metric.Host
	instance string
}

// reading is a query that is being answered.
type reading struct {
	ctx       context.Context
	a         Archive
	q         *query
	from, to  int64 // nanoseconds
	left      *int  // how many samples are still allowed; negative: no bound but mostCollected
	collected int
	// numbers and texts are the last values of metrics, by host and name.
	numbers map[[2]string]float64
	texts   map[[2]string]string
}

// read answers q: it yields series by series, sorted by their labels; coming is how many samples
// of that name there are from this series on.
func read(ctx context.Context, a Archive, q *query, left *int, yield func(labels []naming.Label, samples []sample, coming int) error) error {
	const far = math.MaxInt64 / 1_000_000
	r := &reading{ctx: ctx, a: a, q: q, left: left, numbers: make(map[[2]string]float64), texts: make(map[[2]string]string)}
	start, end := min(max(q.start, 1), far-1), min(max(q.end, 0), far-1)
	if end < start || !all(q.matchers, "job", Job) {
		return nil
	}
	r.from, r.to = start*1e6, end*1e6+999_999
	list := r.candidates()
	for len(list) > 0 {
		n := 1
		for n < len(list) && list[n].Name == list[0].Name {
			n++
		}
		set := newSet(r, start, end)
		for i := range list[:n] {
			if err := r.collect(&list[i], set); err != nil {
				return err
			}
		}
		list = list[n:]
		for _, s := range set.finished() {
			if err := yield(s.labels, s.samples, r.collected); err != nil {
				return err
			}
			r.collected -= len(s.samples)
			s.samples = nil
		}
		r.collected = 0
	}
	return ctx.Err()
}

// candidates returns the families that the matchers may select, sorted by name.
func (r *reading) candidates() []candidate {
	var list []candidate
	called := make(map[string]int)
	for _, h := range r.a.Hosts() {
		called[h.Name]++
	}
	for _, h := range r.a.Hosts() {
		instance := h.Name
		if called[h.Name] > 1 {
			instance += "/" + h.ID
		}
		if _, _, overlapping := tquery.Covered(r.a, tquery.Window{Hosts: []string{h.ID}, From: r.from, To: r.to}); len(overlapping) == 0 || !all(r.q.matchers, "instance", instance) {
			continue
		}
		seen := make(map[string]bool)
		add := func(f naming.Family) {
			if !seen[f.Name] && all(r.q.matchers, nameLabel, f.Name) {
				seen[f.Name] = true
				list = append(list, candidate{f, h, instance})
			}
		}
		for _, f := range naming.Node(h.Platform) {
			add(f)
		}
		for _, d := range r.a.Metrics() {
			if d := r.lookup(h.ID, d.Name); d != nil {
				add(naming.Own(d))
			}
		}
	}
	slices.SortStableFunc(list, func(x, y candidate) int {
		return cmp.Or(strings.Compare(x.Name, y.Name), strings.Compare(x.instance, y.instance))
	})
	return list
}

// lookup returns a metric as the newest archive of a host describes it.
func (r *reading) lookup(host, name string) *metric.Desc {
	archives := r.a.Archives()
	for i := len(archives) - 1; i >= 0; i-- {
		if archives[i].Host.ID == host {
			if d := r.a.LookupIn(archives[i], name); d != nil {
				return d
			}
		}
	}
	return nil
}

// collect adds the series of a family.
func (r *reading) collect(c *candidate, set *set) error {
	for i := range c.Sources {
		src := &c.Sources[i]
		d := r.lookup(c.host.ID, src.Metric)
		if d == nil || d.Unsupported != "" || naming.PerProcess(d.Indom) && !names(r.q.matchers, c.Name) ||
			slices.ContainsFunc(src.Labels, func(l naming.Label) bool { return !all(r.q.matchers, l.Name, l.Value) }) {
			continue
		}
		targets, err := tquery.Targets(r.a, &tquery.Definitions{}, []string{d.Name})
		if err != nil || len(targets) != 1 {
			continue // a formula whose operands were not recorded
		}
		factor := 1.0
		if src.Times != "" {
			x, ok := r.number(c.host.ID, src.Times)
			if !ok {
				continue
			}
			factor = x
		}
		if err := r.source(c, src, d, targets[0], factor, set); err != nil {
			return err
		}
	}
	return nil
}

// request returns the request for a metric of a host as it was recorded. A metric that is read
// so seldom that its values are held is requested from the beginning of the archives.
func (r *reading) request(host string, held bool) tquery.Request {
	w := tquery.Window{Hosts: []string{host}, From: r.from, To: r.to}
	if held {
		_, _, overlapping := tquery.Covered(r.a, w)
		for _, info := range overlapping {
			w.From = min(w.From, max(info.From, 0))
		}
	}
	return tquery.Request{Window: w, Mode: tquery.Raw}
}

// seldom is an interval that Prometheus would take for an absence: it looks back five minutes.
// Values that are read so seldom, or once for each archive, are repeated each minute, because
// they hold until they are read again.
const (
	seldom    = int64(2 * 60 * 1e9)
	heldEvery = int64(60 * 1e9)
)

// every returns how often a metric of a class was read; 0 if its values are held.
func every(info *store.ArchiveInfo, class metric.Class) int64 {
	if class >= metric.NumClasses {
		return 0
	}
	if d := int64(info.Intervals[class]); d > 0 && d <= seldom {
		return d
	}
	return 0
}

// isHeld reports whether values of a class are held in any archive of a host.
func (r *reading) isHeld(host string, class metric.Class) bool {
	return slices.ContainsFunc(r.a.Archives(), func(info *store.ArchiveInfo) bool {
		return info.Host.ID == host && every(info, class) == 0
	})
}

// source adds the series of a source.
func (r *reading) source(c *candidate, src *naming.Source, d *metric.Desc, t tquery.Target, factor float64, set *set) error {
	ask := r.request(c.host.ID, r.isHeld(c.host.ID, d.Class))
	labelled := func(in *metric.Instance, more ...naming.Label) ([]naming.Label, bool) {
		labels, ok := src.Series(d, in)
		if !ok {
			return nil, false
		}
		labels = append(append(labels, more...), naming.Label{Name: nameLabel, Value: c.Name}, naming.Label{Name: "instance", Value: c.instance}, naming.Label{Name: "job", Value: Job})
		// An empty label is not a label.
		labels = slices.DeleteFunc(labels, func(l naming.Label) bool { return l.Value == "" })
		slices.SortFunc(labels, func(x, y naming.Label) int { return strings.Compare(x.Name, y.Name) })
		return labels, true
	}
	text := d.Type == metric.String && len(src.Texts) == 0
	if d.Indom != metric.NoIndom && !naming.PerProcess(d.Indom) && !text {
		ask.Instance = func(_ string, in *metric.Instance) bool {
			labels, ok := labelled(in)
			return ok && take(r.q.matchers, labels)
		}
	}
	var more []naming.Label
	for _, l := range src.Texts {
		more = append(more, naming.Label{Name: l.Name, Value: r.text(c.host.ID, l.Value)})
	}
	called := tquery.NewNames(r.a, ask)
	for whole, err := range tquery.ReadTarget(r.a, t, ask) {
		if err != nil {
			return err
		}
		if err := r.ctx.Err(); err != nil {
			return err
		}
		for part := range called.Split(whole, t.Indom()) {
			info := part.Archive
			step := every(info, d.Class)
			scale := src.Scale(&metric.Desc{Units: part.Units})
			var to *series
			word := ""
			for i, wall := range part.Wall {
				v := part.Value(i)
				if to == nil || text && v.Str != word {
					if to != nil {
						to.end(wall)
					}
					extra := more
					if word = v.Str; text {
						extra = []naming.Label{{Name: "value", Value: word}}
					}
					labels, ok := labelled(part.Instance, extra...)
					if !ok || !take(r.q.matchers, labels) {
						to = set.ignored()
					} else {
						to = set.series(labels)
						to.expect(part.Wall[i:])
					}
				}
				x, present := 1.0, v.Miss == metric.Present
				switch {
				case src.Kind == naming.Failing && present:
					x = 0
				case src.Kind == naming.Failing:
					present = true
				case src.Kind == naming.Clock:
					x = float64(wall) / 1e9
				case d.Type != metric.String:
					x = scale.Of(naming.Number(v) * factor)
				}
				to.put(wall, x, present, step, info.To)
			}
			if set.err != nil {
				return set.err
			}
		}
	}
	return nil
}

// last calls fn with the values of a metric without instances, in the order of time.
func (r *reading) last(host, name string, fn func(metric.Value)) {
	d := r.lookup(host, name)
	if d == nil || d.Indom != metric.NoIndom || d.Formula != "" {
		return
	}
	for s, err := range tquery.ReadTarget(r.a, tquery.Target{Metric: d}, r.request(host, true)) {
		if err != nil {
			return
		}
		for i := range s.Wall {
			if v := s.Value(i); v.Miss == metric.Present {
				fn(v)
			}
		}
	}
}

// number returns the last value of a metric without instances.
func (r *reading) number(host, name string) (float64, bool) {
	key := [2]string{host, name}
	x, known := r.numbers[key]
	if !known {
		x = math.NaN()
		r.last(host, name, func(v metric.Value) { x = naming.Number(v) })
		r.numbers[key] = x
	}
	return x, x == x
}

// text returns the last text of a metric without instances.
func (r *reading) text(host, name string) string {
	key := [2]string{host, name}
	s, known := r.texts[key]
	if !known {
		r.last(host, name, func(v metric.Value) { s = v.Str })
		r.texts[key] = s
	}
	return s
}

// spend counts a collected sample.
func (r *reading) spend() error {
	r.collected++
	if r.collected > mostCollected {
		return fmt.Errorf("more than %d samples of one name: ask for fewer series or a shorter time", mostCollected)
	}
	if *r.left < 0 {
		return nil
	}
	if *r.left == 0 {
		return fmt.Errorf("too many samples: ask for fewer series or a shorter time")
	}
	*r.left--
	return nil
}
