package cases

import (
	"tachograph/testdata/measure/conclusions/sim"
)

var networkTroubles = []trouble{
	{kind: "flood", least: 0.05, what: []string{"packets|came in"}, begin: flood},
	{kind: "sender", least: 0.05, what: []string{"network|packets|sent|went out|eth0"}, begin: sender},
	{kind: "resent", least: 0.1, what: []string{"again|retrans|resent"}, begin: resent},
	{kind: "link down", least: 1, what: []string{"link"}, begin: linkDown},
	{kind: "listen queue", least: 0.1, lasts: 70, what: []string{"connections waiting|port 8443|listening queue"}, begin: listenQueue},
	{kind: "refused", least: 0.1, what: []string{"refused|could not"}, begin: refused},
	{kind: "silent peer", least: 0.1, lasts: 120, what: []string{"answer"}, begin: silentPeer},
	{kind: "slow peer", least: 0.1, lasts: 200, what: []string{"answered slowly|round trip"}, begin: slowPeer},
	{kind: "close wait", least: 0.1, what: []string{"CLOSE_WAIT|sockets"}, begin: closeWait},
	{kind: "connections", least: 0.1, what: []string{"connections|connect"}, begin: connections},
	{kind: "half open", least: 0.1, what: []string{"half.open|SYN|packets"}, begin: halfOpen},
	{kind: "datagrams lost", least: 0.1, what: []string{"datagram|udp"}, begin: datagrams},
	{kind: "drops", least: 0.05, what: []string{"drop|lost|faulty"}, begin: drops},
}

// flood is unrequested packets from outside.
func flood(c *Case) func(*sim.Machine, int) {
	n := c.M.Nets[0]
	c.Truth.Who = []string{n.Name}
	usual, usualBytes := n.Packets, n.Bytes
	return func(m *sim.Machine, t int) {
		n.Packets, n.Bytes, m.SoftShare = usual, usualBytes, 0
		if c.Active(t) {
			n.Packets, n.Bytes = 120e3*c.Strength, 120e3*c.Strength*90
			m.SoftShare = 0.9 * c.Strength
		}
	}
}

// sender is a process that sends as much as the network can carry.
func sender(c *Case) func(*sim.Machine, int) {
	p := c.culprit()
	c.Truth.Who = append(c.Truth.Who, "eth0")
	return c.while(p, func(p *sim.Proc, _ int) {
		p.Packets, p.Bytes = 80e3*c.Strength, 110e6*c.Strength
		p.User, p.Sys = 0.1+0.2*c.Strength, 0.2+0.5*c.Strength
	})
}

func resent(c *Case) func(*sim.Machine, int) {
	p := steady(c.M.Start(nil, c.name(), "app"), sim.Want{User: 0.02, Packets: 400, Bytes: 200e3, Memory: 20e3}, 0.3)
	c.Truth.Near = []string{p.Name}
	return func(m *sim.Machine, t int) {
		m.Resent = 0.001
		if c.Active(t) {
			m.Resent = 0.3 * c.Strength
		}
	}
}

func linkDown(c *Case) func(*sim.Machine, int) {
	n := c.M.Nets[0]
	c.Truth.Who = []string{n.Name}
	return func(m *sim.Machine, t int) { n.Down = c.Active(t) }
}

// listenQueue is a listener that does not accept quickly enough.
func listenQueue(c *Case) func(*sim.Machine, int) {
	p := c.culprit()
	c.Truth.Who = append(c.Truth.Who, "listening") // diff does not say whose queue it is.
	p.Sockets = 200
	queue := c.M.Listen(p, 8443, 128)
	return func(m *sim.Machine, t int) {
		m.Refused, queue.Drops, queue.Backlog = 0, 0, float64(t%3)
		if c.Active(t) {
			m.Refused, m.Accepts = 200*c.Strength, m.Accepts+300
			queue.Drops, queue.Backlog = m.Refused, 129
		}
	}
}

