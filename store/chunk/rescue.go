package chunk

import (
	"cmp"
	"fmt"
	"strings"

	"tachograph/sample/metric"
)

// Damaged is the reason of a cell that is absent because its value was lost to damage in a
// file.
var Damaged = metric.ReasonFor("lost to damage in the archive")

// Inspect decodes everything in c, as Verify does, and returns its index entry, without Size and
// Sum.
func (c *Chunk) Inspect(desc func(number uint32) *metric.Desc) (Info, error) {
	t, err := c.verified(desc)
	if err != nil {
		return Info{}, err
	}
	return t.info(), nil
}

// Rescue makes a sound chunk of what can still be read of a damaged one, and lists what cannot.
// Values that are lost are absent, with the reason Damaged. It fails if nothing can be kept.
func Rescue(c *Chunk, desc func(number uint32) *metric.Desc) (*Sealed, []string, error) {
	t := &table{class: c.Class}
	var err error
	if t.ticks, err = c.Stamps(); err != nil {
		return nil, nil, err
	}
	var lost []string
	var noWords error
	if t.words, noWords = c.Words(); noWords != nil {
		lost = append(lost, noWords.Error())
	}
	for _, g := range c.Groups {
		gt, gone := g.rescue(desc, uint64(len(t.words)), noWords != nil)
		lost = append(lost, gone...)
		if gt != nil {
			gt.arrange()
			t.groups = append(t.groups, gt)
		}
	}
	if len(t.groups) == 0 && len(c.Groups) > 0 {
		return nil, lost, fmt.Errorf("none of its %d groups can be read", len(c.Groups))
	}
	s, err := t.seal()
	return s, lost, err
}

// rescue decodes what can be decoded of g; nil if nothing can.
func (g *Group) rescue(desc func(number uint32) *metric.Desc, words uint64, noWords bool) (*groupTable, []string) {
	t := &groupTable{name: g.Name, indom: g.Indom}
	var err error
	if t.at, err = g.blocks(); err == nil {
		t.insts, err = g.Instances()
	}
	if err != nil {
		return nil, []string{err.Error()}
	}
	var lost []string // names of metrics
	var why error
	for c := range g.Columns {
		col := &g.Columns[c]
		d := desc(col.Number)
		if d != nil && d.Type != col.Type {
			d = nil
		}
		t.metrics = append(t.metrics, column{col.Number, col.Type, d})
		ct, err := g.columnTable(c)
		if err == nil && col.Type == metric.String {
			for _, w := range ct.bits {
				if w >= words && !noWords {
					err = g.wrong("strings", fmt.Errorf("number %d of %d", w, words))
				}
			}
		}
		switch {
		case err != nil:
			lost, why = append(lost, metricName(d, col.Number)), cmp.Or(why, err)
			ct = absentColumn(g.Size)
		case noWords && col.Type == metric.String && len(ct.bits) > 0:
			ct = absentColumn(g.Size)
		}
		t.cols = append(t.cols, ct)
	}
	if why == nil {
		return t, nil
	}
	return t, []string{fmt.Sprintf("%d of %d metrics of group %s (%s): %s", len(lost), len(g.Columns), g.Name, someOf(lost), strings.TrimPrefix(why.Error(), ""))}
}

func metricName(d *metric.Desc, number uint32) string {
	if d == nil {
		return fmt.Sprintf("number %d", number)
	}
	return d.Name
}

// someOf lists names, up to a limit.
func someOf(names []string) string {
	const enough = 12
	if len(names) <= enough {
		return strings.Join(names, ", ")
	}
	return strings.Join(names[:enough], ", ") + fmt.Sprintf(" and %d more", len(names)-enough)
}

// absentColumn returns a column of n series without any value.
func absentColumn(n int) columnTable {
	missing := newMissing(n)
	for i := range n {
		missing.add(int32(i), missAt{0, Damaged})
	}
	return columnTable{off: make([]uint32, n+1), absences: missing.bySeries()}
}
