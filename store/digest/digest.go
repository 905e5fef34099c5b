package digest

import (
	"tachograph/sample/metric"
	"tachograph/store/chunk"
)

// A Digest is what the many instances of a domain, such as processes, came to
// over one or some successive chunks.
type Digest struct {
	// Sums are the checksums of the chunks that it was made of.
	Sums []uint32
	// From and To are the stamps of the first tick and of the last.
	From, To metric.Stamp
	Indom    string
	Columns  []Column
	Members  []Member
	Crowds   []Crowd
	// Gap is how long after From those of the crowds that do not tell when they
	// began were seen first, at least.
	Gap int64
}

// A Column is a metric of a digest.
type Column struct {
	Number uint32 // in the archive's catalogue
	Tally  metric.Tally
	// Bound is the most that an instance of a crowd gained, or had.
	Bound uint64
}

// A Member is an instance that is told by itself.
type Member struct {
	metric.Instance
	Cells []Cell // parallel to Columns
}

// A Cell is what a metric of a member came to.
type Cell struct {
	Present     bool         // in any block; otherwise nothing else is told
	First, Last metric.Stamp // when it was read; the clock Awake is not told
	// FirstBits and LastBits are what it showed then, Max the largest.
	FirstBits, LastBits, Max uint64
	// Increase is what a counter gained, Weighted what a level comes to as in
	// chunk.Summary.
	Increase, Weighted float64
}

// A Crowd is what instances that began and ended within the digest come to, who
// have their title and their owner in common.
type Crowd struct {
	// The instance of them that was seen first.
	metric.Instance
	Count    uint64
	From, To int64 // wall clocks
	Columns  []CrowdColumn
	// Level is the column of their level, -1 if they have none. What follows is
	// of that: how many have it, the sum of what they showed first, their values
	// times the seconds since the one before; the largest value and, also by
	// what the kernel remembers, the largest and the sum of all largest.
	Level         int
	Levels        uint64
	First         uint64
	Weighted      float64
	Max           uint64
	Peak, PeakSum uint64
}

// A CrowdColumn is what a crowd has of a counter: how many have values of it,
// and what they gained since they began.
type CrowdColumn struct{ Count, Gain uint64 }

// columnsOf are the columns of a group that belong into a digest.
func columnsOf(g *chunk.Group, desc func(uint32) *metric.Desc) (cols []int, out []Column) {
	if !metric.PerBoot(g.Indom) {
		return nil, nil
	}
	for i := range g.Columns {
		n := g.Columns[i].Number
		if d := desc(n); d != nil && d.Type == g.Columns[i].Type && d.Indom == g.Indom && d.Tally() != metric.NoTally {
			cols = append(cols, i)
			out = append(out, Column{Number: n, Tally: d.Tally()})
		}
	}
	return cols, out
}

// find is the group of a chunk that is digested: the only one with such columns.
func find(c *chunk.Chunk, desc func(uint32) *metric.Desc) (g *chunk.Group, cols []int, out []Column) {
	for _, one := range c.Groups {
		is, columns := columnsOf(one, desc)
		if is == nil {
			continue
		}
		if g != nil {
			return nil, nil, nil
		}
		g, cols, out = one, is, columns
	}
	return g, cols, out
}
