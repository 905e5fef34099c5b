package journal

import (
	"fmt"

	"tachograph/sample/metric"
)

// Limits on what one generation may hold. They are far above what a machine has; they exist so
// that a damaged journal cannot make its reader allocate without end.
const (
	maxGroups    = 1 << 12
	maxColumns   = 1 << 12
	maxMetrics   = 1 << 15 // over all groups
	maxInstances = 1 << 20
	maxRows      = 1 << 18
	maxCells     = 1 << 22
	maxLabels    = 1 << 8
	maxStrings   = 1 << 20
	maxBlocks    = 1 << 10
)

// A byte of a journal can stand for very much, because expected values cost next to nothing.
// These constants limit what a generation may decode to, relative to its length: so much in any
// case, and so much more for each byte. An encoder that is half way there is Full, so that no
// decoder of its output reaches the limits.
const (
	builtFree        = 32 << 20 // bytes of texts, and of labels and models, by about their size
	builtPerByte     = 64
	cellsFree        = 1 << 19
	cellsPerByte     = 256
	instancesFree    = 1 << 16
	instancesPerByte = 4
	workFree         = 1 << 26 // rows and cells gone through
	workPerByte      = 1 << 10

	fieldBytes = 12 << 10
	labelBytes = 32
)

// motion is how a cell, which is one metric of one instance, has changed so far.
type motion struct {
	delta int64  // last change
	twin  cellAt // a cell that has changed in proportion in the same tick
	own   prob   // that it changes
	again prob   // that it changes by the same amount as before
	like  prob   // that it changes like its twin
	tick  uint32 // when it changed last, as state.ticks
	ratio int8   // the ratio of its change to its twin's: see the ratios
	hist  uint8  // whether it changed in the last 8 ticks
	class uint8  // length in bits of the last change
}

// still is the motion of a cell that has not changed.
var still = motion{own: freshProb, again: freshProb, like: freshProb}

// A cellAt identifies a cell by its row and column. The zero cellAt is no cell.
type cellAt struct {
	row *row
	col uint16
}

// motion returns how the cell at p has changed; nil if it has not.
func (p cellAt) motion() *motion {
	if p.row == nil || p.row.moves == nil {
		return nil
	}
	return &p.row.moves[p.col]
}

// row is one instance of a group: for each cell the value, the reason why it is absent, and its
// motion. Most processes of a machine sleep, and a motion takes three times the memory of the
// other two: a row has motions only once a cell of it has changed.
type row struct {
	inst  *instance
	vals  []uint64 // last present values; for strings their places in state.strs
	miss  []uint16 // places in state.reasons
	moves []motion // nil: no cell has changed since the row was new
	first []twin   // the twins that cells got when the row was new
	spare []motion // to be reused
	own   prob     // that any cell changes
	age   uint32
	hist  uint8
	gone  bool
	pos   int32
}

// A twin says that the cell in column of follows the cell in row and col, in a ratio.
type twin struct {
	row     *row
	col, of uint16
	ratio   int8
}

// stir gives r motions, if it has none.
func (r *row) stir() []motion {
	if r.moves == nil {
		if r.moves = r.spare; r.moves == nil {
			r.moves = make([]motion, len(r.vals))
		}
		for i := range r.moves {
			r.moves[i] = still
		}
		for _, t := range r.first {
			r.moves[t.of].twin, r.moves[t.of].ratio = cellAt{t.row, t.col}, t.ratio
		}
		r.first = nil
	}
	return r.moves
}

// column predicts the changes of one metric of a group, over all its instances. The
// fields that a change needs are together in cache lines of the processor, of 64 bytes: other
// programs have used the cache in the second since the last tick.
type column struct {
	changed [2][16]prob // by the previous column and the cell's history

	miss    prob
	back    prob
	again   prob
	decimal prob
	like    prob
	sign    [3]prob
	fresh   [2]prob // in a new row: whether the cell differs from the last new row's
	birth   uint64
	typ     metric.Type
	lastLen uint8
	missing int32 // decoding only: how many rows of the block have no value
	_       [10]byte

	class  [64]prob
	follow [8][6]prob // upper bits, by those of the last change
	low    [64]prob
}

