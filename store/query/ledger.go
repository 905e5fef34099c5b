package query

import (
	"cmp"
	"math"
	"slices"

	"tachograph/store"
)

// MicroJoules is an energy. Whole numbers of it add up without an error, however many there are:
// what a battery shows, milliampere hours at millivolts, is a whole number of it.
type MicroJoules int64

// PerMilliwattHour is one mWh.
const PerMilliwattHour MicroJoules = 3_600_000

// Joules returns the energy in joules.
func (e MicroJoules) Joules() float64 { return float64(e) / 1e6 }

// A Ledger says what gave energy to a host in a window and what took it. The parts are exactly the whole:
//
//	Battery + System = Sleep + the sum of Takers + Residual
//
// Given is what the battery lost while the machine ran on it. While it ran on mains power, it is
// what the machine counts itself: all that it used, or only what its processor packages used. A
// battery that is charged gives nothing, and time in which the source was not read is left out
// for both sides.
//
// Taken is what the kernel counted for the processes of each owner. A process's own count is the
// energy of the processor while the process ran on it, for itself or for others. What it asked
// others to do is in their counts, so it is not added. Graphics and neural engines are counted for
// applications and services only, where the archive has these. All that nobody is known to have
// taken stays in the residual: screen, memory, radios, disks, and what an idle machine needs.
//
// Where the kernel counts no energy for processes, what was taken is an estimate: each owner has
// the share of the given energy that its processor time is of the time that all processors
// together had. It is a share of all time and not of the busy time, because an idle machine needs
// energy, too, that nobody asked for: the share of the idle time, and with it the idle floor, stays
// in the residual. The estimate needs to know nothing about the machine, and it can never give
// away more than there was. It is too low for owners by what a busy processor needs more than an
// idle one.
type Ledger struct {
	Archive *store.ArchiveInfo // the last of the host's in the window
	// From and To are the first and the last reading of what gave.
	From, To int64
	// OnBattery and OnSystem are for how long the energies below were given, Asleep for how much
	// of OnBattery the machine slept, in nanoseconds.
	OnBattery, OnSystem, Asleep int64
	// Battery is what the battery gave, read from the metric BatteryFrom; System is what SystemFrom counted.
	Battery, System         MicroJoules
	BatteryFrom, SystemFrom string
	// Sleep is what the battery lost between the last reading before each sleep and the first one
	// after it. SleepUnknown says that the machine slept and the archive does not say what that took.
	Sleep        MicroJoules
	SleepUnknown bool
	Takers       []*Taker
	// Estimated is why Takers are estimated; empty if they were counted.
	Estimated string
	// Ownerless says that no process has an owner in the archive, so that Takers are named after their processes.
	Ownerless bool
	// Why is why there is no ledger; empty if there is.
	Why string
}

// A Taker is an owner of processes, and what these took.
type Taker struct {
	// Kind is one of metric.OwnerKinds; empty for names of processes, and for the processes that have no such owner.
	Kind, Name string
	Processes  int
	// Energy is the sum of the others, of which GPU and ANE are known only with HasGPU and HasANE.
	Energy, CPU, GPU, ANE MicroJoules
	HasGPU, HasANE        bool
}

// Given is all that was given.
func (l *Ledger) Given() MicroJoules { return l.Battery + l.System }

// Taken is what all takers took.
func (l *Ledger) Taken() (sum MicroJoules) {
	for _, t := range l.Takers {
		sum += t.Energy
	}
	return sum
}

// Residual is what was given and is in no other part. It is negative if more was taken than given,
// which shows that a reading is wrong, or that the window is too short for a battery that shows
// its charge in coarse steps.
func (l *Ledger) Residual() MicroJoules { return l.Given() - l.Sleep - l.Taken() }

// Ledgers makes the ledgers of a window, one for each host. With onBattery they are about the time
// only in which the machine ran on its battery.
func Ledgers(a Archive, w Window, onBattery bool, by Grouping) ([]*Ledger, error) {
	var list []*Ledger
	for _, h := range a.Hosts() {
		one := Window{Hosts: []string{h.ID}, From: w.From, To: w.To}
		from, to, archives := Covered(a, one)
		if !w.Wants(h.ID) || len(archives) == 0 {
			continue
		}
		l := &Ledger{Archive: archives[len(archives)-1]}
		l.From, l.To = max(from, w.From), to
		if w.To != 0 {
			l.To = min(to, w.To)
		}
		list = append(list, l)
		s := newSupply(a, one)
		periods := s.account(l, onBattery)
		if l.Why != "" {
			continue
		}
		t := &taking{a: a, host: h.ID, by: by, takers: make(map[takerKey]*Taker)}
		if err := t.all(l, periods); err != nil {
			return nil, err
		}
		for _, k := range t.takers {
			if k.Energy != 0 {
				l.Takers = append(l.Takers, k)
			}
		}
		slices.SortFunc(l.Takers, func(x, y *Taker) int {
			return cmp.Or(cmp.Compare(y.Energy, x.Energy), cmp.Compare(x.Kind, y.Kind), cmp.Compare(x.Name, y.Name))
		})
	}
	if len(list) == 0 {
		return nil, errNothing
	}
	return list, nil
}

// LedgerGroupings are the groupings that a ledger can have.
var LedgerGroupings = []Grouping{PerOwner, PerApp, PerService, PerContainer, PerPod, PerSession, PerName}

// takerKey identifies a Taker.
type takerKey struct{ kind, name string }

// micro converts joules; what is unknown or absurd is 0.
func micro(joules float64) MicroJoules {
	const most = 1e12 // far more than any machine uses, and exact
	if !(joules > 0 && joules < most) {
		return 0
	}
	return MicroJoules(math.Round(joules * 1e6))
}
