package moment

import (
	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/query"
)

// Moment is the state of the host at an instant, as far as it was recorded.
type Moment struct {
	// Asked is the instant asked for, At the sample shown: the nearest that is not after it.
	// Before and After are its neighbours, zero where there are none.
	Asked, At, Before, After int64
	// Break is the break that the instant asked for lies in, if nothing was recorded then; Mark
	// describes it in words.
	Break *query.Break
	Mark  *Mark

	// Lanes are the values at At of the recording's lanes, in their order; NaN where there is
	// none.
	Lanes    []float64
	Sections []Section // the system page
	Cores    []Core

	// Sweep is the reading of processes that is shown, LastSweep the one before it; zero if there
	// is none.
	Sweep, LastSweep int64
	Processes        []*Process
	// Ended are the processes that ended since LastSweep.
	Ended []*Process
	// Began counts the processes that began since LastSweep and were there at Sweep.
	Began int
	// Unseen counts the processes that came and went between the two; -1 where that was not
	// recorded. UnseenMost says that it is an upper bound.
	Unseen     int
	UnseenMost bool
	// Brief are those of them that events name.
	Brief []*Brief

	Disks, Volumes, Interfaces, Sensors []Row

	// Events are the events since the sample before, up to the instant asked for.
	Events []*store.Event
}

// Section is a titled group of figures.
type Section struct {
	Name, Title string
	Figures     []Figure
}

// Figure is a named number, or a word.
type Figure struct {
	Name, Title string
	Value       float64 // NaN where it is absent, or a word
	Text        string  // a value that is not a number
	Units       metric.Units
	Rate        bool    // reads as a rate or share: see human.Value
	Of          float64 // the whole that it is a part of; NaN if there is none
	Absent      string  // why there is no value, where there is none
}

// Known reports whether there is a value.
func (f *Figure) Known() bool { return f.Text != "" || f.Value == f.Value }

// Row is one disk, volume, interface or sensor. All rows of a table have the same figures in the
// same order.
type Row struct {
	Key, Name string
	Figures   []Figure
}

// Core is what one processor did, as parts of its time; NaN where that was not recorded.
type Core struct {
	Name                                              string
	User, Nice, System, Wait, Interrupts, Steal, Idle float64
}

// Busy returns the part of the time in which a processor computed.
func (c *Core) Busy() float64 { return sum(c.User, c.Nice, c.System, c.Interrupts) }

// mostEvents bounds the events of a moment.
const mostEvents = 1000

// At composes the moment at an instant.
func (r *Recording) At(at int64) (*Moment, error) {
	m := &Moment{Asked: at, At: r.Step(at, 0), Unseen: -1}
	if prev, ok := r.back(m.At, -1); ok {
		m.Before = prev
	}
	if next, ok := r.forward(max(m.At, at), 1); ok {
		m.After = next
	}
	if m.After == 0 || m.After-m.At > 2*r.every(metric.Fast, m.At) {
		m.Break = query.BreakAt(r.near(at), r.host.ID, at)
	}
	if b := m.Break; b != nil {
		kind, _ := breakKind(b)
		m.Mark = &Mark{From: b.From, To: b.To, Kind: kind, Text: breakText(b)}
	}
	var v *values
	err := query.Beside(r.near(m.At), func(query.Archive) error {
		r.processes(m)
		return nil
	}, func(a query.Archive) (err error) {
		if v, err = r.read(a, m.At); err == nil {
			m.Lanes, err = r.lanesAt(a, m.At)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	m.Sections = v.sections()
	m.Cores = v.cores()
	m.Disks, m.Volumes, m.Interfaces = v.table(disks), v.table(volumes), v.table(interfaces)
	m.Sensors = v.sensors()
	since := max(m.Before, m.At-int64(24*block))
	for e := range query.SortedEvents(r.a, r.window(since+1, at)) {
		if len(m.Events) < mostEvents {
			m.Events = append(m.Events, e)
		}
	}
	return m, nil
}

// sum adds the known values; it is NaN when none is known.
func sum(xs ...float64) float64 {
	total, known := 0.0, false
	for _, x := range xs {
		if x == x {
			total, known = total+x, true
		}
	}
	if !known {
		return nan
	}
	return total
}
