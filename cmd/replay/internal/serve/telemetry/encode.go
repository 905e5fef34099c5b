package telemetry

import (
	"encoding/binary"
	"math"

	"tachograph/sample/metric"
)

// loadScale is what the kernel multiplies averages of the load by, a power of two: the division
// loses nothing.
const loadScale = 2048

// encode returns the bytes that the kernel of a Mac with Apple silicon gives for values of a kind.
// Those of the swap space are followed by the size of a page.
func encode(k kind, list []metric.Value) (b []byte) {
	le := binary.LittleEndian
	switch v := list[0]; k {
	case ofInt32, ofUint32:
		b = le.AppendUint32(b, uint32(v.Bits))
	case ofInt64, ofUint64:
		b = le.AppendUint64(b, v.Bits)
	case ofString:
		b = append([]byte(v.Str), 0)
	case ofTimeval: // seconds, and microseconds in 32 bits with 32 of padding
		b = le.AppendUint64(b, v.Bits/1e6)
		b = le.AppendUint64(b, v.Bits%1e6)
	case ofLoadavg: // three averages, padding, the scale
		for _, v := range list {
			b = le.AppendUint32(b, uint32(math.Round(v.Number()*loadScale)))
		}
		b = le.AppendUint32(b, 0)
		b = le.AppendUint64(b, loadScale)
	case ofSwap: // three sizes, the size of a page, and whether the space is encrypted
		for _, v := range list[:3] {
			b = le.AppendUint64(b, v.Bits)
		}
		b = le.AppendUint32(b, uint32(list[3].Bits))
		b = le.AppendUint32(b, 1)
	case ofClock:
		for _, v := range list {
			b = le.AppendUint32(b, uint32(v.Bits))
		}
	case ofRaw:
		for _, v := range list {
			b = le.AppendUint64(b, v.Bits)
		}
	}
	return b
}

// bytes returns the bytes of a metric, or why there are none.
func (p *present) bytes(k *theirMetric) ([]byte, string) {
	list, why := p.values(k.name, k.kind)
	if why != "" {
		return nil, why
	}
	if k.kind == ofSwap {
		page, why := p.values("hw.pagesize", ofInt64)
		if why != "" {
			return nil, "cannot be put together, as hw.pagesize " + why
		}
		list = append(list, page...)
	}
	return encode(k.kind, list), ""
}
