package cases

import (
	"tachograph/testdata/measure/conclusions/sim"
)

var memoryTroubles = []trouble{
	{kind: "memory hog", what: []string{saysMemory}, begin: hog},
	{kind: "leak", lasts: 200, what: []string{saysMemory}, begin: leak},
	{kind: "swap storm", least: 1, lasts: 90, what: []string{saysMemory, "swap"}, begin: swapStorm},
	{kind: "oom", least: 1, lasts: 90, what: []string{saysMemory, "killed"}, begin: outOfMemory},
	{kind: "group oom", least: 0.02, lasts: 80, what: []string{"killed", "memory"}, begin: groupOOM},
	{kind: "tmpfs fills", least: 0.2, lasts: 60, what: []string{"full", "fill", "memory"}, begin: tmpfsFills},
	{kind: "slab", least: 0.2, lasts: 120, what: []string{"slab", "kernel"}, begin: slab},
}

// hog takes a share of all memory, and keeps it.
func hog(c *Case) func(*sim.Machine, int) {
	p := c.culprit()
	take := c.Strength * c.M.Memory() * 0.8
	over := float64(10 + c.rnd.IntN(30))
	return c.while(p, func(p *sim.Proc, t int) {
		part := min(float64(t-c.Onset+1)/over, 1)
		p.Memory = 60e3 + take*part
		p.User, p.Faults = 0.05, 10
		if part < 1 {
			p.User, p.Sys, p.Faults = 0.3, 0.2, take/over/4
		}
	})
}

// leak grows all the time.
func leak(c *Case) func(*sim.Machine, int) {
	p := c.culprit()
	take := c.Strength * c.M.Memory() * 0.8
	return c.while(p, func(p *sim.Proc, t int) {
		p.Memory = 60e3 + take*float64(t-c.Onset)/float64(c.Length)
		p.Faults = take / float64(c.Length) / 4
	})
}

// swapStorm works on more memory than the machine has.
func swapStorm(c *Case) func(*sim.Machine, int) {
	p := c.culprit()
	return c.while(p, func(p *sim.Proc, t int) {
		part := min(float64(t-c.Onset+1)/30, 1)
		p.Memory = 60e3 + c.M.Memory()*1.02*part
		p.User, p.Sys, p.Faults = 0.4, 0.2, 4000
	})
}

// outOfMemory grows until the kernel kills it.
func outOfMemory(c *Case) func(*sim.Machine, int) {
	p := c.culprit()
	return c.while(p, func(p *sim.Proc, t int) {
		p.Memory = 60e3 + c.M.Memory()*1.6*float64(t-c.Onset)/60
		p.User, p.Sys, p.Faults = 0.4, 0.3, c.M.Memory()*1.6/60/4
	})
}

// groupOOM grows to the limit of its control group and is killed there, again and again.
func groupOOM(c *Case) func(*sim.Machine, int) {
	name := c.name()
	c.Truth.Who = []string{name}
	limit := max(c.Strength*c.M.Memory()*0.5, 150e3)
	var p *sim.Proc
	const each = 30
	return func(m *sim.Machine, t int) {
		if !c.Active(t) {
			if p != nil {
				p.End("exit 0")
				p = nil
			}
			return
		}
		if (t-c.Onset)%each == 0 {
			p = m.Start(nil, name, "app")
		}
		p.Memory = 10e3 + limit*float64((t-c.Onset)%each)/(each-4)
		p.User, p.Sys, p.Faults = 0.1, 0.1, limit/each/4
		if p.Memory >= limit && !p.Ended() {
			m.Kill(p)
		}
	}
}

func tmpfsFills(c *Case) func(*sim.Machine, int) {
	p := c.culprit()
	v := c.M.Volumes[4]
	c.Truth.Who = append(c.Truth.Who, v.Mount)
	p.Volume = v
	return c.while(p, func(p *sim.Proc, _ int) {
		p.Write, p.Sys = v.Capacity*1024*1.1/float64(min(c.Length, 60))*min(c.Strength*2, 1), 0.1
	})
}

// slab is kernel objects that a process makes the kernel keep.
func slab(c *Case) func(*sim.Machine, int) {
	usual := 0.0
	return func(m *sim.Machine, t int) {
		if usual == 0 {
			usual = m.Slab
		}
		m.Slab = usual
		if c.Active(t) {
			m.Slab += c.Strength * m.Memory() * 1.2 * float64(t-c.Onset) / float64(c.Length)
		}
	}
}