// touch reads something of each cache line of m that a small change needs, so that the memory
// brings them all at once, while the cell before is coded, and not one after the other as they
// are reached. The result must be kept, or nothing is read.
func (m *column) touch() prob {
	return m.changed[0][0] + m.changed[1][0] + m.miss + m.class[0] + m.class[16] + m.class[32] +
		m.follow[0][0] + m.follow[3][0] + m.follow[6][0] + m.low[0]
}

func (m *column) reset(typ metric.Type) {
	*m = column{typ: typ}
	freshProbs(m.changed[0][:])
	freshProbs(m.changed[1][:])
	freshProbs(m.fresh[:])
	m.miss, m.back, m.again, m.decimal = freshProb, freshProb, freshProb, freshProb
	m.like = freshProb
	freshProbs(m.sign[:])
	freshProbs(m.class[:])
	for i := range m.follow {
		freshProbs(m.follow[i][:])
	}
	freshProbs(m.low[:])
}

// group holds the state of a group between two ticks.
type group struct {
	g     *metric.Group
	index int
	indom *indom
	cols  []column
	rows  []*row
	spare []*row // rows to be reused
	rowOf map[*instance]*row
	next  int // place in indom of the instance that probably appears next

	sameAt prob
	at     *stamps // nil while all blocks have their ticks' stamps

	// What follows is made before the group's first rows are coded.
	sameRows [4]prob
	gone     [16]prob
	inserted number
	behind   number
	known    prob
	place    number
	count    number
	rowMix   [8]mixer
	rowHist  [256]prob
	rowPair  [2][16]prob
	cellHist [256]prob
	cellMix  [9]mixer
	renamed  number

	newRows []*row // scratch

	// Encoding only: the findings of prepare, and the instant and class of the group's last
	// block.
	serial uint64
	how    int
	fresh  bool
	before metric.Stamp
	class  metric.Class

	// Decoding only: the block of the tick, whether all of it must be written anew, and whether
	// any metric is a string.
	block metric.Block
	anew  bool
	words bool
}

// instance is a member of an indom, numbered by this generation.
type instance struct {
	in    *metric.Instance // decoding only: the encoded instance may end long before the generation
	none  bool             // the row of a group without instances
	id    uint64
	key   string
	rev   uint32
	index int
}

// indom holds the instances of a domain, and the models of their keys, names and labels.
type indom struct {
	name      string
	insts     []*instance
	byID      map[uint64]*instance
	key, text *field
	labels    number
	labelName *field
	label     map[string]*field
}

// stamps predicts the next instant of a series from the last one.
type stamps struct {
	last    metric.Stamp
	nominal int64
	cont    number
	wall    number
	awake   number
}

func (s *stamps) reset() {
	s.last, s.nominal = metric.Stamp{}, 0
	s.cont.reset()
	s.wall.reset()
	s.awake.reset()
}

// class holds the groups of the last tick of a class, and predicts the next tick.
type class struct {
	at     stamps
	blocks []*group
	same   prob
	count  number
	ref    number
}

// A half is one of two sets of classes whose rows share models.
const (
	systemHalf  = iota
	processHalf // metrics of processes and threads
	numHalves
)

// HalfOf returns the half of a class.
func HalfOf(cl metric.Class) int {
	switch cl {
	case metric.Process, metric.Thread, metric.Costly:
		return processHalf
	}
	return systemHalf
}

// groups are the groups of ticks, numbered by this generation.
type groups struct {
	list []*group
	of   map[*metric.Group]*group
}

