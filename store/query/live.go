package query

import (
	"math"

	"tachograph/sample/metric"
)

// Live is a condition over values as they are read, without an archive: the recorder's triggers.
// Its results are those of Evaluate for the same values once they are recorded. Once all
// instances are known, it allocates nothing.
//
// Pass it blocks as they come with See, and get its results with Each. It keeps the last value of
// each metric and instance, and the last two where the condition needs their change. An instance
// that is not in a block any more is forgotten.
type Live struct {
	root *liveNode
	// shown is the left side of the first comparison, whose values are shown to people.
	shown   *liveNode
	percent bool // it is compared with percent
	units   metric.Units
	leaves  []*liveLeaf
	// totals are the calls that aggregate instances, inner ones first.
	totals  []*liveTotal
	domains []*liveDomain
	own     *liveDomain // the instances that the condition is about
	groups  map[*metric.Group][]liveColumn
}

// Case is the result of a condition for one instance.
type Case struct {
	// Instance is nil where the condition is about the machine.
	Instance *metric.Instance
	// Slot is a small number that the instance has while it is there; Born distinguishes the
	// instances that have had this slot.
	Slot int
	Born uint64
	// Holds is 1 or 0, or NaN where that is unknown.
	Holds float64
	// Value is the left side of the (first) comparison.
	Value float64
}

// liveNode is a part of the expression.
type liveNode struct {
	leaf  *liveLeaf
	value float64 // of a number
	total *liveTotal
	f     func(a, b float64) float64
	one   func(a float64) float64
	args  []*liveNode
}

// liveLeaf is a metric and how it is read.
type liveLeaf struct {
	desc   *metric.Desc
	node   *node
	mode   mode
	domain *liveDomain
	cells  []liveCell // by slot
	rows   []liveRow  // of the last block
	round  uint32
	// at is when the last block was read, and spacing how long that was after the one before, on
	// the awake clock.
	at, spacing int64
	stale       bool
}

// liveRow remembers the slot of the instance in a row.
type liveRow struct {
	in   *metric.Instance
	slot int32
}

type liveCell struct {
	in      *metric.Instance
	round   uint32
	known   bool // prev is a reading
	there   bool // it was in the last block
	picked  bool // the expression selects in
	prev    uint64
	at      metric.Stamp
	debt    metric.Debt
	present float64 // what the expression reads; NaN for no value
}

// liveDomain holds the instances of a domain that are there.
type liveDomain struct {
	indom string
	slots []liveSlot
	byKey map[string]int32
	free  []int32
	born  uint64
}

type liveSlot struct {
	in   *metric.Instance
	key  string
	born uint64 // 0: free
	used bool   // for a group: an instance belongs to it
}

// liveColumn says where in a group a leaf's values are.
type liveColumn struct {
	leaf *liveLeaf
	col  int
}

// NewLive makes a Live of a condition.
func NewLive(e *Expr) *Live {
	l := &Live{groups: make(map[*metric.Group][]liveColumn)}
	l.own = l.domain(e.root.t.indom)
	first := e.root
	for first.kind == logicNode {
		first = first.args[0]
	}
	if len(first.args) == 2 {
		l.units, l.percent = first.args[0].t.Units, first.args[0].t.Units == metric.NoUnits && first.args[1].t.Units == metric.Percent
		l.shown = l.compile(first.args[0], asValue)
	}
	l.root = l.compile(e.root, asValue)
	return l
}

func (l *Live) domain(indom string) *liveDomain {
	for _, d := range l.domains {
		if d.indom == indom {
			return d
		}
	}
	d := &liveDomain{indom: indom, byKey: make(map[string]int32)}
	if indom == metric.NoIndom {
		d.slots = []liveSlot{{born: 1}}
	}
	l.domains = append(l.domains, d)
	return d
}

func (l *Live) compile(n *node, m mode) *liveNode {
	switch n.kind {
	case metricNode:
		return &liveNode{leaf: l.leaf(n, m)}
	case numberNode:
		if m != asValue {
			return &liveNode{} // A constant does not change.
		}
		return &liveNode{value: n.value}
	case unaryNode:
		return &liveNode{one: func(x float64) float64 { return -x }, args: []*liveNode{l.compile(n.args[0], m)}}
	case callNode:
		return l.compileCall(n, m)
	}
	lm, rm := m, m
	if n.text == "*" || n.text == "/" {
		if n.args[0].t.constant {
			lm = asValue
		}
		if n.args[1].t.constant {
			rm = asValue
		}
	}
	return &liveNode{f: operation(n.text, n.scale), args: []*liveNode{l.compile(n.args[0], lm), l.compile(n.args[1], rm)}}
}

