package reduce

import (
	"cmp"
	"slices"

	"tachograph/sample/metric"
	"tachograph/store/chunk"
	"tachograph/store/layout"
)

// A visit is a row's share of a span: some of the span's blocks.
type visit struct {
	span        int32
	alive, told bool   // alive: in the last block; told: it has a row there
	first, last uint32 // the first and the last block with the row
}

// tellInstances makes the instances of the rows, and finds out which are in which span. An
// instance that is rarely there takes no memory for spans without it.
func (f *folding) tellInstances() {
	f.in = make([]*metric.Instance, len(f.insts))
	f.visitsOff = make([]int32, len(f.insts)+1)
	for row := range f.insts {
		at, first := 0, len(f.visits)
		for _, r := range f.insts[row].Runs {
			for f.spans[at].end <= r.Start {
				at = f.spanOf(at, r.Start)
			}
			for k := at; k < len(f.spans) && f.spans[k].from < r.End; k++ {
				if n := len(f.visits); n == first || f.visits[n-1].span != int32(k) {
					f.visits = append(f.visits, visit{span: int32(k), first: max(r.Start, f.spans[k].from)})
				}
				v := &f.visits[len(f.visits)-1]
				v.alive, v.last = r.End >= f.spans[k].end, min(r.End, f.spans[k].end)-1
			}
		}
		f.visitsOff[row+1] = int32(len(f.visits))
	}
	if f.indom == metric.NoIndom {
		return
	}
	for row := range f.insts {
		f.in[row] = f.instances[f.insts[row].Key]
	}
	clear(f.instances)
}

// spanOf returns the span that a block is in, searching from one span on.
func (f *folding) spanOf(from int, block uint32) int {
	n, _ := slices.BinarySearchFunc(f.spans[from:], block, func(s span, block uint32) int {
		if s.end <= block {
			return -1
		}
		return 1
	})
	return from + n
}

// visitsOf returns the visits of a row, in the order of the spans.
func (f *folding) visitsOf(row int) []visit { return f.visits[f.visitsOff[row]:f.visitsOff[row+1]] }

// called returns the instance of a row with the name that it had in a block.
func (f *folding) called(row int, block uint32) *metric.Instance {
	if f.indom == metric.NoIndom {
		return nil
	}
	from := &f.insts[row]
	in := f.in[row]
	n := 0
	for n+1 < len(from.Names) && from.Names[n+1].Block <= block {
		n++
	}
	if n >= len(from.Names) {
		if in == nil {
			in = &metric.Instance{Key: from.Key}
		}
	} else if name := &from.Names[n]; in == nil || in.Name != name.Name || !slices.Equal(in.Labels, name.Labels) {
		rev := uint32(0)
		if in != nil {
			rev = in.Rev + 1
		}
		in = &metric.Instance{Key: from.Key, Name: name.Name, Labels: name.Labels, Rev: rev}
	}
	f.in[row] = in
	return in
}

// put folds the columns into the blocks of the spans, and into the open span.
func (f *folding) put(columns *decoding) error {
	last := len(f.spans) - 1
	old, oldKeys := f.group.rows, f.byKey
	if !f.spans[0].carried {
		old, oldKeys = nil, nil
	}
	for i := range f.spans[:last] {
		s := &f.spans[i]
		s.block = f.block(f.stamps[s.end-1])
		s.w = f.writer(s.block, f.words)
	}
	f.group.rows, f.byKey = nil, make(map[string]*carried)
	open := make([]*carried, len(f.insts))
	goesOn := make(map[string]bool) // the instances of the span that was open before
	for row := range f.insts {
		key := f.insts[row].Key
		visits := f.visitsOf(row)
		for i := range visits {
			v := &visits[i]
			s := &f.spans[v.span]
			in := f.called(row, s.end-1)
			goesOn[key] = goesOn[key] || v.span == 0 && oldKeys[key] != nil
			first, last := f.seen(row, v)
			if old := oldKeys[key]; old != nil && s.carried {
				first = old.first
			}
			if !s.open {
				if v.told = s.w.row(in); v.told {
					s.w.there(first-s.began, s.block.At.Cont-last)
				}
				continue
			}
			open[row] = &carried{in: in, alive: v.alive, first: first, last: last, cells: make([]cell, len(f.cols))}
			f.carry(key, open[row])
		}
	}
	for c := range f.cols {
		if f.cols[c].base >= 0 {
			if err := f.column(c, columns, oldKeys, open); err != nil {
				return err
			}
		}
	}
	for _, x := range old {
		key := ""
		if x.in != nil {
			key = x.in.Key
		}
		if goesOn[key] {
			continue
		}
		// It has gone, in a step that goes on or has ended.
		x.alive = false
		if last == 0 {
			f.carry(key, x)
			continue
		}
		f.spans[0].w.whole(x, f.spans[0].whole, f.spans[0].began)
	}
	return nil
}

