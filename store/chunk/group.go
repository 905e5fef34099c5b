package chunk

import (
	"errors"
	"fmt"
	"slices"

	"tachograph/sample/metric"
)

// A Group is one group of metrics in a chunk.
type Group struct {
	Name, Indom string
	Columns     []Column
	// Blocks is the number of readings, Size the number of instances.
	Blocks, Size int

	chunk                                                 *Chunk
	number                                                int
	blocksAt, livesAt, indexAt, namesAt, activeAt, sumsAt section
	packs                                                 []section

	at       []blockAt
	present  *groupTable // set for a group that has not been encoded
	holder   holder
	lead     func() Guide
	activity *activity
	lastPack int
	packed   []byte
}

// A Column is one metric of a group.
type Column struct {
	// Number is the metric's number in the archive's catalogue.
	Number uint32
	Type   metric.Type

	pack, from, to int
}

func (g *Group) read(p section, what string) ([]byte, error) {
	return g.chunk.read(p, what+" of group "+g.Name)
}

func (g *Group) wrong(what string, err error) error {
	return fmt.Errorf("%s of group %s: %w", what, g.Name, err)
}

func (g *Group) blocks() ([]blockAt, error) {
	if g.at == nil {
		ticks, err := g.chunk.Stamps()
		if err != nil {
			return nil, err
		}
		b, err := g.read(g.blocksAt, "times")
		if err != nil {
			return nil, err
		}
		if g.at, err = g.chunk.codec.blocks(b, ticks, g.Blocks); err != nil {
			return nil, g.wrong("times", err)
		}
	}
	return g.at, nil
}

// Stamps returns when the blocks were read.
func (g *Group) Stamps() ([]metric.Stamp, error) {
	at, err := g.blocks()
	stamps := make([]metric.Stamp, len(at))
	for i := range at {
		stamps[i] = at[i].at
	}
	return stamps, err
}

// Places returns the blocks' tick numbers.
func (g *Group) Places() ([]uint32, error) {
	at, err := g.blocks()
	places := make([]uint32, len(at))
	for i := range at {
		places[i] = at[i].tick
	}
	return places, err
}

// Times returns the wall and the continuous clock of the blocks.
func (g *Group) Times() (wall, cont []int64, err error) {
	if g.present == nil && g.blocksAt.len == 0 && g.Blocks == g.chunk.ticks {
		return g.chunk.clocks()
	}
	at, err := g.blocks()
	if err != nil {
		return nil, nil, err
	}
	wall, cont = make([]int64, len(at)), make([]int64, len(at))
	for i := range at {
		wall[i], cont[i] = at[i].at.Wall, at[i].at.Cont
	}
	return wall, cont, nil
}

// limit bounds the lifetimes of a group, so that a few bytes do not keep a reader busy for
// ever: no chunk that was ever encoded comes close.
func (g *Group) limit() uint64 {
	cells := uint64(1<<24) + uint64(g.chunk.size)<<13
	return min(maxLifetimes, cells/uint64(max(len(g.Columns), 1)))
}

// column reads the bytes of a column. It keeps the pack that was read last, because
// neighbouring columns are often read together.
func (g *Group) column(c *Column) ([]byte, error) {
	if c.from == c.to {
		return nil, nil
	}
	if g.packed == nil || g.lastPack != c.pack {
		b, err := g.read(g.packs[c.pack], "values")
		if err != nil {
			return nil, err
		}
		g.packed, g.lastPack = b, c.pack
	}
	return g.packed[c.from:c.to], nil
}

// Series calls fn for the series of column c in the given rows, which must be in rising order;
// nil means all. fn must not keep its argument.
func (g *Group) Series(c int, rows []int, fn func(i int, s *Series) error) error {
	return g.SeriesUntil(c, rows, wholeSeries, fn)
}

// SeriesUntil is Series for callers that need nothing after the block until: it does not decode
// changes after it where that saves work. (An ordinal of an instance is never after its block.)
func (g *Group) SeriesUntil(c int, rows []int, until uint32, fn func(i int, s *Series) error) error {
	if g.present != nil {
		return g.present.each(c, rows, fn)
	}
	if s := g.chunk.found[seriesAt{g.number, c, 0}]; s != nil && g.Size == 1 && s.until >= until {
		if rows != nil && len(rows) == 0 {
			return nil
		}
		out := borrowSeries()
		defer returnSeries(out)
		out.Life, out.miss = s.Life, nil
		out.At, out.Bits = append(out.At[:0], s.At...), inUnits(append(out.Bits[:0], s.Bits...), s.unit)
		return fn(0, out)
	}
	return g.series(c, g.chunk.others(0), rows, until, func(i int, s *Series) error {
		s.Bits = inUnits(s.Bits, s.unit)
		return fn(i, s)
	})
}

