package reduce

import (
	"math"

	"tachograph/sample/metric"
	"tachograph/store/archive"
	"tachograph/store/layout"
)

// A group reduces one group of metrics, from chunk to chunk: it holds the layout of its blocks,
// and the open span.
type group struct {
	f           *folder
	name, indom string
	input       []*metric.Desc
	cols        []column
	out         *metric.Group
	instances   map[string]*metric.Instance // of the present chunk and of the open span

	// The open span.
	open     bool
	entered  *archive.File // the file that the group was last in
	cutNext  bool          // the next block begins another span
	seg      int
	at       metric.Stamp // of the span's last reading
	read     metric.Stamp // of the tick of that reading
	tick     metric.Stamp // the tick that the span's block will be in
	began    int64        // the continuous clock of the span's first reading
	readings uint64
	rows     []*carried
	byKey    map[string]*carried
	others   others
	past     bool // the group has had a block
	// The columns for when in a step an instance was read first and last; -1 if there are none.
	came, went int
}

// A column is one metric of the group, with the column numbers of the metric and of its
// companions in blocks; -1 if there is no such column.
type column struct {
	desc                              *metric.Desc
	base                              int
	first, min, max, mean, steepest   int
	lived                             int
	whole                             bool // a span may hold only one value of it
	counter, numeric, tallied, perRun bool
	peak                              bool // a peak kept by the kernel, which falls when the process executes another program
}

// A carried is an instance of the open span.
type carried struct {
	in    *metric.Instance
	alive bool // it was in the span's last block
	// The continuous clock of its first and last reading.
	first, last int64
	cells       []cell
}

// A cell sums up one series in a span, so far.
type cell struct {
	first, last, min, max uint64
	text                  string
	textual               bool
	why                   metric.Reason // of the last reading
	n                     uint32        // readings with a value
	seen                  bool
	came                  bool // the instance was not there before the first of these readings
	weighted, seconds     float64
	steepest              float64
}

// prepare sets up the group for the columns of the input, and closes the open span if the
// columns have changed.
func (g *group) prepare(input []*metric.Desc) {
	if g.out != nil && len(input) == len(g.input) {
		same := true
		for i, d := range input {
			same = same && d == g.input[i]
		}
		if same {
			return
		}
	}
	if g.open {
		// The same group may go on in this step, and its later block takes the segment's tick.
		// So this block takes the tick of its own last reading.
		g.tick = g.read
		g.close()
	}
	g.input = input
	g.cols = g.cols[:0]
	g.out = &metric.Group{Name: g.name, Indom: g.indom}
	g.came, g.went = -1, -1
	add := func(d metric.Desc) int {
		g.out.Metrics = append(g.out.Metrics, g.f.r.desc(d))
		return len(g.out.Metrics) - 1
	}
	for _, d := range input {
		if d == nil || layout.IsReduced(d.Name) {
			g.cols = append(g.cols, column{base: -1})
			continue
		}
		perRun := metric.PerBoot(g.indom)
		c := column{desc: d, first: -1, min: -1, max: -1, mean: -1, steepest: -1, lived: -1, perRun: perRun,
			counter: d.Type != metric.String && d.Sem == metric.Counter, numeric: d.Type != metric.String,
			tallied: d.Tally() == metric.TallyLevel, peak: d.Tally() == metric.TallyPeak}
		c.whole = !perRun && (d.Type == metric.String || d.Sem == metric.Discrete)
		c.base = add(*d)
		if perRun && g.came < 0 {
			g.came, g.went = add(companion(d, layout.Came)), add(companion(d, layout.Went))
		}
		switch {
		case perRun && c.tallied:
			c.max = add(companion(d, layout.Max))
			c.mean = add(companion(d, layout.Mean))
			c.lived = add(companion(d, layout.Lived))
		case perRun || c.whole:
		case c.counter:
			c.first = add(companion(d, layout.First))
			c.steepest = add(companion(d, layout.Steepest))
		default:
			c.first = add(companion(d, layout.First))
			c.min = add(companion(d, layout.Min))
			c.max = add(companion(d, layout.Max))
			c.mean = add(companion(d, layout.Mean))
		}
		g.cols = append(g.cols, c)
	}
}

// companion describes a value that is kept of a step of d besides its last reading.
func companion(d *metric.Desc, what string) metric.Desc {
	c := metric.Desc{Name: layout.Companion(what, d.Name), Type: d.Type, Sem: metric.Instant, Units: d.Units, Indom: d.Indom, Class: d.Class,
		Source: "made of " + d.Name + " by replay reduce"}
	switch what {
	case layout.First:
		c.Help = "The first value of " + d.Name + " in each step of a reduced archive"
	case layout.Min:
		c.Help = "The smallest value of " + d.Name + " in each step of a reduced archive"
	case layout.Max:
		c.Help = "The largest value of " + d.Name + " in each step of a reduced archive"
	case layout.Mean:
		c.Type = metric.F32
		c.Help = "The mean of " + d.Name + " in each step of a reduced archive, by time"
	case layout.Steepest:
		c.Type, c.Units = metric.F32, d.Units.PerSec()
		c.Help = "The most that " + d.Name + " gained in a second in each step of a reduced archive, from one reading to the next"
	case layout.Came:
		c.Type, c.Units = metric.U64, metric.Units{Time: 1}
		c.Help = "How long after the first reading of each step of a reduced archive an instance was read first"
	case layout.Went:
		c.Type, c.Units = metric.U64, metric.Units{Time: 1}
		c.Help = "How long before the last reading of each step of a reduced archive an instance was read last"
	case layout.Lived:
		c.Type, c.Units = metric.F32, metric.Seconds
		c.Help = "For how long " + d.Name + " was read in each step of a reduced archive; 0 where that was all of it"
	}
	return c
}

