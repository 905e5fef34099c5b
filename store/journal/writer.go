package journal

import (
	"fmt"
	"io"

	"tachograph/sample/metric"
)

// A Writer appends records to one journal file. It is not safe for concurrent
// use.
//
// A record that cannot be written stays in memory, in order, and is written before the next one
// that can be: Held returns how much waits.
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

// NewWriter begins a journal in f. f may be longer than what is written: its old content, and
// anything behind Size, means nothing. Nothing is written until Flush or the first record. enc
// may be the encoder of an earlier generation, to reuse its memory, or nil.
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

// Seq returns the sequence number of the last record given to w.
func (w *Writer) Seq() uint64 { return w.seq }

// Held returns how many records, and bytes of them, wait in memory because the file could not be
// written.
func (w *Writer) Held() (records uint64, size int64) { return w.waiting, int64(len(w.pending)) }

// Size returns the length of what has been written; a mark follows it.
func (w *Writer) Size() int64 { return w.off }

// Written returns how many bytes have been handed to the file, failed attempts included.
func (w *Writer) Written() int64 { return w.written }

// Encoder returns w's encoder, for the next generation.
func (w *Writer) Encoder() *Encoder { return w.enc }

// Tick appends t. An error for which Refused is true means that t cannot be recorded at all; any
// other error means that t waits in memory.
func (w *Writer) Tick(t *metric.Tick) error { return w.TickStill(t, nil) }

// TickStill is Tick for callers that know which rows of t have not changed.
func (w *Writer) TickStill(t *metric.Tick, still *Still) error {
	body, err := w.enc.tick(w.body[:0], t, still)
	if err != nil {
		return refused{err}
	}
	return w.add(body)
}

// Event appends e; errors are as for Tick.
func (w *Writer) Event(e *metric.Event) error {
	if err := w.HoldEvent(e); err != nil {
		return err
	}
	return w.Flush()
}

// HoldEvent is Event without the write, for callers with several events: the next Flush writes
// them. Refused is true for every error that it returns.
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

// Refused reports whether err means that a record cannot be recorded at all.
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
		// The encoder already remembers the record, so nothing can follow.
		panic(fmt.Sprintf("a record of %d bytes", len(body)))
	}
	w.pending, w.crc = appendFrame(w.pending, w.crc, body)
	w.seq++
	w.waiting++
}

// Flush writes the records that wait in memory.
func (w *Writer) Flush() error {
	if len(w.pending) == 0 {
		return nil
	}
	// Old content of the file must not be taken for more records.
	ended := appendMark(w.pending, w.crc)
	w.pending = ended[:len(ended)-MarkSize]
	w.written += int64(len(ended))
	n, err := w.f.WriteAt(ended, w.off)
	if err == nil && n < len(ended) {
		err = io.ErrShortWrite
	}
	if err != nil {
		// The next attempt overwrites what got through.
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

// maxIdleBuffer is how large the buffer may stay after a time of trouble.
const maxIdleBuffer = 1 << 18
