package chunk

import (
	"encoding/binary"
	"errors"
	"fmt"

	"tachograph/sample/metric"
	"tachograph/store/varint"
)

// Info is the entry of a chunk in the index of its archive: what a reader must know to decide
// whether it needs the chunk.
type Info struct {
	Class metric.Class
	Ticks uint64
	// Values counts the cells, absent ones included.
	Values uint64
	// From and To are the earliest and the latest wall clock of its ticks and
	// blocks.
	From, To int64
	// First and Last are the stamps of its first and last tick.
	First, Last metric.Stamp
	// Size is the chunk's length in bytes, Sum their crc32c.
	Size int64
	Sum  uint32
	// Schema is a checksum of which metrics its groups have: chunks with the same Schema have
	// the same metrics.
	Schema uint32
}

func (t *table) info() Info {
	in := Info{Class: t.class, Ticks: uint64(len(t.ticks))}
	if len(t.ticks) > 0 {
		in.First, in.Last = t.ticks[0], t.ticks[len(t.ticks)-1]
		in.From, in.To = in.First.Wall, in.First.Wall
	}
	see := func(wall int64) {
		in.From, in.To = min(in.From, wall), max(in.To, wall)
	}
	for _, s := range t.ticks {
		see(s.Wall)
	}
	for _, g := range t.groups {
		for _, b := range g.at {
			see(b.at.Wall)
		}
		cells := uint64(0)
		for i := range g.insts {
			cells += uint64(g.insts[i].lifetime())
		}
		in.Values += cells * uint64(len(g.metrics))
	}
	in.Schema = t.schema()
	return in
}

func (t *table) schema() uint32 {
	var b []byte
	for _, g := range t.groups {
		b = append(append(b, g.name...), 0)
		b = append(append(b, g.indom...), 0)
		b = binary.LittleEndian.AppendUint32(b, uint32(len(g.metrics)))
		for _, m := range g.metrics {
			b = binary.LittleEndian.AppendUint32(b, m.number)
		}
	}
	return Checksum(b)
}

// Marshal encodes in. Later versions may append fields.
func (in *Info) Marshal() []byte {
	out := []byte{byte(in.Class)}
	out = binary.AppendUvarint(out, in.Ticks)
	out = binary.AppendUvarint(out, in.Values)
	out = binary.AppendVarint(out, in.First.Wall)
	out = binary.AppendVarint(out, in.First.Cont)
	out = binary.AppendVarint(out, in.First.Awake)
	out = binary.AppendVarint(out, in.Last.Wall-in.First.Wall)
	out = binary.AppendVarint(out, in.Last.Cont-in.First.Cont)
	out = binary.AppendVarint(out, in.Last.Awake-in.First.Awake)
	out = binary.AppendVarint(out, in.First.Wall-in.From)
	out = binary.AppendVarint(out, in.To-in.Last.Wall)
	out = binary.AppendVarint(out, in.Size)
	out = binary.LittleEndian.AppendUint32(out, in.Sum)
	return binary.LittleEndian.AppendUint32(out, in.Schema)
}

// sensible reports whether a span of wall clock is valid: its ends are in order, and close
// enough to 1970 that computing with times between them does not overflow.
func sensible(from, to int64) bool {
	return from <= to && from >= -farthest && to <= farthest
}

// farthest is 146 years.
const farthest = 1 << 62

// ParseInfo is the inverse of Marshal.
func ParseInfo(b []byte) (Info, error) {
	var in Info
	if len(b) == 0 {
		return in, errors.New("an empty index entry")
	}
	r := varint.Reader{In: b[1:]}
	in.Class = metric.Class(b[0])
	in.Ticks = r.Uvarint()
	in.Values = r.Uvarint()
	in.First = metric.Stamp{Wall: r.Varint(), Cont: r.Varint(), Awake: r.Varint()}
	in.Last.Wall = in.First.Wall + r.Varint()
	in.Last.Cont = in.First.Cont + r.Varint()
	in.Last.Awake = in.First.Awake + r.Varint()
	in.From = in.First.Wall - r.Varint()
	in.To = in.Last.Wall + r.Varint()
	in.Size = r.Varint()
	in.Sum = r.Uint32()
	in.Schema = r.Uint32()
	if r.Bad || !sensible(in.From, in.To) || in.Ticks > MaxTicks || in.Size < 0 {
		return Info{}, fmt.Errorf("an index entry of %d bytes makes no sense", len(b))
	}
	return in, nil
}
