package sim

import "math"

// A Net is a network interface.
type Net struct {
	Name string
	Down bool
	// From outside, in addition to the traffic of processes: packets, bytes, and lost or faulty
	// packets, per second.
	Packets, Bytes, Drops, Faulty float64
}

// tcp is what the machine's connections do besides sending packets.
type tcp struct {
	Resent           float64 // part of what is sent
	Opens, Accepts   float64 // connections a second
	Refused          float64 // that overflow the queue of a listener
	Failed           float64
	Established      float64
	CloseWait        float64
	HalfOpen         float64
	Datagrams        float64
	DatagramsDropped float64
}

// networks counts packets.
func (m *Machine) networks() {
	segments := 0.0
	for _, n := range m.Nets {
		var packets, bytes float64
		if !n.Down {
			for _, p := range m.Procs {
				if p.State == 0 && p.Packets > 0 && (p.Into == n || p.Into == nil && n == m.Nets[0]) {
					f := (p.got.user + p.got.sys) / max(p.User+p.Sys, 1e-9)
					if p.User+p.Sys == 0 {
						f = 1
					}
					p.got.packets = p.Packets * min(f, 1)
					packets += p.got.packets
					bytes += p.Bytes * min(f, 1)
					p.net.transfer(m, p.Bytes*min(f, 1), n.Name == "lo")
				}
			}
		}
		in, inBytes, drops, faulty := packets, bytes, 0.0, 0.0
		if !n.Down {
			in, inBytes, drops, faulty = in+n.Packets, inBytes+n.Bytes, n.Drops, n.Faulty
		}
		segments += packets
		s := m.series
		for name, x := range map[string]float64{
			"in.packets": in, "in.bytes": inBytes, "in.drops": drops, "in.errors": faulty, "out.packets": packets, "out.bytes": bytes,
			"total.packets": in + packets, "total.bytes": inBytes + bytes, "total.drops": drops, "total.errors": faulty,
		} {
			s.count("network.interface."+name, n.Name, x)
			if n.Name != "lo" && s.of["network.all."+name] != nil {
				s.count("network.all."+name, "", x)
			}
		}
		running := 1.0
		if n.Down {
			running = 0
		}
		s.level("network.interface.running", n.Name, running)
		m.Interrupts += (in + packets) / 3
	}
	m.add(segments, "network.tcp.insegs")
	m.add(segments*(1+m.Resent), "network.tcp.outsegs")
	m.add(segments*m.Resent, "network.tcp.retranssegs")
	m.add(segments*m.Resent*0.4, "network.tcp.timeouts", "network.tcp.lostretransmit")
	m.add(segments*m.Resent*0.5, "network.tcp.fastretrans")
	m.add(m.Opens, "network.tcp.activeopens")
	m.add(m.Accepts, "network.tcp.passiveopens")
	m.add(m.Failed, "network.tcp.attemptfails")
	m.add(m.Refused, "network.tcp.listendrops", "network.tcp.listenoverflows")
	m.add(m.Datagrams, "network.udp.indatagrams")
	m.add(m.DatagramsDropped, "network.udp.recvbuferrors", "network.udp.inerrors", "network.udp.rcvbuferrors")
	m.set(math.Round(m.Established), "network.tcp.currestab", "network.tcpconn.established")
	m.set(math.Round(m.CloseWait), "network.tcpconn.close_wait")
	m.set(math.Round(m.HalfOpen), "network.tcpconn.syn_recv")
}
