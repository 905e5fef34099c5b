package reduce

import (
	"fmt"
	"slices"
	"strings"

	"tachograph/sample/metric"
	"tachograph/store/archive"
	"tachograph/store/chunk"
	"tachograph/store/fault"
	"tachograph/store/layout"
)

// A folding turns one group of one chunk into blocks, one for each span.
type folding struct {
	*group
	c        *archive.OpenChunk
	g        *chunk.Group
	ticks    []metric.Stamp
	segs     []int  // of ticks
	brokenAt []bool // ticks that come after a break
	places   []uint32
	stamps   []metric.Stamp
	insts    []chunk.Instance
	words    []string
	lead     []int64 // by block: the continuous clock of the reading before it, or its own after a break
	began    []int64 // by block: how long before it its first reading was
	readings []uint64
	cuts     []bool // blocks that begin a span
	spans    []span
	in       []*metric.Instance // by row
	// When rows were read first and last in steps that become longer ones; nil for readings.
	cameAt, wentAt *decoded
	// visits are the rows' shares of spans, row by row, and visitsOff is where each row's begin.
	visits    []visit
	visitsOff []int32
}

// A span is several blocks that become one.
type span struct {
	from, end uint32
	carried   bool // it continues the open span
	open      bool // it may continue in the next chunk
	block     *metric.Block
	w         *writer
	began     int64 // the continuous clock of its first reading
	whole     float64
}

// A stretch is a run of blocks in which a series has one value, or none for one reason.
type stretch struct {
	start, end uint32
	bits       uint64
	why        metric.Reason
}

func (f *folding) run() (err error) {
	if f.places, err = f.g.Places(); err != nil {
		return err
	}
	if f.stamps, err = f.g.Stamps(); err != nil {
		return err
	}
	if f.insts, err = f.g.Instances(); err != nil {
		return err
	}
	f.describe()
	if slices.ContainsFunc(f.g.Columns, func(c chunk.Column) bool { return c.Type == metric.String }) {
		if f.words, err = f.c.Words(); err != nil {
			return err
		}
	}
	if err := f.steps(); err != nil {
		return err
	}
	columns := &decoding{f, make([]decoded, len(f.g.Columns))}
	if err := f.cutAll(columns); err != nil {
		return err
	}
	if err := f.bound(); err != nil {
		return err
	}
	if err := f.presence(columns); err != nil {
		return err
	}
	f.part()
	f.tellInstances()
	if err := f.put(columns); err != nil {
		return err
	}
	f.emitAll()
	return nil
}

// describe finds the descriptions of the columns.
func (f *folding) describe() {
	input := make([]*metric.Desc, len(f.g.Columns))
	for k := range f.g.Columns {
		n := f.g.Columns[k].Number
		d := f.f.file.Desc(n)
		if d == nil || d.Type != f.g.Columns[k].Type {
			continue
		}
		input[k] = f.f.r.desc(*f.f.file.Effective(n, f.f.class))
	}
	f.prepare(input)
}

// steps finds out what each block covers: one reading, or a step of a reduced archive.
func (f *folding) steps() (err error) {
	n := len(f.stamps)
	f.lead = make([]int64, n)
	for i := range f.lead {
		switch {
		case f.brokenAt[f.places[i]] || i == 0 && !f.past:
			f.lead[i] = f.stamps[i].Cont
		case i == 0:
			f.lead[i] = f.at.Cont
		default:
			f.lead[i] = f.stamps[i-1].Cont
		}
	}
	if f.f.file.Info.Step != 0 {
		f.began, f.readings, err = f.f.file.StepsOf(f.c.Chunk, f.f.class, f.g)
		return err
	}
	f.began, f.readings = make([]int64, n), make([]uint64, n)
	for i := range f.readings {
		f.readings[i] = 1
	}
	return nil
}

// A decoded column has the stretches of its rows end to end.
type decoded struct {
	list []stretch
	off  []int32 // by row, and one more
}

