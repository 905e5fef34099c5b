package gather

import (
	"encoding/binary"
	"iter"

	"tachograph/sample/metric"
	"tachograph/store/chunk"
)

// Events are events in the order they came, in a form that takes little memory. Packed block by
// block, the end of a process takes some 30 bytes, where the event itself is a kilobyte in a
// dozen pieces. A busy machine has tens of thousands of them between two commits. An Events
// must not be copied once it holds some.
type Events struct {
	packed [][]byte
	block  []byte       // events after the packed ones
	prev   metric.Stamp // of the last event in block
	count  int
}

// eventBlock is the size at which a block is packed. eventBlockMost is the most that it may
// have with the event that brings it to that size.
const (
	eventBlock     = 64 << 10
	eventBlockMost = 1 << 30
)

// Empty reports whether there are no events.
func (e *Events) Empty() bool { return len(e.packed) == 0 && len(e.block) == 0 }

// Len returns the number of events.
func (e *Events) Len() int { return e.count }

// Memory returns roughly how many bytes of memory the events take.
func (e *Events) Memory() int64 {
	n := int64(cap(e.block))
	for _, b := range e.packed {
		n += int64(len(b))
	}
	return n
}

// Add adds an event.
func (e *Events) Add(ev *metric.Event) {
	wall, cont, awake := ev.At.Wall-e.prev.Wall, ev.At.Cont-e.prev.Cont, ev.At.Awake-e.prev.Awake
	e.prev = ev.At
	e.count++
	b := binary.AppendVarint(e.block, wall)
	b = binary.AppendVarint(b, cont-wall)
	b = binary.AppendVarint(b, awake-cont)
	for _, s := range [...]string{string(ev.Kind), ev.Indom, ev.Key, ev.Text} {
		b = appendText(b, s)
	}
	b = binary.AppendUvarint(b, uint64(len(ev.Labels)))
	for _, l := range ev.Labels {
		b = appendText(appendText(b, l.Name), l.Value)
	}
	if e.block = b; len(b) >= eventBlock {
		e.packed = append(e.packed, chunk.Pack(b))
		e.block, e.prev = b[:0], metric.Stamp{}
	}
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// All yields the events.
func (e *Events) All() iter.Seq[metric.Event] {
	return func(yield func(metric.Event) bool) {
		for i := range len(e.packed) + 1 {
			raw := e.block
			if i < len(e.packed) {
				var err error
				if raw, err = chunk.Unpack(e.packed[i], eventBlockMost); err != nil {
					panic("gather: what was packed cannot be unpacked: " + err.Error())
				}
			}
			for r := (eventReader{in: string(raw)}); r.in != ""; {
				if !yield(r.event()) {
					return
				}
			}
		}
	}
}

// An eventReader reads the events of a block.
type eventReader struct {
	in   string
	prev metric.Stamp
}

func (r *eventReader) event() metric.Event {
	wall := r.varint()
	cont := r.varint() + wall
	awake := r.varint() + cont
	r.prev = metric.Stamp{Wall: r.prev.Wall + wall, Cont: r.prev.Cont + cont, Awake: r.prev.Awake + awake}
	ev := metric.Event{At: r.prev, Kind: metric.EventKind(r.text()), Indom: r.text(), Key: r.text(), Text: r.text()}
	if n := r.uvarint(); n > 0 {
		ev.Labels = make([]metric.Label, n)
		for i := range ev.Labels {
			ev.Labels[i] = metric.Label{Name: r.text(), Value: r.text()}
		}
	}
	return ev
}

func (r *eventReader) uvarint() (v uint64) {
	for i := 0; ; i++ {
		c := r.in[i]
		v |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			r.in = r.in[i+1:]
			return v
		}
	}
}

func (r *eventReader) varint() int64 {
	v := r.uvarint()
	return int64(v>>1) ^ -int64(v&1)
}

func (r *eventReader) text() string {
	n := r.uvarint()
	s := r.in[:n]
	r.in = r.in[n:]
	return s
}