// seen returns the continuous clock at which a row was read first and last in a span.
func (f *folding) seen(row int, v *visit) (first, last int64) {
	first, last = f.stamps[v.first].Cont-f.began[v.first], f.stamps[v.last].Cont
	if f.cameAt != nil { // these blocks are steps themselves
		first, last = first+int64(f.cameAt.at(row, v.first)), last-int64(f.wentAt.at(row, v.last))
	}
	return first, last
}

// carry makes an instance part of the open span.
func (f *folding) carry(key string, x *carried) {
	f.group.rows, f.byKey[key] = append(f.group.rows, x), x
	if x.in != nil {
		f.instances[key] = x.in
	}
}

// emitAll emits the finished spans, and opens the last one.
func (f *folding) emitAll() {
	for i := range f.spans {
		s := &f.spans[i]
		began := f.stamps[s.from].Cont - f.began[s.from]
		readings := uint64(0)
		for b := s.from; b < s.end; b++ {
			readings += f.readings[b]
		}
		if s.carried {
			began = f.group.began
			readings += f.group.readings
		}
		seg := f.segs[f.places[s.end-1]]
		tick := f.ticks[f.places[s.end-1]]
		// A span that ends with its segment goes into the segment's last tick, as in all groups;
		// a span that was cut before goes into its own tick.
		if end, ok := f.f.segEnds[seg]; ok && (s.open || f.segs[f.places[s.end]] != seg) {
			tick = end
		}
		if s.open {
			f.group.open, f.seg, f.at, f.tick = true, seg, f.stamps[s.end-1], tick
			f.read = f.ticks[f.places[s.end-1]]
			f.group.began, f.group.readings = began, readings
			continue
		}
		f.emit(s.block, s.w, tick, began, readings)
	}
}

// column folds one column.
func (f *folding) column(c int, columns *decoding, old map[string]*carried, open []*carried) error {
	col := &f.cols[c]
	d, err := columns.column(c)
	if err != nil {
		return err
	}
	defer columns.done(c)
	comp := f.companions(c)
	if comp != nil {
		for _, k := range comp.cols {
			if _, err := columns.column(k); err != nil {
				return err
			}
			defer columns.done(k)
		}
	}
	for row := range f.insts {
		list := d.of(row)
		if comp != nil {
			comp.row(columns, row, len(f.stamps))
		}
		at := 0
		for _, v := range f.visitsOf(row) {
			s := &f.spans[v.span]
			var x cell
			if s.carried {
				if before := old[f.insts[row].Key]; before != nil {
					x = before.cells[c]
				}
			}
			for at < len(list) && list[at].end <= s.from {
				at++
			}
			for ; at < len(list) && list[at].start < s.end; at++ {
				from := max(list[at].start, s.from)
				f.add(&x, col, comp, &list[at], from, min(list[at].end, s.end), f.begins(row, from))
				if list[at].end > s.end {
					break
				}
			}
			switch {
			case s.open:
				if !col.numeric && x.n > 0 && !x.textual {
					x.text, x.textual = f.words[x.last], true
				}
				open[row].cells[c] = x
			case v.told:
				s.w.cell(col, &x, v.alive, s.whole)
			default:
				s.w.count(c, f.in[row], &x, v.alive, s.whole)
			}
		}
	}
	return nil
}

// begins reports whether an instance was in a block and not in the one before it.
func (f *folding) begins(row int, block uint32) bool {
	_, found := slices.BinarySearchFunc(f.insts[row].Runs, block, func(r chunk.Run, block uint32) int { return cmp.Compare(r.Start, block) })
	return found && block > 0
}

