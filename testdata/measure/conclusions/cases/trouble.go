package cases

import (
	"tachograph/testdata/measure/conclusions/sim"
)

// A trouble is something that goes wrong on a machine.
type trouble struct {
	kind string
	// least is the share of its resource from which on it counts as a trouble; lasts is how many
	// seconds it must last to show.
	least float64
	lasts int
	// instant troubles are over at once.
	instant bool
	// what are patterns for a right line, besides the culprit's name.
	what []string
	// begin prepares the machine and returns a function that is called each second.
	begin func(*Case) func(*sim.Machine, int)
}

// Kinds returns the kinds of all troubles.
func Kinds() (list []string) {
	for _, t := range troubles() {
		list = append(list, t.kind)
	}
	return list
}

func troubles() []trouble {
	var all []trouble
	for _, list := range [][]trouble{processTroubles, memoryTroubles, diskTroubles, crowdTroubles, networkTroubles, machineTroubles} {
		all = append(all, list...)
	}
	return all
}

func find(kind string) *trouble {
	for _, t := range troubles() {
		if t.kind == kind {
			return &t
		}
	}
	return nil
}

// culprit returns a process that has run for long, with little to do.
func (c *Case) culprit() *sim.Proc {
	name := c.name()
	c.Truth.Who = append(c.Truth.Who, name)
	p := steady(c.M.Start(nil, name, "app"), sim.Want{User: 0.01, Sys: 0.003, Switches: 20, Memory: 60e3, Shared: 9e3}, 0.4)
	p.Threads = 4
	return p
}

// while makes a process behave differently while the trouble is active.
func (c *Case) while(p *sim.Proc, does func(p *sim.Proc, t int)) func(*sim.Machine, int) {
	ordinary := p.Live
	p.Live = func(p *sim.Proc) {
		if ordinary != nil {
			ordinary(p)
		}
		if t := p.Machine().Now(); c.Active(t) {
			does(p, t)
		}
	}
	return func(_ *sim.Machine, t int) {
		if c.Active(t) && p.Ended() {
			c.Length = t - c.Onset + 1 // It is over: the kernel killed the process.
		}
	}
}

const (
	saysCPU    = `cpu|processor|of a core|cores`
	saysMemory = `memory|grew|held|resident|leak`
	saysWrites = `wrote|writ|disk|flush|sync`
	saysReads  = `read|disk`
)
