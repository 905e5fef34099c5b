package journal

import (
	"slices"

	"tachograph/sample/metric"
)

// define codes a group that appears for the first time in this generation. It codes only what is
// needed to understand the values of its metrics; help and source are in the archive's
// catalogue.
func (s *state) define(gs *groups, def *metric.Group) (*group, error) {
	c := &s.coder
	if c.dec {
		def = &metric.Group{}
	}
	name := c.text(&s.texts, s.names, def.Name)
	indom := c.text(&s.texts, s.names, def.Indom)
	n := c.count(&s.columns, len(def.Metrics), maxColumns)
	if s.metricsSeen += n; s.metricsSeen > maxMetrics || c.bad() {
		return nil, errCorrupt
	}
	if c.dec {
		*def = metric.Group{Name: name, Indom: indom, Metrics: make([]*metric.Desc, 0, min(n, 64))}
	}
	for i := range n {
		var d *metric.Desc
		if !c.dec {
			d = def.Metrics[i]
		}
		if d = s.desc(d); c.bad() || !d.Type.Valid() {
			return nil, errCorrupt
		}
		if c.dec {
			d.Indom = indom
			def.Metrics = append(def.Metrics, d)
		}
	}
	return gs.add(def)
}

func (s *state) desc(d *metric.Desc) *metric.Desc {
	c := &s.coder
	if c.dec {
		d = &metric.Desc{}
	}
	out := metric.Desc{Name: c.text(&s.texts, s.metrics, d.Name)}
	if s.rows[0] != nil {
		if c.bit(&s.descSame, b2i(!c.dec && s.lastDesc == coded(d))) != 0 {
			if c.dec {
				*d = s.lastDesc
				d.Name = out.Name
			}
			return d
		}
	}
	out.Type = metric.Type(c.unsigned(&s.descBits, uint64(d.Type)))
	out.Sem = metric.Semantics(c.unsigned(&s.descBits, uint64(d.Sem)))
	out.Class = metric.Class(c.unsigned(&s.descBits, uint64(d.Class)))
	out.Width = uint8(c.unsigned(&s.descBits, uint64(d.Width)))
	out.Clamped = c.unsigned(&s.descBits, uint64(b2i(d.Clamped))) != 0
	u := &d.Units
	for _, v := range []*int8{&u.Space, &u.Time, &u.Count, &u.SpaceScale, &u.TimeScale, &u.CountScale} {
		w := int8(c.signed(&s.descBits, int64(*v)))
		if c.dec {
			*v = w
		}
	}
	out.Units = *u
	out.Units.Other = c.text(&s.texts, s.units, u.Other)
	s.lastDesc = coded(&out)
	if c.dec {
		*d = out
	}
	return d
}

// coded returns what desc codes of d, except the name.
func coded(d *metric.Desc) metric.Desc {
	return metric.Desc{Type: d.Type, Sem: d.Sem, Class: d.Class, Width: d.Width, Clamped: d.Clamped, Units: d.Units}
}

// find returns this generation's instance for in, or nil.
func (d *indom) find(in *metric.Instance) *instance {
	if in == nil {
		if d.name == metric.NoIndom {
			return d.insts[0]
		}
		return nil
	}
	if i := d.byID[in.ID]; i != nil && i.key == in.Key {
		return i
	}
	return nil
}

// defineInstance codes an instance that appears for the first time.
func (s *state) defineInstance(d *indom, in *metric.Instance) (*instance, error) {
	c := &s.coder
	s.instances++
	if c.dec && s.instances > instancesFree+c.fed*instancesPerByte {
		return nil, errCorrupt
	}
	if len(d.insts) >= maxInstances || d.name == metric.NoIndom {
		return nil, errCorrupt
	}
	var key string
	if !c.dec {
		key = in.Key
	}
	key = c.text(&s.texts, d.key, key)
	if c.dec {
		if in = s.internOf(d, key); in == nil {
			in = &metric.Instance{ID: uint64(len(d.insts)) + 1, Key: key}
		}
	}
	inst := d.add(in)
	if c.dec {
		inst.in = in
	}
	if c.bad() {
		return nil, errCorrupt
	}
	return inst, s.describe(d, inst, in)
}

func (s *state) internOf(d *indom, key string) *metric.Instance {
	if s.intern == nil {
		return nil
	}
	return s.intern(d.name, key)
}

// describe codes the name and the labels that in has, for inst.
func (s *state) describe(d *indom, inst *instance, in *metric.Instance) error {
	c := &s.coder
	if c.dec {
		in = inst.in
	}
	s.texts.keyOf(inst.key)
	name := c.text(&s.texts, d.text, in.Name)
	n := c.count(&d.labels, len(in.Labels), maxLabels)
	s.texts.built += n * labelBytes
	if c.bad() {
		return errCorrupt
	}
	var labels []metric.Label
	for i := range n {
		var l metric.Label
		if !c.dec {
			l = in.Labels[i]
		}
		l.Name = c.text(&s.texts, d.labelName, l.Name)
		f := d.label[l.Name]
		if f == nil {
			f = s.strings
			if len(d.label) < maxLabels {
				f = newField('v')
				d.label[l.Name] = f
				s.texts.built += fieldBytes
			}
		}
		l.Value = c.text(&s.texts, f, l.Value)
		if c.bad() {
			return errCorrupt
		}
		if c.dec {
			labels = append(labels, l)
		}
	}
	inst.rev = in.Rev
	if c.dec {
		// An instance that an earlier generation named mostly has the same name still.
		if in.Rev == 0 || in.Name != name || !slices.Equal(in.Labels, labels) {
			in.Name, in.Labels = name, labels
			in.Rev++
		}
		inst.rev = in.Rev
	}
	return nil
}
