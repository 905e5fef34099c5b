package chunk

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"sort"

	"tachograph/sample/metric"
)

// Ticks recreates the ticks of a chunk, one after another, as a Builder got them except for the
// order of the rows. It decodes the columns for as many blocks at a time as a bounded amount of
// memory allows, and nothing after them.
type Ticks struct {
	c      *Chunk
	made   Makings
	stamps []metric.Stamp
	groups []*groupTicks
	next   int
	end    int // no tick from that number on is wanted
	tick   metric.Tick
}

// Makings are functions that supply the parts of ticks. If Group or Intern is nil, Ticks makes
// new groups or instances.
type Makings struct {
	// Desc returns the description that has a number. Metrics for which it returns nil are left
	// out.
	Desc func(number uint32) *metric.Desc
	// Group returns the group with these metrics.
	Group func(name, indom string, metrics []*metric.Desc) *metric.Group
	// Intern returns the instance with that key.
	Intern func(indom, key string) *metric.Instance
	// Want says which groups are wanted; nil: all.
	Want func(name, indom string) bool
	// Lost is called for each group that is missing because of damage, and for each damaged
	// column, whose cells are absent with the reason Damaged.
	Lost func(error)
}

// What Ticks holds in memory at a time, for all groups together: cells of present instances,
// and changes of cells. Each change takes 24 bytes.
const (
	ticksCells   = 1 << 19
	ticksChanges = 1 << 20
	ticksLeast   = 1 << 10 // for each group
	logDoubles   = 1 << 17 // up to this many changes, room for as many again is made
)

// The most that a chunk may hold for its ticks to be made: many times what a recorder puts into
// one. A tick cannot be larger than one in a journal, and the decoding that each window of
// blocks repeats must come to an end.
const (
	ticksValues  = 1 << 28
	tickCells    = 1 << 22
	ticksWindows = 512
)

var errTicks = errors.New("it holds more than its ticks could")

// Ticks returns the ticks of c from number first on.
func (c *Chunk) Ticks(first int, made Makings) (*Ticks, error) {
	stamps, err := c.Stamps()
	if err != nil {
		return nil, err
	}
	t := &Ticks{c: c, made: made, stamps: stamps, next: max(0, first), end: len(stamps)}
	t.tick.Class = c.Class
	total, values := 0, uint64(0)
	for _, g := range c.Groups {
		if made.Want != nil && !made.Want(g.Name, g.Indom) {
			continue
		}
		gt, err := t.group(g)
		if err != nil {
			t.lose(err)
		}
		if gt == nil {
			continue
		}
		for i := range gt.insts {
			values += uint64(gt.insts[i].lifetime()) * uint64(len(gt.cols))
		}
		if values > ticksValues {
			return nil, errTicks
		}
		t.groups = append(t.groups, gt)
		total += g.Size * len(gt.cols)
	}
	for _, gt := range t.groups {
		share := float64(gt.g.Size*len(gt.cols)) / float64(max(total, 1))
		gt.cells, gt.changes = ticksLeast+int(share*ticksCells), ticksLeast+int(share*ticksChanges)
	}
	return t, nil
}

func (t *Ticks) lose(err error) {
	if t.made.Lost != nil {
		t.made.Lost(err)
	}
}

// group prepares for the blocks of g. It returns nil if g has none that can be read.
func (t *Ticks) group(g *Group) (*groupTicks, error) {
	at, err := g.blocks()
	if err != nil {
		return nil, err
	}
	gt := &groupTicks{t: t, g: g, at: at}
	var metrics []*metric.Desc
	for c := range g.Columns {
		if d := t.made.Desc(g.Columns[c].Number); d != nil && d.Type == g.Columns[c].Type {
			gt.cols = append(gt.cols, c)
			metrics = append(metrics, d)
		}
	}
	gt.gone = make([]bool, len(gt.cols))
	if err := gt.readWords(); err != nil {
		t.lose(err)
	}
	if len(metrics) == 0 && len(g.Columns) > 0 {
		return nil, nil
	}
	if gt.insts, err = g.Instances(); err != nil {
		return nil, err
	}
	gt.block.Group = t.groupOf(g, metrics)
	gt.block.Cols = make([]metric.Column, len(metrics))
	gt.mine = make([]*metric.Instance, len(gt.insts))
	gt.named = make([]int32, len(gt.insts))
	return gt, nil
}

