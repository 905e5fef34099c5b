package digest

import (
	"tachograph/sample/metric"
	"tachograph/store/chunk"
)

// A Digest sums up the many instances of a domain, such as processes, over one chunk or several
// successive ones.
type Digest struct {
	// Sums are the checksums of the chunks that it was made from.
	Sums []uint32
	// From and To are the stamps of the first and the last tick.
	From, To metric.Stamp
	Indom    string
	Columns  []Column
	Members  []Member
	Crowds   []Crowd
	// Gap concerns the instances of crowds whose start is not known. It is the least time after
	// From at which one of them was first seen.
	Gap int64
}

// A Column is a metric of a digest.
type Column struct {
	Number uint32 // in the archive's catalogue
	Tally  metric.Tally
	// Bound is the most that an instance of a crowd gained, or had.
	Bound uint64
}

// A Member is an instance with an entry of its own.
type Member struct {
	metric.Instance
	Cells []Cell // parallel to Columns
}

// A Cell is the summary of a metric of a member.
type Cell struct {
	Present     bool         // in any block; otherwise the other fields are not set
	First, Last metric.Stamp // when it was read; Awake is not set
	// FirstBits and LastBits are the values then, Max is the largest value.
	FirstBits, LastBits, Max uint64
	// Increase is a counter's increase. Weighted is the weighted sum of a level, as in
	// chunk.Summary.
	Increase, Weighted float64
}

// A Crowd sums up instances that began and ended within the digest and have the same title, the
// same user and the same owners.
type Crowd struct {
	// Instance is the one of them that was seen first.
	metric.Instance
	Count    uint64
	From, To int64 // wall clocks
	Columns  []CrowdColumn
	// Level is the column of their level, -1 if they have none. The fields below are about that
	// level. Levels is how many instances have it, First the sum of their first values,
	// Weighted the sum of their values times the seconds since the previous one, and Max the
	// largest value. Peak and PeakSum also use the peaks that the kernel remembers: the largest
	// peak, and the sum of each instance's peak.
	Level         int
	Levels        uint64
	First         uint64
	Weighted      float64
	Max           uint64
	Peak, PeakSum uint64
}

// A CrowdColumn is a crowd's entry for a counter: how many instances have values of it, and
// what they gained since they began.
type CrowdColumn struct{ Count, Gain uint64 }

// columnsOf returns the columns of a group that belong in a digest.
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

// find returns the group of a chunk to digest: the only one with such columns.
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
