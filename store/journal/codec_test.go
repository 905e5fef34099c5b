package journal

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"tachograph/sample/metric"
)

// sameTick returns the first difference between the tick that was encoded and the one that
// was decoded.
func sameTick(a, b *metric.Tick) error {
	if a.Class != b.Class || a.At != b.At || len(a.Blocks) != len(b.Blocks) {
		return fmt.Errorf("tick %v %v %d, want %v %v %d", b.Class, b.At, len(b.Blocks), a.Class, a.At, len(a.Blocks))
	}
	for i, x := range a.Blocks {
		if err := sameBlock(x, b.Blocks[i]); err != nil {
			return err
		}
	}
	return nil
}

func sameBlock(x, y *metric.Block) error {
	if x.Group.Name != y.Group.Name || x.Group.Indom != y.Group.Indom || x.At != y.At || len(x.Rows) != len(y.Rows) || len(x.Cols) != len(y.Cols) {
		return fmt.Errorf("block %s %v %d rows, want %s %v %d", y.Group.Name, y.At, len(y.Rows), x.Group.Name, x.At, len(x.Rows))
	}
	for r := range x.Rows {
		a, b := x.Rows[r], y.Rows[r]
		if (a == nil) != (b == nil) || a != nil && (a.Key != b.Key || a.Name != b.Name || !slices.Equal(a.Labels, b.Labels)) {
			return fmt.Errorf("instance %+v, want %+v", b, a)
		}
	}
	for c := range x.Cols {
		d, e := x.Group.Metrics[c], y.Group.Metrics[c]
		if d.Name != e.Name || d.Type != e.Type || d.Sem != e.Sem || d.Units != e.Units || d.Width != e.Width || d.Clamped != e.Clamped || d.Class != e.Class {
			return fmt.Errorf("metric %+v, want %+v", e, d)
		}
		for r := range x.Rows {
			if v, w := x.Cols[c].At(d.Type, r), y.Cols[c].At(d.Type, r); v != w {
				return fmt.Errorf("%s row %d: %+v, want %+v", d.Name, r, w, v)
			}
		}
	}
	return nil
}

// machine makes ticks of groups of every kind: instances come, go, and change their names
// and order; values of all types change in all ways.
type machine struct {
	rnd    *rand.Rand
	at     metric.Stamp
	nextID uint64
	groups []*metric.Block
	live   []*metric.Instance
}

func newMachine(seed uint64) *machine {
	m := &machine{rnd: rand.New(rand.NewPCG(seed, 1)), at: metric.Stamp{Wall: 1.8e18, Awake: 5e12, Cont: 7e12}}
	types := []metric.Type{metric.U64, metric.I64, metric.U32, metric.I32, metric.F64, metric.F32, metric.String}
	for i, indom := range []string{"", "process", "process", "disk", ""} {
		g := &metric.Group{Name: fmt.Sprintf("group%d", i), Indom: indom}
		for j := range 3 + 70*(i/4) + m.rnd.IntN(6) {
			g.Metrics = append(g.Metrics, &metric.Desc{
				Name: fmt.Sprintf("group%d.metric.%d", i, j), Type: types[(i+j)%len(types)],
				Sem: metric.Semantics(j % 3), Units: metric.Kbytes, Indom: indom, Width: uint8(j), Clamped: j%2 == 0, Class: metric.Class(j % 8),
			})
		}
		g.Metrics[1].Units = metric.Units{Other: "mW"}
		b := &metric.Block{Group: g, Cols: make([]metric.Column, len(g.Metrics))}
		if indom == metric.NoIndom {
			b.Rows = []*metric.Instance{nil}
		}
		m.groups = append(m.groups, b)
	}
	for range 20 {
		m.born()
	}
	return m
}

func (m *machine) born() *metric.Instance {
	m.nextID++
	in := &metric.Instance{
		ID: m.nextID, Key: fmt.Sprintf("%d/%d", 1000+m.nextID, m.rnd.IntN(1e9)),
		Name:   fmt.Sprintf("%06d %s", 1000+m.nextID, []string{"sh", "cc1", "ps aux", "\x00odd\xff", ""}[m.rnd.IntN(5)]),
		Labels: []metric.Label{{Name: "uid", Value: fmt.Sprint(m.rnd.IntN(3))}, {Name: "start", Value: time.Unix(0, m.at.Wall).UTC().Format(time.RFC3339Nano)}},
	}
	m.live = slices.Insert(m.live, m.rnd.IntN(len(m.live)+1), in)
	return in
}

