package cases

import (
	"math"

	"tachograph/testdata/measure/conclusions/sim"
)

var crowdTroubles = []trouble{
	{kind: "fork storm", least: 0.1, what: []string{"start", "began", "fork", "births"}, begin: forkStorm},
	{kind: "zombies", least: 0.1, lasts: 60, what: []string{"zombie", "defunct"}, begin: zombies},
	{kind: "too many workers", least: 0.1, what: []string{saysCPU, "processes"}, begin: workers},
	{kind: "heavy build", least: 0.5, what: []string{saysCPU, "processes"}, begin: heavyBuild},
}

// forkStorm is a process that starts small ones without end.
func forkStorm(c *Case) func(*sim.Machine, int) {
	p := c.culprit()
	child := c.name()
	c.Truth.Who = append(c.Truth.Who, child)
	rate := 400 * c.Strength
	return func(m *sim.Machine, t int) {
		if c.Active(t) {
			p.Sys = 0.3 * c.Strength
			m.Brief(p, child, "app", rate, 0.03, sim.Want{User: 0.002, Sys: 0.003, Faults: 200, Memory: 1500}, "exit 0")
		}
	}
}

// zombies are children that have ended and that their parent does not reap.
func zombies(c *Case) func(*sim.Machine, int) {
	p := c.culprit()
	var dead []*sim.Proc
	owed := 0.0
	return func(m *sim.Machine, t int) {
		if c.Active(t) {
			for owed += 25 * c.Strength; owed >= 1; owed-- {
				z := m.Start(p, p.Name, "app")
				z.State, z.Memory, z.Shared, z.Files = 'Z', 0, 0, 0
				dead = append(dead, z)
			}
		} else if len(dead) > 0 {
			for _, z := range dead {
				z.State = 0
				z.End("exit 0")
			}
			p.End("signal 15")
			dead = nil
		}
	}
}

// workers are more processes of one program than there are processors.
func workers(c *Case) func(*sim.Machine, int) {
	name := c.name()
	c.Truth.Who = []string{name}
	n := max(3, 2*c.M.Cores)
	each := c.Strength * float64(c.M.Cores) / float64(n)
	var all []*sim.Proc
	main := c.M.Start(nil, name, "app")
	return func(m *sim.Machine, t int) {
		switch {
		case t == c.Onset:
			for range n {
				p := m.Start(main, name, "app")
				p.User, p.Sys, p.Memory = each*0.9, each*0.1, 40e3
				all = append(all, p)
			}
		case t == c.Onset+c.Length:
			for _, p := range all {
				p.End("exit 0")
			}
		}
	}
}

// heavyBuild is honest work that uses the whole machine all the same.
func heavyBuild(c *Case) func(*sim.Machine, int) {
	main := c.name()
	child := "cc1plus"
	c.Truth.Who = []string{main, child}
	var p *sim.Proc
	return func(m *sim.Machine, t int) {
		switch {
		case t == c.Onset:
			p = m.Start(nil, main, "ci")
			p.User = 0.05
		case t == c.Onset+c.Length:
			p.End("exit 0")
		case c.Active(t):
			n := c.Strength * float64(m.Cores) * 1.6 / 2
			m.Brief(p, child, "ci", math.Max(n, 0.5), 2, sim.Want{User: 1.8, Sys: 0.2, Write: 8e5, Faults: 40000, Memory: 200e3, Shared: 20e3}, "exit 0")
		}
	}
}
