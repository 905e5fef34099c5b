package query

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"tachograph/sample/metric"
	"tachograph/store"
)

// Metrics of what gives energy.
const (
	acMetric      = "power.ac.connected"
	energyMetric  = "power.battery.energy.now"
	chargeMetric  = "power.battery.capacity.now"
	voltageMetric = "power.battery.voltage"
	currentMetric = "power.battery.amperage"
	systemMetric  = "power.system.energy"
	// PackageEnergy is what processor packages used, and nothing else of the machine.
	PackageEnergy = "power.package.energy"
)

// powerField is a value in a powerReading.
type powerField uint8

const (
	onMains powerField = iota
	energyNow
	chargeNow
	voltage
	current
	powerFields
)

var powerMetrics = [powerFields]string{onMains: acMetric, energyNow: energyMetric, chargeNow: chargeMetric, voltage: voltageMetric, current: currentMetric}

// A powerReading has what one reading of the battery showed: uJ, mAh, mV and mA.
type powerReading struct {
	wall, cont int64
	value      [powerFields]int64
	has        [powerFields]bool
}

// A meter is a way to find what a battery lost between two readings.
type meter struct {
	from  string
	needs []powerField
	// lost returns what it lost. Readings of the current say nothing of the time in which the machine slept.
	lost   func(a, b *powerReading) MicroJoules
	levels bool // it compares charges, so that it works across sleep
}

// meters are all ways, the best first. A charge lost has passed at the mean of the voltages at its
// ends: 1 mAh at 1 mV is 1 uWh, which is 3600 uJ.
var meters = []meter{
	{energyMetric, []powerField{energyNow}, func(a, b *powerReading) MicroJoules {
		return MicroJoules(a.value[energyNow] - b.value[energyNow])
	}, true},
	{chargeMetric, []powerField{chargeNow, voltage}, func(a, b *powerReading) MicroJoules {
		return MicroJoules((a.value[chargeNow] - b.value[chargeNow]) * (a.value[voltage] + b.value[voltage]) * 1800)
	}, true},
	{currentMetric, []powerField{current, voltage}, func(a, b *powerReading) MicroJoules {
		microwatts := (a.value[current]*a.value[voltage] + b.value[current]*b.value[voltage]) / -2
		return MicroJoules(microwatts * ((b.cont - a.cont) / 1e6) / 1000)
	}, false},
}

// A giving is the time between two readings, in which something gave energy.
type giving struct {
	from, to int64 // wall
	long     int64 // in nanoseconds, with sleep
	asleep   int64 // of it
	energy   MicroJoules
	system   bool // the machine's own count
}

// A supply reads what gave energy to one host.
type supply struct {
	a      Archive
	w      Window
	boots  map[string][]*powerReading
	sleeps map[string][]slumber
	every  int64
}

// A slumber is a sleep: an instant in it, and how long it was.
type slumber struct{ middle, long int64 }

// mostPlausible bounds what a reading may show, in mWh, mAh, mV or mA: more is damage.
const mostPlausible = 1e6

func newSupply(a Archive, w Window) *supply {
	s := &supply{a: a, w: w, boots: make(map[string][]*powerReading), sleeps: make(map[string][]slumber), every: int64(metric.Polled.Interval())}
	for e := range a.Events(max(w.From-lookback, 0), w.To, metric.EventWake) {
		if w.Wants(e.Archive.Host.ID) {
			m := middle(&e.Event)
			s.sleeps[e.Archive.BootID] = append(s.sleeps[e.Archive.BootID], slumber{m, 2 * (e.At.Cont - m)})
		}
	}
	type instant struct {
		boot string
		cont int64
	}
	readings := make(map[instant]*powerReading)
	for run := range a.Select(w.Selection(powerMetrics[:]...)) {
		f := powerField(slices.Index(powerMetrics[:], run.Metric.Name))
		if every := interval(run.Archive, run.Metric.Class); every > 0 {
			s.every = every
		}
		boot := run.Archive.BootID
		for i, cont := range run.Cont {
			x, ok := present(run, i)
			most := mostPlausible
			if f == energyNow {
				x, most = math.Round(x/1000), mostPlausible*float64(PerMilliwattHour)
			}
			if !ok || math.Abs(x) > most {
				continue
			}
			k := instant{boot, cont}
			r := readings[k]
			if r == nil {
				r = &powerReading{wall: run.Wall[i], cont: cont}
				readings[k] = r
				s.boots[boot] = append(s.boots[boot], r)
			}
			r.value[f], r.has[f] = int64(math.Round(x)), true
		}
	}
	for _, list := range s.boots {
		slices.SortFunc(list, func(x, y *powerReading) int { return cmp.Compare(x.cont, y.cont) })
	}
	return s
}