// tick changes everything and returns a tick of class cl.
func (m *machine) tick(cl metric.Class) *metric.Tick {
	m.at.Cont += 1e9 + m.rnd.Int64N(1e5)
	m.at.Awake += 1e9
	m.at.Wall += 1e9 + m.rnd.Int64N(1e3) - m.rnd.Int64N(2)*m.rnd.Int64N(1e12)*(m.rnd.Int64N(20)/19)
	for range m.rnd.IntN(3) {
		m.born()
	}
	if m.rnd.IntN(2) == 0 && len(m.live) > 3 {
		m.live = slices.Delete(m.live, 1, 2+m.rnd.IntN(2))
	}
	if m.rnd.IntN(20) == 0 {
		m.rnd.Shuffle(len(m.live), func(i, j int) { m.live[i], m.live[j] = m.live[j], m.live[i] })
	}
	if m.rnd.IntN(4) == 0 && len(m.live) > 0 {
		in := m.live[m.rnd.IntN(len(m.live))]
		in.Name += "'"
		in.Rev++
	}
	t := &metric.Tick{Class: cl, At: m.at}
	for i, b := range m.groups {
		if m.rnd.IntN(15) == 0 {
			continue
		}
		b.At = m.at
		if i%2 == 0 {
			b.At.Cont += m.rnd.Int64N(1e6)
			b.At.Wall = b.At.Cont + 1.7e18
		}
		if b.Group.Indom != metric.NoIndom {
			b.Rows = append(b.Rows[:0], m.live[:len(m.live)*(i+1)/5]...)
		}
		for j := range b.Cols {
			m.column(&b.Cols[j], b.Group.Metrics[j].Type, len(b.Rows))
		}
		t.Blocks = append(t.Blocks, b)
	}
	return t
}

func (m *machine) column(c *metric.Column, t metric.Type, rows int) {
	if t == metric.String && c.Words == nil {
		c.Words = []string{"", "on"}
	}
	for len(c.Bits) < rows {
		if t == metric.String {
			c.Bits = append(c.Bits, 1)
		} else {
			c.Bits = append(c.Bits, m.rnd.Uint64()>>m.rnd.IntN(64))
		}
	}
	c.Bits = c.Bits[:rows]
	c.Miss = nil
	if m.rnd.IntN(3) == 0 {
		c.Miss = make([]metric.Reason, rows)
	}
	for i := range rows {
		if m.rnd.IntN(3) == 0 {
			m.move(c, t, i)
		}
		if c.Miss != nil && m.rnd.IntN(4) == 0 {
			c.Miss[i] = []metric.Reason{metric.Permission, metric.Vanished, metric.ReasonFor("odd answer"), metric.ReasonFor("no such device")}[m.rnd.IntN(4)]
			c.Bits[i] = 0
		}
	}
}

func (m *machine) move(c *metric.Column, t metric.Type, i int) {
	switch {
	case t == metric.String:
		c.Bits[i] = uint64(len(c.Words))
		c.Words = append(c.Words, []string{"", "on", "off", "state 17", "state 18", "007", fmt.Sprint("n", m.rnd.IntN(1e6)), "18446744073709551616", "a\x00b"}[m.rnd.IntN(9)])
	case t == metric.F32:
		c.Bits[i] = uint64(math.Float32bits(float32(m.rnd.IntN(1000)) / 100))
	case t == metric.F64 && m.rnd.IntN(2) == 0:
		c.Bits[i] = []uint64{math.Float64bits(math.NaN()), math.Float64bits(math.Inf(-1)), 1 << 63, math.Float64bits(0.53), math.Float64bits(1e300), 0x7ff8000000000123}[m.rnd.IntN(6)]
	default:
		c.Bits[i] += []uint64{1, 4096, 100, math.MaxUint64, 1 << 63, m.rnd.Uint64(), m.rnd.Uint64N(1000)}[m.rnd.IntN(7)]
	}
}

