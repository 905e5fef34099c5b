package perfetto

import (
	"io"
	"math"

	"tachograph/cmd/replay/internal/fields"
)

// Fields of Perfetto's schema.
const (
	tracePacket = 1 // of Trace

	packetClockSnapshot = 6 // of TracePacket
	packetTimestamp     = 8
	packetSequence      = 10
	packetTrackEvent    = 11
	packetSequenceFlags = 13
	packetDescriptor    = 60

	snapshotClock = 1 // of ClockSnapshot
	snapshotTrace = 2
	clockID       = 1 // of Clock
	clockTime     = 2

	descriptorUUID    = 1 // of TrackDescriptor
	descriptorName    = 2
	descriptorProcess = 3
	descriptorParent  = 5
	descriptorCounter = 8
	descriptorRank    = 12
	processPID        = 1 // of ProcessDescriptor
	processName       = 6
	counterUnit       = 3 // of CounterDescriptor
	counterUnitName   = 6

	eventType   = 9 // of TrackEvent
	eventTrack  = 11
	eventName   = 23
	eventInt    = 30
	eventDouble = 44

	typeBegin   = 1
	typeEnd     = 2
	typeInstant = 3
	typeCounter = 4

	unitTimeNs = 1
	unitCount  = 2
	unitBytes  = 3

	clockRealtime = 1
	clockBoot     = 6

	// All packets are in one sequence, which begins with the first.
	sequence         = 1
	sequenceBegins   = 1
	longestName      = 256
	packetHeadLength = 6 // tag, and a length below 2^28
)

// packets writes packets. After an error it does nothing more.
type packets struct {
	w     io.Writer
	base  int64 // wall clock at trace time 0
	begun bool
	err   error

	packet, part, inner []byte
}

// write ends the packet and writes it.
func (p *packets) write() {
	if p.err != nil {
		return
	}
	p.packet = fields.Uint(p.packet, packetSequence, sequence)
	if !p.begun {
		p.begun = true
		p.packet = fields.Uint(p.packet, packetSequenceFlags, sequenceBegins)
	}
	var head [packetHeadLength]byte
	h := fields.Head(head[:0], tracePacket, len(p.packet))
	if _, p.err = p.w.Write(h); p.err == nil {
		_, p.err = p.w.Write(p.packet)
	}
	p.packet = p.packet[:0]
}

// clocks writes the wall clock at trace time 0.
func (p *packets) clocks() {
	part := p.part[:0]
	for _, c := range [...][2]uint64{{clockBoot, 0}, {clockRealtime, uint64(p.base)}} {
		p.inner = fields.Uint(fields.Uint(p.inner[:0], clockID, c[0]), clockTime, c[1])
		part = fields.Bytes(part, snapshotClock, p.inner)
	}
	p.part = fields.Uint(part, snapshotTrace, clockBoot)
	p.packet = fields.Bytes(p.stamp(p.base), packetClockSnapshot, p.part)
	p.write()
}

// stamp begins a packet at a wall clock. Trace time is never negative.
func (p *packets) stamp(wall int64) []byte {
	return fields.Uint(p.packet[:0], packetTimestamp, uint64(max(0, wall-p.base)))
}

// A track is a line in the viewer.
type track struct {
	id, parent uint64
	name       string
	rank       int    // among its siblings; 0 is none
	pid        int    // the process ID of a process; 0: not a process
	counter    bool   // the track is a counter; the next fields describe it
	unit       uint64 // the format's number for a unit, or 0
	unitName   string
}

func (p *packets) describe(t track) {
	part := fields.Bytes(fields.Uint(p.part[:0], descriptorUUID, t.id), descriptorName, shown(t.name))
	if t.parent != 0 {
		part = fields.Uint(part, descriptorParent, t.parent)
	}
	if t.rank != 0 {
		part = fields.Uint(part, descriptorRank, uint64(t.rank))
	}
	if t.pid != 0 {
		p.inner = fields.Bytes(fields.Uint(p.inner[:0], processPID, uint64(t.pid)), processName, shown(t.name))
		part = fields.Bytes(part, descriptorProcess, p.inner)
	}
	if t.counter {
		p.inner = p.inner[:0]
		if t.unit != 0 {
			p.inner = fields.Uint(p.inner, counterUnit, t.unit)
		} else if t.unitName != "" {
			p.inner = fields.Bytes(p.inner, counterUnitName, t.unitName)
		}
		part = fields.Bytes(part, descriptorCounter, p.inner)
	}
	p.part = part
	p.packet = fields.Bytes(p.packet[:0], packetDescriptor, part)
	p.write()
}

// event writes the begin or end of a slice, or an instant.
func (p *packets) event(kind uint64, on uint64, wall int64, name string) {
	part := fields.Uint(fields.Uint(p.part[:0], eventType, kind), eventTrack, on)
	if name != "" {
		part = fields.Bytes(part, eventName, shown(name))
	}
	p.part = part
	p.packet = fields.Bytes(p.stamp(wall), packetTrackEvent, part)
	p.write()
}

// value writes the value of a counter from an instant on. Whole numbers stay exact.
func (p *packets) value(on uint64, wall int64, v value) {
	part := fields.Uint(fields.Uint(p.part[:0], eventType, typeCounter), eventTrack, on)
	if v.whole {
		part = fields.Uint(part, eventInt, v.bits)
	} else {
		part = fields.Fixed64(part, eventDouble, v.bits)
	}
	p.part = part
	p.packet = fields.Bytes(p.stamp(wall), packetTrackEvent, part)
	p.write()
}

// value is a number in the form for a packet: an int64, or the bits of a float.
type value struct {
	bits  uint64
	whole bool
}

// none is NaN: nothing is known from here on.
var none = value{bits: math.Float64bits(math.NaN())}
