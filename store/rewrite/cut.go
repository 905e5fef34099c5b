package rewrite

import (
	"tachograph/sample/metric"
	"tachograph/store/archive"
	"tachograph/store/chunk"
	"tachograph/store/fault"
)

// If a window begins or ends in the middle of a chunk, the wanted part is cut out column by
// column, because making ticks of columns and columns of ticks again would be twice the work.
// The result is the same. In unusual cases (several parts cover one time, the clock was set
// back, something cannot be read) the part is still copied tick by tick.

// A cutting holds the stretches that are cut out of consecutive parts.
type cutting struct {
	parts     []part
	stretches []chunk.Stretch
	lead      int64        // see job
	first     metric.Stamp // of the first tick
	from, to  int64        // wall clocks of the first and last tick of the window
	any       bool         // the cutting has ticks of the window
}

// cutBeginning copies the parts in which the window begins, starting with the part of b, and
// returns them: none if they cannot be cut.
func (j *job) cutBeginning(b, window beginning) (done []*archive.ChunkRef, err error) {
	cut := cutting{lead: j.lead}
	for i := b.part; i < len(j.parts); i++ {
		in := &j.parts[i].ref.Info
		if i > window.part && (!j.reaches(in) || in.From >= j.from && in.To <= j.to) {
			break
		}
		stands := -1
		if i == b.part {
			stands = b.first - 1
		}
		if !j.stretch(&cut, i, stands) {
			break
		}
	}
	if len(cut.parts) <= window.part-b.part {
		return nil, nil
	}
	if ok, err := j.take(&cut); !ok || err != nil {
		return nil, err
	}
	j.lead = cut.lead
	for _, p := range cut.parts {
		done = append(done, p.ref)
	}
	return done, nil
}

// cutOne copies the window's share of a part, and reports whether it could be cut.
func (j *job) cutOne(i int) (bool, error) {
	cut := cutting{lead: j.lead}
	if !j.stretch(&cut, i, -1) {
		return false, nil
	}
	return j.take(&cut)
}

// stretch adds the wanted ticks of part number i to cut, from tick number stands on unless that
// is negative, and reports whether they can be cut.
func (j *job) stretch(cut *cutting, i, stands int) (ok bool) {
	p := j.parts[i]
	if !j.opt.whole() || !j.alone(i) || len(j.files[p.file].Hidden) > 0 || p.ref.Info.Values > archive.MergeValues {
		return false
	}
	if len(cut.parts) > 0 && cut.parts[0].file != p.file {
		return false // its metrics have other numbers
	}
	err := fault.Contain(func() error {
		c, err := p.ref.Open()
		if err != nil {
			return err
		}
		stamps, err := c.Stamps()
		if err != nil {
			return err
		}
		lead := cut.lead
		if stands >= 0 {
			lead = stamps[stands].Cont
		}
		s, inside, straight := j.wanted(stamps, lead)
		if !straight {
			return nil
		}
		s.Chunk = c.Chunk
		switch {
		case stands < 0:
		case s.From == s.Until:
			s.From, s.Until, s.Stands, inside = stands, stands+1, true, stands+1
		case s.From == stands+1:
			s.From, s.Stands = stands, true
		default:
			return nil
		}
		if s.From == s.Until {
			return nil
		}
		first := cut.first
		if len(cut.parts) == 0 {
			first = stamps[s.From]
		}
		if stamps[s.Until-1].Cont-first.Cont > j.w.span() {
			return nil
		}
		if ok, err = j.regular(s, inside); !ok || err != nil {
			return err
		}
		cut.parts, cut.stretches = append(cut.parts, p), append(cut.stretches, s)
		cut.lead, cut.first = lead, first
		for _, at := range stamps[inside:s.Until] {
			if !cut.any {
				cut.any, cut.from, cut.to = true, at.Wall, at.Wall
			}
			cut.from, cut.to = min(cut.from, at.Wall), max(cut.to, at.Wall)
		}
		return nil
	})
	return ok && err == nil
}

// wanted returns the ticks of a chunk that lead to the window and those in the window, which
// begin at number inside; straight is false if these ticks are not consecutive.
func (j *job) wanted(stamps []metric.Stamp, lead int64) (s chunk.Stretch, inside int, straight bool) {
	inside = -1
	for n, at := range stamps {
		leads := at.Cont > lead && at.Cont < j.opens
		within := at.Wall >= j.from && at.Wall <= j.to
		switch {
		case n > 0 && at.Cont <= stamps[n-1].Cont, leads && inside >= 0:
			return s, 0, false
		case !leads && !within:
			if at.Wall < j.from && at.Cont > lead {
				return s, 0, false // before the window, but after the ticks that lead to it
			}
			continue
		case s.From == s.Until:
			s.From = n
		case s.Until != n:
			return s, 0, false
		}
		s.Until = n + 1
		if !leads && inside < 0 {
			inside = n
		}
	}
	if inside < 0 {
		inside = s.Until
	}
	return s, inside, true
}

// regular reports whether every block from tick number inside on was read in the window, and the
// chunk holds each group once: a plan that lists the same metrics in another order makes two
// groups of one.
func (j *job) regular(s chunk.Stretch, inside int) (bool, error) {
	seen := make(map[[2]string]bool)
	for _, g := range s.Chunk.Groups {
		if seen[[2]string{g.Name, g.Indom}] {
			return false, nil
		}
		seen[[2]string{g.Name, g.Indom}] = true
		wall, _, err := g.Times()
		if err != nil {
			return false, err
		}
		places, err := g.Places()
		if err != nil {
			return false, err
		}
		for k, tick := range places {
			if int(tick) >= inside && int(tick) < s.Until && (wall[k] < j.from || wall[k] > j.to) {
				return false, nil
			}
		}
	}
	return true, nil
}

// take copies the cutting, and reports whether it could be read.
func (j *job) take(cut *cutting) (bool, error) {
	f := j.views[cut.parts[0].file]
	var s *chunk.Sealed
	err := fault.Contain(func() (err error) {
		s, err = chunk.Cut(cut.stretches, f.Desc, j.w.number)
		return err
	})
	for _, p := range cut.parts {
		p.ref.Opened = nil
	}
	if err != nil {
		return false, nil // the tick by tick copy reports the error
	}
	if err := j.w.take(s); err != nil {
		return true, err
	}
	if cut.any {
		j.saw(cut.from, cut.to)
	}
	return true, nil
}
