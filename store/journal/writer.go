package journal

import (
	"fmt"
	"io"

	"tachograph/sample/metric"
)

// A Writer appends records to one journal file. It is not safe for concurrent
// use.
//
// A record that cannot be written stays in memory, in order, and is written
// before the next one that can be: Held says how much waits.
type Writer struct {
	f       io.WriterAt
	enc     *Encoder
	body    []byte
	pending []byte
	waiting uint64 // records in pending
	crc     uint32
	seq     uint64
	off     int64
	written int64
}

// NewWriter begins a journal in f, which may be longer than what is written: what
// it holds, and what is put behind Size, means nothing. Nothing is written until
// Flush or the first record. enc may be one of an earlier generation, to
// use its memory again, or nil.
func NewWriter(f io.WriterAt, h Header, enc *Encoder) *Writer {
	if enc == nil {
		enc = NewEncoder()
	} else {
		enc.Reset()
	}
	w := &Writer{f: f, enc: enc, seq: h.Base}
	w.pending, w.crc = appendHeader(nil, h)
	return w
}

// Seq is the sequence number of the last record that was given to w.
func (w *Writer) Seq() uint64 { return w.seq }

// Held is how many records, and bytes of them, wait in memory because the
// file could not be written.
func (w *Writer) Held() (records uint64, size int64) { return w.waiting, int64(len(w.pending)) }

// Size is the length of what has been written, which a mark follows.
func (w *Writer) Size() int64 { return w.off }

// Written is how many bytes have been handed to the file, failed attempts
// included.
func (w *Writer) Written() int64 { return w.written }

// Encoder is what encodes w's records: for the next generation.
func (w *Writer) Encoder() *Encoder { return w.enc }

// Tick appends t. An ErrRefused means that t cannot be recorded at all; any
// other error that it waits in memory.
func (w *Writer) Tick(t *metric.Tick) error { return w.TickStill(t, nil) }

// TickStill is Tick for who knows what stands still in t.
func (w *Writer) TickStill(t *metric.Tick, still *Still) error {
	w.enc.s.still = still
	body, err := w.enc.Tick(w.body[:0], t)
	w.enc.s.still = nil
	if err != nil {
		return refused{err}
	}
	return w.add(body)
}

// Event appends e; errors as for Tick.
func (w *Writer) Event(e *metric.Event) error {
	if err := w.HoldEvent(e); err != nil {
		return err
	}
	return w.Flush()
}

// HoldEvent is Event that leaves the writing to the next Flush, for who has
// several: its only error is ErrRefused.
func (w *Writer) HoldEvent(e *metric.Event) error {
	body, err := w.enc.Event(w.body[:0], e)
	if err != nil {
		return refused{err}
	}
	w.hold(body)
	return nil
}

// Describe appends additions to the catalogue.
func (w *Writer) Describe(ds []*metric.Desc) error {
	return w.add(w.enc.Describe(w.body[:0], ds))
}

// Config appends a change of configuration.
func (w *Writer) Config(conf *Config) error {
	return w.add(w.enc.Config(w.body[:0], conf))
}

// refused wraps an error that is the record's own fault.
type refused struct{ error }

// Refused reports whether err says that a record cannot be recorded at all.
func Refused(err error) bool {
	_, ok := err.(refused)
	return ok
}

func (w *Writer) add(body []byte) error {
	w.hold(body)
	return w.Flush()
}

func (w *Writer) hold(body []byte) {
	w.body = body
	if len(body) > maxFrame {
		// The encoder remembers what it coded: nothing can follow.
		panic(fmt.Sprintf("a record of %d bytes", len(body)))
	}
	w.pending, w.crc = appendFrame(w.pending, w.crc, body)
	w.seq++
	w.waiting++
}

// Flush writes what waits in memory.
func (w *Writer) Flush() error {
	if len(w.pending) == 0 {
		return nil
	}
	// What the file may have held before must not be taken for more.
	ended := appendMark(w.pending, w.crc)
	w.pending = ended[:len(ended)-MarkSize]
	w.written += int64(len(ended))
	n, err := w.f.WriteAt(ended, w.off)
	if err == nil && n < len(ended) {
		err = io.ErrShortWrite
	}
	if err != nil {
		// What got through is overwritten by the next attempt.
		return err
	}
	w.off += int64(len(w.pending))
	w.waiting = 0
	if cap(w.pending) > maxIdleBuffer {
		w.pending = nil
	}
	w.pending = w.pending[:0]
	return nil
}

// maxIdleBuffer is how large a buffer may stay after a time of trouble.
const maxIdleBuffer = 1 << 18
