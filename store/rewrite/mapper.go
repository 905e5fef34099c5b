package rewrite

import (
	"slices"

	"tachograph/sample/metric"
)

// A mapper changes ticks by a Mapping, which it calls once for each instance and text.
type mapper struct {
	Mapping
	groups map[*metric.Group]*mappedGroup
	descs  map[*metric.Desc]*metric.Desc
	whys   map[metric.Reason]metric.Reason // no more than there can be reasons
	insts  map[*metric.Instance]*mappedInstance
	texts  map[mappedText]mappedWord
	made   metric.Tick
	blocks []metric.Block
}

type mappedGroup struct {
	metric.Group
	maps []bool // whether numbers of the metric are changed
}

type mappedInstance struct {
	rev uint32
	metric.Instance
}

type mappedText struct {
	d    *metric.Desc
	in   *metric.Instance
	text string
}

type mappedWord struct {
	text string
	keep bool
}

// mostMapped limits how many answers of a Mapping are kept.
const mostMapped = 1 << 16

func newMapper(m Mapping) *mapper {
	return &mapper{Mapping: m, groups: make(map[*metric.Group]*mappedGroup), descs: make(map[*metric.Desc]*metric.Desc), whys: make(map[metric.Reason]metric.Reason), insts: make(map[*metric.Instance]*mappedInstance), texts: make(map[mappedText]mappedWord)}
}

// group returns what g becomes, the same pointer each time for the same g.
func (m *mapper) group(g *metric.Group) *mappedGroup {
	to := m.groups[g]
	if to == nil {
		if len(m.groups) >= mostMapped {
			clear(m.groups)
			clear(m.descs)
		}
		to = &mappedGroup{Group: metric.Group{Name: g.Name, Indom: g.Indom, Metrics: make([]*metric.Desc, len(g.Metrics))}, maps: make([]bool, len(g.Metrics))}
		for i, d := range g.Metrics {
			if m.descs[d] == nil {
				m.descs[d] = m.Desc(d)
			}
			to.Metrics[i], to.maps[i] = m.descs[d], d.Type != metric.String && m.Maps(d)
		}
		m.groups[g] = to
	}
	return to
}

// instance returns what in becomes, the same pointer each time for the same in.
func (m *mapper) instance(indom string, in *metric.Instance) *metric.Instance {
	if in == nil {
		return nil
	}
	got := m.insts[in]
	if got != nil && got.rev == in.Rev {
		return &got.Instance
	}
	if got == nil {
		if len(m.insts) >= mostMapped {
			clear(m.insts)
		}
		got = new(mappedInstance)
		m.insts[in] = got
	}
	to := m.Instance(indom, in)
	got.rev = in.Rev
	got.Instance = metric.Instance{ID: in.ID, Key: to.Key, Name: to.Name, Labels: slices.Clone(to.Labels), Rev: in.Rev}
	return &got.Instance
}

// tick returns what t becomes, valid until the next call.
func (m *mapper) tick(t *metric.Tick) *metric.Tick {
	m.made = metric.Tick{Class: t.Class, At: t.At, Blocks: m.made.Blocks[:0]}
	m.blocks = slices.Grow(m.blocks[:0], len(t.Blocks))[:len(t.Blocks)]
	for i, b := range t.Blocks {
		to := &m.blocks[i]
		g := m.group(b.Group)
		to.Group, to.At, to.Rows = &g.Group, b.At, to.Rows[:0]
		for _, in := range b.Rows {
			to.Rows = append(to.Rows, m.instance(b.Group.Indom, in))
		}
		to.Cols = append(to.Cols[:0], b.Cols...)
		for c, d := range b.Group.Metrics {
			to.Cols[c].Miss = m.reasons(b.Cols[c].Miss)
			switch {
			case d.Type == metric.String:
				to.Cols[c] = m.column(d, b, c)
			case g.maps[c]:
				to.Cols[c] = m.numbers(d, b, c)
			}
		}
		m.made.Blocks = append(m.made.Blocks, to)
	}
	return &m.made
}

// column maps a column of strings.
func (m *mapper) column(d *metric.Desc, b *metric.Block, c int) metric.Column {
	from := &b.Cols[c]
	to := metric.Column{Bits: make([]uint64, len(from.Bits)), Miss: slices.Clone(m.reasons(from.Miss))}
	for i := range from.Bits {
		if from.Miss != nil && from.Miss[i] != metric.Present {
			continue
		}
		w := m.word(d, b.Rows[i], from.Word(i))
		if !w.keep {
			hide(&to, i)
			continue
		}
		to.Bits[i] = uint64(len(to.Words))
		to.Words = append(to.Words, w.text)
	}
	return to
}

// hide makes a value absent.
func hide(c *metric.Column, i int) {
	if c.Miss == nil {
		c.Miss = make([]metric.Reason, len(c.Bits))
	}
	c.Miss[i], c.Bits[i] = Redacted, 0
}

// numbers maps a column of numbers.
func (m *mapper) numbers(d *metric.Desc, b *metric.Block, c int) metric.Column {
	from := &b.Cols[c]
	to := metric.Column{Bits: slices.Clone(from.Bits), Miss: slices.Clone(m.reasons(from.Miss))}
	for i := range to.Bits {
		if to.Miss != nil && to.Miss[i] != metric.Present {
			continue
		}
		v, keep := m.Number(d, to.Bits[i])
		if to.Bits[i] = v; !keep {
			hide(&to, i)
		}
	}
	return to
}

// reasons maps reasons; mostly they stay as they are.
func (m *mapper) reasons(from []metric.Reason) []metric.Reason {
	to := from
	for i, r := range from {
		if r <= metric.Other {
			continue // these are fixed reasons, not the text of an error
		}
		mapped, ok := m.whys[r]
		if !ok {
			mapped = m.Reason(r)
			m.whys[r] = mapped
		}
		if mapped != r {
			if &to[0] == &from[0] {
				to = slices.Clone(from)
			}
			to[i] = mapped
		}
	}
	return to
}

func (m *mapper) word(d *metric.Desc, in *metric.Instance, text string) mappedWord {
	key := mappedText{d, in, text}
	w, ok := m.texts[key]
	if !ok {
		if len(m.texts) >= mostMapped {
			clear(m.texts)
		}
		w.text, w.keep = m.Text(d, in, text)
		m.texts[key] = w
	}
	return w
}
