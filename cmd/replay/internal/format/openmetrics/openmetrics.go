// Package openmetrics writes recordings as OpenMetrics 1.0, with the names of /metrics.
// promtool turns such a file into blocks of Prometheus.
//
// OpenMetrics requires all samples of a family together, and within it all samples of a series
// in the order of time. Archives come one after the other, and an instance may leave and return
// with the same name. So the writer reads one metric at a time, for as many instances as fit
// into a limited memory, and keeps instances together that may get the same name.
package openmetrics

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"tachograph/cmd/internal/cli"
	"tachograph/cmd/replay/internal/export"
	"tachograph/cmd/replay/internal/naming"
	"tachograph/sample/metric"
	"tachograph/store/query"
)

// Format is the format for replay export.
var Format = export.Format{Name: "openmetrics", Summary: "OpenMetrics text, of which promtool makes blocks of a Prometheus", Write: write}

// Job is the label job of every series, as in pushed ones.
const Job = "tachograph"

func write(ctx context.Context, r *export.Request, t export.Target) (*export.Report, error) {
	report := &export.Report{}
	var err error
	report.Bytes, err = t.Stream(ctx, func(w io.Writer) error {
		return cmp.Or(newExporter(ctx, r, w, report).all(), report.Nothing())
	})
	return report, err
}

// batchValues is how many values are kept in memory.
const batchValues = 2 << 20

func newExporter(ctx context.Context, r *export.Request, w io.Writer, report *export.Report) *exporter {
	return &exporter{ctx: ctx, r: r, w: w, report: report, batch: batchValues, taken: make(map[string]bool), groups: make(map[string][]group)}
}

// An exporter writes a file.
type exporter struct {
	ctx    context.Context
	r      *export.Request
	w      io.Writer
	report *export.Report
	batch  int64           // how many values are kept in memory
	taken  map[string]bool // names that no other family may have
	groups map[string][]group

	// The family that is being written.
	family naming.Family
	begun  bool
	// The series: the text before each of its values, and the time of the last one.
	labels []byte
	open   bool
	last   int64
	line   []byte

	late, wrong, hidden int64
	connections         bool // are hidden too
}

func (e *exporter) all() error {
	list := e.r.Wanted()
	for i, d := range list {
		e.r.Done(int64(i), int64(len(list)))
		if e.r.Metrics == nil && naming.PerProcess(d.Indom) {
			e.hidden++
			e.connections = e.connections || d.Indom == "connection"
			continue
		}
		if err := e.metric(d); err != nil {
			return err
		}
	}
	e.notes()
	_, err := io.WriteString(e.w, "# EOF\n")
	return err
}

// notes reports what is not in the file.
func (e *exporter) notes() {
	note := func(n int64, text string) {
		if n > 0 {
			e.report.Notes = append(e.report.Notes, fmt.Sprintf(text, cli.Count(n, "value")))
		}
	}
	note(e.late, "%s left out: a series goes forward in time, a millisecond at least, and the clock had been set back")
	note(e.wrong, "%s of counters left out: they are negative or no number, which no counter is")
	if e.hidden > 0 {
		of := "processes and threads"
		if e.connections {
			of = "processes, threads and connections"
		}
		e.report.Notes = append(e.report.Notes, cli.Count(e.hidden, "metric")+" of "+of+" left out: each of these would have series of its own; name the metrics to have them")
	}
}

// metric writes the family of a metric, or several families if archives describe it differently.
func (e *exporter) metric(d *metric.Desc) error {
	families := []naming.Family{naming.Own(d)}
	for i := 0; i < len(families); i++ {
		e.family, e.begun = families[i], false
		if e.claimed() {
			e.report.Notes = append(e.report.Notes, fmt.Sprintf("%s left out: another metric is called %s as well", d.Name, e.family.Stem()))
			continue
		}
		// other notes the families of archives that describe the metric differently.
		mine := func(s *query.Series) bool {
			f := naming.Own(s.Metric)
			if f.Name == e.family.Name {
				return true
			}
			if !slices.ContainsFunc(families, func(o naming.Family) bool { return o.Name == f.Name }) {
				families = append(families, f)
			}
			return false
		}
		for _, h := range e.r.HostsIn() {
			one := host{exporter: e, Host: h, window: query.Window{Hosts: []string{h.ID}, From: e.r.Window.From, To: e.r.Window.To}, mine: mine}
			if err := one.metric(d); err != nil {
				return err
			}
		}
		if e.begun {
			for _, name := range e.names() {
				e.taken[name] = true
			}
		}
	}
	return nil
}

// names returns the names that a family and its samples have or could have.
func (e *exporter) names() []string {
	stem := e.family.Stem()
	switch e.family.Type {
	case naming.Counter:
		return []string{stem, stem + "_total", stem + "_created"}
	case naming.Info:
		return []string{stem, stem + "_info"}
	}
	return []string{stem}
}

// claimed reports whether another family already has one of these names.
func (e *exporter) claimed() bool {
	return slices.ContainsFunc(e.names(), func(name string) bool { return e.taken[name] })
}

// series begins a series.
func (e *exporter) series(labels []byte) {
	e.labels, e.open, e.last = append(e.labels[:0], labels...), false, math.MinInt64
}

// sample writes a value of the series at a time in nanoseconds.
func (e *exporter) sample(wall int64, x float64) error {
	if e.family.Type == naming.Counter && !(x >= 0) {
		e.wrong++
		return nil
	}
	at := wall / 1e6
	if wall < 0 && wall%1e6 != 0 {
		at--
	}
	if at <= e.last {
		e.late++
		return nil
	}
	b := e.line[:0]
	if !e.begun {
		e.begun = true
		b = e.family.AppendHead(b, true)
	}
	if !e.open {
		e.open = true
		e.report.Series++
	}
	e.last = at
	b = append(append(b, e.family.Name...), e.labels...)
	b = append(b, ' ')
	switch {
	case math.IsInf(x, 1):
		b = append(b, "+Inf"...)
	case x == math.Trunc(x) && math.Abs(x) < 1e15:
		b = strconv.AppendInt(b, int64(x), 10)
	default:
		b = strconv.AppendFloat(b, x, 'g', -1, 64)
	}
	b = append(b, ' ')
	b = appendSeconds(b, at)
	e.line = append(b, '\n')
	e.report.Values++
	_, err := e.w.Write(e.line)
	return err
}

// appendSeconds appends milliseconds as seconds.
func appendSeconds(b []byte, ms int64) []byte {
	if ms < 0 {
		b, ms = append(b, '-'), -ms
	}
	b = strconv.AppendInt(b, ms/1000, 10)
	part := ms % 1000
	return append(b, '.', byte('0'+part/100), byte('0'+part/10%10), byte('0'+part%10))
}
