package live

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"tachograph/sample/metric"
	"tachograph/store/archive"
	"tachograph/store/follow"
	"tachograph/store/query"
)

// A State is the values of all metrics at some instant. It never changes. Any number of
// goroutines may read it and keep it.
type State struct {
	// Archive is the archive that is being recorded.
	Archive *archive.Info
	// Position is the position after everything in the state.
	Position follow.Position
	// At is when the latest tick was read; zero if there was none.
	At metric.Stamp
	// Ticks, Churn and Events count what has been delivered: ticks by class, starts and ends of
	// processes, and other events. Breaks counts those of the latter that all clients get.
	Ticks                 [metric.NumClasses]uint64
	Churn, Events, Breaks uint64
	// Recent are the last events without starts and ends of processes, the latest last.
	Recent []metric.Event
	// Distrusted are the metrics that another source contradicts.
	Distrusted query.Distrusted

	plan   *plan
	blocks []*metric.Block // by place; nil if nothing was read since the boot
}

// A plan says which metrics there are and where their values are. It is replaced when a recorder
// begins to read other metrics.
type plan struct {
	groups  []placed
	metrics map[string]where
	names   []string // of metrics, in order
}

// placed is a group with its class. The place of a group that is no longer recorded stays,
// empty.
type placed struct {
	class  metric.Class
	group  *metric.Group // nil: nothing
	serial uint64        // of two groups with the same metric, the later one has the higher serial
}

// where is the place of a metric's group, and the metric's column in it.
type where struct{ place, column int }

// A Reading is the last reading of a metric.
type Reading struct {
	Metric *metric.Desc
	Class  metric.Class // the class that it was read with
	Block  *metric.Block
	Column *metric.Column
}

// Age returns how long ago the metric was read; now is the wall clock.
func (r *Reading) Age(now time.Time) time.Duration { return now.Sub(r.Block.At.Time()) }

// Values yields the instances of the reading with their values; a single nil instance for a
// metric without a domain.
func (r *Reading) Values() iter.Seq2[*metric.Instance, metric.Value] {
	return func(yield func(*metric.Instance, metric.Value) bool) {
		for i, in := range r.Block.Rows {
			if !yield(in, r.Column.At(r.Metric.Type, i)) {
				return
			}
		}
	}
}

// Lookup returns the last reading of the metric called name.
func (s *State) Lookup(name string) (Reading, bool) {
	w, ok := s.plan.metrics[name]
	if !ok || s.blocks[w.place] == nil {
		return Reading{}, false
	}
	return s.reading(w), true
}

func (s *State) reading(w where) Reading {
	g, b := s.plan.groups[w.place], s.blocks[w.place]
	return Reading{Metric: g.group.Metrics[w.column], Class: g.class, Block: b, Column: &b.Cols[w.column]}
}

// Readings yields the last readings of all metrics, by name.
func (s *State) Readings() iter.Seq[Reading] {
	return func(yield func(Reading) bool) {
		for _, name := range s.plan.names {
			if w := s.plan.metrics[name]; s.blocks[w.place] != nil && !yield(s.reading(w)) {
				return
			}
		}
	}
}

// Seldom is the interval above which a reading's age says nothing about whether it is current.
const Seldom = 5 * time.Minute

// Old reports whether a reading is no longer current. A metric that is read regularly has missed
// some readings; one that is read once or seldom belongs to a recording that has ended. A
// reading younger than atLeast is never old.
func (s *State) Old(r *Reading, every, atLeast time.Duration, now time.Time) bool {
	at := r.Block.At
	if every <= 0 || every > Seldom {
		at, every = s.At, Seldom
	}
	return now.Sub(at.Time()) > max(3*every, atLeast)
}

// Distrust returns why the value of an instance of a metric is not to be trusted; nil if it is.
func (s *State) Distrust(d *metric.Desc, in *metric.Instance) *query.Distrust {
	for _, one := range s.Distrusted {
		if one.Concerns(s.Archive.Host.ID, d, in) {
			return one
		}
	}
	return nil
}

// Why returns why there is no reading of d, which is a description from the catalogue of the
// host's platform, or a recorded one.
func (s *State) Why(d *metric.Desc) string {
	switch {
	case d.Unsupported != "":
		return d.Unsupported
	case d.Formula != "":
		return "what it is computed from is not recorded"
	case d.Class == metric.Disabled:
		return "it is described and not read"
	case s.Archive == nil:
		return "nothing has been recorded"
	case d.Class < metric.NumClasses && s.Archive.Intervals[d.Class] == 0:
		return "metrics of class " + d.Class.String() + " are not recorded as the recorder is configured"
	}
	return "it has not been recorded since the boot"
}

// Instances returns the members of a domain, all that have a row in a last reading: first those
// of the class that is read most often, in the order in which they were recorded, then those
// that only other classes have. An instance that began or ended between two readings is in only
// one of them, and a client that gets its value needs its name.
func (s *State) Instances(indom string) []*metric.Instance {
	var of []int
	for i, g := range s.plan.groups {
		if s.blocks[i] != nil && g.group.Indom == indom {
			of = append(of, i)
		}
	}
	slices.SortStableFunc(of, func(x, y int) int {
		return cmp.Compare(s.Archive.Intervals[s.plan.groups[x].class], s.Archive.Intervals[s.plan.groups[y].class])
	})
	if len(of) == 0 {
		return nil
	}
	rows := s.blocks[of[0]].Rows
	known := make(map[string]bool, len(rows))
	for _, in := range rows {
		known[in.Key] = true
	}
	rows = slices.Clip(rows)
	for _, i := range of[1:] {
		for _, in := range s.blocks[i].Rows {
			if !known[in.Key] {
				known[in.Key] = true
				rows = append(rows, in)
			}
		}
	}
	return rows
}

// Domains returns the instance domains that have a reading, by name.
func (s *State) Domains() []string {
	all := make(map[string]bool)
	for i, g := range s.plan.groups {
		if s.blocks[i] != nil && g.group.Indom != metric.NoIndom {
			all[g.group.Indom] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// planOf returns the plan of groups.
func planOf(groups []placed) *plan {
	p := &plan{groups: groups, metrics: make(map[string]where)}
	for i, g := range groups {
		if g.group == nil {
			continue
		}
		for c, d := range g.group.Metrics {
			if w, ok := p.metrics[d.Name]; !ok || groups[w.place].serial <= g.serial {
				p.metrics[d.Name] = where{i, c}
			}
		}
	}
	p.names = slices.SortedFunc(maps.Keys(p.metrics), strings.Compare)
	return p
}