func (g *Group) series(c int, find other, rows []int, until uint32, fn func(i int, s *Series) error) error {
	lives, err := g.lives()
	if err != nil {
		return err
	}
	if g.activity == nil {
		b, err := g.read(g.activeAt, "activity")
		if err != nil {
			return err
		}
		if g.activity, err = g.chunk.codec.activity(b, lives); err != nil {
			return g.wrong("activity", err)
		}
	}
	col := &g.Columns[c]
	b, err := g.column(col)
	if err != nil {
		return err
	}
	var own error // fn's error, to be returned unchanged
	err = g.chunk.codec.column(b, lives, g.activity, g.chunk.reasons, find, rows, until, func(i int, s *Series) error {
		own = fn(i, s)
		return own
	})
	if err != nil && own == nil {
		return g.wrong(fmt.Sprintf("metric %d", col.Number), err)
	}
	return err
}

// others returns a function that decodes the target of a reference, where depth series have
// already been followed.
func (c *Chunk) others(depth int) other {
	return func(f *reference, until uint32) (*Series, error) {
		if depth == c.codec.references {
			return nil, errReference
		}
		return c.other(f, depth, until)
	}
}

// other decodes the series that a reference names. The series must be there at every tick and
// be the first of its segment, so that no other series are decoded for it.
func (c *Chunk) other(f *reference, depth int, until uint32) (*Series, error) {
	if s := c.found[f.seriesAt]; s != nil && s.until >= until {
		return &s.Series, nil
	}
	if f.group >= len(c.Groups) || f.col >= len(c.Groups[f.group].Columns) || f.inst >= c.Groups[f.group].Size {
		return nil, errReference
	}
	g := c.Groups[f.group]
	if begins, err := g.begins(f.col, f.inst); !begins || err != nil {
		return nil, errors.Join(errReference, err)
	}
	var found *foundSeries
	err := g.series(f.col, c.others(depth+1), []int{f.inst}, until, func(_ int, s *Series) error {
		if s.Life == uint32(c.ticks) && s.miss == nil {
			found = &foundSeries{Series{Life: s.Life, At: slices.Clone(s.At), Bits: slices.Clone(s.Bits), unit: s.unit}, until}
		}
		return nil
	})
	if err == nil && found == nil {
		err = errReference
	}
	if err != nil {
		return nil, err
	}
	if c.found == nil || len(c.found) > keepOthers {
		c.found = make(map[seriesAt]*foundSeries)
	}
	c.found[f.seriesAt] = found
	return &found.Series, nil
}

// A foundSeries is a series that others refer to, decoded up to an ordinal.
type foundSeries struct {
	Series
	until uint32
}

// begins reports whether the series of instance inst is the first of a segment of column c.
func (g *Group) begins(c, inst int) (bool, error) {
	if inst == 0 {
		return true, nil
	}
	lives, err := g.lives()
	if err != nil {
		return false, err
	}
	b, err := g.column(&g.Columns[c])
	if err != nil {
		return false, err
	}
	l, err := columnLayout(b, lives, g.chunk.reasons)
	for _, s := range l.segs {
		if inst -= s.series; inst <= 0 {
			break
		}
	}
	return inst == 0, err
}

// keepOthers is how many series that others refer to stay decoded.
const keepOthers = 128

// Summaries calls fn for each stored summary over the whole chunk, for the columns that desc
// knows and the series in the given rows, which must be in rising order; nil means all rows.
func (g *Group) Summaries(desc func(col int) *metric.Desc, rows []int, fn func(col, i int, sum *Summary)) error {
	_, conts, err := g.Times()
	if err != nil {
		return err
	}
	b, err := g.read(g.sumsAt, "summaries")
	if err != nil {
		return err
	}
	if err := g.chunk.codec.summaries(b, len(g.Columns), g.Size, rows, g.Instance, desc, conts, fn); err != nil {
		return g.wrong("summaries", err)
	}
	return nil
}
