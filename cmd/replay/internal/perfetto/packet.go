package perfetto

import (
	"io"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
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

	// Packets are of one sequence, which begins with the first.
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
	p.packet = protowire.AppendTag(p.packet, packetSequence, protowire.VarintType)
	p.packet = protowire.AppendVarint(p.packet, sequence)
	if !p.begun {
		p.begun = true
		p.packet = protowire.AppendTag(p.packet, packetSequenceFlags, protowire.VarintType)
		p.packet = protowire.AppendVarint(p.packet, sequenceBegins)
	}
	var head [packetHeadLength]byte
	h := protowire.AppendTag(head[:0], tracePacket, protowire.BytesType)
	h = protowire.AppendVarint(h, uint64(len(p.packet)))
	if _, p.err = p.w.Write(h); p.err == nil {
		_, p.err = p.w.Write(p.packet)
	}
	p.packet = p.packet[:0]
}

func number(b []byte, field protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), v)
}

func text(b []byte, field protowire.Number, s string) []byte {
	return protowire.AppendString(protowire.AppendTag(b, field, protowire.BytesType), s)
}

func message(b []byte, field protowire.Number, m []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), m)
}

// clocks says what the wall clock is at trace time 0.
func (p *packets) clocks() {
	part := p.part[:0]
	for _, c := range [...][2]uint64{{clockBoot, 0}, {clockRealtime, uint64(p.base)}} {
		p.inner = number(number(p.inner[:0], clockID, c[0]), clockTime, c[1])
		part = message(part, snapshotClock, p.inner)
	}
	p.part = number(part, snapshotTrace, clockBoot)
	p.packet = message(p.stamp(p.base), packetClockSnapshot, p.part)
	p.write()
}

// stamp begins a packet at a wall clock. Trace time is never negative.
func (p *packets) stamp(wall int64) []byte {
	return number(p.packet[:0], packetTimestamp, uint64(max(0, wall-p.base)))
}

// A track is a line of the viewer.
type track struct {
	id, parent uint64
	name       string
	rank       int    // among its siblings; 0 is none
	pid        int    // of a process; 0 is no process
	counter    bool   // what follows is of a counter
	unit       uint64 // one of the format's, or 0
	unitName   string
}

func (p *packets) describe(t track) {
	part := text(number(p.part[:0], descriptorUUID, t.id), descriptorName, shown(t.name))
	if t.parent != 0 {
		part = number(part, descriptorParent, t.parent)
	}
	if t.rank != 0 {
		part = number(part, descriptorRank, uint64(t.rank))
	}
	if t.pid != 0 {
		p.inner = text(number(p.inner[:0], processPID, uint64(t.pid)), processName, shown(t.name))
		part = message(part, descriptorProcess, p.inner)
	}
	if t.counter {
		p.inner = p.inner[:0]
		if t.unit != 0 {
			p.inner = number(p.inner, counterUnit, t.unit)
		} else if t.unitName != "" {
			p.inner = text(p.inner, counterUnitName, t.unitName)
		}
		part = message(part, descriptorCounter, p.inner)
	}
	p.part = part
	p.packet = message(p.packet[:0], packetDescriptor, part)
	p.write()
}

// event writes the begin or end of a slice, or an instant.
func (p *packets) event(kind uint64, on uint64, wall int64, name string) {
	part := number(number(p.part[:0], eventType, kind), eventTrack, on)
	if name != "" {
		part = text(part, eventName, shown(name))
	}
	p.part = part
	p.packet = message(p.stamp(wall), packetTrackEvent, part)
	p.write()
}

// value writes what a counter is from an instant on. Whole numbers stay exact.
func (p *packets) value(on uint64, wall int64, v value) {
	part := number(number(p.part[:0], eventType, typeCounter), eventTrack, on)
	if v.whole {
		part = number(part, eventInt, v.bits)
	} else {
		part = protowire.AppendFixed64(protowire.AppendTag(part, eventDouble, protowire.Fixed64Type), v.bits)
	}
	p.part = part
	p.packet = message(p.stamp(wall), packetTrackEvent, part)
	p.write()
}

// value is a number as a packet holds it: an int64, or the bits of a float.
type value struct {
	bits  uint64
	whole bool
}

// none is no number: nothing is known from here on.
var none = value{bits: math.Float64bits(math.NaN())}
