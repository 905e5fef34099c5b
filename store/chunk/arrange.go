package chunk

import (
	"cmp"
	"slices"
	"strings"
)

// An origin holds what decides the place of an instance among the others.
type origin struct {
	kind    string // the frame of its latest name, or of its key if it has none
	family  string // the kind without its figures
	begin   uint32
	frame   string
	figures []figure // in its key
	key     string
}

func originOf(in *Instance) origin {
	o := origin{begin: in.Runs[0].Start, key: in.Key}
	o.frame, o.figures = split(in.Key, nil)
	o.kind = o.frame
	if n := len(in.Names); n > 0 {
		o.kind, _ = split(in.Names[n-1].Name, nil)
	}
	o.family = strings.ReplaceAll(o.kind, numberMark, "")
	return o
}

// byKind orders by kind: similar names come together.
func (o *origin) byKind(p *origin) int {
	return cmp.Or(strings.Compare(o.family, p.family), strings.Compare(o.kind, p.kind))
}

// byAppearance is the order in which instances are coded: as they came. Those that came
// together are ordered by the numbers in their keys, the last number first, which is mostly a
// time.
func (o *origin) byAppearance(p *origin) int {
	if c := cmp.Or(cmp.Compare(o.begin, p.begin), strings.Compare(o.frame, p.frame)); c != 0 {
		return c
	}
	for i := min(len(o.figures), len(p.figures)) - 1; i >= 0; i-- {
		if c := cmp.Compare(o.figures[i].value, p.figures[i].value); c != 0 {
			return c
		}
	}
	return strings.Compare(o.key, p.key)
}

// byRow is the order of rows. Instances that were there from the first block on come before the
// others, because questions about them then need none of the others. After that, similar
// instances come together.
func (o *origin) byRow(p *origin) int {
	return cmp.Or(cmp.Compare(min(o.begin, 1), min(p.begin, 1)), o.byKind(p), o.byAppearance(p))
}

// arrangement returns the order of rows.
func arrangement(insts []Instance) []int32 {
	origins := make([]origin, len(insts))
	order := make([]int32, len(insts))
	for i := range insts {
		origins[i] = originOf(&insts[i])
		order[i] = int32(i)
	}
	slices.SortStableFunc(order, func(x, y int32) int { return origins[x].byRow(&origins[y]) })
	return order
}

// arrange sorts the rows of a decoded group, whose chunk may have been written by an earlier
// version.
func (g *groupTable) arrange() {
	order := arrangement(g.insts)
	insts := make([]Instance, len(order))
	for i, n := range order {
		insts[i] = g.insts[n]
	}
	g.insts = insts
	for c := range g.cols {
		g.cols[c] = g.cols[c].arranged(order)
	}
}

func (t *columnTable) arranged(order []int32) columnTable {
	out := columnTable{off: make([]uint32, 1, len(t.off)), at: make([]uint32, 0, len(t.at)), bits: make([]uint64, 0, len(t.bits))}
	for _, n := range order {
		out.at = append(out.at, t.at[t.off[n]:t.off[n+1]]...)
		out.bits = append(out.bits, t.bits[t.off[n]:t.off[n+1]]...)
		out.off = append(out.off, uint32(len(out.at)))
	}
	if t.from != nil {
		out.from = make([]uint32, 1, len(t.from))
		for _, n := range order {
			out.miss = append(out.miss, t.missOf(int(n))...)
			out.from = append(out.from, uint32(len(out.miss)))
		}
	}
	return out
}
