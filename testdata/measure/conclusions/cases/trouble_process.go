package cases

import (
	"math"

	"tachograph/testdata/measure/conclusions/sim"
)

var processTroubles = []trouble{
	{kind: "runaway", what: []string{saysCPU}, begin: runaway},
	{kind: "runaway new", what: []string{saysCPU}, begin: runawayNew},
	{kind: "busy in the kernel", what: []string{saysCPU, "kernel", "system time"}, begin: busyKernel},
	{kind: "niced", what: []string{saysCPU, "nice"}, begin: niced},
	{kind: "stopped", least: 0.2, what: []string{"stopp"}, begin: stopped},
	{kind: "threads", least: 0.1, lasts: 90, what: []string{"threads"}, begin: threads},
	{kind: "lock convoy", least: 0.1, what: []string{"switch"}, begin: convoy},
	{kind: "open files", least: 0.35, lasts: 130, what: []string{"files", "descriptors", "EMFILE"}, begin: openFiles},
	{kind: "quota", least: 0.2, what: []string{"quota", "throttl", "held back", "cgroup"}, begin: quota},
	{kind: "crash loop", what: []string{"again", "crash", "fail", "restart", "over and over"}, begin: crashLoop},
	{kind: "killed", instant: true, what: []string{"killed", "signal 9", "ended", "died"}, begin: killed},
	{kind: "log flood", least: 0.05, lasts: 70, what: []string{saysWrites, "/var/log"}, begin: logFlood},
}

// runaway uses a share of the whole machine.
func runaway(c *Case) func(*sim.Machine, int) {
	p := c.culprit()
	want := c.Strength * float64(c.M.Cores)
	p.Threads = max(4, int(math.Ceil(want)))
	return c.while(p, func(p *sim.Proc, _ int) { p.User = want * 0.97; p.Sys = want * 0.03 })
}

// runawayNew is a process that begins with the trouble and ends with it.
func runawayNew(c *Case) func(*sim.Machine, int) {
	name := c.name()
	c.Truth.Who = []string{name}
	want := c.Strength * float64(c.M.Cores)
	var p *sim.Proc
	return func(m *sim.Machine, t int) {
		switch {
		case t == c.Onset:
			p = m.Start(nil, name, "app")
			p.Threads, p.Memory = max(1, int(math.Ceil(want))), 90e3
			p.User, p.Sys = want*0.9, want*0.1
		case t == c.Onset+c.Length:
			p.End("exit 0")
		}
	}
}

func busyKernel(c *Case) func(*sim.Machine, int) {
	p := c.culprit()
	want := c.Strength * float64(c.M.Cores)
	p.Threads = max(4, int(math.Ceil(want)))
	return c.while(p, func(p *sim.Proc, _ int) { p.User = want * 0.1; p.Sys = want * 0.9; p.Switches = 200 * want })
}

func niced(c *Case) func(*sim.Machine, int) {
	p := c.culprit()
	want := c.Strength * float64(c.M.Cores)
	p.Threads, p.Nice = max(4, int(math.Ceil(want))), -10
	return c.while(p, func(p *sim.Proc, _ int) { p.User = want })
}

// stopped is a server that gets SIGSTOP, and its clients.
func stopped(c *Case) func(*sim.Machine, int) {
	p := c.culprit()
	steady(p, sim.Want{User: c.Strength * 0.5, Sys: c.Strength * 0.2, Switches: 800, Packets: 500, Bytes: 90e3, Memory: 200e3, Shared: 30e3}, 0.3)
	p.Into = c.M.Nets[1]
	client := c.name()
	c.Truth.Near = append(c.Truth.Near, client)
	for range 6 {
		k := steady(c.M.Start(nil, client, "app"), sim.Want{User: c.Strength * 0.08, Switches: 150, Packets: 90, Bytes: 15e3, Memory: 40e3}, 0.3)
		k.Into = c.M.Nets[1]
		c.while(k, func(k *sim.Proc, _ int) { k.User, k.Switches, k.Packets = 0, 0.1, 0 })
	}
	return func(_ *sim.Machine, t int) {
		p.State = 0
		if c.Active(t) {
			p.State = 'T'
		}
	}
}