func (d *decoded) of(row int) []stretch { return d.list[d.off[row]:d.off[row+1]] }

// at returns the value of a row in a block, 0 if it has none.
func (d *decoded) at(row int, block uint32) uint64 {
	for _, s := range d.of(row) {
		if s.start <= block && block < s.end && s.why == metric.Present {
			return s.bits
		}
	}
	return 0
}

// presence decodes when the rows of a reduced archive were read.
func (f *folding) presence(columns *decoding) error {
	for k := range f.g.Columns {
		d := f.f.file.Desc(f.g.Columns[k].Number)
		if f.f.file.Info.Step == 0 || d == nil || d.Type != metric.U64 || f.g.Columns[k].Type != metric.U64 {
			continue
		}
		for what, into := range map[string]**decoded{layout.Came: &f.cameAt, layout.Went: &f.wentAt} {
			if strings.HasPrefix(d.Name, layout.Companion(what, "")) {
				list, err := columns.column(k)
				if err != nil {
					return err
				}
				one := *list
				*into = &one
			}
		}
	}
	if f.wentAt == nil {
		f.cameAt = nil
	}
	return nil
}

// A decoding decodes columns on demand. Columns of processes, of which there may be tens of
// thousands, are released one by one.
type decoding struct {
	*folding
	columns []decoded
}

// column returns a decoded column.
func (d *decoding) column(c int) (*decoded, error) {
	if d.columns[c].off != nil {
		return &d.columns[c], nil
	}
	f := d.folding
	out := decoded{off: make([]int32, len(f.insts)+1)}
	next := 0
	err := f.g.Series(c, nil, func(row int, s *chunk.Series) error {
		for ; next <= row; next++ {
			out.off[next] = int32(len(out.list))
		}
		s.Stretches(&f.insts[row], 0, 1<<32-1, func(start, end uint32, bits uint64, why metric.Reason) {
			if f.g.Columns[c].Type == metric.String && why == metric.Present && bits >= uint64(len(f.words)) {
				why = metric.Other
			}
			out.list = append(out.list, stretch{start, end, bits, why})
		})
		return nil
	})
	if err != nil {
		return nil, err
	}
	for ; next <= len(f.insts); next++ {
		out.off[next] = int32(len(out.list))
	}
	d.columns[c] = out
	return &d.columns[c], f.f.r.pace()
}

// done releases a column.
func (d *decoding) done(c int) { d.columns[c] = decoded{} }

// cutAll finds the blocks at which a span begins.
func (f *folding) cutAll(columns *decoding) error {
	n := len(f.stamps)
	f.cuts = make([]bool, n+1)
	for b := 1; b < n; b++ {
		f.cuts[b] = f.segs[f.places[b]] != f.segs[f.places[b-1]]
	}
	if perRun := metric.PerBoot(f.indom); perRun && f.entered != f.f.file {
		// The first reading is a span of its own: totals are counted from it.
		f.cuts[1] = true
	}
	f.entered = f.f.file
	f.cuts[0] = f.open && (f.cutNext || f.segs[f.places[0]] != f.seg)
	perRun := metric.PerBoot(f.indom)
	if !perRun {
		f.cutAtRows()
	}
	for c := range f.cols {
		col := &f.cols[c]
		if col.base < 0 || perRun && !col.counter {
			continue
		}
		d, err := columns.column(c)
		if err != nil {
			return err
		}
		for row := range f.insts {
			var before *stretch
			if f.open && !perRun {
				before = f.carriedStretch(c, row)
			}
			list := d.of(row)
			for k := range list {
				s := &list[k]
				if before != nil && f.cutsAt(col, before, s) {
					f.cuts[s.start] = true
					if col.counter {
						f.cuts[s.start+1] = true
					}
				}
				before = s
			}
		}
		if perRun {
			columns.done(c)
		}
	}
	if f.open && f.cuts[0] {
		f.close()
	}
	f.cutNext = f.cuts[n]
	return nil
}

