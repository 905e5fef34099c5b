package query

import (
	"math"

	"tachograph/sample/metric"
	"tachograph/store"
)

// A ProcessSpan is what a process used of one field while some successive chunks were recorded, or what several
// processes used that began and ended then.
type ProcessSpan struct {
	Archive *store.ArchiveInfo
	// Instance is the process, or one of several.
	Instance *metric.Instance
	Several  bool
	// Counter is the field, or NumProcessCounters where it is Level.
	Counter ProcessCounter
	Level   ProcessLevel
	// From and To are the instants between which it was used.
	From, To int64
	// Amount is the gain of a counter, negative if it ends in a dip, or the values of a level times
	// their seconds. Last is the last value of a level.
	Amount, Last float64
}

// ProcessSpans sums up some fields of all processes of a window, each time over a chunk or over the chunks of a digest,
// if these are not longer than longest. After the spans of the chunks it calls gap with the time that they describe.
// It decodes only what has no digest that is short enough. ok is false if the archives have longer chunks or are
// reduced: then only ProcessRuns has the answer.
func ProcessSpans(a Archive, w Window, longest int64, counters []ProcessCounter, levels []ProcessLevel, fn func(*ProcessSpan), gap func(from, to int64) error) (ok bool, err error) {
	t := &topper{a: a, group: PerProcess, fields: mapFields(a, counters, levels)}
	if len(t.fields.names) == 0 || t.bounds(w) != nil {
		return true, nil
	}
	_, _, list := Covered(a, w)
	for _, info := range list {
		if info.Step != 0 {
			return false, nil
		}
	}
	r := &spansReader{t: t, last: make(map[spanID]store.Point), fn: fn, gap: gap}
	decode := func(d *store.Totals) bool { return d.To.Wall-d.From.Wall > longest || t.decodes(d) }
	for part := range a.Total(t.w.Selection(t.fields.names...), decode) {
		if d := part.Totals; d != nil {
			r.crowds(d)
			err = r.finish()
		} else {
			name := part.Summaries[0].Metric.Name
			if name <= r.metric {
				err = r.finish() // The metrics of the next chunk begin.
			}
			r.metric = name
		}
		if err != nil {
			return true, err
		}
		for i := range part.Summaries {
			if s := &part.Summaries[i]; s.Instance != nil && s.Count > 0 {
				r.take(s)
			}
		}
		if r.end-r.begin > longest {
			return false, nil
		}
	}
	return true, r.finish()
}

// A spansReader turns summaries into spans.
type spansReader struct {
	t          *topper
	fn         func(*ProcessSpan)
	gap        func(from, to int64) error
	last       map[spanID]store.Point // the last values of what may still live
	metric     string                 // the last one of the present chunks
	begin, end int64                  // their first and last reading; 0 before
	before     int64                  // the last reading of the chunks before
	out        ProcessSpan
}

type spanID struct{ host, boot, key, metric string }

// finish ends the present chunks.
func (r *spansReader) finish() error {
	if r.end == 0 {
		return nil
	}
	from := r.begin - r.t.every
	if r.near(r.before, r.begin) {
		from = r.before
	}
	err := r.gap(from, r.end)
	for id, l := range r.last {
		if !r.near(l.Wall, r.end) {
			delete(r.last, id) // It has ended.
		}
	}
	r.before, r.begin, r.end, r.metric = r.end, 0, 0, ""
	return err
}

// near reports whether no reading seems to be missing between two.
func (r *spansReader) near(before, after int64) bool {
	return before <= after && after-before <= missedTicks*r.t.every
}

func (r *spansReader) extend(from, to int64) {
	if r.end == 0 || from < r.begin {
		r.begin = from
	}
	r.end = max(r.end, to)
}

func (r *spansReader) take(s *store.Summary) {
	r.extend(s.First.Wall, s.Last.Wall)
	o, unit := &r.out, base(s.Metric.Units)
	*o = ProcessSpan{Archive: s.Archive, Instance: s.Instance, Counter: NumProcessCounters, Level: NumProcessLevels, From: s.First.Wall, To: s.Last.Wall}
	id := spanID{s.Archive.Host.ID, s.Archive.BootID, s.Instance.Key, s.Metric.Name}
	before, known := r.last[id]
	follows := known && r.near(before.Wall, s.First.Wall) && before.Cont < s.First.Cont
	if follows {
		o.From = before.Wall
	}
	r.last[id] = s.Last
	if f, ok := r.t.fields.counter(s.Archive, s.Metric.Name); ok {
		o.Counter, o.Amount = f, s.Increase
		switch {
		case follows:
			inc, _ := metric.Increase(s.Metric, before.Bits, s.First.Bits, float64(s.First.Cont-before.Cont)/1e9)
			o.Amount += inc
		case known: // Something was missed.
		case r.t.born(s):
			o.Amount += metric.Number(s.Metric.Type, s.First.Bits)
			o.From = max(s.Instance.Began(), s.First.Wall-r.t.every)
		}
		o.Amount *= unit
	} else if f, ok := r.t.fields.level(s.Archive, s.Metric.Name); ok {
		// The first value counts for the time since the one before it.
		lead := r.t.every
		if follows {
			lead = s.First.Cont - before.Cont
		}
		o.From = s.First.Wall - lead
		o.Level, o.Last = f, metric.Number(s.Metric.Type, s.Last.Bits)*unit
		o.Amount = float64((s.Weighted + metric.Number(s.Metric.Type, s.First.Bits)*float64(lead)/1e9) * unit)
	} else {
		return // It belongs to another archive.
	}
	r.fn(o)
}

// crowds passes on the processes that came and went within the chunks of a digest.
func (r *spansReader) crowds(d *store.Totals) {
	r.extend(d.From.Wall, d.To.Wall)
	o, every := &r.out, float64(r.t.every)/1e9
	for i := range d.Crowds {
		c := &d.Crowds[i]
		for k, desc := range d.Descs {
			if desc == nil {
				continue
			}
			unit := base(desc.Units)
			*o = ProcessSpan{Archive: d.Archive, Instance: &c.Instance, Several: true, Counter: NumProcessCounters, Level: NumProcessLevels,
				From: c.From - r.t.every, To: c.To, Last: math.NaN()}
			if f, ok := r.t.fields.counter(d.Archive, desc.Name); ok && c.Columns[k].Count > 0 {
				o.Counter, o.Amount = f, float64(c.Columns[k].Gain)*unit
			} else if f, ok := r.t.fields.level(d.Archive, desc.Name); ok && k == c.Level {
				o.Level, o.Amount = f, float64((c.Weighted+float64(float64(c.First)*every))*unit)
			} else {
				continue
			}
			r.fn(o)
		}
	}
}