// present returns a run's i-th value.
func present(run *store.Run, i int) (float64, bool) {
	if run.Miss != nil && run.Miss[i] != metric.Present {
		return 0, false
	}
	x := metric.Number(run.Metric.Type, run.Bits[i])
	return x, x == x
}

// slept returns how long the machine slept between two readings.
func (s *supply) slept(boot string, from, to int64) (long int64) {
	for _, z := range s.sleeps[boot] {
		if z.middle > from && z.middle <= to {
			long += z.long
		}
	}
	return min(long, to-from)
}

// account fills in what was given, and returns the periods in which it was.
func (s *supply) account(l *Ledger, onBattery bool) []*period {
	m := s.meter()
	var all []giving
	if m != nil {
		l.BatteryFrom = m.from
		all = s.battery(l, m)
	}
	if !onBattery {
		all = append(all, s.system(l, m != nil)...)
	}
	if l.Why = s.why(m, onBattery, all); l.Why != "" {
		return nil
	}
	slices.SortFunc(all, func(x, y giving) int { return cmp.Or(cmp.Compare(x.from, y.from), cmp.Compare(x.to, y.to)) })
	l.From, l.To = all[0].from, all[0].to
	var periods []*period
	for _, g := range all {
		l.To = max(l.To, g.to)
		if g.system {
			l.System += g.energy
			l.OnSystem += g.long
		} else {
			l.Battery += g.energy
			l.OnBattery += g.long
			l.Asleep += g.asleep
		}
		var p *period
		if n := len(periods); n > 0 && g.from <= periods[n-1].to+missedTicks*s.every {
			p = periods[n-1]
		} else {
			p = &period{from: g.from}
			periods = append(periods, p)
		}
		p.to = max(p.to, g.to)
		if g.asleep > 0 && !g.system {
			l.Sleep += g.energy
			continue
		}
		p.energy += g.energy
		p.awake += g.long - g.asleep
	}
	return periods
}

// meter returns the best way that the readings allow.
func (s *supply) meter() *meter {
	for i := range meters {
		for _, list := range s.boots {
			if slices.ContainsFunc(list, meters[i].reads) {
				return &meters[i]
			}
		}
	}
	return nil
}

// reads reports whether a reading has what the meter needs.
func (m *meter) reads(r *powerReading) bool {
	return !slices.ContainsFunc(m.needs, func(f powerField) bool { return !r.has[f] })
}

// battery returns what the battery gave, from reading to reading. A reading at which the machine
// runs on battery begins a step of the battery, even if mains power is connected at the next one.
func (s *supply) battery(l *Ledger, m *meter) (list []giving) {
	for boot, readings := range s.boots {
		var last *powerReading
		mains, known := false, false // at the last reading, and at this one
		for _, r := range readings {
			before, had := mains, known
			if r.has[onMains] {
				mains, known = r.value[onMains] != 0, true
			}
			if !m.reads(r) {
				if known && mains {
					last = nil // It may be charged until the next reading.
				}
				continue
			}
			prev := last
			last = r
			if prev == nil || !had || before {
				continue
			}
			g := giving{from: prev.wall, to: r.wall, long: r.cont - prev.cont, asleep: s.slept(boot, prev.cont, r.cont)}
			if g.asleep > 0 && !m.levels {
				l.SleepUnknown = true
				continue
			}
			g.energy = m.lost(prev, r)
			unseen := mains || g.asleep > 0 || g.long > missedTicks*s.every
			if g.energy < 0 && unseen {
				continue // It was charged in that time.
			}
			if g.to > g.from {
				list = append(list, g)
			}
		}
	}
	return list
}