// state is everything that one direction remembers of a generation. After every record, the
// encoder's and the decoder's states are equal.
//
// The rows of ticks have states of their own, one for each half, so that a reader need not decode
// the rows of a half that it does not need. In journals of version 2, and for late ticks, there is
// one state for everything.
type state struct {
	coder   coder
	texts   texts
	classes [metric.NumClasses]*class // nil before the first tick
	groups  [numHalves]groups
	rows    [numHalves]*state // nil: the state itself
	idle    bool              // the state must be reset before it is used
	indoms  map[string]*indom
	reasons []metric.Reason
	reason  map[metric.Reason]uint16
	strs    []string
	str     map[string]uint64
	cells   int
	touched prob // sum of what touch returned
	// metricsSeen, instances and work count, over the whole generation, the metrics of groups,
	// the instances of domains, and the rows and cells that were gone through.
	metricsSeen, instances, work int

	names    *field // of groups and indoms
	metrics  *field
	units    *field
	why      *field
	strings  *field // values
	columns  number
	descBits number
	descSame prob
	lastDesc metric.Desc // what defining its metric coded, except the name
	reasonNr number
	strNew   prob
	strNr    number

	classAfter  [65][64]prob // length of a change, by that of the cell's last
	classBeside [65][64]prob // … by that of the cell coded before
	classMix    [64]mixer
	top         [65][8]prob
	topMix      [8]mixer
	againMix    mixer
	againLen    [65]prob

	ticks   uint32 // counts the ticks of the generation
	moves   [moveSlots]move
	newborn motion // for a cell of a new row
	likeMix mixer
	likeAll [numRatios]prob

	events eventModels
	// Encoding only.
	same   []bool // by row of the block that is being coded, if known: it has not changed
	serial uint64
	came   []*metric.Instance
	seen   map[uint64]struct{}
	// Decoding only.
	intern func(indom, key string) *metric.Instance
}

// newState returns a state for everything.
func newState() *state {
	s := newRows()
	s.names, s.metrics, s.units = newField('g'), newField('m'), newField('u')
	s.reset()
	return s
}

// newRows returns a state for rows, which must be reset before it is used.
func newRows() *state {
	return &state{seen: make(map[uint64]struct{}), why: newField('w'), strings: newField('s')}
}

// newHalves returns a state that has others for the rows of each half.
func newHalves() *state {
	s := &state{names: newField('g'), metrics: newField('m'), units: newField('u')}
	for i := range s.rows {
		s.rows[i] = newRows()
	}
	s.reset()
	return s
}

// rowsOf returns the state of the rows of a class.
func (s *state) rowsOf(cl metric.Class) *state {
	if r := s.rows[HalfOf(cl)]; r != nil {
		return r.used()
	}
	return s
}

// used returns s, which is about to be used. To reset a half that a reader leaves out would take a
// part of what it saves.
func (s *state) used() *state {
	if s.idle {
		s.idle = false
		s.reset()
	}
	return s
}

// classOf returns the models of the ticks of a class.
func (s *state) classOf(cl metric.Class) *class {
	k := s.classes[cl]
	if k == nil {
		k = &class{same: freshProb}
		k.at.reset()
		k.count.reset()
		k.ref.reset()
		s.classes[cl] = k
	}
	return k
}

// groupsOf returns the groups that may be in ticks of a class.
func (s *state) groupsOf(cl metric.Class) *groups {
	if s.rows[0] == nil {
		return &s.groups[0]
	}
	return &s.groups[HalfOf(cl)]
}

// reset forgets everything, for the beginning of a generation.
func (s *state) reset() {
	s.texts.spell.reset()
	s.texts.key = s.texts.key[:0]
	s.classes = [metric.NumClasses]*class{}
	for i := range s.groups {
		s.groups[i] = groups{of: make(map[*metric.Group]*group)}
	}
	s.metricsSeen, s.texts.built, s.coder.fed = 0, 0, 0
	if s.names != nil {
		for _, f := range []*field{s.names, s.metrics, s.units} {
			f.reset()
		}
		s.columns.reset()
		s.descBits.reset()
		s.descSame, s.lastDesc = freshProb, metric.Desc{}
		s.events.reset()
	}
	if s.rows[0] == nil {
		s.resetRows()
	}
	for _, r := range s.rows {
		if r != nil {
			r.idle = true
		}
	}
}

