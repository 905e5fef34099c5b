package samples

import (
	"slices"

	"tachograph/cmd/replay/internal/naming"
	"tachograph/sample/metric"
)

// arrange finds the series of a block with other rows or metrics than the last one, and ends the
// series that it no longer has.
func (m *Maker) arrange(p *latest, class metric.Class, b *metric.Block) {
	old, words := p.series, m.standing(p)
	p.group, p.rows, p.words = b.Group, slices.Clone(b.Rows), nil
	p.outs, p.alike = m.outs(class, b.Group), alike(b.Rows)
	n := len(b.Rows)
	p.series = make([]*Series, len(p.outs)*n)
	now := make(map[*Series]bool, len(p.series))
	for i := range p.outs {
		o := &p.outs[i]
		if o.text || len(o.source.Texts) > 0 {
			m.keep(p, o, i, b, words, now)
			continue
		}
		for row, in := range b.Rows {
			labels, ok := m.labels(o, b.Group.Metrics[o.column], in)
			if !ok {
				continue
			}
			s := m.find(o, labels)
			if now[s] {
				// Instances with the same name get an additional label that distinguishes them.
				if in == nil {
					continue
				}
				if s = m.find(o, append(labels, naming.Label{Name: "key", Value: in.Key})); now[s] {
					continue
				}
			}
			now[s] = true
			p.series[i*n+row] = s
		}
	}
	for _, s := range old {
		if s != nil && !now[s] {
			p.ending = append(p.ending, s)
		}
	}
}

// apart returns the labels of a row, with its key if another instance has the same name.
func (m *Maker) apart(p *latest, o *out, d *metric.Desc, in *metric.Instance, row int) ([]naming.Label, bool) {
	labels, ok := m.labels(o, d, in)
	if ok && p.alike[row] {
		labels = append(labels, naming.Label{Name: "key", Value: in.Key})
	}
	return labels, ok
}

// alike marks the instances with the same name as one before them.
func alike(rows []*metric.Instance) []bool {
	list := make([]bool, len(rows))
	seen := make(map[string]bool, len(rows))
	for i, in := range rows {
		if in != nil {
			list[i] = seen[in.Name]
			seen[in.Name] = true
		}
	}
	return list
}

// wordsOf identifies a series of texts independently of its cell.
type wordsOf struct{ family, metric, key string }

func cellOf(o *out, d *metric.Desc, in *metric.Instance) wordsOf {
	id := wordsOf{family: o.family.Name, metric: d.Name}
	if in != nil {
		id.key = in.Key
	}
	return id
}

// standing returns the texts of the present series.
func (m *Maker) standing(p *latest) map[wordsOf][]naming.Label {
	if len(p.words) == 0 {
		return nil
	}
	all := make(map[wordsOf][]naming.Label, len(p.words))
	for cell, words := range p.words {
		if p.series[cell] != nil {
			o := &p.outs[cell/len(p.rows)]
			all[cellOf(o, p.group.Metrics[o.column], p.rows[cell%len(p.rows)])] = words
		}
	}
	return all
}

// keep keeps series of texts whose instances are still there.
func (m *Maker) keep(p *latest, o *out, i int, b *metric.Block, words map[wordsOf][]naming.Label, now map[*Series]bool) {
	d, n := b.Group.Metrics[o.column], len(b.Rows)
	for row, in := range b.Rows {
		stood, ok := words[cellOf(o, d, in)]
		if !ok {
			continue
		}
		labels, ok := m.apart(p, o, d, in, row)
		if !ok {
			continue
		}
		if s := m.find(o, append(labels, stood...)); s.alive && !now[s] {
			if p.words == nil {
				p.words = make(map[int][]naming.Label)
			}
			now[s] = true
			p.series[i*n+row], p.words[i*n+row] = s, stood
		}
	}
}
