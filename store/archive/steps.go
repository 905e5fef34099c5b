package archive

import (
	"slices"

	"tachograph/sample/metric"
	"tachograph/store/chunk"
	"tachograph/store/layout"
)

// StepsOf returns, for each block of a group of a reduced archive, how long before the block
// the first of its readings was made, and how many readings it stands for.
func (f *File) StepsOf(c *chunk.Chunk, class metric.Class, g *chunk.Group) (began []int64, readings []uint64, err error) {
	places, err := g.Places()
	if err != nil {
		return nil, nil, err
	}
	began, readings = make([]int64, len(places)), make([]uint64, len(places))
	for i := range readings {
		readings[i] = 1
	}
	for _, tells := range c.Groups {
		if tells.Name != layout.StepGroup {
			continue
		}
		row, err := tells.Find(layout.StepKey(class, g.Name))
		if err != nil {
			return nil, nil, err
		}
		if row < 0 {
			continue
		}
		// A chunk has several groups with the same name if the group's metrics changed within
		// it.
		ticks, err := tells.Places()
		if err != nil {
			return nil, nil, err
		}
		in, err := tells.Instance(row)
		if err != nil {
			return nil, nil, err
		}
		for k := range tells.Columns {
			d := f.Desc(tells.Columns[k].Number)
			if d == nil || d.Type != metric.U64 || tells.Columns[k].Type != metric.U64 {
				continue
			}
			var put func(i int, x uint64)
			switch d.Name {
			case layout.BeganMetric:
				put = func(i int, x uint64) { began[i] = int64(min(x, 1<<55)) }
			case layout.ReadingsMetric:
				put = func(i int, x uint64) { readings[i] = max(1, min(x, 1<<40)) }
			default:
				continue
			}
			err := tells.Series(k, []int{row}, func(_ int, s *chunk.Series) error {
				s.Stretches(in, 0, uint32(len(ticks)), func(start, end uint32, bits uint64, _ metric.Reason) {
					for ; start < end && int(start) < len(ticks); start++ {
						if i, ok := slices.BinarySearch(places, ticks[start]); ok {
							put(i, bits)
						}
					}
				})
				return nil
			})
			if err != nil {
				return nil, nil, err
			}
		}
	}
	return began, readings, nil
}
