package digest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"tachograph/sample/metric"
	"tachograph/store/chunk"
	"tachograph/store/varint"
)

// A PlacesWriter makes the Places of an archive of its chunks. It gets those of each class in the
// order of time.
type PlacesWriter struct {
	sums   [metric.NumClasses][]uint32
	latest map[string]uint32 // by key: the place in insts
	insts  []*metric.Instance
	tables []placesTable
	err    error
}

// A placesTable has what is known of one group of one chunk.
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

// NewPlacesWriter returns a PlacesWriter.
func NewPlacesWriter() *PlacesWriter { return &PlacesWriter{latest: make(map[string]uint32)} }

// Add takes the next chunk of a class.
func (w *PlacesWriter) Add(b []byte) {
	if w.err == nil {
		w.err = w.add(b)
	}
}

func (w *PlacesWriter) add(b []byte) error {
	c, err := chunk.Open(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return err
	}
	number := uint32(len(w.sums[c.Class]))
	w.sums[c.Class] = append(w.sums[c.Class], chunk.Checksum(b))
	for i, g := range c.Groups {
		if !metric.PerBoot(g.Indom) || g.Blocks == 0 {
			continue
		}
		t := placesTable{class: c.Class, number: number, group: i}
		odd := false
		t.least, t.greatest, err = g.Early(func(row int, in *chunk.Instance) {
			if odd = odd || row != len(t.early) || len(in.Names) == 0; !odd {
				w.early(&t, row, in)
			}
		})
		if err != nil {
			return err
		}
		if !odd {
			w.tables = append(w.tables, t)
		}
	}
	return nil
}

// early adds an instance to a table.
func (w *PlacesWriter) early(t *placesTable, row int, in *chunk.Instance) {
	last := in.Names[len(in.Names)-1]
	id, ok := w.latest[in.Key]
	if !ok || w.insts[id].Name != last.Name || !slices.Equal(w.insts[id].Labels, last.Labels) {
		id = uint32(len(w.insts))
		w.insts = append(w.insts, placedAs(in.Key, last))
		w.latest[w.insts[id].Key] = id
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

// Record returns the encoded Places of the chunks that were added; nil if there is nothing in
// them.
func (w *PlacesWriter) Record() []byte {
	sums := slices.Concat(w.sums[:]...)
	if w.err != nil || len(w.tables) < Least || len(sums) > maxWholeChunks {
		return nil
	}
	data, err := w.seal()
	if err != nil {
		return nil
	}
	return append(appendSums(nil, sums), data...)
}

// seal encodes the tables as a chunk.
func (w *PlacesWriter) seal() ([]byte, error) {
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
	list := slices.Clone(w.tables)
	slices.SortStableFunc(list, func(a, b placesTable) int { return int(a.number) - int(b.number) })
	b := chunk.NewBuilder(metric.Process)
	for number := uint32(0); len(list) > 0; number++ {
		tick := &metric.Tick{At: metric.Stamp{Wall: int64(number), Cont: int64(number), Awake: int64(number)}, Class: metric.Process}
		for ; len(list) > 0 && list[0].number == number; list = list[1:] {
			t := &list[0]
			early := &metric.Block{Group: group(placesEarly, t, placesColumns), Cols: make([]metric.Column, placesColumns)}
			for row, e := range t.early {
				early.Rows = append(early.Rows, w.insts[e.inst])
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

// Check reports what is wrong with a record that should be the Places of the chunks that were
// added.
func (w *PlacesWriter) Check(record []byte) error {
	have, err := ParsePlaces(record)
	if err != nil {
		return err
	}
	if w.err != nil {
		return w.err
	}
	if !slices.Equal(have.Sums, slices.Concat(w.sums[:]...)) {
		return errOtherPlaces
	}
	data, err := w.seal()
	if err != nil {
		return err
	}
	want, err := ParsePlaces(append(appendSums(nil, have.Sums), data...))
	if err != nil {
		return err
	}
	return have.says(want)
}

func appendSums(out []byte, sums []uint32) []byte {
	out = binary.AppendUvarint(out, uint64(len(sums)))
	for _, sum := range sums {
		out = binary.LittleEndian.AppendUint32(out, sum)
	}
	return out
}

// parseSums is the inverse of appendSums.
func parseSums(r *varint.Reader) (sums []uint32) {
	for n := r.Count(min(maxWholeChunks, len(r.In)/4)); n > 0; n-- {
		sums = append(sums, r.Uint32())
	}
	return sums
}