// readWords reads the strings of the chunk, if g has columns of strings. These columns are
// marked as gone if it fails.
func (g *groupTicks) readWords() (err error) {
	for c, col := range g.cols {
		if g.g.Columns[col].Type == metric.String {
			g.words, err = g.t.c.Words()
			g.gone[c] = err != nil
		}
	}
	return err
}

func (t *Ticks) groupOf(g *Group, metrics []*metric.Desc) *metric.Group {
	if t.made.Group != nil {
		return t.made.Group(g.Name, g.Indom, metrics)
	}
	return &metric.Group{Name: g.Name, Indom: g.Indom, Metrics: metrics}
}

// Until says that no tick from number end on is wanted. Changes after it are not decoded.
func (t *Ticks) Until(end int) { t.end = max(0, min(end, len(t.stamps))) }

// At returns when the next tick was read, if there is one.
func (t *Ticks) At() (at metric.Stamp, ok bool) {
	if t.next >= t.end {
		return at, false
	}
	return t.stamps[t.next], true
}

// Then returns when the tick after the next was read, if there is one.
func (t *Ticks) Then() (at metric.Stamp, ok bool) {
	if t.next+1 >= t.end {
		return at, false
	}
	return t.stamps[t.next+1], true
}

// Skip skips the next tick.
func (t *Ticks) Skip() error {
	if t.next >= t.end {
		return io.EOF
	}
	t.next++
	return nil
}

// Next returns the next tick, valid until the next call, or io.EOF if there is none. An
// instance that has another name from this tick on is renamed, and its Rev grows.
func (t *Ticks) Next() (*metric.Tick, error) {
	if t.next >= t.end {
		return nil, io.EOF
	}
	n := uint32(t.next)
	t.tick.At, t.tick.Blocks = t.stamps[n], t.tick.Blocks[:0]
	for _, g := range t.groups {
		for g.next < len(g.at) && g.at[g.next].tick < n {
			g.next++
		}
		if g.next == len(g.at) || g.at[g.next].tick != n {
			continue
		}
		if err := g.show(g.blocksUntil(t.end)); err != nil {
			t.next = t.end
			return nil, err
		}
		t.tick.Blocks = append(t.tick.Blocks, &g.block)
		g.next++
	}
	t.next++
	return &t.tick, nil
}

// Last returns the standing values at the tick before the next: that tick, with the last
// earlier block of each group that has no block in it. Nothing can be read after it. It returns
// nil if there is no tick before.
func (t *Ticks) Last() (*metric.Tick, error) {
	tick, err := t.standing(func(_ *groupTicks, b int) int { return b + 1 })
	t.next = t.end
	return tick, err
}

// Standing is Last for callers that go on reading: the next tick remains the next.
func (t *Ticks) Standing() (*metric.Tick, error) {
	return t.standing(func(g *groupTicks, b int) int { return max(b+1, g.blocksUntil(t.end)) })
}

// standing shows the last block of each group before the next tick. end returns the number of
// the first block that will not be needed.
func (t *Ticks) standing(end func(g *groupTicks, b int) int) (*metric.Tick, error) {
	if t.next == 0 || len(t.stamps) == 0 {
		return nil, nil
	}
	n := min(t.next, len(t.stamps)) - 1
	t.tick.At, t.tick.Blocks = t.stamps[n], t.tick.Blocks[:0]
	for _, g := range t.groups {
		b := g.blocksUntil(n+1) - 1
		if b < 0 {
			continue
		}
		g.next = b
		if err := g.show(end(g, b)); err != nil {
			t.next = t.end
			return nil, err
		}
		g.next++
		t.tick.Blocks = append(t.tick.Blocks, &g.block)
	}
	return &t.tick, nil
}

