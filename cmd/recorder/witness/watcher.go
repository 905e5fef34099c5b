package witness

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"tachograph/sample/metric"
)

const (
	// every is how often the pairs are compared, and soon how long after the start they are
	// first compared.
	every, soon = time.Hour, time.Minute
	// apart is for how long growth is counted, between the second look and the third.
	apart = time.Minute
	// patience is how long a look waits for a metric: six times the default interval of
	// changing metrics.
	patience = time.Minute
)

// Watcher compares the pairs of a set now and then, with values that are read anyway.
type Watcher struct {
	now func() metric.Stamp

	mu     sync.Mutex
	set    *Set
	check  *Check
	judges bool                     // the check has ended, and is being judged
	due    int64                    // awake clock: when the next check begins, or the next look
	since  int64                    // awake clock: when the current look began
	stands map[string]*metric.Block // by the name of the group
	states map[stateOf]*state
}

// stateOf identifies a pair, or one instance of it.
type stateOf struct{ pair, key string }

func (v *Verdict) of() stateOf {
	of := stateOf{pair: v.Pair.Name}
	if v.Instance != nil {
		of.key = v.Instance.Key
	}
	return of
}

// state is the state of a pair.
type state struct {
	verdict Verdict
	streak  int
	from    metric.Stamp // when the check began in which it first disagreed
	at      metric.Stamp // when the last check ended
	told    bool
}

// NewWatcher makes a Watcher of a set, with a clock.
func NewWatcher(set *Set, now func() metric.Stamp) *Watcher {
	return &Watcher{now: now, set: set, due: now().Awake + int64(soon), stands: make(map[string]*metric.Block), states: make(map[stateOf]*state)}
}

// Look takes in a tick. When a check has ended, it returns a function that judges the check,
// which takes time if there are many processes, and returns the events to record.
func (w *Watcher) Look(t *metric.Tick) (judge func() []metric.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if t.Class == metric.Static || t.Class == metric.Constrained {
		w.keep(t)
	}
	if t.At.Awake < w.due || w.judges {
		return nil
	}
	now := w.now()
	if w.check == nil {
		w.check = w.set.Begin(now)
		w.begin(now)
	}
	for _, b := range t.Blocks {
		w.check.See(b)
	}
	if !w.check.Complete() && now.Awake-w.since < int64(patience) {
		return nil
	}
	second := w.check.look == 1
	if !w.check.Next(now) {
		w.judges = true
		return w.settle
	}
	w.begin(now)
	if second {
		w.due = now.Awake + int64(apart)
		w.since = w.due
	}
	return nil
}

// begin begins a look, with the metrics that hardly ever change, which were seen earlier.
func (w *Watcher) begin(now metric.Stamp) {
	w.since = now.Awake
	for _, b := range w.stands {
		w.check.See(b)
	}
}

// keep remembers blocks that the pairs need and that are read only once per archive.
func (w *Watcher) keep(t *metric.Tick) {
	for _, b := range t.Blocks {
		if slices.ContainsFunc(b.Group.Metrics, w.set.Wants) {
			w.stands[b.Group.Name] = b.Clone()
		}
	}
}

// settle ends a check. It has a pair that disagrees compared again at once, until that is sure.
func (w *Watcher) settle() []metric.Event {
	verdicts := w.check.Verdicts() // no other goroutine uses it while judges is set
	w.mu.Lock()
	defer w.mu.Unlock()
	from, now := w.check.began[0], w.check.ended[looks-1]
	w.check, w.judges, w.due = nil, false, now.Awake+int64(every)
	var events []metric.Event
	for i := range verdicts {
		events = append(events, w.take(&verdicts[i], from, now)...)
	}
	for of, s := range w.states {
		switch {
		case s.told:
		case s.at != now: // it is gone
			delete(w.states, of)
		default:
			w.due = now.Awake // not sure yet
		}
	}
	return events
}

// take takes in a verdict.
func (w *Watcher) take(v *Verdict, from, now metric.Stamp) []metric.Event {
	of := v.of()
	s := w.states[of]
	switch {
	case v.State == Disagrees:
		if s == nil {
			s = &state{from: from}
			w.states[of] = s
		}
		s.verdict, s.at = *v, now
		s.streak++
		if s.streak >= sure && !s.told {
			s.told = true
			return []metric.Event{s.begins(now)}
		}
	case s == nil:
	case !s.told:
		delete(w.states, of)
	case v.State == Agrees:
		delete(w.states, of)
		return []metric.Event{s.ends(now)}
	}
	return nil
}

// Standing returns the events of what is distrusted now, for a new archive.
func (w *Watcher) Standing() []metric.Event {
	w.mu.Lock()
	defer w.mu.Unlock()
	var events []metric.Event
	for _, s := range w.states {
		if s.told {
			events = append(events, s.begins(w.now()))
		}
	}
	slices.SortFunc(events, func(x, y metric.Event) int { return strings.Compare(x.Text, y.Text) })
	return events
}

// begins is the event that a pair is distrusted. It may be repeated: its label from has the
// beginning.
func (s *state) begins(now metric.Stamp) metric.Event {
	e := s.event(now, metric.EventDistrustBegin)
	e.Text = fmt.Sprintf("%s: %s (%s); not to be trusted: %s", s.verdict.Name(), s.verdict.Pair.Because, s.verdict.Figures(),
		strings.Join(s.verdict.Pair.Distrusts, ", "))
	e.Labels = append(e.Labels, metric.Label{Name: "from", Value: s.from.Time().UTC().Format(time.RFC3339Nano)})
	return e
}

func (s *state) ends(now metric.Stamp) metric.Event {
	e := s.event(now, metric.EventDistrustEnd)
	length := time.Duration(now.Cont - s.from.Cont)
	e.Text = fmt.Sprintf("%s: the two agree again, after %s", s.verdict.Name(), length.Round(time.Second))
	e.Labels = append(e.Labels, metric.Period(s.from.Time(), length)...)
	return e
}

func (s *state) event(now metric.Stamp, kind metric.EventKind) metric.Event {
	p := s.verdict.Pair
	e := metric.Event{At: now, Kind: kind, Labels: []metric.Label{
		{Name: "pair", Value: p.Name}, {Name: "metrics", Value: strings.Join(p.Distrusts, " ")}, {Name: "because", Value: p.Because},
	}}
	if in := s.verdict.Instance; in != nil {
		e.Indom, e.Key = s.verdict.Indom, in.Key
		e.Labels = append(e.Labels, metric.Label{Name: "instance", Value: in.Name})
	}
	return e
}