// close emits the block of the open span.
func (g *group) close() {
	g.open = false
	b := g.block(g.at)
	w := g.writer(b, nil)
	whole := float64(g.at.Cont-g.began) / 1e9
	for _, row := range g.rows {
		w.whole(row, whole, g.began)
	}
	g.emit(b, w, g.tick, g.began, g.readings)
	g.rows, g.byKey = nil, nil
}

// emit lets a finished block wait for its tick.
func (g *group) emit(b *metric.Block, w *writer, tick metric.Stamp, began int64, readings uint64) {
	w.finish()
	g.f.pending = append(g.f.pending, pending{tick: tick, block: b, began: max(0, b.At.Cont-began), readings: readings})
}

// block returns an empty block.
func (g *group) block(at metric.Stamp) *metric.Block {
	return &metric.Block{Group: g.out, At: at, Cols: make([]metric.Column, len(g.out.Metrics))}
}

// A writer fills a block.
type writer struct {
	g      *group
	b      *metric.Block
	words  []string // of the chunk with the block's texts
	own    map[string]uint64
	base   bool // this is the group's first block
	others othersPart
}

func (g *group) writer(b *metric.Block, words []string) *writer {
	w := &writer{g: g, b: b, words: words[:len(words):len(words)], base: !g.past}
	g.past = true
	return w
}

// whole puts a row of a span that began at began, or counts it among the others.
func (w *writer) whole(x *carried, seconds float64, began int64) {
	in, cells, alive := x.in, x.cells, x.alive
	told := w.row(in)
	if told {
		w.there(x.first-began, w.b.At.Cont-x.last)
	}
	for c := range w.g.cols {
		switch {
		case w.g.cols[c].base < 0:
		case told:
			w.cell(&w.g.cols[c], &cells[c], alive, seconds)
		default:
			w.count(c, in, &cells[c], alive, seconds)
		}
	}
}

// there puts when in its span an instance was read first and last.
func (w *writer) there(came, went int64) {
	if w.g.came >= 0 {
		w.put(w.g.came, uint64(max(0, came)), metric.Present)
		w.put(w.g.went, uint64(max(0, went)), metric.Present)
	}
}

// row begins a row, if the instance has rows of its own.
func (w *writer) row(in *metric.Instance) bool {
	if !w.g.f.told(w.g, in) {
		return false
	}
	w.b.Rows = append(w.b.Rows, in)
	return true
}

func (w *writer) finish() {
	if w.g.others.in != nil {
		w.g.others.row(w)
	}
	for c := range w.b.Cols {
		if w.g.out.Metrics[c].Type == metric.String {
			w.b.Cols[c].Words = w.words
		}
	}
}

// put puts the value of the present row into a column.
func (w *writer) put(c int, bits uint64, why metric.Reason) {
	col := &w.b.Cols[c]
	if why != metric.Present {
		if col.Miss == nil {
			col.Miss = make([]metric.Reason, len(col.Bits), len(col.Bits)+8)
		}
		bits = 0
	}
	col.Bits = append(col.Bits, bits)
	if col.Miss != nil {
		col.Miss = append(col.Miss, why)
	}
}

// word returns the number of a text.
func (w *writer) word(text string) uint64 {
	if w.own == nil {
		w.own = make(map[string]uint64)
	}
	n, ok := w.own[text]
	if !ok {
		n = uint64(len(w.words))
		w.words = append(w.words, text)
		w.own[text] = n
	}
	return n
}

// cell puts the sums of a series in a span of whole seconds. An instance that has gone meanwhile
// has no levels any more, but still its counters, texts and peaks.
func (w *writer) cell(c *column, x *cell, alive bool, whole float64) {
	why := x.why
	if (!alive || c.perRun && why == metric.Vanished) && x.n > 0 {
		why = metric.Present
		if c.numeric && !c.counter && c.desc.Sem == metric.Instant && c.desc.Tally() == metric.NoTally || c.tallied {
			why = metric.Vanished
		}
	}
	if why == metric.Present && x.n == 0 {
		why = metric.NotRead
	}
	bits := x.last
	if !c.numeric && why == metric.Present && x.textual {
		bits = w.word(x.text)
	}
	w.put(c.base, bits, why)
	if x.n > 0 && c.perRun {
		why = metric.Present
	}
	if c.first >= 0 {
		w.put(c.first, x.first, why)
	}
	if c.min >= 0 {
		w.put(c.min, x.min, why)
	}
	if c.max >= 0 {
		w.put(c.max, x.max, why)
	}
	if c.mean >= 0 {
		w.put(c.mean, uint64(math.Float32bits(float32(x.mean(c.desc.Type, whole, c.perRun)))), why)
	}
	if c.steepest >= 0 {
		w.put(c.steepest, uint64(roundUp(x.steepest))<<16, why)
	}
	if c.lived >= 0 {
		lived := x.seconds
		if lived >= whole && alive && x.why == metric.Present && !x.came {
			lived = 0
		}
		w.put(c.lived, uint64(math.Float32bits(float32(lived))), why)
	}
}

// mean returns the mean of the values by time.
func (x *cell) mean(t metric.Type, whole float64, perRun bool) float64 {
	if perRun {
		whole = x.seconds
	}
	if x.min == x.max || !(whole > 0) {
		return metric.Number(t, x.last)
	}
	return x.weighted / whole
}

// roundUp returns the upper 16 bits of x as an f32, rounded up.
func roundUp(x float64) uint16 {
	f := float32(x)
	bits := math.Float32bits(f)
	top := bits >> 16
	if bits&0xffff != 0 || float64(f) < x {
		top++
	}
	return uint16(min(top, 0x7f80))
}
