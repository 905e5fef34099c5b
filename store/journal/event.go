package journal

import (
	"time"

	"tachograph/sample/metric"
)

// eventModels predict events from earlier ones. Each kind has models of its own, since the texts
// of one kind resemble each other.
type eventModels struct {
	at     stamps
	kind   *field
	kinds  map[metric.EventKind]*eventKind
	any    *field
	number number
}

type eventKind struct {
	text, indom, key, label *field
	labels                  number
	value                   map[string]*field
}

func (m *eventModels) reset() {
	m.at.reset()
	m.kind, m.any = newField('e'), newField('d')
	m.kinds = make(map[metric.EventKind]*eventKind)
	m.number.reset()
}

func (m *eventModels) of(k metric.EventKind) *eventKind {
	e := m.kinds[k]
	if e == nil {
		e = &eventKind{
			text: newField('t'), indom: newField('g'), key: newField('k'), label: newField('l'),
			value: make(map[string]*field),
		}
		e.labels.reset()
		m.kinds[k] = e
	}
	return e
}

const maxEventKinds = 1 << 8

// event codes ev; when decoding, ev is nil and a new one is returned.
func (s *state) event(ev *metric.Event) *metric.Event {
	c := &s.coder
	m := &s.events
	var e metric.Event
	if ev != nil {
		e = *ev
	}
	e.At = s.stamp(&m.at, e.At)
	e.Kind = metric.EventKind(c.text(&s.texts, m.kind, string(e.Kind)))
	if len(m.kinds) >= maxEventKinds && m.kinds[e.Kind] == nil {
		m.kinds = make(map[metric.EventKind]*eventKind)
	}
	if m.kinds[e.Kind] == nil {
		s.texts.built += 4 * fieldBytes
	}
	k := m.of(e.Kind)
	e.Indom = c.text(&s.texts, k.indom, e.Indom)
	e.Key = c.text(&s.texts, k.key, e.Key)
	s.texts.keyOf(e.Key)
	e.Text = c.text(&s.texts, k.text, e.Text)
	n := c.count(&k.labels, len(e.Labels), maxLabels)
	s.texts.built += n * labelBytes
	var labels []metric.Label
	for i := range n {
		var l metric.Label
		if !c.dec {
			l = e.Labels[i]
		}
		l.Name = c.text(&s.texts, k.label, l.Name)
		f := k.value[l.Name]
		if f == nil {
			if len(k.value) >= maxLabels {
				f = m.any
			} else {
				f = newField('v')
				k.value[l.Name] = f
				s.texts.built += fieldBytes
			}
		}
		l.Value = c.text(&s.texts, f, l.Value)
		if c.bad() {
			return nil
		}
		if c.dec {
			labels = append(labels, l)
		}
	}
	if !c.dec {
		return ev
	}
	e.Labels = labels
	return &e
}

const maxDescs = 1 << 16

// catalog codes full descriptions of metrics.
func (s *state) catalog(ds []*metric.Desc) []*metric.Desc {
	c := &s.coder
	m := &s.events
	n := c.count(&m.number, len(ds), maxDescs)
	var out []*metric.Desc
	for i := range n {
		var d *metric.Desc
		if !c.dec {
			d = ds[i]
		}
		d = s.desc(d)
		pmid := c.unsigned(&m.number, uint64(d.PMID))
		fastest := c.signed(&m.number, int64(d.Fastest))
		var texts [6]string
		for j, v := range [6]string{d.Indom, d.Source, d.Help, d.LongHelp, d.Formula, d.Unsupported} {
			texts[j] = c.text(&s.texts, m.any, v)
		}
		if c.bad() {
			return nil
		}
		if c.dec {
			d.PMID, d.Fastest = metric.PMID(pmid), time.Duration(fastest)
			d.Indom, d.Source, d.Help, d.LongHelp, d.Formula, d.Unsupported = texts[0], texts[1], texts[2], texts[3], texts[4], texts[5]
			out = append(out, d)
		}
	}
	return out
}

// configClasses is how many classes have intervals in a configuration record. The number is part
// of the format: the intervals of later classes must be recorded in some other way, or an
// upgraded recorder could not continue the journal of its predecessor.
const configClasses = 8

// config codes a configuration; when decoding, conf is nil.
func (s *state) config(conf *Config) *Config {
	c := &s.coder
	m := &s.events
	if c.dec {
		conf = &Config{}
	}
	out := Config{Text: c.text(&s.texts, m.any, conf.Text)}
	for cl := range metric.Class(configClasses) {
		every := conf.Intervals[cl]
		if c.unsigned(&m.number, uint64(b2i(every != 0))) != 0 {
			out.Intervals[cl] = time.Duration(c.signed(&m.number, int64(every)))
		}
	}
	out.Sync = time.Duration(c.signed(&m.number, int64(conf.Sync)))
	out.Seal = time.Duration(c.signed(&m.number, int64(conf.Seal)))
	return &out
}
