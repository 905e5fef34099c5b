package cases

import (
	"fmt"
	"hash/fnv"
	"strconv"

	"tachograph/sample/metric"
	"tachograph/testdata/measure/conclusions/sim"
)

// saying is what the system itself writes down about a trouble, as the recorder's events have it:
// the kinds of those troubles for which real systems do.
type saying func(c *Case, m *sim.Machine, t int)

var sayings = map[string]saying{
	"oom":       kills,
	"group oom": kills,
	"crash loop": func(c *Case, m *sim.Machine, t int) {
		if unit := c.Truth.Who[0] + ".service"; (t-c.Onset)%5 == 1 {
			m.Event(metric.EventService, unit+" failed: exit-code", labels("source", "journal", "rule", "unit failed", "unit", unit, "result", "exit-code")...)
		}
	},
	"hung disk": func(c *Case, m *sim.Machine, t int) {
		if d := c.M.Disks[1].Name; t == c.Onset+20 || t == c.Onset+30 {
			kernel(m, "disk", "i/o error", d, "I/O error, dev "+d+", sector 4711 op 0x1:(WRITE) flags 0x800 phys_seg 1 prio class 2")
		}
	},
	"slow disk": func(c *Case, m *sim.Machine, t int) {
		if d := c.M.Disks[1].Name; (t-c.Onset)%20 == 3 {
			kernel(m, "disk", "medium error", d, "critical medium error, dev "+d+", sector 4711")
		}
	},
	"stuck": func(c *Case, m *sim.Machine, t int) {
		if t == c.Onset+122 {
			m.Event(metric.EventHang, c.Truth.Who[0]+" did not go on for 120 s", labels("source", "kernel", "rule", "hung task", "name", c.Truth.Who[0], "seconds", "120")...)
		}
	},
	"throttled": func(c *Case, m *sim.Machine, t int) {
		if t == c.Onset+1 {
			kernel(m, "thermal", "throttled", "CPU0", "CPU0: Package temperature above threshold, cpu clock throttled (total events = 1)")
		}
	},
	"link down": func(c *Case, m *sim.Machine, t int) {
		if d := c.M.Nets[0].Name; t == c.Onset {
			kernel(m, "link", "down", d, d+": NIC Link is Down")
		}
	},
	"half open":    floods("443"),
	"listen queue": floods("0.0.0.0:8443"), // as newer kernels write it
	"killed": func(c *Case, m *sim.Machine, t int) {
		if unit := c.Truth.Who[0] + ".service"; t == c.Onset+3 {
			m.Event(metric.EventService, unit+" failed: signal", labels("source", "journal", "rule", "unit failed", "unit", unit, "result", "signal")...)
		}
	},
	// What macOS reports, where Linux says nothing.
	"runaway": func(c *Case, m *sim.Machine, t int) {
		if c.Strength*float64(m.Cores) >= 0.5 && t == c.Onset+c.Length-5 {
			exceeded(c, m, "cpu", "90 s of processor time in 120 s", "50% over 180 s")
		}
	},
	"writer": func(c *Case, m *sim.Machine, t int) {
		if t == c.Onset+c.Length-5 {
			exceeded(c, m, "disk writes", "2147.5 MB written in 60 s", "2147.5 MB in 86400 s")
		}
	},
}

func floods(port string) saying {
	return func(c *Case, m *sim.Machine, t int) {
		if t == c.Onset+2 {
			kernel(m, "network", "syn flood", port, "TCP: request_sock_TCP: Possible SYN flooding on port "+port+". Sending cookies.")
		}
	}
}

// exceeded adds a report of macOS that a program used more than it may.
func exceeded(c *Case, m *sim.Machine, rule, used, limit string) {
	who := c.Truth.Who[0]
	m.Event(metric.EventLimit, who+" used "+used+"; the limit is "+limit, labels("source", "report", "rule", rule, "name", who, "used", used, "limit", limit)...)
}

// says returns a function that adds what the system says about a trouble: in half of the cases,
// so that answers are measured with and without it.
func (c *Case) says() func(*sim.Machine, int) {
	h := fnv.New32a()
	fmt.Fprint(h, c.ID)
	say := sayings[c.Kind]
	c.Said = say != nil && h.Sum32()>>8&1 == 1
	return func(m *sim.Machine, t int) {
		if c.Said && (c.Active(t) || len(m.Killed) > 0) {
			say(c, m, t)
		}
	}
}

// kills adds what the kernel says about the processes that it ended: that of Linux in lines, that of
// macOS in a report.
func kills(c *Case, m *sim.Machine, _ int) {
	for _, p := range m.Killed {
		if c.Kind == "oom" && p.PID%2 == 1 {
			m.Event(metric.EventKill, fmt.Sprintf("the kernel ended %s (pid %d) for want of memory: vm-pageshortage", p.Name, p.PID),
				labels("source", "report", "rule", "jetsam", "name", p.Name, "pid", strconv.Itoa(p.PID), "reason", "vm-pageshortage")...)
			continue
		}
		all := labels("source", "kernel", "rule", "killed", "name", p.Name, "pid", strconv.Itoa(p.PID))
		text := fmt.Sprintf("the kernel ended %s (pid %d) for want of memory", p.Name, p.PID)
		if c.Kind == "group oom" {
			group := "/system.slice/" + p.Name + ".service"
			text, all = text+" in "+group+", whose limit was reached", append(all, metric.Label{Name: "group", Value: group})
		}
		m.Event(metric.EventKill, text, all...)
	}
	m.Killed = nil
}

func kernel(m *sim.Machine, topic, rule, device, text string) {
	m.Event(metric.EventKernel, text, labels("source", "kernel", "topic", topic, "rule", rule, "device", device)...)
}

func labels(list ...string) (all []metric.Label) {
	for i := 0; i < len(list); i += 2 {
		all = append(all, metric.Label{Name: list[i], Value: list[i+1]})
	}
	return all
}