// mostColumns limits how many columns the blocks of one group of a chunk may have together: they
// wait in memory for the blocks of other groups.
var mostColumns = 1 << 21

// bound enforces mostColumns: a group that is cut in very many places is cut only at steps.
func (f *folding) bound() error {
	columns := func() int {
		n := len(f.out.Metrics)
		for _, cut := range f.cuts[:len(f.stamps)] {
			if cut {
				n += len(f.out.Metrics)
			}
		}
		return n
	}
	if columns() <= mostColumns {
		return nil
	}
	for b := 1; b < len(f.stamps); b++ {
		f.cuts[b] = f.segs[f.places[b]] != f.segs[f.places[b-1]]
	}
	f.cutNext = false
	if columns() > mostColumns {
		return fmt.Errorf("group %s has more readings and metrics than can be reduced", f.name)
	}
	err := fmt.Errorf("group %s changes too often from %s on: of its texts, settings and resets only what was at the end of each step is told", f.name, fault.UTC(f.stamps[0].Wall))
	if f.f.r.opt.Note == nil {
		return err
	}
	f.f.r.opt.Note(err)
	return nil
}

// cutsAt reports whether a span must not hold both of two consecutive stretches: what a counter
// gains over a reset is seen in the readings around it, a text or a setting has one value in a
// span, and a series of the system is there or is not.
func (f *folding) cutsAt(c *column, a, b *stretch) bool {
	if a.why != metric.Present || b.why != metric.Present {
		return !c.perRun && a.why != b.why
	}
	if c.whole {
		return a.bits != b.bits
	}
	if !c.counter || !fell(c.desc, a.bits, b.bits) {
		return false
	}
	if !c.perRun {
		return c.desc.Falls != metric.NeverRestarts || c.desc.Bits() < 64
	}
	_, how := metric.Increase(c.desc, a.bits, b.bits, float64(f.stamps[b.start].Cont-f.lead[b.start])/1e9)
	return how == metric.Restarted || how == metric.Wrapped
}

// fell reports whether a counter shows less than before. A counter whose bits are not ordered as
// its values are counts as falling.
func fell(d *metric.Desc, a, b uint64) bool {
	if chunk.Less(d.Type, b, a) {
		return true
	}
	return d.Type.Signed() && (int64(a) < 0 || int64(b) < 0) && a != b
}

// carriedStretch returns the stretch with which the open span ends in a series.
func (f *folding) carriedStretch(c, row int) *stretch {
	x := f.byKey[f.insts[row].Key]
	if x == nil || len(f.insts[row].Runs) == 0 || f.insts[row].Runs[0].Start != 0 {
		return nil
	}
	cell := &x.cells[c]
	s := &stretch{bits: cell.last, why: cell.why}
	if cell.textual {
		at := slices.Index(f.words, cell.text)
		s.bits = uint64(at) // -1 is no word's
	}
	return s
}

// cutAtRows cuts where instances come and go.
func (f *folding) cutAtRows() {
	there := 0
	for row := range f.insts {
		for _, r := range f.insts[row].Runs {
			if r.Start > 0 {
				f.cuts[r.Start] = true
			} else {
				there++
				if f.open && f.byKey[f.insts[row].Key] == nil {
					f.cuts[0] = true
				}
			}
			if int(r.End) < len(f.stamps) {
				f.cuts[r.End] = true
			}
		}
	}
	if f.open && there != len(f.rows) {
		f.cuts[0] = true
	}
}

// part makes the spans.
func (f *folding) part() {
	n := uint32(len(f.stamps))
	for b := uint32(0); b < n; {
		s := span{from: b, carried: b == 0 && f.open}
		for b++; b < n && !f.cuts[b]; b++ {
		}
		s.end = b
		s.open = b == n
		began := f.stamps[s.from].Cont - f.began[s.from]
		if s.carried {
			began = f.group.began
		}
		s.began, s.whole = began, float64(f.stamps[b-1].Cont-began)/1e9
		f.spans = append(f.spans, s)
	}
}
