package chunk

import (
	"encoding/binary"
	"slices"
	"sync"

	"tachograph/sample/metric"
)

// A table is the content of a chunk in memory: encoders write it, and builders and merges
// produce it. Everything is by series and by change.
type table struct {
	class  metric.Class
	ticks  []metric.Stamp
	groups []*groupTable
	words  []string // what string cells refer to
	bare   bool     // to be sealed without sketches
}

// A groupTable holds one group. Its time axis counts blocks.
type groupTable struct {
	name, indom string
	metrics     []column
	at          []blockAt
	insts       []Instance
	cols        []columnTable // parallel to metrics
	// later makes column c when it is needed, where there are no cols. In a table that will be
	// sealed it makes the column on each call, and the result is valid until the next call: all
	// columns of thousands of processes would take megabytes.
	later func(c int) (*columnTable, error)
}

// column returns column c; see later.
func (g *groupTable) column(c int) (*columnTable, error) {
	if g.later != nil {
		return g.later(c)
	}
	return &g.cols[c], nil
}

// singly reports whether the columns of g can be made one by one, in a chunk with that many
// ticks: nothing but their own encoding needs them.
func (g *groupTable) singly(ticks int) bool { return metric.PerBoot(g.indom) && !g.guides(ticks) }

// column is a metric of a chunk.
type column struct {
	number uint32 // in the archive's catalogue
	typ    metric.Type
	desc   *metric.Desc // nil where only the number is known
}

// An Instance is one member of a group and the runs of blocks it was in. Its own time axis, its
// ordinals, counts only these blocks.
type Instance struct {
	Key   string
	Names []Naming
	Runs  []Run
}

// lifetime returns the number of blocks in was in.
func (in *Instance) lifetime() uint32 {
	n := uint32(0)
	for _, r := range in.Runs {
		n += r.End - r.Start
	}
	return n
}

// A columnTable holds the changes of each series of a column: numbers off[i] to off[i+1] belong
// to series i. A series that has a value has a change where that value was first seen.
type columnTable struct {
	off  []uint32
	at   []uint32 // ordinals
	bits []uint64
	// unit, if set, is a common divisor of all values: bits then count units.
	unit uint64
	absences
}

// table turns what was collected into columns by series. If present is set, for reading from
// memory, a column is made when it is first needed: few questions need many. Otherwise, for
// sealing soon, all are made except those that can be made one by one.
func (b *Builder) table(number func(*metric.Desc) uint32, present bool) *table {
	t := &table{class: b.class, ticks: b.ticks, words: b.wordsAt}
	for _, g := range b.groups {
		t.groups = append(t.groups, g.table(number, len(b.ticks), present))
	}
	return t
}

func (g *groupBuilder) table(number func(*metric.Desc) uint32, ticks int, present bool) *groupTable {
	t := &groupTable{name: g.group.Name, indom: g.group.Indom, at: g.at}
	for _, d := range g.group.Metrics {
		t.metrics = append(t.metrics, column{number(d), d.Type, d})
	}
	var lived []int32
	var insts []Instance
	for n := range g.slots {
		if sl := &g.slots[n]; sl.lived {
			lived = append(lived, int32(n))
			insts = append(insts, Instance{Key: sl.key, Names: sl.names, Runs: append(slices.Clone(sl.runs), Run{sl.first, sl.last + 1})})
		}
	}
	place := make([]int32, len(g.slots)) // the row of each slot
	for i := range place {
		place[i] = -1
	}
	t.insts = make([]Instance, len(insts))
	for i, n := range arrangement(insts) {
		t.insts[i] = insts[n]
		place[lived[n]] = int32(i)
	}
	if present {
		t.later = g.remembered(t.insts, place)
		return t
	}
	var room tableRoom
	if t.singly(ticks) {
		var col columnTable
		t.later = func(c int) (*columnTable, error) {
			g.cols[c].log.table(&col, t.insts, place, &room)
			return &col, nil
		}
		return t
	}
	t.cols = make([]columnTable, len(g.cols))
	for c := range g.cols {
		g.cols[c].log.table(&t.cols[c], t.insts, place, &room)
	}
	return t
}

