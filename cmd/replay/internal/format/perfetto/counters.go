package perfetto

import (
	"math"
	"slices"

	"tachograph/sample/metric"
	"tachograph/store/query"
)

// line is the state of a counter's track that is being written.
type line struct {
	id    uint64
	last  value
	until int64 // until when the last value holds; 0 is before the first
	every int64
}

// counters writes the counters of one metric or expression, a track for each instance. label is
// the name of the tracks of processes.
func (t *trace) counters(h metric.Host, w query.Window, of query.Target, label string) error {
	w.From, w.To = t.r.Window.From, t.r.Window.To // the same steps as elsewhere
	r := query.Request{Window: w, Instance: t.r.Instance, Sought: t.r.Sought, Mode: query.Shown, Step: int64(t.step)}
	if of.Indom() == "process" {
		// Processes without a track have no counters either.
		if len(t.keys) == 0 {
			return t.err
		}
		r.Instance, r.Sought, r.Keys = nil, nil, t.keys
	}
	if of.Metric != nil {
		r.Metrics = []string{of.Metric.Name}
	}
	lines := make(map[string]*line)
	for s, err := range query.ReadTarget(t.r.Archive, of, r) {
		if err == nil {
			err = t.ctx.Err()
		}
		if err == nil {
			err = t.err
		}
		if err != nil {
			return err
		}
		key := ""
		if s.Instance != nil {
			key = s.Instance.Key
			if metric.PerBoot(of.Indom()) {
				key = s.Archive.BootID + "\x00" + key
			}
		}
		if of.Indom() == "process" && !t.drawn[t.processID(h, s.Archive.BootID, s.Instance.Key)] {
			continue
		}
		l := lines[key]
		if l == nil {
			l = &line{id: t.counter(h, s, of, label)}
			lines[key] = l
			t.report.Series++
		}
		t.stretch(h, r, s, l)
	}
	for _, l := range lines {
		t.stop(l)
	}
	return t.err
}

// counter describes the track of a series.
func (t *trace) counter(h metric.Host, s *query.Series, of query.Target, label string) uint64 {
	c := track{counter: true, name: label}
	c.unit, c.unitName = unitOf(s.Units)
	switch indom := of.Indom(); {
	case s.Instance == nil:
		family, last, _ := cutLast(label)
		if family == "" {
			family = label
		}
		c.parent, c.name = t.group(h, family), last
		c.id = t.id(h.ID, "counter", label)
	case indom == "process":
		c.parent = t.processID(h, s.Archive.BootID, s.Instance.Key)
		c.id = t.id(h.ID, "counter", s.Archive.BootID, s.Instance.Key, label)
	default:
		c.parent, c.name = t.group(h, label), s.Instance.Name
		c.id = t.id(h.ID, "counter", s.Archive.BootID, s.Instance.Key, label)
		if !metric.PerBoot(indom) {
			c.id = t.id(h.ID, "counter", "", s.Instance.Key, label)
		}
	}
	t.describe(c)
	return c.id
}

// unitOf returns the format's number for a unit, or the unit's name. Values are never converted.
func unitOf(u metric.Units) (uint64, string) {
	switch u {
	case metric.Bytes:
		return unitBytes, ""
	case metric.Nanoseconds:
		return unitTimeNs, ""
	case metric.Counts:
		return unitCount, ""
	}
	return 0, u.String()
}

// stretch writes the values of a series. A rate holds for the time before its instant, and a
// level for the time after it.
func (t *trace) stretch(h metric.Host, r query.Request, s *query.Series, l *line) {
	l.every = t.interval(r, s)
	for i, wall := range s.Wall {
		v := s.Value(i)
		if v.Miss != metric.Present {
			continue
		}
		from, to := wall, wall+l.every
		switch {
		case r.Step > 0:
			from, to = r.StepAt(wall)
		case s.Rate || s.Metric == nil:
			from, to = wall, wall
			if i > 0 {
				from = s.Wall[i-1]
			}
		case i+1 < len(s.Wall):
			to = s.Wall[i+1]
		}
		from, to = t.awake(h, from, to, s.Rate || s.Metric == nil)
		t.put(l, max(from, t.from), min(to, t.to), packed(v))
	}
}

// interval returns how long a value holds that no other follows.
func (t *trace) interval(r query.Request, s *query.Series) int64 {
	if r.Step > 0 {
		return r.Step
	}
	if n := min(len(s.Wall), 9); n > 2 {
		gaps := make([]int64, 0, n-1)
		for i := 1; i < n; i++ {
			gaps = append(gaps, s.Wall[i]-s.Wall[i-1])
		}
		slices.Sort(gaps)
		return gaps[len(gaps)/2]
	}
	if s.Metric != nil {
		if s.Metric.Class == metric.Static {
			return t.to - t.from // It is read once, and holds.
		}
		if every := s.Archive.Intervals[s.Metric.Class]; every > 0 {
			return min(int64(every), t.to-t.from)
		}
	}
	return 0
}

// awake cuts the time in which nothing was recorded out of an interval: the time after it for a
// level, the time before it for a rate.
func (t *trace) awake(h metric.Host, from, to int64, rate bool) (int64, int64) {
	breaks := t.breaks[h.ID]
	i, _ := slices.BinarySearchFunc(breaks, from, func(b query.Break, at int64) int {
		if b.To <= at {
			return -1
		}
		return 1
	})
	for ; i < len(breaks) && breaks[i].From < to; i++ {
		b := breaks[i]
		if b.To <= b.From {
			continue
		}
		if rate && b.To <= to {
			from = max(from, b.To)
		} else if !rate {
			return from, max(from, b.From)
		}
	}
	return from, to
}

// put gives a counter a value from one instant to another. It does not repeat a value that the
// counter already has.
func (t *trace) put(l *line, from, to int64, v value) {
	if from > t.to || to < t.from {
		return
	}
	if l.until != 0 && from-l.until > l.every {
		t.stop(l)
	}
	if l.until == 0 || v != l.last {
		t.value(l.id, from, v)
		t.report.Values++
	}
	l.last, l.until = v, max(to, from+1)
}

// stop ends a counter where its known values end.
func (t *trace) stop(l *line) {
	if l.until != 0 {
		t.value(l.id, l.until, none)
		l.until = 0
	}
}

// packed returns a number in the form for a packet.
func packed(v metric.Value) value {
	switch v.Type {
	case metric.I32, metric.I64:
		return value{bits: v.Bits, whole: true}
	case metric.U32, metric.U64:
		if v.Bits <= math.MaxInt64 {
			return value{bits: v.Bits, whole: true}
		}
	}
	return value{bits: math.Float64bits(v.Number())}
}