// refused is a process that tries again and again to reach what refuses it.
func refused(c *Case) func(*sim.Machine, int) {
	p := c.culprit()
	return c.while(p, func(p *sim.Proc, t int) {
		m := p.Machine()
		p.Refused = 60 * c.Strength
		p.Opened = p.Refused
		m.Opens, m.Failed = m.Opens+p.Refused, p.Refused
		m.Connect(p, "lan-0ddba115", 6379, false, 0).Failed = true
	})
}

// silentPeer is another machine that no longer answers a process.
func silentPeer(c *Case) func(*sim.Machine, int) {
	p := c.culprit()
	talks := c.talks(p, "net-0badbeef", 5432)
	return func(_ *sim.Machine, t int) {
		for _, one := range talks {
			one.Silent = c.Active(t)
		}
	}
}

// slowPeer is another machine that answers late.
func slowPeer(c *Case) func(*sim.Machine, int) {
	p := c.culprit()
	talks := c.talks(p, "net-0badbeef", 5432)
	return func(_ *sim.Machine, t int) {
		for _, one := range talks {
			if one.RTT = 9; c.Active(t) {
				one.RTT = 200 + 4000*c.Strength
			}
		}
	}
}

// talks are connections of a process to a peer: more, if the trouble is to be greater.
func (c *Case) talks(p *sim.Proc, peer string, port int) (list []*sim.Conn) {
	for range 1 + int(20*c.Strength) {
		list = append(list, c.M.Connect(p, peer, port, false, 3e3))
	}
	p.Sockets = len(list)
	return list
}

func closeWait(c *Case) func(*sim.Machine, int) {
	p := c.culprit()
	return c.while(p, func(p *sim.Proc, t int) {
		p.Sockets = int(9000 * c.Strength * float64(t-c.Onset) / float64(c.Length))
		p.Files = 12 + p.Sockets
		p.Machine().CloseWait = float64(p.Sockets)
	})
}

func datagrams(c *Case) func(*sim.Machine, int) {
	return func(m *sim.Machine, t int) {
		m.Datagrams, m.DatagramsDropped = 30, 0
		if c.Active(t) {
			m.Datagrams, m.DatagramsDropped = 3000*c.Strength, 2000*c.Strength
		}
	}
}

func drops(c *Case) func(*sim.Machine, int) {
	n := c.M.Nets[0]
	c.Truth.Who = []string{n.Name}
	return func(_ *sim.Machine, t int) {
		n.Drops = 0
		if c.Active(t) {
			n.Drops = 1500 * c.Strength
		}
	}
}

// connections is a process that opens connections without end, most of which fail.
func connections(c *Case) func(*sim.Machine, int) {
	p := c.culprit()
	c.Truth.Who = append(c.Truth.Who, "attempts", "TCP")
	p.Into = c.M.Nets[1]
	return c.while(p, func(p *sim.Proc, _ int) {
		m := p.Machine()
		p.User, p.Sys, p.Switches, p.Packets, p.Bytes = 0.1*c.Strength, 0.4*c.Strength, 3000*c.Strength, 9000*c.Strength, 600e3*c.Strength
		m.Opens, m.Failed = m.Opens+3000*c.Strength, 2500*c.Strength
		p.Opened, p.Failed = 3000*c.Strength, 2500*c.Strength
	})
}

// halfOpen is a flood of connections that the clients do not complete.
func halfOpen(c *Case) func(*sim.Machine, int) {
	n := c.M.Nets[0]
	usual, usualBytes := n.Packets, n.Bytes
	return func(m *sim.Machine, t int) {
		n.Packets, n.Bytes, m.HalfOpen = usual, usualBytes, 0
		if c.Active(t) {
			n.Packets, n.Bytes, m.HalfOpen = 20e3*c.Strength, 1.2e6*c.Strength, 4000*c.Strength
		}
	}
}
