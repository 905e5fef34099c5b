package chunk

import "fmt"

// Parts is how many bytes the parts of a group take, or of the frame around the groups.
type Parts struct {
	Cells                                         uint64
	Times, Roster, Names, Activity, Sums, Columns int64
}

// Add adds q to p.
func (p *Parts) Add(q Parts) {
	p.Cells += q.Cells
	p.Times += q.Times
	p.Roster += q.Roster
	p.Names += q.Names
	p.Activity += q.Activity
	p.Sums += q.Sums
	p.Columns += q.Columns
}

// String lists the parts and, if there are cells, the bytes per cell.
func (p Parts) String() string {
	all := p.Times + p.Roster + p.Names + p.Activity + p.Sums + p.Columns
	s := fmt.Sprintf("%8d bytes: times %d, roster %d, names %d, activity %d, summaries %d, columns %d",
		all, p.Times, p.Roster, p.Names, p.Activity, p.Sums, p.Columns)
	if p.Cells > 0 {
		s += fmt.Sprintf("; %d cells, %.4f bytes each", p.Cells, float64(all)/float64(p.Cells))
	}
	return s
}

// Parts returns where the bytes of c are: by group, and under "" for the directory, and the
// strings and times that groups share.
func (c *Chunk) Parts() map[string]Parts {
	frame := Parts{Times: int64(c.timesAt.len), Names: int64(c.wordsAt.len), Roster: c.timesAt.at}
	out := map[string]Parts{"": frame}
	for _, g := range c.Groups {
		p := Parts{Times: int64(g.blocksAt.len), Roster: int64(g.livesAt.len), Names: int64(g.namesAt.len + g.indexAt.len),
			Activity: int64(g.activeAt.len), Sums: int64(g.sumsAt.len)}
		for _, k := range g.packs {
			p.Columns += int64(k.len)
		}
		if lives, err := g.lives(); err == nil {
			list, _ := lives.of(0, g.Size)
			for _, n := range list {
				p.Cells += uint64(n) * uint64(len(g.Columns))
			}
		}
		q := out[g.Name]
		q.Add(p)
		out[g.Name] = q
	}
	return out
}