// A groupTicks makes the blocks of a group. The window is the blocks whose changes are decoded.
// A seat is the place of an instance that is present in the window.
type groupTicks struct {
	t     *Ticks
	g     *Group
	cols  []int // indexes of g.Columns
	at    []blockAt
	insts []Instance
	words []string
	next  int // the next block
	block metric.Block
	gone  []bool             // by column: it is damaged
	mine  []*metric.Instance // by row
	named []int32            // by row: how many of its names have been applied

	cells, changes int // how many may be held
	windows        int
	from, until    int // the window
	seats          []seat
	heads          []int32 // by block of the window: the first of its changes, 0 if there is none
	log            []cellChange
	bits           [][]uint64 // by column and seat
	miss           [][]metric.Reason
}

// A seat is the row of an instance, and the run that it is in or will be in next.
type seat struct{ row, run int32 }

// A cellChange is the new content of a cell in a block.
type cellChange struct {
	bits uint64
	seat int32
	next int32 // the next change of the block, one more than its index
	col  uint16
	why  metric.Reason
}

// blocksUntil returns the number of blocks of the ticks before number end.
func (g *groupTicks) blocksUntil(end int) int {
	return sort.Search(len(g.at), func(i int) bool { return int(g.at[i].tick) >= end })
}

// show makes block g.next the present one. No block from end on is needed.
func (g *groupTicks) show(end int) error {
	if g.next < g.from || g.next >= g.until {
		if err := g.open(end); err != nil {
			return err
		}
	}
	for k := g.heads[g.next-g.from]; k > 0; {
		x := &g.log[k-1]
		g.bits[x.col][x.seat], g.miss[x.col][x.seat] = x.bits, x.why
		k = x.next
	}
	b := &g.block
	b.At, b.Rows = g.at[g.next].at, b.Rows[:0]
	there := make([]int32, 0, len(g.seats))
	for i := range g.seats {
		s := &g.seats[i]
		runs := g.insts[s.row].Runs
		for int(s.run) < len(runs) && int(runs[s.run].End) <= g.next {
			s.run++
		}
		if int(s.run) == len(runs) || int(runs[s.run].Start) > g.next {
			continue
		}
		there = append(there, int32(i))
		b.Rows = append(b.Rows, g.instance(int(s.row)))
	}
	for c := range b.Cols {
		g.column(&b.Cols[c], c, there)
	}
	return nil
}

// column fills a column of the present block.
func (g *groupTicks) column(col *metric.Column, c int, there []int32) {
	if cap(col.Bits) < len(there) {
		col.Bits = make([]uint64, 0, len(there)+len(there)/4)
	}
	bits, miss := g.bits[c], g.miss[c]
	col.Bits, col.Miss, col.Words = col.Bits[:len(there)], nil, nil
	if g.g.Columns[g.cols[c]].Type == metric.String {
		col.Words = g.words
	}
	for k, s := range there {
		col.Bits[k] = bits[s]
		if miss[s] == metric.Present {
			continue
		}
		if col.Miss == nil {
			col.Miss = make([]metric.Reason, len(there))
		}
		col.Miss[k] = miss[s]
	}
}

// instance returns the instance of a row, with its name in the present block.
func (g *groupTicks) instance(row int) *metric.Instance {
	if g.g.Indom == metric.NoIndom {
		return nil
	}
	from := &g.insts[row]
	in := g.mine[row]
	if in == nil {
		if g.t.made.Intern != nil {
			in = g.t.made.Intern(g.g.Indom, from.Key)
		}
		if in == nil {
			in = &metric.Instance{ID: uint64(row) + 1, Key: from.Key}
		}
		g.mine[row] = in
	}
	n := g.named[row]
	for int(n) < len(from.Names) && (n == 0 || int(from.Names[n].Block) <= g.next) {
		n++
	}
	if n > g.named[row] {
		g.named[row] = n
		if name := &from.Names[n-1]; in.Name != name.Name || !slices.Equal(in.Labels, name.Labels) {
			in.Name, in.Labels = name.Name, name.Labels
			in.Rev++
		}
	}
	return in
}