func TestEveryTickComesBack(t *testing.T) {
	for seed := range uint64(12) {
		m := newMachine(seed)
		enc, dec := NewEncoder(), NewDecoder(false, nil)
		var rec Record
		for i := range 250 {
			if i == 150 {
				enc.Reset()
				dec = NewDecoder(false, nil)
			}
			in := m.tick(metric.Class(i % 3))
			body, err := enc.Tick(nil, in)
			if err != nil {
				t.Fatal(err)
			}
			if err := dec.Decode(body, &rec); err != nil {
				t.Fatalf("seed %d tick %d: %v", seed, i, err)
			}
			if err := sameTick(in, rec.Tick); err != nil {
				t.Fatalf("seed %d tick %d: %v", seed, i, err)
			}
		}
	}
}

func TestInstancesAreInterned(t *testing.T) {
	m := newMachine(3)
	known := map[string]*metric.Instance{}
	intern := func(indom, key string) *metric.Instance {
		if known[indom+" "+key] == nil {
			known[indom+" "+key] = &metric.Instance{ID: uint64(len(known)), Key: key}
		}
		return known[indom+" "+key]
	}
	for range 3 {
		enc, dec := NewEncoder(), NewDecoder(false, intern)
		for range 30 {
			body, err := enc.Tick(nil, m.tick(metric.Fast))
			if err != nil {
				t.Fatal(err)
			}
			var rec Record
			if err := dec.Decode(body, &rec); err != nil {
				t.Fatal(err)
			}
			for _, b := range rec.Tick.Blocks {
				for _, in := range b.Rows {
					if in != nil && in != known[b.Group.Indom+" "+in.Key] {
						t.Fatalf("instance %s of %s was not interned", in.Key, b.Group.Indom)
					}
				}
			}
		}
	}
}

func TestOtherRecordsComeBack(t *testing.T) {
	enc, dec := NewEncoder(), NewDecoder(false, nil)
	events := []*metric.Event{
		{At: metric.Stamp{Wall: 5, Awake: 6, Cont: 7}, Kind: metric.EventProcessStart, Indom: "process", Key: "17/99", Text: "sh started", Labels: []metric.Label{{Name: "pid", Value: "17"}}},
		{At: metric.Stamp{Wall: 4, Awake: 6, Cont: 7}, Kind: metric.EventProcessStart, Indom: "process", Key: "18/100", Text: "sh started", Labels: []metric.Label{{Name: "pid", Value: "18"}, {Name: "x", Value: ""}}},
		{Kind: "something new", Text: "nul \x00 and a very long number 123456789012345678901234567890"},
		{},
	}
	for i := range 300 {
		events = append(events, &metric.Event{Kind: metric.EventKind(fmt.Sprintf("kind %d", i)), Labels: []metric.Label{{Name: fmt.Sprint("l", i)}}})
	}
	var rec Record
	for _, e := range events {
		body, err := enc.Event(nil, e)
		if err != nil {
			t.Fatal(err)
		}
		if err := dec.Decode(body, &rec); err != nil {
			t.Fatal(err)
		}
		if g := rec.Event; fmt.Sprintf("%#v", *g) != fmt.Sprintf("%#v", *e) {
			t.Fatalf("event %#v, want %#v", *g, *e)
		}
	}
	desc := &metric.Desc{
		Name: "a.b", PMID: metric.NewPMID(500, 1, 2), Type: metric.F32, Sem: metric.Discrete, Units: metric.PerSecond, Indom: "disk",
		Class: metric.Costly, Source: "there", Help: "h", LongHelp: "long\nhelp", Width: 31, Clamped: true, Formula: "x / y", Fastest: time.Minute, Unsupported: "no",
	}
	if err := dec.Decode(enc.Describe(nil, []*metric.Desc{desc, {}, desc}), &rec); err != nil {
		t.Fatal(err)
	}
	if len(rec.Descs) != 3 || *rec.Descs[0] != *desc || *rec.Descs[1] != (metric.Desc{}) || *rec.Descs[2] != *desc {
		t.Fatalf("descriptions %+v", rec.Descs)
	}
	conf := &Config{Text: "a = 1\n", Intervals: metric.Intervals{metric.Fast: time.Second, metric.Static: metric.Once}, Sync: time.Second, Seal: 5 * time.Minute}
	if err := dec.Decode(enc.Config(nil, conf), &rec); err != nil {
		t.Fatal(err)
	}
	if fmt.Sprintf("%#v", rec.Conf) != fmt.Sprintf("%#v", conf) {
		t.Fatalf("configuration %#v, want %#v", rec.Conf, conf)
	}
}