func (l *Live) compileCall(n *node, m mode) *liveNode {
	switch n.text {
	case "rate":
		scale := n.scale
		return &liveNode{one: func(x float64) float64 { return x * scale }, args: []*liveNode{l.compile(n.args[0], asRate)}}
	case "delta":
		return l.compile(n.args[0], asDelta)
	case "abs":
		return &liveNode{one: math.Abs, args: []*liveNode{l.compile(n.args[0], m)}}
	}
	t := &liveTotal{call: n.text, by: n.by, arg: l.compile(n.args[0], m), over: l.domain(n.args[0].t.indom), into: l.domain(n.by)}
	l.totals = append(l.totals, t)
	return &liveNode{total: t, args: []*liveNode{t.arg}}
}

func (l *Live) leaf(n *node, m mode) *liveLeaf {
	for _, have := range l.leaves {
		if have.desc.Name == n.desc.Name && have.mode == m && have.node.instance == n.instance {
			return have
		}
	}
	leaf := &liveLeaf{desc: n.desc, node: n, mode: m, domain: l.domain(n.desc.Indom)}
	l.leaves = append(l.leaves, leaf)
	return leaf
}

// Shown returns how to show the values of Cases to people: their units, and the factor to
// multiply them with first.
func (l *Live) Shown() (units metric.Units, factor float64) {
	if l.percent {
		return metric.Percent, 100
	}
	return l.units, 1
}

// mostGroups bounds the groups that are remembered: a changed configuration makes new groups, and
// the old ones are never seen again.
const mostGroups = 1000

// columns returns the columns of a group that the condition reads.
func (l *Live) columns(g *metric.Group) []liveColumn {
	cols, ok := l.groups[g]
	if ok {
		return cols
	}
	if len(l.groups) >= mostGroups {
		clear(l.groups)
	}
	for _, leaf := range l.leaves {
		for i, d := range g.Metrics {
			if d.Name == leaf.desc.Name && g.Indom == leaf.desc.Indom {
				cols = append(cols, liveColumn{leaf, i})
			}
		}
	}
	l.groups[g] = cols
	return cols
}

// See takes the values of the condition's metrics from b; it returns false when there are none.
func (l *Live) See(b *metric.Block) bool {
	cols := l.columns(b.Group)
	for _, c := range cols {
		c.leaf.take(b, c.col)
	}
	if len(cols) > 0 {
		for _, d := range l.domains {
			if d.indom != metric.NoIndom && d.indom == b.Group.Indom {
				l.sweep(d)
			}
		}
	}
	return len(cols) > 0
}

func (leaf *liveLeaf) take(b *metric.Block, col int) {
	leaf.round++
	if leaf.at != 0 {
		leaf.spacing = b.At.Awake - leaf.at
	}
	leaf.at = b.At.Awake
	for row, in := range b.Rows {
		slot := 0
		if in != nil {
			slot = leaf.slot(row, in)
		}
		for slot >= len(leaf.cells) {
			leaf.cells = append(leaf.cells, liveCell{})
		}
		c := &leaf.cells[slot]
		if c.in != in || in == nil {
			c.in, c.picked = in, in == nil || leaf.node.instance == nil || leaf.node.picks(in)
		}
		c.round, c.there, c.present = leaf.round, true, math.NaN()
		if !c.picked {
			continue
		}
		if v := &b.Cols[col]; v.Miss == nil || v.Miss[row] == metric.Present {
			c.present = leaf.value(c, v.Bits[row], b.At)
		}
	}
	for i := range leaf.cells {
		if c := &leaf.cells[i]; c.round != leaf.round {
			*c = liveCell{present: math.NaN()}
		}
	}
}

// slot returns the slot of an instance, which as a rule is in the same row as last time.
func (leaf *liveLeaf) slot(row int, in *metric.Instance) int {
	d := leaf.domain
	for row >= len(leaf.rows) {
		leaf.rows = append(leaf.rows, liveRow{slot: -1})
	}
	r := &leaf.rows[row]
	if r.in == in && r.slot >= 0 && d.slots[r.slot].born != 0 && d.slots[r.slot].key == in.Key {
		return int(r.slot)
	}
	r.in, r.slot = in, d.slot(in)
	return int(r.slot)
}

