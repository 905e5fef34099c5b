package journal

import (
	"encoding/binary"
	"errors"
	"io"
	"slices"

	"tachograph/store/varint"
)

// A Copy holds the records of an earlier generation of the same journal in a form that need not
// be decoded record by record: chunks and batches of events. A reader that finds one need not
// decode that generation; nothing depends on the copy.
type Copy struct {
	// From is the last record before the records of the copy, To is the last of them.
	From, To uint64
	// Data is the content, in an encoding that its producer and its readers agree on.
	Data []byte
}

func (c *Copy) append(out []byte) []byte {
	out = append(out, byte(KindCopy)<<5)
	out = binary.AppendUvarint(out, c.From)
	out = binary.AppendUvarint(out, c.To)
	return append(out, c.Data...)
}

// parseCopy reads the body of a record behind its first byte, and returns nil if it makes no
// sense. Data is a part of body.
func parseCopy(body []byte) *Copy {
	r := varint.Reader{In: body}
	c := &Copy{From: r.Uvarint(), To: r.Uvarint()}
	if r.Bad || c.To <= c.From {
		return nil
	}
	c.Data = r.In
	return c
}

// Copy appends a copy of an earlier generation.
func (w *Writer) Copy(c *Copy) error { return w.add(c.append(w.body[:0])) }

// copies calls fn with the copies in the rest of the file, without decoding anything. Each is
// valid during the call. It returns the number of the last record, and whether everything is
// sound.
func (r *Reader) copies(fn func(*Copy)) (last uint64, sound bool) {
	at := Reader{src: r.src, off: r.off, crc: r.crc, buf: r.buf, from: r.from}
	defer func() { r.buf, r.from = at.buf[:0], 0 }() // r reads this part again
	for last = r.head.Base; ; last++ {
		body, size, sum, err := at.frame()
		if err != nil {
			return last, errors.Is(err, io.EOF) && at.ended()
		}
		if Kind(body[0]>>5) == KindCopy && !isLate(body) {
			if c := parseCopy(body[1:]); c != nil {
				fn(c)
			}
		}
		at.pass(size, sum)
	}
}

// Copies finds, for each of all the generations of a journal in order, the copy of its records
// that a later generation holds; nil if there is none. It looks for no copies of generations
// that have been read already, that are not whole, or whose records the archive holds.
func (f *Follower) Copies(all []*Generation) []*Copy {
	found := make([]*Copy, len(all))
	ends := make([]uint64, len(all))
	var room []byte // for reading one after the other
	for k, g := range all {
		if g.over || g.reader == nil && f.open(g, room) != nil {
			continue
		}
		last, sound := g.reader.copies(func(c *Copy) {
			i := slices.IndexFunc(all[:k], func(o *Generation) bool {
				return o.reader != nil && !o.over && o.reader.dec == nil && o.reader.head.Base == c.From
			})
			if i >= 0 && ends[i] == c.To && c.From >= f.Seq && !f.All {
				found[i] = &Copy{From: c.From, To: c.To, Data: slices.Clone(c.Data)}
			}
		})
		if sound {
			ends[k] = last
		}
		if g.reader.dec == nil {
			room, g.reader.buf = g.reader.buf, nil
		}
	}
	return found
}

// Skip marks g as read: c holds its records, and the last tick among them has the wall clock
// last.
func (g *Generation) Skip(c *Copy, last int64) {
	g.seq, g.last, g.end, g.over = c.To, last, End{}, true
}
