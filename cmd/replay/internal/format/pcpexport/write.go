package pcpexport

import (
	"cmp"
	"maps"
	"slices"

	"tachograph/cmd/internal/pcp/pcparchive"
	"tachograph/sample/metric"
	"tachograph/sample/pcp"
)

// A plan says how the blocks of a group are written.
type plan struct {
	group    *metric.Group
	metrics  []*pcp.Metric
	rosters  []*roster
	about    *pcp.Metric
	numbers  *numbers
	rows     []*metric.Instance // those of the last block
	revs     []uint32
	ids      []uint32
	boot     string
	misses   [][]metric.Reason // of each metric, as last written, and their instances
	missing  [][]uint32
	news     []uint32
	newTexts []string
}

type planKey struct {
	group string
	class metric.Class
}

// together writes the steps of one time: first the instances, which are written once for a time,
// then the records.
func (e *exporter) together(steps []*step) error {
	wall, least := max(steps[0].wall, e.first), e.last
	if other := steps[0].boot != e.wrote; other || e.read && !slices.ContainsFunc(steps, (*step).values) && steps[0].mark {
		least += 2 // a mark comes between, and records of two boots must have different times
	}
	if e.any && wall < least {
		if steps = e.events(steps); len(steps) == 0 {
			return nil
		}
		wall = least // an event has its exact time in it
	}
	e.wrote = steps[0].boot
	if err := e.start(wall); err != nil {
		return err
	}
	for _, s := range steps {
		if s.mark && e.read && e.last < wall {
			if err := e.w.Mark(e.last + 1); err != nil {
				return err
			}
		}
	}
	if err := e.context(wall); err != nil {
		return err
	}
	for _, s := range steps {
		for _, b := range s.blocks {
			if err := e.attend(s, b); err != nil {
				return err
			}
		}
	}
	for _, r := range e.sortedRosters() {
		if err := r.write(e.w, wall); err != nil {
			return err
		}
	}
	for _, s := range steps {
		var err error
		if s.event != nil {
			err = e.event(s, wall)
		} else {
			err = e.record(s, wall)
			e.read = true
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// values reports whether s has values, that is, is not an event.
func (s *step) values() bool { return s.event == nil }

// events returns the events among steps that lie before what is already written. The values of
// the other steps are left out.
func (e *exporter) events(steps []*step) []*step {
	var kept []*step
	for _, s := range steps {
		if s.event != nil {
			kept = append(kept, s)
			continue
		}
		e.broken = e.broken || s.mark
		for _, b := range s.blocks {
			e.behind += int64(len(b.Rows) * len(b.Cols))
		}
	}
	return kept
}

// start begins the archive with its first record.
func (e *exporter) start(wall int64) (err error) {
	if e.w != nil {
		return nil
	}
	tz, zone := pcp.Zone(e.info.TimeZone, wall)
	e.w, err = pcparchive.Create(e.base, pcparchive.Options{
		Label: pcparchive.Label{PID: pid(e.info.ID), Start: wall, Host: e.info.Host.Name, TZ: tz, Zone: zone},
		Force: e.force,
	})
	return err
}

// pid returns the process ID for the label of the archive: the same for the same archive, so
// that exporting it again gives the same files.
func pid(id string) int32 { return int32(uint32(pcp.NumberOf(id)) & 0x3fffff) }

// context writes the labels of the machine, if they have changed.
func (e *exporter) context(wall int64) error {
	set := labelSet(hostLabels(e.info), pcp.LabelContext, pcp.Null)
	if set.JSON == e.host {
		return nil
	}
	e.host = set.JSON
	return e.w.Labels(wall, pcp.LabelContext, pcp.Null, []pcparchive.LabelSet{set})
}

func (e *exporter) sortedRosters() []*roster {
	return slices.SortedFunc(maps.Values(e.rosters), func(a, b *roster) int { return cmp.Compare(a.indom, b.indom) })
}

// describe writes the description of a metric, once.
func (e *exporter) describe(m *pcp.Metric, group string, wall int64) error {
	if e.described[m] {
		return nil
	}
	e.described[m] = true
	err := e.w.Desc(&pcparchive.Desc{PMID: uint32(m.PMID), Type: m.Type, InDom: m.InDom, Semantics: m.Semantics, Units: m.Units, Names: []string{m.Name}})
	if err != nil {
		return err
	}
	if err := e.w.Text(uint32(m.PMID), m.Desc.Help, m.Desc.LongHelp); err != nil {
		return err
	}
	return e.w.Labels(wall, pcp.LabelItem, uint32(m.PMID), []pcparchive.LabelSet{labelSet(pcp.MetricLabels(m, group), pcp.LabelItem, pcp.Null)})
}

// plan returns how blocks of a group are written.
func (e *exporter) plan(s *step, g *metric.Group) (*plan, error) {
	key := planKey{g.Name, s.class}
	if p := e.plans[key]; p != nil {
		if p.group == g {
			return p, nil
		}
		p.clear()
	}
	p := &plan{group: g}
	e.plans[key] = p
	add := func(d *metric.Desc) (*pcp.Metric, error) {
		m := e.space.Add(d)
		if m.InDom != pcp.Null {
			r := e.rosters[m.InDom]
			if r == nil {
				r = newRoster(m.InDom, d.Indom)
				e.rosters[m.InDom] = r
			}
			if !slices.Contains(p.rosters, r) {
				p.rosters = append(p.rosters, r)
			}
		}
		return m, e.describe(m, g.Name, s.wall)
	}
	for _, d := range g.Metrics {
		m, err := add(d)
		if err != nil {
			return nil, err
		}
		p.metrics = append(p.metrics, m)
	}
	if g.Indom == metric.NoIndom {
		return p, nil
	}
	if e.numbers[g.Indom] == nil {
		e.numbers[g.Indom] = newNumbers(g.Indom)
		e.abouts[g.Indom] = e.space.Add(aboutDesc(g.Indom))
	}
	p.numbers = e.numbers[g.Indom]
	var err error
	p.about, err = add(e.abouts[g.Indom].Desc)
	return p, err
}

// attend notes which instances a block has.
func (e *exporter) attend(s *step, b *metric.Block) error {
	p, err := e.plan(s, b.Group)
	if err != nil || p.numbers == nil {
		return err
	}
	p.news, p.newTexts = p.news[:0], p.newTexts[:0]
	if p.same(s, b) {
		return nil
	}
	if p.boot != s.boot {
		p.clear()
		p.boot = s.boot
	}
	before := make(map[*metric.Instance]int, len(p.rows))
	for i, in := range p.rows {
		before[in] = i
	}
	// Instances that have gone leave first, because a new one may have the same name.
	ids := make([]uint32, len(b.Rows))
	var came []int
	for i, in := range b.Rows {
		was, known := before[in]
		if !known {
			came = append(came, i)
			continue
		}
		ids[i] = p.ids[was]
		delete(before, in)
		if p.revs[was] != in.Rev {
			for _, r := range p.rosters {
				r.changed(ids[i], in)
			}
			p.news, p.newTexts = append(p.news, ids[i]), append(p.newTexts, aboutInstance(in))
		}
	}
	for in, i := range before {
		p.leave(in, p.ids[i])
	}
	for _, i := range came {
		in := b.Rows[i]
		if ids[i], err = p.numbers.of(s.boot, in); err != nil {
			return err
		}
		for _, r := range p.rosters {
			r.enter(ids[i], in)
		}
		p.news, p.newTexts = append(p.news, ids[i]), append(p.newTexts, aboutInstance(in))
	}
	p.ids, p.rows, p.revs = ids, append(p.rows[:0], b.Rows...), p.revs[:0]
	for _, in := range b.Rows {
		p.revs = append(p.revs, in.Rev)
	}
	return nil
}

// clear makes all instances leave.
func (p *plan) clear() {
	for i, in := range p.rows {
		p.leave(in, p.ids[i])
	}
	p.rows, p.revs, p.ids = p.rows[:0], p.revs[:0], nil
}

func (p *plan) leave(in *metric.Instance, id uint32) {
	p.numbers.leave(p.boot, in)
	for _, r := range p.rosters {
		r.leave(id)
	}
}

// same reports whether a block has the instances of the last one.
func (p *plan) same(s *step, b *metric.Block) bool {
	if p.boot != s.boot || !slices.Equal(p.rows, b.Rows) {
		return false
	}
	for i, in := range b.Rows {
		if p.revs[i] != in.Rev {
			return false
		}
	}
	return true
}

// record writes the blocks of a step.
func (e *exporter) record(s *step, wall int64) error {
	sets := e.sets[:0]
	for _, m := range e.own[:3] {
		if err := e.describe(m, "tachograph", wall); err != nil {
			return err
		}
	}
	sets = append(sets,
		single(e.own[0], metric.Column{Bits: []uint64{0}, Words: []string{s.class.String()}}),
		single(e.own[1], metric.Column{Bits: []uint64{uint64(s.at.Awake)}}),
		single(e.own[2], metric.Column{Bits: []uint64{uint64(s.at.Cont)}}))
	var missing []absences
	for _, b := range s.blocks {
		p := e.plans[planKey{b.Group.Name, s.class}]
		b = p.fitting(b)
		ids := p.ids
		if p.numbers == nil {
			ids = pcparchive.Singular()
		}
		if p.numbers != nil && len(p.news) > 0 {
			c := &metric.Column{Words: p.newTexts}
			for i := range p.news {
				c.Bits = append(c.Bits, uint64(i))
			}
			sets = append(sets, pcparchive.Set{PMID: uint32(p.about.PMID), Type: pcp.String, Instances: p.news, Values: c})
		}
		missing = p.absent(missing, b, ids)
		for i, m := range p.metrics {
			c := &b.Cols[i]
			sets = append(sets, pcparchive.Set{PMID: uint32(m.PMID), Type: m.Type, Instances: ids, Values: c})
			for _, why := range c.Miss {
				if why != metric.Present {
					e.report.Absent++
				}
			}
		}
		e.report.Values += int64(len(b.Rows) * len(b.Cols))
	}
	if len(missing) > 0 {
		if err := e.describe(e.absent, "tachograph", wall); err != nil {
			return err
		}
		sets = append(sets, e.absences(missing))
	}
	e.sets = sets[:0]
	return e.result(wall, sets)
}

// fitting returns a block with the values that PCP can hold.
func (p *plan) fitting(b *metric.Block) *metric.Block {
	of := b
	for i, m := range p.metrics {
		if !m.Narrower() {
			continue
		}
		for row, bits := range b.Cols[i].Bits {
			if m.Fits(bits) || b.Cols[i].At(m.Desc.Type, row).Miss != metric.Present {
				continue
			}
			if of == b {
				c := *b
				c.Cols = slices.Clone(b.Cols)
				of = &c
			}
			col := &of.Cols[i]
			miss := make([]metric.Reason, len(col.Bits))
			copy(miss, col.Miss)
			miss[row], col.Miss = pcp.TooWide, miss
		}
	}
	return of
}

func (e *exporter) result(wall int64, sets []pcparchive.Set) error {
	e.last, e.any = wall, true
	return e.w.Result(wall, sets)
}

func single(m *pcp.Metric, c metric.Column) pcparchive.Set {
	return pcparchive.Set{PMID: uint32(m.PMID), Type: m.Type, Instances: pcparchive.Singular(), Values: &c}
}

// event writes an event. If it happened before what is already written, it gets the time of the
// last record; its exact time is in its JSON.
func (e *exporter) event(s *step, wall int64) error {
	for _, m := range e.own[3:] {
		if err := e.describe(m, "tachograph", wall); err != nil {
			return err
		}
	}
	var sets []pcparchive.Set
	for i, text := range []string{string(s.event.Kind), s.event.Text, aboutEvent(s.event)} {
		sets = append(sets, single(e.own[3+i], metric.Column{Bits: []uint64{0}, Words: []string{text}}))
	}
	return e.result(wall, sets)
}
