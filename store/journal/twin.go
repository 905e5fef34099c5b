package journal

// Machines count many things twice: pages in one place and kilobytes in another, bytes of an
// interface and of all interfaces, of a disk and of its partitions. If a cell changes in the
// same tick as another one, by the same amount or in a ratio that units explain, the other one
// becomes its twin; from then on one bit codes that it did so again.

// The ratios of a cell's change to the change of its twin.
const (
	ratioSame = iota
	ratioNegative
	ratioTimes4 // pages and kilobytes
	ratioQuarter
	ratioTimes1024
	ratioKilo // a 1024th
	ratioTimes512
	ratioSector // a 512th
	numRatios
)

// scaled returns the twin's change delta, scaled by a ratio.
func scaled(delta int64, ratio int8) int64 {
	switch ratio {
	case ratioSame:
		return delta
	case ratioNegative:
		return -delta
	case ratioTimes4:
		return delta << 2
	case ratioQuarter:
		return delta >> 2
	case ratioTimes1024:
		return delta << 10
	case ratioKilo:
		return delta >> 10
	case ratioTimes512:
		return delta << 9
	}
	return delta >> 9
}

// move is a change of a cell in this tick.
type move struct {
	tick  uint32
	delta int64
	cell  cellAt
}

const (
	moveSlots = 1 << 10
	// smallMove is the size below which equal changes are too often chance to show a twin.
	smallMove = 4
)

func (s *state) slot(delta int64) *move {
	return &s.moves[uint64(delta)*0x9e3779b97f4a7c15>>(64-10)]
}

// made notes that the cell at a place changed by k.delta, and looks for a twin unless a twin
// predicted the change.
func (s *state) made(k *motion, at cellAt, foretold bool) {
	k.tick = s.ticks
	d := k.delta
	if d < smallMove && d > -smallMove {
		return
	}
	m := s.slot(d)
	known := m.tick == s.ticks && m.delta == d
	if !foretold {
		switch {
		case known:
			k.twin, k.ratio = m.cell, ratioSame
		case s.find(k, -d, ratioNegative):
		case d&3 == 0 && s.find(k, d>>2, ratioTimes4):
		case s.find(k, d<<2, ratioQuarter):
		case d&1023 == 0 && s.find(k, d>>10, ratioTimes1024):
		case s.find(k, d<<10, ratioKilo):
		case d&511 == 0 && s.find(k, d>>9, ratioTimes512):
		default:
			s.find(k, d<<9, ratioSector)
		}
	}
	if !known {
		*m = move{s.ticks, d, at}
	}
}

// find makes a cell that changed by delta in this tick the twin of k.
func (s *state) find(k *motion, delta int64, ratio int8) bool {
	m := s.slot(delta)
	if m.tick != s.ticks || m.delta != delta || delta < smallMove && delta > -smallMove {
		return false
	}
	k.twin, k.ratio = m.cell, ratio
	return true
}
