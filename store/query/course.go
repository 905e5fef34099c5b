package query

import (
	"cmp"
	"slices"
	"time"

	"tachograph/store"
)

// A Course is a line over a long window, in parts. For most of them summaries give the mean, and
// an upper limit of the line, without a value being read.
type Course struct {
	Line  *Line
	Parts []*Part // in the order of time; they do not overlap

	r *courseReader
	c *gaugeCourse
	w Window
}

// Part is a course between two readings.
type Part struct {
	From, To int64
	// Told says whether summaries give Mean, Top and Count.
	Told bool
	Mean float64 // of the values in the part
	// Top is at least as high as any value. If it is zero, there were only zeros.
	Top   float64
	Count uint64

	p *gaugePart
}

// courseReader reads parts for several courses, so that the metrics they share are decoded only
// once.
type courseReader struct {
	g   *gaugeReader
	now *glimpse
}

const (
	// longestPart is about how long a part is where there are no summaries, unless there are few
	// readings in it: the clock of a damaged archive may span centuries.
	longestPart = int64(time.Hour)
	fewReadings = 600
)

// Courses prepares several lines of one host, from summaries alone.
func Courses(a Archive, w Window, lines []*Line) []*Course {
	var exprs []*Expr
	for _, l := range lines {
		exprs = append(exprs, l.e)
	}
	r := &courseReader{g: newGaugeReader(a, w, 0, exprs)}
	var out []*Course
	for _, l := range lines {
		course := &Course{Line: l, r: r, w: w, c: &gaugeCourse{def: &gauge{share: l.Share}, e: l.e, w: w, whole: l.whole}}
		course.c.Gauge, _ = newGauge(course.c.def, l.e, 0)
		if r.g.divide(course.c) {
			for _, p := range course.c.parts {
				course.Parts = append(course.Parts, &Part{From: p.from, To: p.to, Told: p.told, Mean: p.plain, Top: p.top, Count: p.count, p: p})
			}
		} else {
			course.Parts = course.c.pieces(a, w)
		}
		out = append(out, course)
	}
	return out
}

// pieces returns parts of which only the times are known: the clock was set back, or there are no
// summaries.
func (c *gaugeCourse) pieces(a Archive, w Window) []*Part {
	var stretches []*Part
	for _, p := range c.parts {
		stretches = append(stretches, &Part{From: p.from, To: p.to, Count: p.count})
	}
	if len(stretches) == 0 {
		_, _, list := Covered(a, w)
		for _, info := range list {
			stretches = append(stretches, &Part{From: max(info.From, w.From), To: min(info.To, w.To), Count: fewReadings})
		}
	}
	slices.SortStableFunc(stretches, func(x, y *Part) int { return cmp.Compare(x.From, y.From) })
	var out []*Part
	for _, s := range stretches {
		if n := len(out); n > 0 && s.From <= out[n-1].To {
			out[n-1].To, out[n-1].Count = max(out[n-1].To, s.To), out[n-1].Count+s.Count
			continue
		}
		out = append(out, s)
	}
	return slices.Collect(func(yield func(*Part) bool) {
		for _, s := range out {
			n := min((s.To-s.From)/longestPart, int64(s.Count/fewReadings)) + 1
			length := (s.To-s.From)/n + 1
			for k := range n {
				from := s.From + k*length
				if !yield(&Part{From: from, To: min(from+length-1, s.To)}) {
					return
				}
			}
		}
	})
}

// Shares reports whether two courses are read together, so that the metrics they share are
// decoded only once.
func (c *Course) Shares(other *Course) bool { return c.r == other.r }

// Forget drops what is kept of the part that was read last.
func (c *Course) Forget() { c.r.now = nil }

// Values calls yield with each value of a part, in the order of time, as gauges compute them.
func (c *Course) Values(p *Part, yield func(wall int64, x float64)) error {
	if !p.Told {
		return c.Line.Values(c.r.g.a, Window{Hosts: c.w.Hosts, From: p.From, To: p.To}, yield)
	}
	if v := c.r.now; v == nil || v.from != p.From || v.to != p.To {
		c.r.now = &glimpse{g: c.r.g, from: p.From, to: p.To, runs: make(map[seriesID]*store.Run), read: make(map[string]bool)}
	}
	c.r.now.each(c.c, p.p, func(wall int64, x float64) {
		if x == x {
			yield(wall, x)
		}
	})
	return nil
}
