package digest

import (
	"errors"
	"math"
	"reflect"

	"tachograph/sample/metric"
)

var errOther = errors.New("it is not the digest of its chunks")

// A Checker checks a record that should be the digest of chunks. The maker of a digest chooses
// its members, and versions choose differently. A Checker therefore takes the record's members as
// given, and verifies their values and those of all others.
type Checker struct {
	have *Digest
	m    *maker
	err  error
}

// NewChecker begins to check a record. Its chunks are added one by one.
func NewChecker(record []byte, desc func(uint32) *metric.Desc) (*Checker, error) {
	have, err := Parse(record)
	if err != nil {
		return nil, err
	}
	c := &Checker{have: have, m: newMaker(desc)}
	c.m.told = make(map[string]bool)
	for i := range have.Members {
		c.m.told[have.Members[i].Key] = true
	}
	return c, nil
}

// Add takes the next chunk. It returns true with the last one.
func (c *Checker) Add(b []byte) bool {
	p := piece{desc: c.m.desc}
	if c.err == nil {
		c.err = p.read(b)
	}
	if c.err == nil && !c.m.add(&p) {
		c.err = errOther
	}
	return c.err != nil || len(c.m.d.Sums) == len(c.have.Sums)
}

// Err reports, after the last chunk, what is wrong with the record.
func (c *Checker) Err() error {
	if c.err != nil {
		return c.err
	}
	made := c.m.digest()
	if made == nil {
		return errOther
	}
	b, err := made.marshal()
	if err != nil {
		return errOther
	}
	want, err := Parse(b)
	if err != nil || !c.have.tells(want) {
		return errOther
	}
	return nil
}

// tells reports whether d says the same as want, which has the same members. The bounds of d
// may be wider, and its sums of fractions may have been added in another order.
func (d *Digest) tells(want *Digest) bool {
	if len(d.Columns) != len(want.Columns) || len(d.Crowds) != len(want.Crowds) || d.Gap > want.Gap {
		return false
	}
	want.Gap = d.Gap
	for k := range want.Columns {
		want.Columns[k].Bound = max(want.Columns[k].Bound, d.Columns[k].Bound)
	}
	for i := range want.Crowds {
		mine, other := d.Crowds[i].Weighted, &want.Crowds[i].Weighted
		if math.Abs(mine-*other) <= 1e-9*math.Abs(*other) {
			*other = mine
		}
	}
	return reflect.DeepEqual(d, want)
}
