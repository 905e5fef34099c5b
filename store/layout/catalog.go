package layout

import (
	"encoding/binary"
	"errors"
	"time"

	"tachograph/sample/metric"
	"tachograph/store/chunk"
)

// A Catalog numbers the descriptions of an archive's metrics. A description
// that changes gets a new number; the name stays.
type Catalog struct {
	Descs  []*metric.Desc // by number
	byDesc map[*metric.Desc]uint32
	byText map[string]uint32 // the encoded description; nil until one is looked for
	Stored int               // how many of Descs are in the archive
}

// NewCatalog makes a catalogue of the descriptions in an archive; nil stands for a lost
// description.
func NewCatalog(stored []*metric.Desc) *Catalog {
	c := &Catalog{byDesc: make(map[*metric.Desc]uint32, len(stored)), Descs: stored, Stored: len(stored)}
	for i, d := range stored {
		if d != nil { // a lost one keeps its number
			c.byDesc[d] = uint32(i)
		}
	}
	return c
}

// texts returns byText. A reader of an archive whose metrics are all known needs none of them.
func (c *Catalog) texts() map[string]uint32 {
	if c.byText == nil {
		c.byText = make(map[string]uint32, len(c.Descs))
		for i, d := range c.Descs {
			if d != nil {
				c.byText[string(appendDesc(nil, d))] = uint32(i)
			}
		}
	}
	return c.byText
}

// Number returns the number of d, a new one if needed.
func (c *Catalog) Number(d *metric.Desc) uint32 {
	if n, ok := c.byDesc[d]; ok {
		return n
	}
	text := string(appendDesc(nil, d))
	n, ok := c.texts()[text]
	if !ok {
		n = uint32(len(c.Descs))
		c.byText[text] = n
		c.Descs = append(c.Descs, d)
	}
	c.byDesc[d] = n
	return n
}

// Desc returns the description with that number, nil if there is none.
func (c *Catalog) Desc(number uint32) *metric.Desc {
	if int64(number) >= int64(len(c.Descs)) {
		return nil
	}
	return c.Descs[number]
}

// Pending returns the descriptions that are not in the archive yet, and the number of the first.
func (c *Catalog) Pending() (first uint32, ds []*metric.Desc) {
	return uint32(c.Stored), c.Descs[c.Stored:]
}

// Commit notes that the first n descriptions are in the archive.
func (c *Catalog) Commit(n int) { c.Stored = n }

// A description is a sequence of fields; each is its number, its length and
// its bytes. Empty ones are left out, and readers pass over those they do not
// know.
const (
	fieldEnd = iota
	fieldName
	fieldPMID
	fieldType
	fieldSem
	fieldUnits
	fieldIndom
	fieldClass
	fieldSource
	fieldHelp
	fieldLongHelp
	fieldWidth
	fieldClamped
	fieldFormula
	fieldFastest
	fieldUnsupported
	fieldFalls
)

func appendField(out []byte, field byte, value []byte) []byte {
	if len(value) == 0 {
		return out
	}
	out = append(out, field)
	out = binary.AppendUvarint(out, uint64(len(value)))
	return append(out, value...)
}

func appendUint(out []byte, field byte, v uint64) []byte {
	if v == 0 {
		return out
	}
	return appendField(out, field, binary.AppendUvarint(nil, v))
}

func appendDesc(out []byte, d *metric.Desc) []byte {
	text := func(field byte, s string) { out = appendField(out, field, []byte(s)) }
	text(fieldName, d.Name)
	out = appendUint(out, fieldPMID, uint64(d.PMID))
	out = appendUint(out, fieldType, uint64(d.Type))
	out = appendUint(out, fieldSem, uint64(d.Sem))
	if u := d.Units; u != metric.NoUnits {
		six := []byte{byte(u.Space), byte(u.Time), byte(u.Count), byte(u.SpaceScale), byte(u.TimeScale), byte(u.CountScale)}
		out = appendField(out, fieldUnits, append(six, u.Other...))
	}
	text(fieldIndom, d.Indom)
	out = appendUint(out, fieldClass, uint64(d.Class))
	text(fieldSource, d.Source)
	text(fieldHelp, d.Help)
	text(fieldLongHelp, d.LongHelp)
	out = appendUint(out, fieldWidth, uint64(d.Width))
	if d.Clamped {
		out = appendUint(out, fieldClamped, 1)
	}
	text(fieldFormula, d.Formula)
	out = appendUint(out, fieldFastest, uint64(d.Fastest))
	text(fieldUnsupported, d.Unsupported)
	out = appendUint(out, fieldFalls, uint64(d.Falls))
	return append(out, fieldEnd)
}

