package query

import (
	"cmp"
	"math"
	"slices"
	"time"

	"tachograph/sample/metric"
	"tachograph/store"
)

// Moment is what a machine was like at an instant, as far as was recorded: all
// that a page, a screen or a browser shows of it.
type Moment struct {
	Host metric.Host
	At   int64
	// Around is the time before and after that Events are of.
	Around time.Duration
	// Last is the last sample not after the instant; zero if there is none.
	Last int64
	// Break is what the instant lies in if nothing was recorded then.
	Break *Break
	// Gauges are over the time before the instant, their Last is what it showed.
	// There are none where nothing was sampled in that time.
	Gauges []*Gauge
	Events []*store.Event // in the order they happened
	// Processes are those of the last reading not after the instant.
	Processes []*Process
}

// MomentAt composes a moment of one host, its gauges with so many points; nil
// where nothing was recorded around it.
func MomentAt(a Archive, host metric.Host, at int64, around time.Duration, points int) (*Moment, error) {
	m := &Moment{Host: host, At: at, Around: around}
	w := Window{Hosts: []string{host.ID}, From: at - int64(around), To: at + int64(around)}
	if _, _, list := Covered(a, w); len(list) == 0 {
		return nil, nil
	}
	for e := range SortedEvents(a, w) {
		m.Events = append(m.Events, e)
	}
	m.Last = LastBefore(a, host.ID, at)
	m.Break = breakAt(a, host.ID, m.Last, at)
	if m.Last >= w.From { // What is held from before that is no sample.
		var err error
		if m.Gauges, err = Gauges(a, Window{Hosts: w.Hosts, From: w.From, To: at}, points); err != nil {
			return nil, err
		}
	}
	m.Processes = Processes(a, Window{Hosts: w.Hosts}, at, nil)
	return m, nil
}

// Top are the n processes with most of something; one that had none of it is
// not among them.
func (m *Moment) Top(by By, n int) []*Process {
	var some []*Process
	for _, p := range m.Processes {
		if x := p.Amount(by); x > 0 && !math.IsNaN(x) {
			some = append(some, p)
		}
	}
	slices.SortStableFunc(some, func(x, y *Process) int { return cmp.Compare(y.Amount(by), x.Amount(by)) })
	return some[:min(n, len(some))]
}

// Amount is what a process had of something: of memory what it held, of all
// else its rate.
func (p *Process) Amount(by By) float64 {
	switch by {
	case ByCPU:
		return p.CPU()
	case ByMemory:
		return p.Memory()
	case ByWakeups:
		return p.Wakeups()
	case ByRuns:
		return math.NaN() // That is of groups.
	}
	return p.Rates[byCounters[by][0]]
}
