package moment

import (
	"math"

	"tachograph/sample/metric"
	"tachograph/store/query"
)

// Lane is one line of the timeline: a number that represents a part of the machine.
type Lane struct {
	Name, Title string
	Units       metric.Units
	Share       bool // values are fractions of 1
	Supply      bool // of something that is used up: a low value stands out
}

// Timeline is a stretch of a recording, in columns of equal length.
type Timeline struct {
	From, To int64
	Columns  int
	Lanes    []Track
	Marks    []Mark // marks in the stretch, in the order of time
	// Rough says that it took too long to read every value: High may be too low, and some NaN
	// values are not known yet. Asking for the same stretch again gives better values, and in the
	// end exact ones.
	Rough bool
}

// Track is a lane over a timeline.
type Track struct {
	Lane
	// Mean and High have a value for each column; NaN where nothing was recorded.
	Mean, High []float64
	// Scale is the value of a full column: 1 for shares, all memory for memory, else the highest
	// value in sight.
	Scale float64
}

// laneDef says how a lane is computed, on either platform: by the first of its gauges or
// expressions that has values.
type laneDef struct {
	name, title string
	share       bool
	supply      bool
	gauges      []string
	exprs       []string
}

var laneDefs = []laneDef{
	{name: "cpu", title: "cpu", gauges: []string{"cpu"}},
	{name: "memory", title: "memory", gauges: []string{"memory"}},
	{name: "pressure", title: "memory stalls", gauges: []string{"memory.pressure"}},
	{name: "compressor", title: "compressed", gauges: []string{"memory.compressed"}},
	{name: "swap", title: "swap", gauges: []string{"swap"}},
	{name: "disk", title: "disk", exprs: []string{"rate(disk.all.read_bytes) + rate(disk.all.write_bytes)"}},
	{name: "busy", title: "busiest disk", gauges: []string{"disk.busy"}},
	{name: "network", title: "network", exprs: []string{"rate(network.all.in.bytes) + rate(network.all.out.bytes)"}},
	{name: "gpu", title: "gpu", gauges: []string{"gpu"}},
	{name: "temperature", title: "temperature", gauges: []string{"thermal"}},
	{name: "power", title: "battery", supply: true, gauges: []string{"battery"}},
}

// without are lanes that are left out where another one, the map's value, says more.
var without = map[string]string{"compressor": "pressure", "swap": "pressure", "busy": "disk"}

// lane is a lane and how it is computed.
type lane struct {
	Lane
	line *query.Line
	of   float64
}

// findLanes chooses the lanes for which there are values.
func (r *Recording) findLanes() []*lane {
	var out []*lane
	have := make(map[string]bool)
	w := r.window(r.from, r.to)
	for _, def := range laneDefs {
		if have[without[def.name]] {
			continue
		}
		var line *query.Line
		for _, name := range def.gauges {
			if line == nil {
				line = query.GaugeLine(r.a, w, name)
			}
		}
		if line == nil && len(def.exprs) > 0 {
			line = query.LineOf(r.a, w, def.share, def.exprs)
		}
		if line == nil || !r.anything(line) {
			continue
		}
		have[def.name] = true
		l := &lane{Lane: Lane{def.name, def.title, line.Units, line.Share, def.supply}, line: line, of: math.NaN()}
		if of, err := line.Of(r.a, r.window(r.from, r.to)); err == nil {
			l.of = of
		}
		out = append(out, l)
	}
	return out
}

// anything reports whether the first metric of a line was ever read.
func (r *Recording) anything(l *query.Line) bool {
	for s := range r.a.Summarize(r.window(r.from, r.to).Selection(l.Metrics()[0])) {
		if s.Count > 0 {
			return true
		}
	}
	return false
}

// Lanes returns the lanes that this host has.
func (r *Recording) Lanes() []Lane {
	out := make([]Lane, len(r.lanes))
	for i, l := range r.lanes {
		out[i] = l.Lane
	}
	return out
}

// lanesAt returns the values of all lanes at a sample, each as last read. Like read, it takes an
// archive narrowed by near, or its twin.
func (r *Recording) lanesAt(a query.Archive, at int64) ([]float64, error) {
	out := blank(len(r.lanes))
	for i, l := range r.lanes {
		back := int64(0)
		for _, name := range l.line.Metrics() {
			if d := a.Lookup(name); d != nil && d.Class != metric.Static {
				back = max(back, r.every(d.Class, at)*3/2)
			}
		}
		var err error
		if out[i], err = l.line.Last(a, r.window(at-back, at)); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// column returns the column that an instant falls into.
func column(from, to int64, columns int, wall int64) int {
	k := int(float64(wall-from) / float64(to-from) * float64(columns))
	return min(max(k, 0), columns-1)
}

func blank(n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = math.NaN()
	}
	return out
}