func marshalDescs(ds []*metric.Desc) []byte {
	raw := binary.AppendUvarint(nil, uint64(len(ds)))
	for _, d := range ds {
		raw = appendDesc(raw, d)
	}
	return chunk.Pack(raw)
}

// MaxMetrics limits the numbers of metrics that are accepted.
const MaxMetrics = 1 << 17

// errDescs is the error for descriptions that cannot be as they were written.
var errDescs = errors.New("a batch of descriptions contradicts itself")

func parseDescs(b []byte) ([]*metric.Desc, error) {
	raw, err := chunk.Unpack(b, chunk.MaxDescs)
	if err != nil {
		return nil, errDescs
	}
	n, w := binary.Uvarint(raw)
	if w <= 0 || n > uint64(len(raw)) || n > MaxMetrics {
		return nil, errDescs
	}
	raw = raw[w:]
	ds := make([]*metric.Desc, 0, n)
	for ; n > 0; n-- {
		var d *metric.Desc
		if d, raw = parseDesc(raw); d == nil {
			return nil, errDescs
		}
		ds = append(ds, d)
	}
	return ds, nil
}

// parseDesc takes one description off b; nil if b is damaged.
func parseDesc(b []byte) (*metric.Desc, []byte) {
	d := &metric.Desc{}
	for {
		if len(b) == 0 {
			return nil, nil
		}
		field := b[0]
		b = b[1:]
		if field == fieldEnd {
			return d, b
		}
		n, w := binary.Uvarint(b)
		if w <= 0 || n > uint64(len(b)-w) {
			return nil, nil
		}
		value := b[w : w+int(n)]
		b = b[w+int(n):]
		if !setField(d, field, value) {
			return nil, nil
		}
	}
}

func setField(d *metric.Desc, field byte, value []byte) bool {
	number, _ := binary.Uvarint(value)
	switch field {
	case fieldName:
		d.Name = string(value)
	case fieldPMID:
		d.PMID = metric.PMID(number)
	case fieldType:
		d.Type = metric.Type(number)
		return number < 256 && d.Type.Valid()
	case fieldSem:
		d.Sem = metric.Semantics(number)
	case fieldUnits:
		if len(value) < 6 {
			return false
		}
		d.Units = metric.Units{Space: int8(value[0]), Time: int8(value[1]), Count: int8(value[2]),
			SpaceScale: int8(value[3]), TimeScale: int8(value[4]), CountScale: int8(value[5]), Other: string(value[6:])}
	case fieldIndom:
		d.Indom = string(value)
	case fieldClass:
		d.Class = metric.Class(number)
	case fieldSource:
		d.Source = string(value)
	case fieldHelp:
		d.Help = string(value)
	case fieldLongHelp:
		d.LongHelp = string(value)
	case fieldWidth:
		d.Width = uint8(min(number, 64))
	case fieldClamped:
		d.Clamped = true
	case fieldFormula:
		d.Formula = string(value)
	case fieldFastest:
		d.Fastest = time.Duration(number)
	case fieldUnsupported:
		d.Unsupported = string(value)
	case fieldFalls:
		if f := metric.Falls(min(number, 255)); f.Valid() {
			d.Falls = f
		}
	}
	return true
}

// Place puts descriptions, the first of which has number first, among all. Missing descriptions
// before them are nil.
func Place(all []*metric.Desc, first uint32, ds []*metric.Desc) []*metric.Desc {
	end := int(first) + len(ds)
	all = append(all, make([]*metric.Desc, max(0, end-len(all)))...)
	copy(all[first:], ds)
	return all
}