func threads(c *Case) func(*sim.Machine, int) {
	p := c.culprit()
	return c.while(p, func(p *sim.Proc, t int) {
		p.Threads = 4 + int(8000*c.Strength*min(float64(t-c.Onset)/60, 1))
		p.Sys, p.Memory = 0.05, 60e3+float64(p.Threads)*40
	})
}

// convoy is threads that wait for one lock: switches without processor time.
func convoy(c *Case) func(*sim.Machine, int) {
	p := c.culprit()
	p.Threads = 40
	return c.while(p, func(p *sim.Proc, _ int) {
		p.User, p.Sys, p.Switches = 0.15+0.2*c.Strength, 0.2+0.4*c.Strength, 300e3*c.Strength
	})
}

// openFiles opens files and closes none, until it reaches the limit.
func openFiles(c *Case) func(*sim.Machine, int) {
	p := c.culprit()
	const limit = 4096
	return c.while(p, func(p *sim.Proc, t int) {
		p.Files = min(12+int(60*float64(t-c.Onset)), limit)
		if p.Files == limit {
			p.User, p.Sys = 0.2*c.Strength, 0.3*c.Strength
		}
	})
}

// quota limits a process that wants more.
func quota(c *Case) func(*sim.Machine, int) {
	p := c.culprit()
	steady(p, sim.Want{User: c.Strength, Switches: 100, Memory: 80e3, Shared: 9e3}, 0.15)
	return func(_ *sim.Machine, t int) {
		p.Quota = 0
		if c.Active(t) {
			p.Quota = 0.1 * c.Strength
		}
	}
}

// crashLoop is a service that crashes soon after each start.
func crashLoop(c *Case) func(*sim.Machine, int) {
	name := c.name()
	c.Truth.Who = []string{name}
	how := []string{"signal 11", "exit 1", "signal 6", "exit 3"}[c.rnd.IntN(4)]
	every := []int{1, 2, 3, 5}[c.rnd.IntN(4)]
	healthy := c.M.Start(nil, name, "app")
	steady(healthy, sim.Want{User: 0.02, Memory: 70e3, Shared: 10e3}, 0.3)
	var p *sim.Proc
	return func(m *sim.Machine, t int) {
		switch {
		case t == c.Onset:
			healthy.End(how)
		case c.Active(t) && (t-c.Onset)%every == 0:
			m.Brief(nil, name, "app", 1, float64(every)*0.6, sim.Want{User: 0.1 + c.Strength*0.3, Sys: 0.05, Faults: 4000, Memory: 40e3}, how)
		case t == c.Onset+c.Length:
			p = m.Start(nil, name, "app")
			steady(p, sim.Want{User: 0.02, Memory: 70e3, Shared: 10e3}, 0.3)
		}
	}
}

// killed is a server that is killed, and not started again.
func killed(c *Case) func(*sim.Machine, int) {
	p := c.culprit()
	steady(p, sim.Want{User: c.Strength * 0.6, Switches: 200, Packets: 100, Bytes: 20e3, Memory: 300e3, Shared: 20e3}, 0.3)
	return func(_ *sim.Machine, t int) {
		if t == c.Onset+3 {
			p.End("signal 9")
		}
	}
}

// logFlood writes a log as fast as it can.
func logFlood(c *Case) func(*sim.Machine, int) {
	p := c.culprit()
	p.Volume = c.M.Volumes[2]
	c.Truth.Who = append(c.Truth.Who, p.Volume.Mount) // which is full in the end
	return c.while(p, func(p *sim.Proc, _ int) { p.Write, p.Sys, p.User, p.Switches = c.Strength*60e6, 0.1, 0.2, 300 })
}