// mainsAt returns a function that says whether the machine ran on mains power at an instant of
// a boot. Instants must come in order.
func (s *supply) mainsAt(boot string) func(cont int64) bool {
	readings := s.boots[boot]
	i, mains := 0, true
	return func(cont int64) bool {
		// Sources of one class are read one after the other: the next reading may be of the same tick.
		for ; i < len(readings) && readings[i].cont <= cont+s.every/2; i++ {
			if readings[i].has[onMains] {
				mains = readings[i].value[onMains] != 0
			}
		}
		return mains
	}
}

// system returns what the machine counted itself: all the time, or only on mains power. The
// counter of the whole platform, if there is one, includes those of the processor packages.
func (s *supply) system(l *Ledger, onlyMains bool) (list []giving) {
	for _, from := range []struct{ metric, instances string }{{systemMetric, ""}, {PackageEnergy, "psys"}, {PackageEnergy, "package"}} {
		if list = s.counted(from.metric, from.instances, onlyMains); len(list) > 0 {
			l.SystemFrom = from.metric
			return list
		}
	}
	return nil
}

// counted returns the gains of a counter of energy: of all its instances together whose names
// begin so. An instance with a colon in its key is a part of another one.
func (s *supply) counted(name, instances string, onlyMains bool) []giving {
	gains := make(map[string]map[int64]*giving) // by boot and end
	last := make(map[seriesID]store.Point)
	for run := range s.a.Select(s.w.Selection(name)) {
		if in := run.Instance; in != nil && (!strings.HasPrefix(in.Name, instances) || strings.Contains(in.Key, ":")) {
			continue
		}
		boot := run.Archive.BootID
		if gains[boot] == nil {
			gains[boot] = make(map[int64]*giving)
		}
		id := idOf(run.Archive, run.Metric, run.Instance)
		id.boot = boot
		last[id] = counter(run, last[id], gains[boot])
	}
	var list []giving
	for boot, of := range gains {
		mains := s.mainsAt(boot)
		for _, end := range slices.Sorted(maps.Keys(of)) {
			g := of[end]
			if m := mains(end - g.long); onlyMains && !m {
				continue
			}
			g.asleep = s.slept(boot, end-g.long, end)
			list = append(list, *g)
		}
	}
	return list
}

// counter adds the gains of a series since its last reading to those of the others that were read with it.
func counter(run *store.Run, last store.Point, of map[int64]*giving) store.Point {
	for i, cont := range run.Cont {
		if _, ok := present(run, i); !ok {
			continue
		}
		prev := last
		last = store.Point{Wall: run.Wall[i], Cont: cont, Bits: run.Bits[i]}
		if prev.Wall == 0 || last.Wall <= prev.Wall || cont <= prev.Cont {
			continue
		}
		inc, step := metric.Increase(run.Metric, prev.Bits, last.Bits, float64(cont-prev.Cont)/1e9)
		if step == metric.Restarted {
			continue
		}
		g := of[cont]
		if g == nil {
			g = &giving{from: prev.Wall, to: last.Wall, long: cont - prev.Cont, system: true}
			of[cont] = g
		}
		g.energy += micro(inc * base(run.Metric.Units))
	}
	return last
}

// why returns why there is nothing to account for, or "".
func (s *supply) why(m *meter, onBattery bool, all []giving) string {
	switch {
	case len(all) > 0:
		return ""
	case m == nil && onBattery, m == nil && len(s.boots) == 0:
		return s.lacks(chargeMetric, energyMetric, currentMetric)
	case onBattery:
		return "it did not run on its battery in this window"
	}
	return "it did not run on its battery in this window, and what it took from mains power was not recorded"
}

// lacks returns why none of the metrics has a value.
func (s *supply) lacks(names ...string) string {
	known := false
	for _, name := range names {
		d := s.lookup(name)
		if d == nil {
			continue
		}
		known = true
		if d.Unsupported != "" {
			return d.Unsupported
		}
	}
	if known {
		return "the battery was not read in this window"
	}
	return "its archives do not hold what the battery gave"
}

// lookup finds a metric in the archives of the window.
func (s *supply) lookup(name string) *metric.Desc {
	_, _, list := Covered(s.a, s.w)
	for _, info := range list {
		if d := s.a.LookupIn(info, name); d != nil {
			return d
		}
	}
	return nil
}
