package darwin

import "tachograph/sample/metric"

// standsStill is why there are no bytes, or packets, of an interface that has stopped
// counting them. Some drivers of macOS 26 and 27 hand what they receive to programs past
// the kernel's counters.
var standsStill = metric.ReasonFor("the interface's driver has stopped counting: there is traffic, and the counter stands still")

// A counter has stopped when so many packets came without a byte. Even of the smallest
// these are more than the 1024 bytes that some counts are rounded to. That none came is
// suspicious when as much was sent the other way, in so many readings.
const (
	standsPackets  = 64
	standsBytes    = 64 << 10
	standsReadings = 10
)

// standing watches one direction of an interface.
type standing struct {
	seen                   bool
	bytes, packets, others uint64 // when the bytes moved at the latest; others are those of the other direction
	last                   uint64 // others, at the latest reading
	readings               int    // in which others moved since

	bytesStand, packetsStand bool
}

// see takes a reading, and reports whether it is suspicious that nothing came.
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

// protocols compare what the protocols have received with the packets of all
// interfaces, while there is a suspicion: each was received through one.
type protocols struct {
	watching          bool
	packets, received uint64 // when the suspicion arose
}

// more reports whether the protocols have received more than the interfaces since.
func (p *protocols) more(packets, received uint64) bool {
	if !p.watching || packets < p.packets || received < p.received {
		*p = protocols{true, packets, received}
	}
	return received-p.received > packets-p.packets+standsPackets
}
