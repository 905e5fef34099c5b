package notice

import (
	"sync"

	"tachograph/sample/metric"
)

// Watcher finds changes in ticks. The zero value is not ready: make one with New.
type Watcher struct {
	mu       sync.Mutex
	rules    map[string]*rule // by metric
	settings settings
	plans    map[*metric.Group]*plan
}

// New makes a watcher that has seen nothing yet.
func New() *Watcher {
	w := &Watcher{rules: make(map[string]*rule), settings: make(settings), plans: make(map[*metric.Group]*plan)}
	for _, r := range rules() {
		w.rules[r.metric] = r
	}
	return w
}

// Recall gives the values that settings had at the end of the recording before, by metric, before the
// first tick. See Outlasts for which are wanted.
func (w *Watcher) Recall(values map[string]metric.Value) { w.settings.recall(values) }

// plan lists what to look at in the blocks of one group.
type plan struct {
	rules    []ruled
	settings []int // columns
}

type ruled struct {
	col  int
	rule *rule
}

// mostPlans limits the remembered groups: each change of the configuration makes new groups, and
// the old ones never come again.
const mostPlans = 1000

func (w *Watcher) plan(g *metric.Group) *plan {
	p := w.plans[g]
	if p != nil {
		return p
	}
	if len(w.plans) >= mostPlans {
		clear(w.plans)
	}
	p = &plan{}
	for i, d := range g.Metrics {
		if r := w.rules[d.Name]; r != nil {
			p.rules = append(p.rules, ruled{i, r})
		} else if isSetting(d) {
			p.settings = append(p.settings, i)
		}
	}
	w.plans[g] = p
	return p
}

// Look returns the events that a tick deserves.
func (w *Watcher) Look(t *metric.Tick) []metric.Event {
	w.mu.Lock()
	defer w.mu.Unlock()
	var events []metric.Event
	for _, b := range t.Blocks {
		p := w.plan(b.Group)
		for _, r := range p.rules {
			events = r.look(b, events)
		}
		for _, col := range p.settings {
			events = w.settings.look(b, col, events)
		}
	}
	return events
}

func (r ruled) look(b *metric.Block, events []metric.Event) []metric.Event {
	for row, in := range b.Rows {
		if in != nil && in.Name != r.rule.instance {
			continue
		}
		v := b.Cols[r.col].At(b.Group.Metrics[r.col].Type, row)
		if v.Miss != metric.Present {
			continue
		}
		if text, labels := r.rule.judge.look(v, b.At); text != "" {
			events = append(events, metric.Event{At: b.At, Kind: r.rule.kind, Text: text,
				Labels: append(labels, metric.Label{Name: "metric", Value: r.rule.metric})})
		}
	}
	return events
}
