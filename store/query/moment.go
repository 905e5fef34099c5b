package query

import (
	"cmp"
	"math"
	"slices"
	"time"

	"tachograph/sample/metric"
	"tachograph/store"
)

// Moment is the state of a machine at an instant, as far as it was recorded: all that a page, a
// screen or a browser shows of it.
type Moment struct {
	Host metric.Host
	// Around is how much time before and after the instant Events cover.
	Around time.Duration
	// Stance is where the instant lies in the recording: in a break, or between which samples.
	Stance
	// Gauges cover the time before the instant, and their Last is the value at the instant; where
	// nothing was recorded then, the time before the last sample. There are none where nothing
	// was sampled in that time.
	Gauges []*Gauge
	Events []*store.Event // in the order they happened
	// Processes are those of the last reading not after the instant.
	Processes []*Process
}

// MomentAt composes a moment of one host, its gauges with so many points. Outside of the host's
// recording it only has a stance; it is nil where nothing of the host was recorded at all.
func MomentAt(a Archive, host metric.Host, at int64, around time.Duration, points int) (*Moment, error) {
	m := &Moment{Host: host, Around: around}
	of := Window{Hosts: []string{host.ID}}
	outside := false
	shown := at // The time of the values: in a break, the last sample before it.
	system := func(a Archive) (err error) {
		m.Stance = StanceAt(a, host.ID, at)
		if outside = m.State == Unbegun || m.State == Over && at-m.Before > int64(around); outside {
			return nil
		}
		if m.State != Running {
			shown = m.Before
		}
		for e := range SortedEvents(a, Window{Hosts: of.Hosts, From: at - int64(around), To: at + int64(around)}) {
			m.Events = append(m.Events, e)
		}
		if m.Before >= shown-int64(around) { // Held values from before that are no samples.
			m.Gauges, err = Gauges(a, Window{Hosts: of.Hosts, From: shown - int64(around), To: shown}, points)
		}
		return err
	}
	// Mostly the machine was being recorded: the processes need not wait for what system finds.
	processes := func(a Archive) error {
		m.Processes = Processes(a, of, at, nil)
		return nil
	}
	if err := Beside(a, system, processes); err != nil {
		return nil, err
	}
	switch {
	case outside:
		m.Processes = nil
		if _, _, list := Covered(a, of); len(list) == 0 {
			return nil, nil
		}
	case shown != at:
		m.Processes = Processes(a, of, shown, nil)
	}
	return m, nil
}

// Top returns the n processes with most of something, without those that have none of it.
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

// Amount returns what a process had of something: for memory what it held, for all else its rate.
func (p *Process) Amount(by By) float64 {
	switch by {
	case ByCPU:
		return p.CPU()
	case ByMemory:
		return p.Memory()
	case ByWakeups:
		return p.Wakeups()
	case ByNet:
		return sum(p.Rates[NetIn], p.Rates[NetOut])
	case ByRuns:
		return math.NaN() // Only groups have runs.
	}
	return p.Rates[byCounters[by][0]]
}
