package journal

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"tachograph/sample/metric"
)

// A late tick is one that is older than a tick of its class that stands before it:
// of the seconds before a trigger, which nobody knew to be worth recording when they
// passed. It is coded by a model of its own, beside that of the ticks that come in
// their order, of which each is foretold by the one before.
//
// It stands in a copy of what no generation holds, so that readers that know nothing
// of late ticks find one that is of no use to them, and read on.

// lateCopy is how the copy begins that a late tick stands in: behind the last record
// that there could ever be.
var lateCopy = binary.AppendUvarint(binary.AppendUvarint(nil, 1<<63), 1<<63+1)

// lateByte is the first byte of the record of a late tick. That of a copy has no class.
func lateByte(c metric.Class) byte { return byte(KindCopy)<<5 | byte(c) + 1 }

// isLate reports whether a body is that of a late tick.
func isLate(body []byte) bool { return Kind(body[0]>>5) == KindCopy && body[0]&31 != 0 }

// Late appends the body of a record of t, which comes late, to out; errors as for
// Tick.
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
	if err := s.prepare(t); err != nil {
		return out, err
	}
	s.coder.startEncoding(append(append(out, lateByte(t.Class)), lateCopy...))
	if err := s.tick(t.Class, t); err != nil {
		e.brokenLate = fmt.Errorf("a late tick of class %s could not be coded", t.Class)
		return out, e.brokenLate
	}
	return s.coder.finishEncoding(), nil
}

// decodeLate decodes the body of a late tick. Its instances are its own: those of other
// records may be called otherwise by now.
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
	if err := s.tick(class, &d.lateTick); err != nil {
		return err
	}
	if s.coder.bad() {
		return errCorrupt
	}
	r.Kind, r.Tick = KindLate, &d.lateTick
	return nil
}

// Late appends t, which is older than a tick of its class that w holds; errors as
// for Tick.
func (w *Writer) Late(t *metric.Tick) error {
	body, err := w.enc.Late(w.body[:0], t)
	if err != nil {
		return refused{err}
	}
	return w.add(body)
}
