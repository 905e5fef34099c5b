package store

import (
	"cmp"
	"slices"
	"strings"

	"tachograph/sample/metric"
	"tachograph/store/archive"
	"tachograph/store/chunk"
	"tachograph/store/layout"
)

// A presence says when the processes of a reduced archive were first and last read. A block
// lists all processes that were there at any time of its step.
type presence struct {
	v        *archive.View
	began    []int64
	readings []uint64
	partly   map[int][]partly // by row, in the order of blocks
}

// A partly records that an instance was there for only a part of a step.
type partly struct {
	block      uint32
	came, went int64 // how long after the step's first reading it came, and before the last one it went
}

// presenceIn returns the presence of a group. It returns nil where each block is one reading,
// or where the archive does not record it.
func presenceIn(f *archive.File, v *archive.View) (*presence, error) {
	if f.Info.Step == 0 || !metric.PerBoot(v.Indom) {
		return nil, nil
	}
	came, went := companionIn(f, v, layout.Came), companionIn(f, v, layout.Went)
	if came < 0 || went < 0 {
		return nil, nil
	}
	p := &presence{v: v, partly: make(map[int][]partly)}
	var err error
	if p.began, p.readings, err = f.StepsOf(v.Chunk, v.Ref.Info.Class, v.Group); err != nil {
		return nil, err
	}
	for _, k := range []int{came, went} {
		err := v.Series(k, nil, func(row int, s *chunk.Series) error {
			in, err := v.Instance(row)
			if err != nil {
				return err
			}
			s.Stretches(in, 0, uint32(len(v.Cont)), func(start, end uint32, bits uint64, why metric.Reason) {
				if why != metric.Present || bits == 0 {
					return
				}
				for ; start < end && int(start) < len(v.Cont); start++ {
					x := p.at(row, start)
					if k == came {
						x.came = int64(min(bits, 1<<55))
					} else {
						x.went = int64(min(bits, 1<<55))
					}
				}
			})
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return p, nil
}

// companionIn returns the column of a group that holds a companion of any metric, or -1.
func companionIn(f *archive.File, v *archive.View, what string) int {
	return slices.IndexFunc(v.Columns, func(c chunk.Column) bool {
		d := f.Desc(c.Number)
		return d != nil && d.Type == metric.U64 && c.Type == metric.U64 && strings.HasPrefix(d.Name, layout.Companion(what, ""))
	})
}

// at returns the entry of a row in a block, and adds it if needed.
func (p *presence) at(row int, block uint32) *partly {
	list := p.partly[row]
	i, ok := slices.BinarySearchFunc(list, block, func(x partly, b uint32) int { return cmp.Compare(x.block, b) })
	if !ok {
		list = slices.Insert(list, i, partly{block: block})
		p.partly[row] = list
	}
	return &list[i]
}

// seen returns how long before block b an instance was first and last read in its step.
func (p *presence) seen(row int, b uint32) (since, until int64) {
	for _, x := range p.partly[row] {
		if x.block == b {
			return max(0, p.began[b]-x.came), x.went
		}
	}
	return p.began[b], 0
}

// every returns the time between the readings of a step.
func (p *presence) every(b uint32) int64 {
	switch {
	case p.readings[b] > 1:
		return p.began[b] / int64(p.readings[b]-1)
	case b > 0:
		return p.v.Cont[b] - p.began[b] - p.v.Cont[b-1]
	case len(p.readings) > 1:
		return (p.v.Cont[1] - p.v.Cont[0]) / int64(p.readings[1])
	}
	return 0
}

// comes reports whether an instance came in the step of block b: it was not there before the
// step, or not when the step began.
func (p *presence) comes(row int, b uint32) bool {
	if since, _ := p.seen(row, b); since < p.began[b] {
		return true
	}
	in, err := p.v.Instance(row)
	return err == nil && b > 0 && slices.ContainsFunc(in.Runs, func(r chunk.Run) bool { return r.Start == b })
}

// climbed returns by how much Weighted is too large for a counter. Weighted counts as if the
// counter had reached its last value of a step with the first reading of the step, but it rises
// evenly. The value before the first of some blocks is not known here.
func (p *presence) climbed(d *metric.Desc, row int, s *chunk.Series, in *chunk.Instance, blocks archive.Span) (excess float64) {
	var last uint64
	before := uint32(0)
	first := true
	s.Stretches(in, blocks.From, blocks.To, func(start, end uint32, bits uint64, why metric.Reason) {
		if why != metric.Present {
			return
		}
		if !first {
			since, until := p.seen(row, start)
			gain, _ := metric.Increase(d, last, bits, float64(p.v.Cont[start]-p.v.Cont[before])/1e9)
			excess += float64(gain * float64(max(0, since-until)) / 2e9)
		}
		first, last, before = false, bits, end-1
	})
	return excess
}
