package store

import (
	"math"
	"slices"

	"tachograph/sample/metric"
	"tachograph/store/archive"
	"tachograph/store/chunk"
	"tachograph/store/source"
)

// Selection says which values to read. The zero value selects everything.
type Selection struct {
	// Hosts restricts to hosts with these IDs; nil means all.
	Hosts []string
	// Metrics are exact names; nil means all.
	Metrics []string
	// Instance restricts to instances it accepts; nil means all. It is not called for metrics
	// without an instance domain. The function must not keep its argument.
	Instance func(indom string, in *metric.Instance) bool
	// Sought, if set, has a trait of every instance that Instance accepts. Where it rules out
	// most instances, their names are not decoded.
	Sought *Sought
	// Keys restricts to instances with these keys; nil means all. It is faster than Instance:
	// chunks without the keys are hardly read. It does not affect metrics without an instance
	// domain.
	Keys   []string
	keySet *chunk.Keys // of Keys
	// Cohort, if set, restricts the instances of processes and threads to it.
	Cohort *Cohort
	// From and To bound the wall clock, both inclusive; zero To means the end.
	From, To int64
	// Prior asks also for the last reading of each metric and class before From in the same boot,
	// which gives the first rate and the first held value in the window. An instance that was
	// away at that reading has no value before From.
	Prior bool
	// Cuts are wall clocks, in order, that no Summary reaches across. A value read exactly at a
	// cut belongs to the time before it.
	Cuts []int64
	// Spread asks each Summary to say how its values are distributed.
	Spread bool
	// Whole allows Summarize to sum up a whole archive in one Summary, where the archive stores it.
	Whole bool
	// Means asks for a correct Weighted also for counters of processes and threads in reduced
	// archives. Their steps have to be decoded for it.
	Means bool
}

// End returns To, or the end of time.
func (sel *Selection) End() int64 {
	if sel.To == 0 {
		return math.MaxInt64
	}
	return sel.To
}

// Holds reports whether a wall clock is in the window.
func (sel *Selection) Holds(wall int64) bool { return wall >= sel.From && wall <= sel.End() }

// Wants reports whether sel asks for a metric.
func (sel *Selection) Wants(metric string) bool {
	return sel.Metrics == nil || slices.Contains(sel.Metrics, metric)
}

// Accepts reports whether sel asks for an instance of a domain; nil is that of metrics without a
// domain.
func (sel *Selection) Accepts(indom string, in *metric.Instance) bool {
	return in == nil || (sel.Keys == nil || slices.Contains(sel.Keys, in.Key)) && (sel.Instance == nil || sel.Instance(indom, in))
}

// Limits narrow what an Archive shows. The zero Limits narrow nothing.
type Limits struct {
	// Archives are the archives to show; nil: all.
	Archives []*ArchiveInfo
	// Near makes a search for the last value before a window short: it covers two and a half
	// intervals before the window or, where a metric is read rarely, the whole archive.
	// Without it the search goes back to the beginning of the boot.
	Near bool
	// UpTo hides what was recorded after a mark; nil: nothing.
	UpTo *Mark
}

// A Mark is a place in a recording.
type Mark struct {
	// Archive is the ID of the archive. Later archives of its host are after the mark.
	Archive string
	// Read is, for each class, the continuous clock of its last reading before the mark.
	Read [metric.NumClasses]int64
	// Churn and Events are how many events of processes, and how many others, the archive
	// has before the mark.
	Churn, Events uint64
}

// Sought describes the names being looked for.
type Sought = chunk.Sought

// Run is a stretch of one series: the values of one metric and instance at
// successive ticks of one archive. Its slices are valid until the next Run.
type Run struct {
	Archive *archive.Info
	Metric  *metric.Desc // as recorded in that archive
	// Instance is nil where the metric has no instance domain. The same instance of one boot is
	// the same pointer throughout a Reader, until the question about its cohort has ended.
	Instance *metric.Instance
	Wall     []int64
	Cont     []int64 // nanoseconds since boot, sleep included
	metric.Column
}

// At returns the i-th value.
func (r *Run) At(i int) metric.Value { return r.Column.At(r.Metric.Type, i) }

// Point is one value and its instant.
type Point struct {
	Wall, Cont int64
	Bits       uint64
}

// Seen returns the wall clocks at which the instance was first and last read.
func (s *Summary) Seen() (from, to int64) { return s.First.Wall - s.Since, s.Last.Wall - s.Until }

// Summary sums up a stretch of one numeric series. Absent values count only in Missing.
type Summary struct {
	Archive        *archive.Info
	Metric         *metric.Desc
	Instance       *metric.Instance
	Count, Missing uint64
	First, Last    Point
	// Since and Until are set in a reduced archive, whose readings stand for steps: how long
	// before First the instance was first read, and how long before Last it was last read. They
	// are 0 elsewhere.
	Since, Until int64
	// Every and Came are set in the same archives: the time between the readings in the step of
	// First, and whether the instance came in that step.
	Every    int64
	Came     bool
	Min, Max uint64 // bits of the metric's type; NaN is left out
	Sum      float64
	// Weighted is the sum over all values but the first of the value times
	// the seconds since the previous one: divided by the seconds from First
	// to Last it is the time-weighted mean.
	Weighted float64
	// Lead is how long the first value was held before First, where a reduced archive records
	// it; 0 elsewhere.
	Lead int64
	// Averaged says that Last is the mean of a step. A reduced archive has no last value of
	// a process that ended within a step.
	Averaged bool
	// Increase is a counter's increase from First to Last, with resets and wraps accounted for.
	// It is negative where Last is a dip below First: the values that follow make up for it.
	Increase      float64
	Resets, Wraps uint32
	// Steepest is a counter's greatest increase per second from one value to the next; infinite
	// where it is not known.
	Steepest float64
	// Longest is set in a Summary of a whole archive: no two successive values are further apart.
	Longest int64
	// Spread is how the values are distributed, if the selection asks for it.
	Spread Spread
}

// A Spread says how the values of a summary are distributed: by the values themselves where they
// have been decoded, by a sketch of them, or else by the place where they are stored.
type Spread struct {
	Values []Repeated
	Sketch chunk.Sketch
	Place  Place
}

// A Place is the location of a series in a chunk.
type Place struct {
	a               *source.Source
	ref             *archive.ChunkRef
	group, col, row int
}

func (p *Place) sameColumn(q *Place) bool {
	return p.ref == q.ref && p.group == q.group && p.col == q.col
}

// column decodes the series of a place's column in the given rows.
func (p *Place) column(rows []int, fn func(row int, in *chunk.Instance, s *chunk.Series)) error {
	c, err := p.ref.Open()
	if err != nil {
		return err
	}
	g := c.Groups[p.group]
	return g.Series(p.col, rows, func(row int, s *chunk.Series) error {
		in, err := g.Instance(row)
		if err == nil {
			fn(row, in, s)
		}
		return err
	})
}

// Repeated is a value and how many times it was read.
type Repeated struct {
	Bits  uint64
	Times uint64
}

// Event is an event and the archive that holds it. The archive's host and boot say which series
// the event concerns.
type Event struct {
	metric.Event
	Archive *archive.Info
}

// Life is the span in which an instance was seen.
type Life struct {
	Archive  *archive.Info // the last one it was seen in
	Indom    string
	Instance *metric.Instance
	From, To int64 // wall clocks of the first and last tick that listed it
	// Names are the instance's names in the order of time; the first is its name when it was
	// first seen.
	Names []Naming
}

// A Naming is the name of an instance from a wall clock on.
type Naming struct {
	From   int64
	Name   string
	Labels []metric.Label
}