// resetRows is reset for the models of rows.
func (s *state) resetRows() {
	s.indoms = make(map[string]*indom)
	s.reasons = append(s.reasons[:0], metric.Present)
	s.reason = map[metric.Reason]uint16{metric.Present: 0}
	s.strs = append(s.strs[:0], "")
	s.str = map[string]uint64{"": 0}
	s.cells, s.instances, s.work = 0, 0, 0
	s.why.reset()
	s.strings.reset()
	s.reasonNr.reset()
	s.strNr.reset()
	s.strNew = freshProb
	for i := range s.classAfter {
		freshProbs(s.classAfter[i][:])
		freshProbs(s.classBeside[i][:])
		freshProbs(s.top[i][:])
	}
	freshMixers(s.classMix[:])
	freshMixers(s.topMix[:])
	s.againMix = freshMixer
	freshProbs(s.againLen[:])
	s.ticks = 0
	s.moves = [moveSlots]move{}
	s.likeMix = freshMixer
	freshProbs(s.likeAll[:])
}

func (gs *groups) add(g *metric.Group) (*group, error) {
	if len(gs.list) >= maxGroups || len(g.Metrics) > maxColumns {
		return nil, fmt.Errorf("too many groups or metrics")
	}
	st := &group{g: g, index: len(gs.list), fresh: true, sameAt: freshProb}
	gs.list = append(gs.list, st)
	gs.of[g] = st
	return st, nil
}

// begin prepares g for its first rows, whose state is s.
func (st *group) begin(s *state) {
	g := st.g
	st.cols, st.rowOf = make([]column, len(g.Metrics)), make(map[*instance]*row)
	for i := range st.cols {
		st.cols[i].reset(g.Metrics[i].Type)
		st.words = st.words || g.Metrics[i].Type == metric.String
	}
	freshProbs(st.sameRows[:])
	freshProbs(st.gone[:])
	for _, n := range []*number{&st.inserted, &st.behind, &st.place, &st.count, &st.renamed} {
		n.reset()
	}
	st.known = freshProb
	freshMixers(st.rowMix[:])
	freshProbs(st.rowHist[:])
	freshProbs(st.rowPair[0][:])
	freshProbs(st.rowPair[1][:])
	freshProbs(st.cellHist[:])
	freshMixers(st.cellMix[:])
	st.indom = s.indomOf(g.Indom)
}

func (s *state) indomOf(name string) *indom {
	d := s.indoms[name]
	if d == nil {
		d = &indom{name: name}
		if name == metric.NoIndom {
			d.insts = []*instance{{none: true}}
		} else {
			d.byID, d.label = make(map[uint64]*instance), make(map[string]*field)
			d.key, d.text, d.labelName = newField('k'), newField('n'), newField('l')
			d.labels.reset()
		}
		s.indoms[name] = d
	}
	return d
}

func (d *indom) add(in *metric.Instance) *instance {
	i := &instance{id: in.ID, key: in.Key, rev: in.Rev, index: len(d.insts)}
	d.insts = append(d.insts, i)
	d.byID[in.ID] = i
	return i
}

// newRow makes room for an instance of g.
func (s *state) newRow(g *group, in *instance) *row {
	var r *row
	if n := len(g.spare); n > 0 {
		r = g.spare[n-1]
		g.spare = g.spare[:n-1]
		clear(r.vals)
		clear(r.miss)
		if r.moves != nil {
			r.spare = r.moves
		}
		*r = row{vals: r.vals, miss: r.miss, spare: r.spare}
	} else {
		r = &row{vals: make([]uint64, len(g.cols)), miss: make([]uint16, len(g.cols))}
		s.cells += len(g.cols)
	}
	r.inst, r.own = in, freshProb
	g.rowOf[in] = r
	return r
}

// dropRow forgets an instance of g.
func (s *state) dropRow(g *group, r *row) {
	delete(g.rowOf, r.inst)
	r.inst = nil
	g.spare = append(g.spare, r)
}
