package machine

import (
	"errors"
	"io"
	"slices"

	"tachograph/sample/metric"
	"tachograph/store/storetest"
)

// Recorded returns the machine of the dataset at path, with processes read at an interval in
// seconds. If plain, its metrics keep their names and units.
func Recorded(path string, every int, plain bool) (*Machine, error) {
	d, err := storetest.Open(path)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	k := newKeeper(plain)
	for n := 0; ; n++ {
		system, proc, err := d.Next()
		if errors.Is(err, io.EOF) {
			return newMachine(k.recording()), nil
		}
		if err != nil {
			return nil, err
		}
		ticks := []*metric.Tick{system}
		if n%every == 0 && len(proc.Blocks) > 0 {
			ticks = append(ticks, proc)
		}
		k.keep(ticks)
	}
}

// keeper makes a recording from ticks.
type keeper struct {
	rec    recording
	plain  bool
	groups map[*metric.Group]*group
	rows   map[*metric.Instance]*row
}

func newKeeper(plain bool) *keeper {
	return &keeper{plain: plain, groups: make(map[*metric.Group]*group), rows: make(map[*metric.Instance]*row)}
}

// keep adds an instant. Blocks and instances may change afterwards.
func (k *keeper) keep(ticks []*metric.Tick) {
	at := ticks[0].At
	if len(k.rec.instants) == 0 {
		k.rec.start = at
	}
	in := instant{since: at.Cont - k.rec.start.Cont}
	for _, t := range ticks {
		for _, b := range t.Blocks {
			in.blocks = append(in.blocks, k.block(b))
		}
	}
	k.rec.instants = append(k.rec.instants, in)
}

func (k *keeper) block(b *metric.Block) block {
	g := k.groups[b.Group]
	if g == nil {
		g = newGroup(b.Group, k.plain)
		k.groups[b.Group] = g
	}
	out := block{group: g}
	for _, col := range b.Cols {
		out.cols = append(out.cols, slices.Clone(col.Bits))
	}
	for i, in := range b.Rows {
		r := k.rows[in]
		if r == nil {
			r = &row{number: len(k.rec.rows), group: g, first: make([]uint64, len(b.Cols)), last: make([]uint64, len(b.Cols))}
			for c := range b.Cols {
				r.first[c] = b.Cols[c].Bits[i]
			}
			k.rows[in] = r
			k.rec.rows = append(k.rec.rows, r)
		}
		if r.current == nil || r.current.inst.Rev != in.Rev {
			r.current = &name{row: r, inst: *in}
		}
		r.seen++
		for c := range b.Cols {
			r.last[c] = b.Cols[c].Bits[i]
		}
		out.rows = append(out.rows, r.current)
	}
	return out
}

func (k *keeper) recording() *recording {
	last := k.rec.instants[len(k.rec.instants)-1]
	k.rec.period = last.since + 1e9
	return &k.rec
}