// remembered returns a function that makes each column of what g holds now once. Several
// goroutines may call it.
func (g *groupBuilder) remembered(insts []Instance, place []int32) func(c int) (*columnTable, error) {
	logs := make([]columnLog, len(g.cols))
	for c := range logs {
		logs[c] = g.cols[c].log
	}
	made := make([]*columnTable, len(logs))
	var room tableRoom
	var mu sync.Mutex
	return func(c int) (*columnTable, error) {
		mu.Lock()
		defer mu.Unlock()
		if made[c] == nil {
			made[c] = new(columnTable)
			logs[c].table(made[c], insts, place, &room)
		}
		return made[c], nil
	}
}

// entries walks a column's log.
func (log columnLog) entries(fn func(slot, block uint32, kind int, v uint64)) {
	block := uint32(0)
	for len(log) > 0 {
		head, n := binary.Uvarint(log)
		v, m := binary.Uvarint(log[n:])
		log = log[n+m:]
		if head == 0 {
			block += uint32(v)
			continue
		}
		fn(uint32(head>>1)-1, block, int(head&1), v)
	}
}

// A tableRoom is the scratch memory for making a column's table, reused for many columns. It
// has, by series, the place of its next change, its last value, the base of the next difference
// (the last value, or 0 since the run began), and its absences.
type tableRoom struct {
	fill       []uint32
	last, base []uint64
	missing    missing
}

func (r *tableRoom) reset(off []uint32) {
	n := len(off) - 1
	r.fill = append(r.fill[:0], off[:n]...)
	r.last = slices.Grow(r.last[:0], n)[:n]
	r.base = slices.Grow(r.base[:0], n)[:n]
	clear(r.last)
	clear(r.base)
	r.missing.reset(n)
}

// table makes t from the log, and reuses the memory of t.
func (log columnLog) table(t *columnTable, insts []Instance, place []int32, room *tableRoom) {
	n := len(insts)
	t.unit = 0
	t.off = sized(t.off, n+1)
	clear(t.off)
	log.entries(func(s, _ uint32, kind int, _ uint64) {
		if kind == logValue {
			t.off[place[s]+1]++
		}
	})
	for i := range n {
		t.off[i+1] += t.off[i]
	}
	t.at = sized(t.at, int(t.off[n]))
	t.bits = sized(t.bits, int(t.off[n]))
	room.reset(t.off)
	fill, last, base, missing := room.fill, room.last, room.base, &room.missing
	log.entries(func(s, block uint32, kind int, v uint64) {
		i := place[s]
		at, begins := insts[i].ordinal(block)
		if begins {
			base[i] = 0
		}
		if kind == logMiss {
			missing.add(i, missAt{at, metric.Reason(v)})
			return
		}
		missing.add(i, missAt{at, metric.Present})
		bits := base[i] + (v>>1 ^ -(v & 1))
		base[i] = bits
		if fill[i] > t.off[i] && bits == last[i] {
			return // the same value as before it, or its instance, was absent
		}
		t.at[fill[i]], t.bits[fill[i]] = at, bits
		fill[i]++
		last[i] = bits
	})
	t.close(fill)
	missing.sort(&t.absences)
}

// sized returns s with n members of arbitrary content.
func sized[T any](s []T, n int) []T {
	if n > cap(s) {
		return make([]T, n)
	}
	return s[:n]
}

// close removes the space that series did not need.
func (t *columnTable) close(fill []uint32) {
	to := uint32(0)
	for i := range fill {
		from, end := t.off[i], fill[i]
		t.off[i] = to
		to += uint32(copy(t.at[to:], t.at[from:end]))
		copy(t.bits[t.off[i]:], t.bits[from:end])
	}
	t.off[len(fill)] = to
	t.at, t.bits = t.at[:to], t.bits[:to]
}

// ordinal returns the place of a block among those that in was in. begins says whether a run
// begins there.
func (in *Instance) ordinal(block uint32) (n uint32, begins bool) {
	for _, r := range in.Runs {
		if block < r.End {
			return n + block - r.Start, block == r.Start
		}
		n += r.End - r.Start
	}
	return n, false
}
