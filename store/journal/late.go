package journal

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"tachograph/sample/metric"
)

// A late tick is older than a tick of its class that was recorded before it: a tick of the
// seconds before a trigger, which seemed not worth recording when they passed. It is coded by a
// model of its own, beside the model of the ticks that come in order, in which each tick
// predicts the next.
//
// It is written as a copy of records that no generation holds, so that readers that do not know
// late ticks find a useless copy, and read on.

// lateCopy is the beginning of the copy that holds a late tick: its records are behind the last
// one that there could ever be.
var lateCopy = binary.AppendUvarint(binary.AppendUvarint(nil, 1<<63), 1<<63+1)

// lateByte is the first byte of the record of a late tick. For a real copy, the class bits are
// zero.
func lateByte(c metric.Class) byte { return byte(KindCopy)<<5 | byte(c) + 1 }

// isLate reports whether a body is the body of a late tick.
func isLate(body []byte) bool { return Kind(body[0]>>5) == KindCopy && body[0]&31 != 0 }

// Late appends the body of a record of t, a late tick, to out; errors are as for Tick.
func (e *Encoder) Late(out []byte, t *metric.Tick) ([]byte, error) {
	if e.brokenLate != nil {
		return out, e.brokenLate
	}
	if err := check(t); err != nil {
		return out, err
	}
	if e.late == nil {
		e.late = newState()
	}
	s := e.late
	if err := s.prepare(s.groupsOf(t.Class), t); err != nil {
		return out, err
	}
	s.coder.startEncoding(append(append(out, lateByte(t.Class)), lateCopy...))
	if _, err := s.tick(t.Class, t, nil); err != nil {
		e.brokenLate = fmt.Errorf("a late tick of class %s could not be coded", t.Class)
		return out, e.brokenLate
	}
	return s.coder.finishEncoding(), nil
}

// decodeLate decodes the body of a late tick. The tick has instances of its own, because those
// of other records may have new names by now.
func (d *Decoder) decodeLate(body []byte, r *Record) error {
	class, coded := metric.Class(body[0]&31-1), body[1:]
	if class >= metric.NumClasses {
		return fmt.Errorf("late tick of unknown class %d", class)
	}
	if !bytes.HasPrefix(coded, lateCopy) {
		return errCorrupt
	}
	if d.late == nil {
		d.late = newState()
	}
	s := d.late
	s.coder.startDecoding(coded[len(lateCopy):])
	d.lateTick.Blocks = d.lateTick.Blocks[:0]
	if _, err := s.tick(class, &d.lateTick, nil); err != nil {
		return err
	}
	if s.coder.bad() {
		return errCorrupt
	}
	r.Kind, r.Tick = KindLate, &d.lateTick
	return nil
}

// Late appends t, which is older than a tick of its class that w holds; errors are as for Tick.
func (w *Writer) Late(t *metric.Tick) error {
	body, err := w.enc.Late(w.body[:0], t)
	if err != nil {
		return refused{err}
	}
	return w.add(body)
}
