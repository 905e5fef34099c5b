package darwin

import "tachograph/sample/metric"

// standsStill is the reason for the missing bytes, or packets, of an interface that has stopped
// counting them. Some drivers of macOS 26 and 27 pass what they receive to programs past the
// kernel's counters.
var standsStill = metric.ReasonFor("the interface's driver has stopped counting: there is traffic, and the counter stands still")

// The bytes of a direction have stopped when standsPackets packets came without a byte. Even the
// smallest such packets are more than the 1024 bytes to which some counts are rounded. That no
// packet came is suspicious when standsBytes were sent the other way, over at least
// standsReadings readings.
const (
	standsPackets  = 64
	standsBytes    = 64 << 10
	standsReadings = 10
)

// standing watches one direction of an interface.
type standing struct {
	seen                   bool
	bytes, packets, others uint64 // when the bytes last changed; others are the bytes of the other direction
	last                   uint64 // others at the last reading
	readings               int    // in which others changed since

	bytesStand, packetsStand bool
}

// see records a reading, and reports whether it is suspicious that nothing came.
func (s *standing) see(bytes, packets, others uint64) (suspicious bool) {
	if !s.seen || bytes != s.bytes || packets < s.packets || others < s.others {
		*s = standing{seen: true, bytes: bytes, packets: packets, others: others, last: others}
		return false
	}
	if others != s.last {
		s.last = others
		s.readings++
	}
	if packets-s.packets >= standsPackets {
		s.bytesStand, s.packetsStand = true, false
	}
	return packets == s.packets && s.readings >= standsReadings && others-s.others >= standsBytes
}

// protocols compares what the protocols have received with the packets of all interfaces, while
// there is a suspicion: each packet came through an interface.
type protocols struct {
	watching          bool
	packets, received uint64 // when the suspicion arose
}

// more reports whether the protocols have received more than the interfaces since then.
func (p *protocols) more(packets, received uint64) bool {
	if !p.watching || packets < p.packets || received < p.received {
		*p = protocols{true, packets, received}
	}
	return received-p.received > packets-p.packets+standsPackets
}