// add adds blocks with one value to a cell. If the instance begins there, it is not known since
// when it had the value, and one interval is assumed, as Top does.
func (f *folding) add(x *cell, col *column, comp *companions, s *stretch, from, end uint32, begins bool) {
	x.why, x.seen = s.why, true
	if s.why != metric.Present && !(comp != nil && col.perRun) {
		return
	}
	if comp != nil {
		for b := from; b < end; b++ {
			f.addStep(x, col, comp, s, b)
		}
		return
	}
	v := s.bits
	typ := col.desc.Type
	if x.n == 0 {
		x.first, x.min, x.max = v, v, v
	} else if col.numeric {
		if chunk.Less(typ, v, x.min) {
			x.min = v
		}
		if chunk.Less(typ, x.max, v) {
			x.max = v
		}
		if col.counter && !col.perRun {
			took := float64(f.stamps[from].Cont-f.lead[from]) / 1e9
			if gain, _ := metric.Increase(col.desc, x.last, v, took); took > 0 && gain > 0 {
				x.steepest = max(x.steepest, gain/took)
			}
		}
	}
	if col.mean >= 0 {
		since := f.lead[from]
		switch every := int64(f.f.file.Info.Intervals[f.f.class]); {
		case x.n > 0:
		case !col.perRun:
			since = f.stamps[from].Cont
		case begins && every > 0:
			since, x.came = f.stamps[from].Cont-every, true
		}
		took := float64(f.stamps[end-1].Cont-since) / 1e9
		x.weighted += float64(metric.Number(typ, v) * took)
		x.seconds += took
	}
	if !col.peak || x.n == 0 || chunk.Less(typ, x.last, v) {
		x.last = v
	}
	x.n += end - from
	x.textual = false
}

// addStep adds a step of a reduced archive.
func (f *folding) addStep(x *cell, col *column, comp *companions, s *stretch, b uint32) {
	typ := col.desc.Type
	value := func(list []uint64, otherwise uint64) uint64 {
		if list == nil {
			return otherwise
		}
		return list[b]
	}
	first := value(comp.first, s.bits)
	low, high := value(comp.min, min(first, s.bits)), value(comp.max, s.bits)
	took := float64(f.began[b]) / 1e9
	if x.n == 0 {
		x.first, x.min, x.max = first, low, high
	} else {
		if chunk.Less(typ, low, x.min) {
			x.min = low
		}
		if chunk.Less(typ, x.max, high) {
			x.max = high
		}
	}
	lead := float64(f.stamps[b].Cont-f.began[b]-f.lead[b]) / 1e9
	switch {
	case col.counter:
		if gain, _ := metric.Increase(col.desc, x.last, first, lead); x.n > 0 && lead > 0 && gain > 0 {
			x.steepest = max(x.steepest, gain/lead)
		}
		if comp.steepest != nil {
			x.steepest = max(x.steepest, metric.Number(metric.F32, comp.steepest[b]))
		}
	case col.mean >= 0:
		mean := metric.Number(typ, s.bits)
		switch {
		case comp.mean == nil:
		case col.perRun: // no smallest value is kept
			mean = metric.Number(metric.F32, comp.mean[b])
		case low == high:
			mean = metric.Number(typ, low)
		default:
			mean = metric.Number(metric.F32, comp.mean[b])
		}
		if col.perRun {
			took += max(lead, 0)
			if comp.lived != nil {
				if lived := metric.Number(metric.F32, comp.lived[b]); lived > 0 {
					took, x.came = lived, x.came || x.n == 0
				}
			}
		} else if x.n > 0 && lead > 0 {
			x.weighted += float64(metric.Number(typ, first) * lead)
		}
		x.weighted += float64(mean * took)
		x.seconds += took
	}
	if s.why == metric.Present && (!col.peak || x.n == 0 || chunk.Less(typ, x.last, s.bits)) {
		x.last = s.bits
	}
	x.n++
}

// companions are the values that a reduced archive keeps of the steps of one column: by block,
// of the present row.
type companions struct {
	cols                                   map[string]int
	first, min, max, mean, steepest, lived []uint64
}

// companions finds the companions of a column; nil if the archive has none.
func (f *folding) companions(c int) *companions {
	if f.f.file.Info.Step == 0 {
		return nil
	}
	out := &companions{cols: make(map[string]int)}
	for _, what := range []string{layout.First, layout.Min, layout.Max, layout.Mean, layout.Steepest, layout.Lived} {
		name := layout.Companion(what, f.cols[c].desc.Name)
		for k, d := range f.input {
			if d != nil && d.Name == name {
				out.cols[what] = k
			}
		}
	}
	if len(out.cols) == 0 {
		return nil
	}
	return out
}

// row loads the companions of a row.
func (c *companions) row(columns *decoding, row, blocks int) {
	take := func(what string, into *[]uint64) {
		k, ok := c.cols[what]
		if !ok {
			return
		}
		if len(*into) < blocks {
			*into = make([]uint64, blocks) // Values left by another row are overwritten or not used.
		}
		for _, s := range columns.columns[k].of(row) {
			for b := s.start; b < s.end && int(b) < blocks; b++ {
				(*into)[b] = s.bits
			}
		}
	}
	take(layout.First, &c.first)
	take(layout.Min, &c.min)
	take(layout.Max, &c.max)
	take(layout.Mean, &c.mean)
	take(layout.Steepest, &c.steepest)
	take(layout.Lived, &c.lived)
}
