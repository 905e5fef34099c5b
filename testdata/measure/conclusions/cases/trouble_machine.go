package cases

import (
	"tachograph/testdata/measure/conclusions/sim"
)

var machineTroubles = []trouble{
	{kind: "steal", least: 0.1, what: []string{"steal|stolen|gave away|host of this"}, begin: steal},
	{kind: "throttled", least: 0.3, what: []string{"held back|MHz|clock|throttl|heat"}, begin: throttled},
	{kind: "interrupts", least: 0.1, what: []string{"interrupt"}, begin: interrupts},
	{kind: "clock step", instant: true, least: 1, what: []string{"clock"}, begin: clockStep},
	{kind: "kernel thread", least: 0.1, what: []string{"kernel|kworker|kcompactd|kswapd|" + saysCPU}, begin: kernelThread},
	{kind: "sleep", instant: true, least: 1, what: []string{"asleep|slept"}, begin: sleep},
}

func steal(c *Case) func(*sim.Machine, int) {
	return func(m *sim.Machine, t int) {
		m.Steal = 0
		if c.Active(t) {
			m.Steal = 0.8 * c.Strength * float64(m.Cores)
		}
	}
}

// throttled is processors that are slowed down although processes want them.
func throttled(c *Case) func(*sim.Machine, int) {
	p := steady(c.M.Start(nil, c.name(), "app"), sim.Want{User: 0.75 * float64(c.M.Cores), Memory: 60e3}, 0.05)
	p.Threads = 2 * c.M.Cores
	c.Truth.Near = []string{p.Name}
	return func(m *sim.Machine, t int) {
		m.Clock = 1
		if c.Active(t) {
			m.Clock = 1 - 0.75*c.Strength
		}
	}
}

func interrupts(c *Case) func(*sim.Machine, int) {
	return func(m *sim.Machine, t int) {
		m.SoftShare = 0
		if c.Active(t) {
			m.SoftShare = 0.9 * c.Strength * float64(m.Cores)
			m.Interrupts += 200e3 * c.Strength
		}
	}
}

func clockStep(c *Case) func(*sim.Machine, int) {
	by := []int{40, 7200, 300, 3600}[c.rnd.IntN(4)]
	return func(m *sim.Machine, t int) {
		if t == c.Onset {
			m.Set(float64(by))
			c.Stepped = by
		}
	}
}

func sleep(c *Case) func(*sim.Machine, int) {
	seconds := 600 + c.rnd.IntN(3000)
	return func(m *sim.Machine, t int) {
		if t == c.Onset {
			m.Sleep(seconds)
			c.Slept = seconds
		}
	}
}

// kernelThread is work of the kernel itself.
func kernelThread(c *Case) func(*sim.Machine, int) {
	p := c.M.Find([]string{"kcompactd0", "kworker/u8:1", "khugepaged"}[c.rnd.IntN(3)])
	c.Truth.Who = []string{p.Name}
	return func(m *sim.Machine, t int) {
		p.Sys = 0
		if c.Active(t) {
			p.Sys = min(c.Strength*float64(m.Cores), 1)
		}
	}
}
