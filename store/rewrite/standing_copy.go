package rewrite

import (
	"slices"

	"tachograph/sample/metric"
	"tachograph/store/archive"
	"tachograph/store/chunk"
	"tachograph/store/fault"
)

// A beginning is where the window begins in a class: before tick number first of a part.
type beginning struct {
	part  int
	first int
	opens int64 // the continuous clock of that tick, or of where it would be
}

// begin finds where the window begins; ok is false if nothing was read before it.
func (j *job) begin() (b beginning, ok bool) {
	if j.from == minWall {
		return b, false
	}
	before := -1
	for i, p := range j.parts {
		in := &p.ref.Info
		if in.First.Wall < j.from {
			before = i
		}
		if !j.reaches(in) {
			continue
		}
		if in.First.Wall >= j.from && in.First.Wall <= j.to {
			return beginning{part: i, opens: in.First.Cont}, true
		}
		stamps, err := j.stamps(p)
		if err != nil {
			continue // reading the part reports the error
		}
		if n := slices.IndexFunc(stamps, func(at metric.Stamp) bool { return at.Wall >= j.from && at.Wall <= j.to }); n >= 0 {
			return beginning{part: i, first: n, opens: stamps[n].Cont}, true
		}
	}
	if before < 0 {
		return b, false
	}
	// Nothing was read in the window, so the last values before it stand.
	stamps, err := j.stamps(j.parts[before])
	if err != nil {
		return b, false
	}
	n := slices.IndexFunc(stamps, func(at metric.Stamp) bool { return at.Wall >= j.from })
	if n < 0 {
		n = len(stamps)
		return beginning{part: before, first: n, opens: stamps[n-1].Cont + 1}, n > 0
	}
	return beginning{part: before, first: n, opens: stamps[n].Cont}, n > 0
}

func (j *job) stamps(p part) (stamps []metric.Stamp, err error) {
	err = fault.Contain(func() error {
		c, err := p.ref.Open()
		if err != nil {
			return err
		}
		stamps, err = c.Stamps()
		return err
	})
	return stamps, err
}

// back moves the beginning one tick back: a rate at the first moment of the window needs two
// readings from before it.
func (j *job) back(b beginning) beginning {
	switch {
	case b.first > 1:
		b.first--
	case b.part > 0:
		stamps, err := j.stamps(j.parts[b.part-1])
		if err == nil && len(stamps) > 0 {
			b.part, b.first = b.part-1, max(len(stamps)+b.first-1, 1)
		}
	}
	return b
}

// standing appends how things stood one tick before the window begins: the last block of every
// metric. From there until the window begins, every tick is copied whole. The rest of the same
// part is copied, too, since it has been decoded; done are the parts that were copied in this
// way.
func (j *job) standing() (done []*archive.ChunkRef, err error) {
	window, ok := j.begin()
	if !ok {
		return nil, nil
	}
	b := j.back(window)
	j.opens = window.opens
	p := j.parts[b.part]
	found := make(map[string]bool) // metrics
	if b.first > 0 {
		err := fault.Contain(func() error { return j.before(p, b.first, found) })
		if err != nil {
			return nil, j.unless(p, ofSource(err))
		}
	}
	older, err := j.older(b.part, found)
	if err != nil {
		return nil, err
	}
	for _, t := range older {
		if c := &j.w.classes[j.class]; c.any && t.At.Cont <= c.last.Cont {
			continue // an overlapping part had it, too
		}
		if _, err := j.appended(t); err != nil {
			return nil, err
		}
	}
	if done, err = j.cutBeginning(b, window); len(done) > 0 || err != nil {
		return done, err
	}
	if b.first == 0 {
		return nil, nil // the window begins with the very first tick
	}
	var ticks *chunk.Ticks
	var t *metric.Tick
	err = fault.Contain(func() (err error) {
		if ticks, err = j.since(p, b.first); err == nil {
			t, err = ticks.Standing()
		}
		return err
	})
	if err == nil && t != nil {
		if _, err := j.appended(onceEach(t)); err != nil {
			return nil, err
		}
		j.lead = t.At.Cont
	}
	if err == nil && j.alone(b.part) {
		done, err = []*archive.ChunkRef{p.ref}, j.each(ticks, j.files[p.file].Hides, j.append)
	}
	p.ref.Opened = nil
	return done, j.unless(p, ofSource(err))
}

// onceEach returns t with only the last block of each group: a plan that lists the same metrics
// in another order is another group to the recorder, and the same group to a reader.
func onceEach(t *metric.Tick) *metric.Tick {
	last := make(map[*metric.Group]*metric.Block)
	for _, b := range t.Blocks {
		if o := last[b.Group]; o == nil || o.At.Cont < b.At.Cont {
			last[b.Group] = b
		}
	}
	t.Blocks = slices.DeleteFunc(t.Blocks, func(b *metric.Block) bool { return last[b.Group] != b })
	return t
}

// before notes the metrics that have a block before tick number first of a part.
func (j *job) before(p part, first int, found map[string]bool) error {
	stamps, err := j.stamps(p)
	if err != nil {
		return err
	}
	for _, g := range p.ref.Opened.Groups {
		_, cont, err := g.Times()
		if err != nil {
			return err
		}
		if len(cont) > 0 && (first == len(stamps) || cont[0] < stamps[first].Cont) {
			j.note(p.file, g, found)
		}
	}
	return nil
}

// since returns the ticks of a part from number first on.
func (j *job) since(p part, first int) (*chunk.Ticks, error) {
	d := j.draining(p.file)
	stamps, err := j.stamps(p)
	if err != nil {
		return nil, err
	}
	ticks, err := d.Ticks(p.ref, stamps[first-1].Cont, nil)
	if err != nil {
		return nil, err
	}
	end := len(stamps)
	for end > first && stamps[end-1].Wall > j.to {
		end--
	}
	ticks.Until(end)
	return ticks, nil
}

// note notes the metrics of a group as found, and reports whether any of them is new.
func (j *job) note(file int, g *chunk.Group, found map[string]bool) (news bool) {
	for i := range g.Columns {
		d := j.views[file].Desc(g.Columns[i].Number)
		if d == nil || j.opt.Metrics != nil && !j.opt.Metrics(d) {
			continue
		}
		if !found[d.Name] {
			found[d.Name], news = true, true
		}
	}
	return news
}

// older returns the last blocks, in the parts before part number n, of metrics that were not
// found yet. Most parts have the same metrics, and are not opened.
func (j *job) older(n int, found map[string]bool) (ticks []*metric.Tick, err error) {
	known := make(map[uint32]bool) // schemas whose metrics are all found
	for _, p := range slices.Backward(j.parts[:n]) {
		if known[p.ref.Info.Schema] {
			continue
		}
		known[p.ref.Info.Schema] = true
		err := fault.Contain(func() error {
			c, err := p.ref.Open()
			if err != nil {
				return err
			}
			wanted := make(map[[2]string]bool)
			for _, g := range c.Groups {
				if j.note(p.file, g, found) {
					wanted[[2]string{g.Name, g.Indom}] = true
				}
			}
			if len(wanted) == 0 {
				return nil
			}
			t, err := j.draining(p.file).Standing(p.ref, p.ref.Info.Last.Cont, func(name, indom string) bool { return wanted[[2]string{name, indom}] })
			if err == nil && t != nil && len(t.Blocks) > 0 {
				ticks = append(ticks, onceEach(t))
			}
			return err
		})
		p.ref.Opened = nil
		if err := j.unless(p, ofSource(err)); err != nil {
			return nil, err
		}
	}
	slices.Reverse(ticks)
	return ticks, nil
}