func TestMalformedTicksAreRefusedAndLeaveNoTrace(t *testing.T) {
	m := newMachine(9)
	enc, dec := NewEncoder(), NewDecoder(false, nil)
	in := &metric.Instance{ID: 1 << 40, Key: "x"}
	g := &metric.Group{Name: "g", Indom: "process", Metrics: []*metric.Desc{{Name: "g.m", Type: metric.U64}}}
	one := []metric.Column{{Bits: []uint64{1}}}
	bad := map[string]*metric.Tick{
		"class":          {Class: metric.NumClasses},
		"columns":        {Blocks: []*metric.Block{{Group: g, Rows: []*metric.Instance{in}}}},
		"short column":   {Blocks: []*metric.Block{{Group: g, Rows: []*metric.Instance{in}, Cols: []metric.Column{{}}}}},
		"short reasons":  {Blocks: []*metric.Block{{Group: g, Rows: []*metric.Instance{in, in}, Cols: []metric.Column{{Bits: []uint64{1, 2}, Miss: []metric.Reason{1}}}}}},
		"nil row":        {Blocks: []*metric.Block{{Group: g, Rows: []*metric.Instance{nil}, Cols: one}}},
		"instance twice": {Blocks: []*metric.Block{{Group: g, Rows: []*metric.Instance{in, in}, Cols: []metric.Column{{Bits: []uint64{1, 2}}}}}},
		"group twice":    {Blocks: []*metric.Block{m.groups[0], m.groups[0]}},
		"no domain":      {Blocks: []*metric.Block{{Group: &metric.Group{Name: "h"}, Rows: []*metric.Instance{in}}}},
	}
	var rec Record
	for i := range 40 {
		tick := m.tick(metric.Fast)
		body, err := enc.Tick(nil, tick)
		if err != nil {
			t.Fatal(err)
		}
		if err := dec.Decode(body, &rec); err != nil {
			t.Fatal(i, err)
		}
		if err := sameTick(tick, rec.Tick); err != nil {
			t.Fatal(i, err)
		}
		for what, tick := range bad {
			if body, err := enc.Tick(nil, tick); err == nil || len(body) != 0 {
				t.Fatalf("%s: accepted", what)
			}
		}
		if i == 20 {
			// Both in a group that is known and in one that is not.
			bad["known group"] = &metric.Tick{Blocks: []*metric.Block{{Group: m.groups[1].Group, At: m.at, Rows: []*metric.Instance{in, in}, Cols: make([]metric.Column, len(m.groups[1].Cols))}}}
			for j, c := range m.groups[1].Cols {
				_ = c
				k := &bad["known group"].Blocks[0].Cols[j]
				k.Bits = []uint64{1, 2}
			}
		}
	}
}

func FuzzDecode(f *testing.F) {
	m := newMachine(1)
	enc := NewEncoder()
	var all []byte
	for i := range 6 {
		body, err := enc.Tick(nil, m.tick(metric.Class(i%2)))
		if err != nil {
			f.Fatal(err)
		}
		all = append(all, byte(len(body)), byte(len(body)>>8))
		all = append(all, body...)
	}
	f.Add(all)
	ev, _ := enc.Event(nil, &metric.Event{Kind: "k", Text: "t"})
	f.Add(append([]byte{byte(len(ev)), 0}, ev...))
	late, _ := enc.Late(nil, m.tick(metric.Fast))
	f.Add(append([]byte{byte(len(late)), byte(len(late) >> 8)}, late...))
	f.Add([]byte{1, 0, byte(KindConfig) << 5, 2, 0, byte(KindDescribe) << 5, 9})
	f.Fuzz(func(t *testing.T, in []byte) {
		dec := NewDecoder(false, nil)
		var rec Record
		for len(in) > 2 {
			n := min(int(in[0])|int(in[1])<<8, len(in)-2)
			if dec.Decode(in[2:2+n], &rec) != nil {
				return
			}
			in = in[2+n:]
		}
	})
}
