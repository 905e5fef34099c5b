package moment

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"

	"tachograph/sample/metric"
	"tachograph/store/query"
)

var nan = math.NaN()

// mostInstances bounds how many disks, volumes and the like are read, whatever an archive holds.
const mostInstances = 1 << 12

// value is the value of a metric, or of one of its instances, at a moment.
type value struct {
	x     float64
	text  string
	units metric.Units
	rate  bool
	miss  metric.Reason
	wall  int64
	name  string // name of the instance
}

// values hold everything on a moment's pages except for processes.
type values struct {
	r   *Recording
	at  int64
	of  map[string]map[string]value // by metric and key of the instance
	cpu float64                     // number of processors
}

// read reads the values of a moment: the last one of each metric, as shown elsewhere. It takes an
// archive narrowed by near, or its twin, and does not change the recording.
func (r *Recording) read(a query.Archive, at int64) (*values, error) {
	v := &values{r: r, at: at, of: make(map[string]map[string]value)}
	byClass := make(map[metric.Class][]string)
	for _, name := range wanted() {
		if d := a.Lookup(name); d != nil && d.Unsupported == "" {
			byClass[d.Class] = append(byClass[d.Class], name)
		}
	}
	seen := 0
	for _, class := range slices.Sorted(maps.Keys(byClass)) {
		// The last reading, and the one before it for its rate.
		back := r.every(class, at) * 3 / 2
		q := query.Request{Window: r.window(at-back, at), Metrics: byClass[class], Mode: query.Shown}
		for s, err := range query.Read(a, q) {
			if err != nil {
				return nil, err
			}
			key, name := "", ""
			if s.Instance != nil {
				key, name = s.Instance.Key, s.Instance.Title()
			}
			list := v.of[s.Name]
			if list == nil {
				list = make(map[string]value)
				v.of[s.Name] = list
			}
			last := len(s.Wall) - 1
			if old, known := list[key]; known && old.wall > s.Wall[last] || !known && seen >= mostInstances*8 {
				continue
			}
			seen++
			x := s.Value(last)
			one := value{x: nan, units: s.Units, rate: s.Rate, miss: x.Miss, wall: s.Wall[last], name: name}
			switch {
			case x.Miss != metric.Present:
			case s.Type == metric.String:
				one.text = x.Str
			default:
				one.x = x.Number()
			}
			list[key] = one
		}
	}
	v.cpu = query.Cores(a, r.window(max(r.from, at-block), at))
	return v, nil
}

// one returns the value of a metric without instances.
func (v *values) one(name string) (value, bool) {
	x, ok := v.of[name][""]
	return x, ok
}

// absent says why a metric has no value; it returns "" where this host does not have the metric.
func (v *values) absent(name string) string {
	d := v.r.a.Lookup(name)
	switch {
	case d == nil:
		return ""
	case d.Unsupported != "":
		return d.Unsupported
	}
	if one, ok := v.of[name][""]; ok && one.miss != metric.Present {
		return one.miss.String()
	}
	return "not read then"
}

// figure makes a figure of a metric's value.
func (v *values) figure(name, title string, x value, known bool, metricName string) Figure {
	f := Figure{Name: name, Title: title, Value: nan, Of: nan, Units: x.units, Rate: x.rate}
	switch {
	case !known:
		f.Absent = v.absent(metricName)
	case x.miss != metric.Present:
		f.Absent = x.miss.String()
	default:
		f.Value, f.Text = x.x, x.text
		if x.units == metric.Percent {
			f.Value, f.Units, f.Rate = x.x/100, metric.NoUnits, true
		}
	}
	return f
}

// keys returns the instances of some metrics, in their usual order.
func (v *values) keys(metrics []string) (keys []string, names map[string]string) {
	names = make(map[string]string)
	for _, m := range metrics {
		for key, one := range v.of[m] {
			if _, known := names[key]; !known && len(names) < mostInstances {
				names[key] = one.name
			}
		}
	}
	keys = slices.Collect(maps.Keys(names))
	slices.SortFunc(keys, func(x, y string) int {
		a, errA := strconv.Atoi(x)
		b, errB := strconv.Atoi(y)
		if errA == nil && errB == nil {
			return cmp.Compare(a, b)
		}
		return cmp.Or(cmp.Compare(names[x], names[y]), cmp.Compare(x, y))
	})
	return keys, names
}