// open decodes the changes of as many blocks from g.next on as may be held.
func (g *groupTicks) open(end int) error {
	n := end - g.next
	if g.windows > 0 {
		n = min(n, 2*(g.until-g.from)) // the last window was as long as possible
	}
	for ; ; n = max(1, n/2) {
		if g.windows++; g.windows > ticksWindows {
			return g.g.wrong("blocks", errTicks)
		}
		g.from, g.until = g.next, g.next+n
		g.take()
		if cells := len(g.seats) * len(g.cols); cells > g.cells && n > 1 {
			continue
		} else if cells > tickCells {
			return g.g.wrong("blocks", errTicks)
		}
		ok, err := g.decode()
		if ok || err != nil {
			return err
		}
	}
}

// take gives seats to the instances that are present in the window.
func (g *groupTicks) take() {
	g.seats = g.seats[:0]
	for i := range g.insts {
		for r, run := range g.insts[i].Runs {
			if int(run.Start) >= g.until {
				break
			}
			if int(run.End) > g.from {
				g.seats = append(g.seats, seat{int32(i), int32(r)})
				break
			}
		}
	}
}

var errMany = errors.New("more changes than may be held")

// decode collects the changes in the window, and reports whether they are few enough.
func (g *groupTicks) decode() (ok bool, err error) {
	most := g.changes
	if g.until-g.from == 1 {
		most = tickCells
	}
	g.heads = slices.Grow(g.heads[:0], g.until-g.from)[:g.until-g.from]
	clear(g.heads)
	g.log = g.log[:0]
	var rows []int
	if len(g.seats) < len(g.insts) {
		rows = make([]int, len(g.seats))
		for i, s := range g.seats {
			rows[i] = int(s.row)
		}
	}
	if g.bits == nil {
		g.bits, g.miss = make([][]uint64, len(g.cols)), make([][]metric.Reason, len(g.cols))
	}
	last := uint32(g.until - 1)
	for c, col := range g.cols {
		g.bits[c] = slices.Grow(g.bits[c][:0], len(g.seats))[:len(g.seats)]
		g.miss[c] = slices.Grow(g.miss[c][:0], len(g.seats))[:len(g.seats)]
		if g.gone[c] {
			clear(g.bits[c])
			for i := range g.miss[c] {
				g.miss[c][i] = Damaged
			}
			continue
		}
		at := 0
		text := g.g.Columns[col].Type == metric.String
		err := g.g.SeriesUntil(col, rows, last, func(row int, s *Series) error {
			for at < len(g.seats) && int(g.seats[at].row) < row {
				at++
			}
			if at == len(g.seats) || int(g.seats[at].row) != row {
				return nil
			}
			wrong := false
			s.Stretches(&g.insts[row], uint32(g.from), last, func(start, _ uint32, bits uint64, why metric.Reason) {
				wrong = wrong || text && why == metric.Present && bits >= uint64(len(g.words))
				head := &g.heads[int(start)-g.from]
				if n := len(g.log); n == cap(g.log) && n < logDoubles {
					g.log = slices.Grow(g.log, n+ticksLeast)
				}
				g.log = append(g.log, cellChange{bits: bits, seat: int32(at), next: *head, col: uint16(c), why: why})
				*head = int32(len(g.log))
			})
			if wrong {
				return fmt.Errorf("group %s: a number of a string that is not there", g.g.Name)
			}
			if len(g.log) > most {
				return errMany
			}
			return nil
		})
		switch {
		case err == nil:
		case !errors.Is(err, errMany):
			// decode begins again, which drops the changes collected so far.
			g.gone[c] = true
			g.t.lose(err)
			return g.decode()
		case most != tickCells:
			return false, nil
		default:
			return false, err
		}
	}
	return true, nil
}
