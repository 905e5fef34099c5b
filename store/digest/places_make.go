package digest

import (
	"fmt"
	"math"
	"slices"

	"tachograph/sample/metric"
	"tachograph/store/chunk"
)

// A placesMaker makes the Places of an archive for its WholeWriter.
type placesMaker struct {
	latest map[string]uint32 // by key: the place in insts
	insts  []*metric.Instance
	tables []placesTable
}

// A placesTable lists the instances of one group of one chunk.
type placesTable struct {
	class           metric.Class
	number          uint32 // of the chunk
	group           int
	early           []earlyPlace // by row
	names           []namePlace
	least, greatest uint64
}

// earlyPlace is an instance that was there at the first block, by its place in insts.
type earlyPlace struct {
	inst    uint32
	several bool
}

// namePlace is one of several names.
type namePlace struct {
	row  int
	inst *metric.Instance
}

// add adds the group with number group of the chunk of a class with this number.
func (m *placesMaker) add(class metric.Class, number uint32, group int, g *chunk.Group) error {
	insts, err := g.Instances()
	if err != nil {
		return err
	}
	t := placesTable{class: class, number: number, group: group, least: math.MaxUint64}
	for row := range insts {
		in := &insts[row]
		if in.Runs[0].Start > 0 {
			v, ok := chunk.LastFigure(in.Key)
			if t.least, t.greatest = min(t.least, v), max(t.greatest, v); !ok {
				t.least, t.greatest = 0, math.MaxUint64
			}
			continue
		}
		if row != len(t.early) || len(in.Names) == 0 {
			return nil // An earlier program wrote the rows in another order.
		}
		m.early(&t, row, in)
	}
	m.tables = append(m.tables, t)
	return nil
}

// early adds an instance to a table.
func (m *placesMaker) early(t *placesTable, row int, in *chunk.Instance) {
	last := in.Names[len(in.Names)-1]
	id, ok := m.latest[in.Key]
	if !ok || m.insts[id].Name != last.Name || !slices.Equal(m.insts[id].Labels, last.Labels) {
		id = uint32(len(m.insts))
		m.insts = append(m.insts, placedAs(in.Key, last))
		m.latest[m.insts[id].Key] = id
	}
	several := len(in.Names) > 1
	t.early = append(t.early, earlyPlace{id, several})
	if several {
		for i, n := range in.Names {
			t.names = append(t.names, namePlace{row, placedAs(fmt.Sprint(in.Key, " ", i), n)})
		}
	}
}

// placedAs returns an instance that does not share memory with the chunk that it came from.
func placedAs(key string, n chunk.Naming) *metric.Instance {
	in := &metric.Instance{Key: string([]byte(key)), Name: string([]byte(n.Name))}
	for _, l := range n.Labels {
		in.Labels = append(in.Labels, metric.Label{Name: string([]byte(l.Name)), Value: string([]byte(l.Value))})
	}
	return in
}

// seal encodes the tables as a chunk.
func (m *placesMaker) seal() ([]byte, error) {
	groups := make(map[string]*metric.Group)
	group := func(what string, t *placesTable, columns int) *metric.Group {
		name := placesOf(what, t.class, t.group)
		g := groups[name]
		if g == nil {
			g = &metric.Group{Name: name, Indom: name}
			for k := range columns {
				g.Metrics = append(g.Metrics, &metric.Desc{PMID: metric.PMID(k), Type: metric.U64, Sem: metric.Instant, Indom: name})
			}
			groups[name] = g
		}
		return g
	}
	only := &metric.Instance{Key: placesLate}
	list := slices.Clone(m.tables)
	slices.SortStableFunc(list, func(a, b placesTable) int { return int(a.number) - int(b.number) })
	b := chunk.NewBuilder(metric.Process)
	for number := uint32(0); len(list) > 0; number++ {
		tick := &metric.Tick{At: metric.Stamp{Wall: int64(number), Cont: int64(number), Awake: int64(number)}, Class: metric.Process}
		for ; len(list) > 0 && list[0].number == number; list = list[1:] {
			t := &list[0]
			early := &metric.Block{Group: group(placesEarly, t, placesColumns), Cols: make([]metric.Column, placesColumns)}
			for row, e := range t.early {
				early.Rows = append(early.Rows, m.insts[e.inst])
				several := uint64(0)
				if e.several {
					several = 1
				}
				early.Cols[placesRow].Bits = append(early.Cols[placesRow].Bits, uint64(row))
				early.Cols[placesSeveral].Bits = append(early.Cols[placesSeveral].Bits, several)
			}
			names := &metric.Block{Group: group(placesNames, t, 1), Cols: make([]metric.Column, 1)}
			for _, n := range t.names {
				names.Rows = append(names.Rows, n.inst)
				names.Cols[0].Bits = append(names.Cols[0].Bits, uint64(n.row))
			}
			late := &metric.Block{Group: group(placesLate, t, 2), Rows: []*metric.Instance{only},
				Cols: []metric.Column{{Bits: []uint64{t.least}}, {Bits: []uint64{t.greatest}}}}
			for _, block := range []*metric.Block{early, names, late} {
				if block.At = tick.At; len(block.Rows) > 0 {
					tick.Blocks = append(tick.Blocks, block)
				}
			}
		}
		if err := b.Append(tick); err != nil {
			return nil, err
		}
	}
	s, err := b.Seal(numberOf)
	if err != nil {
		return nil, err
	}
	return s.Data, nil
}
