package sim

import (
	"math"
	"strconv"
)

// pressure is the kernel's pressure stall information.
type pressure struct {
	total float64 // seconds
	avg   [3]float64
}

// push adds a second, part of which was stalled.
func (p *pressure) push(part float64) {
	p.total += part
	for i, over := range []float64{10, 60, 300} {
		p.avg[i] += (100*part - p.avg[i]) * (1 - math.Exp(-1/over))
	}
}

// weight returns the weight of a process for the scheduler, by its nice value.
func (p *Proc) weight() float64 { return math.Pow(1.25, -float64(p.Nice)) }

// wants is the processor time that a process would use in this second.
func (p *Proc) wants() float64 {
	if p.State != 0 {
		return 0
	}
	x := min(p.User+p.Sys, float64(p.Threads))
	if p.Quota > 0 {
		x = min(x, p.Quota)
	}
	return x * (1 - p.blocked)
}

// withheld returns how long its group's quota keeps a process waiting.
func (p *Proc) withheld() float64 {
	if p.Quota == 0 || p.State != 0 {
		return 0
	}
	return min(float64(p.Threads), 1) - min(p.Quota/max(p.User+p.Sys, p.Quota), 1)
}

// processors shares out the processors: processes that want little get it, and the others share
// the rest by their weights.
func (m *Machine) processors() {
	room := float64(m.Cores)*0.995 - m.Steal
	room *= m.Clock
	type claim struct {
		p          *Proc
		wants, got float64
	}
	var open []*claim
	total := 0.0
	for _, p := range m.Procs {
		if w := p.wants(); w > 0 {
			open = append(open, &claim{p: p, wants: w})
			total += w
		}
	}
	all := open
	if total <= room {
		for _, c := range all {
			c.got = c.wants
		}
		open = nil
	}
	for left := room; len(open) > 0 && left > 1e-9; {
		weights := 0.0
		for _, c := range open {
			weights += c.p.weight() * min(c.wants*4, float64(c.p.Threads))
		}
		var still []*claim
		spent := 0.0
		for _, c := range open {
			part := left * c.p.weight() * min(c.wants*4, float64(c.p.Threads)) / weights
			if need := c.wants - c.got; need <= part {
				c.got += need
				spent += need
			} else {
				still = append(still, c)
			}
		}
		if len(still) == len(open) {
			for _, c := range open {
				c.got += left * c.p.weight() * min(c.wants*4, float64(c.p.Threads)) / weights
			}
			break
		}
		open, left = still, left-spent
	}
	unmet, tasks := 0.0, 0.0
	for _, c := range all {
		p := c.p
		f := c.got / max(p.User+p.Sys, 1e-12)
		// If heat or the host slows it down, the processor counts the time nevertheless.
		p.got.user, p.got.sys = p.User*f/m.Clock, p.Sys*f/m.Clock
		p.got.wait = c.wants - c.got
		unmet += p.got.wait
		p.got.wait += p.withheld()
		tasks += min(float64(p.Threads), math.Ceil(c.wants))*min(1, c.wants) - c.got
		p.runPart = min(c.wants, 1)
	}
	m.cpu(unmet, max(tasks, unmet))
}

// cpu counts the time of the processors.
func (m *Machine) cpu(unmet, tasks float64) {
	user, nice, sys, blocked := 0.0, 0.0, 0.0, 0.0
	for _, p := range m.Procs {
		if p.Nice > 0 {
			nice += p.got.user
		} else {
			user += p.got.user
		}
		sys += p.got.sys
		blocked += p.blocked * float64(min(p.Threads, 4))
	}
	soft := m.SoftShare
	cores := float64(m.Cores)
	idle := max(cores-user-nice-sys-soft-m.Steal, 0)
	wait := min(idle*0.9, blocked)
	idle -= wait
	s := m.series
	parts := []struct {
		name string
		x    float64
	}{{"user", user}, {"nice", nice}, {"sys", sys}, {"idle", idle}, {"wait.total", wait}, {"steal", m.Steal}, {"irq.soft", soft}}
	for _, part := range parts {
		s.count("kernel.all.cpu."+part.name, "", part.x*1000)
		for i := range m.Cores {
			s.count("kernel.percpu.cpu."+part.name, "cpu"+strconv.Itoa(i), part.x*1000/cores)
		}
	}
	s.count("kernel.all.idletime", "", idle)
	used := (user + nice + sys + soft) / cores
	some := 1 - math.Exp(-(unmet*1.2 + 0.4*math.Pow(used, 4)))
	m.psi[0][0].push(min(some, 0.99))
	running := user + nice + sys + tasks
	m.loaded(running, blocked)
	s.level("kernel.all.running", "", math.Round(running+m.Rand.Float64()*0.8)+1)
	s.level("kernel.all.runnable", "", math.Round(running)+1)
	s.level("kernel.all.blocked", "", math.Floor(blocked+m.Rand.Float64()*0.6))
	for i := range m.Cores {
		s.level("hinv.cpu.clock", "cpu"+strconv.Itoa(i), 3600*m.Clock)
	}
}

func (m *Machine) loaded(running, blocked float64) {
	stuck := 0.0
	for _, p := range m.Procs {
		if p.State == 'D' {
			stuck++
		}
	}
	for i, over := range []float64{60, 300, 900} {
		m.loads[i] += (running + blocked + stuck - m.loads[i]) * (1 - math.Exp(-1/over))
	}
}