// slot returns the slot of an instance; a new one gets a free slot.
func (d *liveDomain) slot(in *metric.Instance) int32 {
	s, ok := d.byKey[in.Key]
	if !ok {
		if n := len(d.free); n > 0 {
			s, d.free = d.free[n-1], d.free[:n-1]
		} else {
			s = int32(len(d.slots))
			d.slots = append(d.slots, liveSlot{})
		}
		d.born++
		d.slots[s] = liveSlot{key: in.Key, born: d.born}
		d.byKey[in.Key] = s
	}
	d.slots[s].in = in
	return s
}

// leave frees a slot.
func (d *liveDomain) leave(slot int) {
	delete(d.byKey, d.slots[slot].key)
	d.slots[slot] = liveSlot{}
	d.free = append(d.free, int32(slot))
}

// sweep frees the slots of instances for which no metric has a row any more.
func (l *Live) sweep(d *liveDomain) {
	for i := range d.slots {
		if d.slots[i].born == 0 || l.has(d, i) {
			continue
		}
		d.leave(i)
	}
}

func (l *Live) has(d *liveDomain, slot int) bool {
	for _, leaf := range l.leaves {
		if leaf.domain == d && slot < len(leaf.cells) && leaf.cells[slot].there {
			return true
		}
	}
	return false
}

// leastSleep is how much more the continuous clock must advance than the awake clock for the
// machine to have slept.
const leastSleep = int64(500e6)

// value returns what the expression reads from a cell whose reading is bits now.
func (leaf *liveLeaf) value(c *liveCell, bits uint64, at metric.Stamp) float64 {
	if leaf.mode == asValue {
		return metric.Number(leaf.desc.Type, bits)
	}
	known, prev, before := c.known, c.prev, c.at
	c.known, c.prev, c.at = true, bits, at
	elapsed := at.Cont - before.Cont
	slept := elapsed-(at.Awake-before.Awake) >= leastSleep
	if !known || elapsed <= 0 {
		c.debt = 0
		return math.NaN()
	}
	x := metric.Number(leaf.desc.Type, bits) - metric.Number(leaf.desc.Type, prev)
	if leaf.desc.Sem == metric.Counter {
		inc, step := metric.Increase(leaf.desc, prev, bits, float64(elapsed)/1e9)
		x = c.debt.Pay(inc, step)
		if step == metric.Restarted || step == metric.Saturated {
			return math.NaN()
		}
	}
	switch {
	case slept:
		return math.NaN()
	case leaf.mode == asRate:
		return x / (float64(elapsed) / 1e9)
	}
	return x
}

// outdated reports whether the last reading is too old to count as current: its source is not
// read, or hangs.
func (leaf *liveLeaf) outdated(now int64) bool {
	limit := int64(300e9)
	if leaf.spacing > 0 {
		limit = 4*leaf.spacing + 10e9
	}
	return leaf.desc.Sem != metric.Discrete && now-leaf.at > limit
}

// Each passes the condition's result to give for each instance that is there, or for the machine.
func (l *Live) Each(now metric.Stamp, give func(Case)) {
	for _, leaf := range l.leaves {
		leaf.stale = leaf.outdated(now.Awake)
	}
	for _, t := range l.totals {
		t.add()
	}
	l.sweepGroups()
	for i := range l.own.slots {
		s := &l.own.slots[i]
		if s.born == 0 {
			continue
		}
		c := Case{Instance: s.in, Slot: i, Born: s.born, Holds: l.root.at(i), Value: math.NaN()}
		if l.shown != nil {
			c.Value = l.shown.at(i)
		}
		give(c)
	}
}

// at returns the value of n for the instance in a slot.
func (n *liveNode) at(slot int) float64 {
	switch {
	case n.leaf != nil:
		if n.leaf.domain.indom == metric.NoIndom {
			slot = 0
		}
		if n.leaf.stale || slot >= len(n.leaf.cells) || !n.leaf.cells[slot].there {
			return math.NaN()
		}
		return n.leaf.cells[slot].present
	case n.f != nil:
		return n.f(n.args[0].at(slot), n.args[1].at(slot))
	case n.one != nil:
		return n.one(n.args[0].at(slot))
	case n.total != nil:
		return n.total.at(slot)
	}
	return n.value
}

// fresh reports whether all metrics in n have been read lately: a count of none is not the same
// as not having looked.
func (n *liveNode) fresh() bool {
	if n.leaf != nil {
		return n.leaf.at != 0 && !n.leaf.stale
	}
	for _, arg := range n.args {
		if !arg.fresh() {
			return false
		}
	}
	return true
}
