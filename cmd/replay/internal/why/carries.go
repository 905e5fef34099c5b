package why

import (
	"math"
	"slices"
)

const (
	// bears is the part of what the machine used of something that a cause must have used for a
	// symptom to be attributed to it.
	bears = 0.4
	// bearsMemory is the part of a rise in the use of memory, and leastOfMemory the part of all
	// memory, that a cause must have taken.
	bearsMemory, leastOfMemory = 0.3, 0.05
)

// carries reports whether the numbers allow a symptom to be a consequence of a cause: how much of
// what the machine used then the cause itself used.
func (q *question) carries(c, s *finding) bool {
	if s.topic == "listen" {
		return q.bearsQueue(c, s)
	}
	switch c.kind {
	case "flushes":
		return s.topic == "disk" || q.bearsUse(c, s)
	case "runaway", "memory", "writer", "reader", "switches":
		return q.bearsUse(c, s)
	case "births":
		return q.bearsBirths(c, s)
	case "peer", "slow peer", "lossy peer":
		return s.kind == "tcp.resent" && c.level > 0 && c.level >= bears*q.gained("network.traffic.retrans_bytes", s.since, s.until)
	case "unreachable", "connections", "visits":
		return (s.kind == "tcp.opened" || s.kind == "tcp.failed" && c.kind != "visits" || s.kind == "visits" && c.kind == "connections") && c.amount >= bears*s.amount
	case "growth":
		return s.kind == "files" || (s.kind == "threads" || s.kind == "tcp.waiting") && c.amount >= 0.5*s.amount
	case "crash loop":
		return s.kind == "death" && s.who == c.who || s.kind == "births" && c.amount >= 0.5*s.amount
	}
	return true // Devices and the machine itself.
}

// bearsQueue answers carries for a port that did not accept all connections: its own process did
// something else, or waited, or had too many to accept, or others had all processors.
func (q *question) bearsQueue(c, s *finding) bool {
	switch c.kind {
	case "peer", "slow peer":
		return slices.Contains(c.about, s.who)
	case "connections":
		return c.who == s.who || c.amount >= s.amount
	case "runaway":
		const all = 0.9
		busy := q.level("cpu", s.since, s.until)
		own, _ := q.share(c.who, thingCPU, s.since, s.until)
		return c.who == s.who || busy >= all && own >= bears*busy*q.cores
	case "lossy peer":
		return false
	}
	return c.who == s.who
}

// unborne makes causes of what only counts as one if nothing else is the cause: disks that were
// slow by themselves, other machines that stopped answering, programs that accepted more
// connections than usual, and ports that did not accept all.
func (q *question) unborne(all []*finding) []*finding {
	for _, kind := range []string{"slow disk", "peer", "slow peer", "lossy peer", "visits", "listener"} {
		for _, f := range all {
			if f.kind != kind || slices.ContainsFunc(all, func(c *finding) bool { return c.cause && explains(c, f, q.slack()) && q.carries(c, f) }) {
				continue
			}
			if f.cause = true; kind == "slow disk" {
				f.explains = []string{"disk"}
			}
		}
	}
	return all
}

// waiting joins the finding of a program that came to hold ever more of something with that of the
// other machine that it waited for.
func waiting(all []*finding, slack int64) []*finding {
	joins := make(map[*finding]*finding)
	for _, f := range all {
		for _, c := range all {
			if f.kind == "growth" && c.kind == "peer" && slices.Contains(c.about, f.who) && c.since <= f.since+leastMinute+slack && f.since <= c.until {
				joins[f] = c
			}
		}
		if c := joins[f]; c != nil {
			c.text += "; " + f.text
			c.weight = max(c.weight, min(f.weight+0.02, 1))
			c.sources = append(c.sources, f.sources...)
		}
	}
	return slices.DeleteFunc(all, func(f *finding) bool { return joins[f] != nil })
}

// bearsUse answers carries for what processes of one name use.
func (q *question) bearsUse(c, s *finding) bool {
	part := func(of, machine float64, list ...int) bool {
		own, all := 0.0, 0.0
		for _, thing := range list {
			x, y := q.share(c.who, thing, s.since, s.until)
			own, all = own+x, all+y
		}
		return own > 0 && own >= of*math.Max(all, orZero(machine))
	}
	level := func(name string) float64 { return q.level(name, s.since, s.until) * q.cores }
	switch s.topic {
	case "cpu":
		switch s.kind {
		case "cpu.system":
			return part(bears, level("cpu.system"), thingSystem)
		case "switches":
			return part(bears, s.amount, thingSwitches)
		case "cpu.interrupts":
			return false
		}
		return part(bears, level("cpu"), thingCPU)
	case "load", "thermal":
		return part(bears, level("cpu"), thingCPU)
	case "disk":
		return part(bears, q.level("disk.bytes", s.since, s.until), thingRead, thingWritten)
	case "memory", "swap":
		if len(s.about) > 0 {
			return slices.Contains(s.about, c.who)
		}
		course := q.ledger.course(c.who, thingMemory)
		if course == nil {
			return c.kind == "memory"
		}
		took := q.ledger.stint(course, q.shown.From, q.shown.To).excess()
		if s.kind == "memory.used" || s.kind == "memory.compressed" {
			return took >= bearsMemory*math.Max(s.amount-s.calm, leastOfMemory)*q.memory
		}
		return took >= leastOfMemory*q.memory
	}
	return false
}

// bearsBirths answers carries for processes that come and go: they used whatever the processes
// that were seen did not.
func (q *question) bearsBirths(c, s *finding) bool {
	unseen := func(signal string, thing int) bool {
		_, all := q.share("", thing, s.since, s.until)
		machine := float64(q.level(signal, s.since, s.until) * q.cores)
		return machine-all >= bears*machine
	}
	switch s.kind {
	case "processes":
		return c.amount*float64(c.until-c.since)/1e9 >= 0.5*s.amount
	case "cpu", "load":
		return unseen("cpu", thingCPU)
	case "cpu.system":
		return unseen("cpu.system", thingSystem)
	}
	return false
}
