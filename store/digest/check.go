package digest

import (
	"errors"
	"math"
	"reflect"

	"tachograph/sample/metric"
	"tachograph/store/chunk"
)

var errOther = errors.New("it is not the digest of its chunks")

// Check reports what is wrong with a record that should be the digest of chunks. The maker of a
// digest chooses its members, and versions choose differently. Check therefore takes the
// record's members as given, and verifies their values and those of all others.
func Check(record []byte, chunks [][]byte, desc func(uint32) *metric.Desc) error {
	have, err := Parse(record)
	if err != nil {
		return err
	}
	m := newMaker(desc)
	m.told = make(map[string]bool)
	for i := range have.Members {
		m.told[have.Members[i].Key] = true
	}
	for _, b := range chunks {
		c, err := open(b)
		if err != nil {
			return err
		}
		if took, err := m.add(c, chunk.Checksum(b)); err != nil {
			return err
		} else if !took {
			return errOther
		}
	}
	made := m.digest()
	if made == nil {
		return errOther
	}
	b, err := made.marshal()
	if err != nil {
		return errOther
	}
	want, err := Parse(b)
	if err != nil || !have.tells(want) {
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
