package assistant

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"time"

	"tachograph/cmd/replay/internal/out"
	"tachograph/sample/metric"
	"tachograph/store/query"
)

// keptSeries is how many series are collected. An answer rarely has room for as many.
const keptSeries = 24

// hiddenText is why the values of command lines are absent.
const hiddenText = "command lines are not shown: replay mcp --show-args shows them"

// series collects the points of series, by series.
type series struct {
	value      string // the name of the column of the values
	skip       int
	step       int64
	showArgs   bool
	host       bool
	time, till int // columns; -1: none
	names      [2]int
	at         int

	seen map[seriesName]*points // nil: counted and not kept
	kept []*points
}

type seriesName struct{ host, metric, instance string }

// points are those of a series.
type points struct {
	seriesName
	units  string
	wall   []int64
	value  []any
	reason []metric.Reason
}

func newSeries(value string, skip int, step time.Duration, showArgs bool) *series {
	return &series{value: value, skip: skip, step: int64(step), showArgs: showArgs, seen: make(map[seriesName]*points)}
}

func (s *series) begin(columns []out.Column) (out.Writer, error) {
	column := func(name string) int { return (&field{name: name}).take(columns) }
	s.host = columns[0].Only == out.Everywhere
	s.time, s.till, s.at = column("time"), column("to"), column(s.value)
	s.names = [2]int{column("metric"), column("instance")}
	return s, nil
}

func (s *series) Row(cells []out.Cell) error {
	name := seriesName{cells[0].S, "", ""}
	if s.names[0] >= 0 {
		name.metric = cells[s.names[0]].S
	}
	if s.names[1] >= 0 {
		name.instance = cells[s.names[1]].S
	}
	p, known := s.seen[name]
	if !known {
		if len(s.seen) >= s.skip && len(s.kept) < keptSeries {
			p = &points{seriesName: name}
			s.kept = append(s.kept, p)
		}
		s.seen[name] = p
	}
	if p == nil || len(p.wall) > mostPoints+1 {
		return nil
	}
	// A step is known by its end.
	wall := int64(0)
	if s.time >= 0 {
		wall = cells[s.time].I
	} else {
		wall = cells[s.till].I + 1
	}
	c := &cells[s.at]
	if c.Units != nil && p.units == "" {
		p.units = c.Units.String()
	}
	v, _ := (&field{}).value(c, time.UTC)
	if s.hides(name.metric) {
		v = nil
	}
	p.wall, p.value, p.reason = append(p.wall, wall), append(p.value, v), append(p.reason, c.Reason)
	return nil
}

// hides reports whether the values of a metric, or of an expression, are not for this client.
func (s *series) hides(name string) bool {
	return !s.showArgs && strings.Contains(name, query.CommandLines)
}

func (s *series) Close() error { return nil }

// start is the time from which the times of all points are counted.
func (s *series) start() int64 {
	first := int64(math.MaxInt64)
	for _, p := range s.kept {
		first = min(first, slices.Min(p.wall))
	}
	return first
}

// json returns a series in columns, and the times without a value with the reason.
func (s *series) json(p *points, start int64, zone *time.Location) json.RawMessage {
	o := newObject()
	if s.host {
		o.add("host", safe(p.host, roomOfText))
	}
	o.add("metric", safe(p.metric, roomOfText))
	if p.instance != "" {
		o.add("instance", safe(p.instance, roomOfText))
	}
	o.add("units", p.units)
	t := make([]json.Number, len(p.wall))
	for i, wall := range p.wall {
		t[i] = rounded(float64(wall-start) / 1e9)
	}
	o.add("t", t)
	o.add("v", p.value)
	if spans := s.absent(p, zone); spans != nil {
		o.add("absent", spans)
	}
	return o.close()
}

// absent returns the spans of steps without a value.
func (s *series) absent(p *points, zone *time.Location) []json.RawMessage {
	const most = 4
	var spans []json.RawMessage
	for i := 0; i < len(p.value) && len(spans) < most; i++ {
		if p.value[i] != nil {
			continue
		}
		first := i
		for i+1 < len(p.value) && p.value[i+1] == nil && p.reason[i+1] == p.reason[first] {
			i++
		}
		reason := safe(p.reason[first].String(), roomOfText)
		switch {
		case s.hides(p.metric):
			reason = hiddenText
		case p.reason[first] == metric.Present:
			reason = "no finite number"
		}
		span := newObject()
		span.add("from", moment(p.wall[first]-s.step, zone))
		span.add("to", moment(p.wall[i], zone))
		span.add("reason", reason)
		spans = append(spans, span.close())
	}
	return spans
}
