package query

import (
	"math"
	"time"

	"tachograph/sample/metric"
	"tachograph/store"
)

// ProcessRun is a stretch of one field of one process: its values at successive instants. It is
// valid until the next one.
type ProcessRun struct {
	Archive  *store.ArchiveInfo
	Instance *metric.Instance
	// Counter is the field, or NumProcessCounters where it is Level.
	Counter ProcessCounter
	Level   ProcessLevel
	Wall    []int64
	// Values are those of a level, or the gains of a counter since the reading before, which was
	// Seconds earlier; NaN where that is unknown. What a process had used when it was first read
	// counts if it began in the interval. A level that was not read before, or not since a break,
	// counts for an interval.
	Values, Seconds []float64
	// Every is the planned interval of readings: a recorder that costs more than it may reads
	// processes less often.
	Every int64
}

// runsAtOnce is how much of the window is read at a time: short, so that the many processes of
// days need not be in memory together.
const runsAtOnce = int64(2 * time.Hour)

// ProcessRuns reads some fields of all processes of a window in one pass, stretch of time by
// stretch of time; after each stretch it calls gap with its end. The values are those that
// Processes has at each instant.
func ProcessRuns(a Archive, w Window, counters []ProcessCounter, levels []ProcessLevel, fn func(*ProcessRun), gap func(end int64) error) error {
	fields := mapFields(a, counters, levels)
	if len(fields.names) == 0 {
		return nil
	}
	from, to, list := Covered(a, w)
	if len(list) == 0 {
		return nil
	}
	from = max(from, w.From)
	if w.To != 0 {
		to = min(to, w.To)
	}
	last := make(lastReadings)
	for begin := from; begin <= to; begin += runsAtOnce {
		part := Window{Hosts: w.Hosts, From: begin, To: min(begin+runsAtOnce-1, to)}
		// Earlier readings show how far apart readings were: without them, a recorder that reads
		// less often than planned would seem to pause here.
		last.drop(func(_ seriesID, l *lastReading) bool { return l.Wall < begin-runsAtOnce })
		r := &runsReader{fields: fields, from: begin, gains: newGainer(readBreaks(a, part), nil), fn: fn}
		r.gains.last = last
		for one := range cohorts(a, Request{Window: part, Metrics: fields.names[:1]}, cohortSize) {
			sel := part.Selection(fields.names...)
			sel.Prior, sel.Cohort = true, one.Cohort
			for run := range a.Select(sel) {
				if run.Instance != nil {
					r.take(run)
				}
			}
		}
		if err := gap(part.To); err != nil {
			return err
		}
	}
	return nil
}

// runsReader turns runs into process runs.
type runsReader struct {
	fields *fieldMap
	from   int64
	gains  *gainer
	fn     func(*ProcessRun)
	out    ProcessRun
}

func (r *runsReader) take(run *store.Run) {
	o := &r.out
	o.Archive, o.Instance, o.Counter, o.Level = run.Archive, run.Instance, NumProcessCounters, NumProcessLevels
	o.Wall, o.Values, o.Seconds = o.Wall[:0], o.Values[:0], o.Seconds[:0]
	if o.Every = interval(run.Archive, run.Metric.Class); o.Every == 0 {
		o.Every = int64(run.Metric.Class.Interval())
	}
	unit := base(run.Metric.Units)
	g := r.gains
	g.turn(run.Archive, run.Metric, run.Instance)
	if f, ok := r.fields.level(run.Archive, run.Metric.Name); ok {
		o.Level = f
		for i, wall := range run.Wall {
			x, seconds := math.NaN(), float64(o.Every)/1e9
			if run.Miss == nil || run.Miss[i] == metric.Present {
				x = metric.Number(run.Metric.Type, run.Bits[i]) * unit
				if _, apart, why := g.pass(store.Point{Wall: wall, Cont: run.Cont[i], Bits: run.Bits[i]}); why == metric.Present {
					seconds = apart
				}
			} else if run.Miss[i] == metric.Vanished {
				continue
			}
			if wall >= r.from {
				o.add(wall, x, seconds)
			}
		}
		r.fn(o)
		return
	}
	f, ok := r.fields.counter(run.Archive, run.Metric.Name)
	if !ok {
		return
	}
	o.Counter = f
	for i, wall := range run.Wall {
		if run.Miss != nil && run.Miss[i] != metric.Present {
			g.absent()
			continue
		}
		inc, seconds, why := g.gain(store.Point{Wall: wall, Cont: run.Cont[i], Bits: run.Bits[i]})
		if wall < r.from {
			continue
		}
		x := math.NaN()
		if why == metric.Present {
			x = inc * unit
		} else if why == whyFirst {
			if began := run.Instance.Began(); began != 0 && wall > began && wall-began <= o.Every+o.Every/2 {
				x, seconds = metric.Number(run.Metric.Type, run.Bits[i])*unit, float64(wall-began)/1e9
			}
		}
		o.add(wall, x, seconds)
	}
	r.fn(o)
}

func (r *ProcessRun) add(wall int64, x, seconds float64) {
	r.Wall, r.Values, r.Seconds = append(r.Wall, wall), append(r.Values, x), append(r.Seconds, seconds)
}
