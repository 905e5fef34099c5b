package querytest

import (
	"fmt"
	"hash/fnv"
	"math"
	"strconv"
	"strings"

	"tachograph/sample/metric"
)

// form says what a series does over the ticks of a block:
//
//	17, -3.5, "text", !permission denied    the same at every tick
//	rate=250 [noise=0.1] [from=1000]        a counter that gains 250 a second
//	level=4000 [drift=-2.5] [noise=0.02]    a level that moves by drift a second
//
// Noise is a fraction, the same in every run. A counter continues from where
// its last block left it.
type form struct {
	constant           bool
	value              metric.Value
	rate, level, drift float64
	noise              float64
	from               *float64
	counts             bool
}

func parseForm(d *metric.Desc, text string) (form, error) {
	var f form
	if why, ok := strings.CutPrefix(text, "!"); ok {
		f.constant, f.value = true, metric.Value{Type: d.Type, Miss: metric.ReasonFor(why)}
		return f, nil
	}
	if !strings.Contains(text, "=") || d.Type == metric.String {
		f.constant = true
		v, err := parseValue(d.Type, text)
		f.value = v
		return f, err
	}
	for _, w := range strings.Fields(text) {
		k, v, _ := strings.Cut(w, "=")
		n, err := strconv.ParseFloat(v, 64)
		if err != nil {
			return f, fmt.Errorf("%s: %w", d.Name, err)
		}
		switch k {
		case "rate":
			f.rate, f.counts = n, true
		case "level":
			f.level = n
		case "drift":
			f.drift = n
		case "noise":
			f.noise = n
		case "from":
			f.from = &n
		default:
			return f, fmt.Errorf("%s: unknown form %q", d.Name, k)
		}
	}
	return f, nil
}

func parseValue(t metric.Type, text string) (metric.Value, error) {
	v := metric.Value{Type: t}
	var err error
	switch t {
	case metric.String:
		v.Str = strings.Trim(text, `"`)
	case metric.F64:
		var x float64
		x, err = strconv.ParseFloat(text, 64)
		v.Bits = math.Float64bits(x)
	case metric.F32:
		var x float64
		x, err = strconv.ParseFloat(text, 32)
		v.Bits = uint64(math.Float32bits(float32(x)))
	case metric.I32, metric.I64:
		var x int64
		x, err = strconv.ParseInt(text, 10, 64)
		v.Bits = uint64(x)
	default:
		v.Bits, err = strconv.ParseUint(text, 10, 64)
	}
	return v, err
}

// bitsOf rounds x to a value of type t.
func bitsOf(t metric.Type, x float64) uint64 {
	switch t {
	case metric.F64:
		return math.Float64bits(x)
	case metric.F32:
		return uint64(math.Float32bits(float32(x)))
	case metric.I32, metric.I64:
		return uint64(int64(math.Round(x)))
	default:
		return uint64(math.Round(max(x, 0)))
	}
}

// noise returns a number between -1 and 1 that is the same for the same series and instant.
func noise(key string, at int64) float64 {
	h := fnv.New64a()
	h.Write([]byte(key))
	h.Write(strconv.AppendInt(nil, at, 10))
	x := h.Sum64()
	x ^= x >> 31
	x *= 0x9e3779b97f4a7c15
	x ^= x >> 29
	return float64(x>>11)/(1<<52) - 1
}

// next returns the series' value at the instant at, seconds after the one before.
func (p *parser) next(c *cell, b *block, at int64) metric.Value {
	f := &c.form
	if f.constant {
		return f.value
	}
	v := metric.Value{Type: c.desc.Type}
	if f.counts {
		x, known := p.state[c.key]
		if f.from != nil {
			x, known = *f.from, false
			f.from = nil
		}
		if known {
			x += f.rate * (1 + f.noise*noise(c.key, at)) * float64(b.step) / 1e9
		}
		p.state[c.key] = x
		v.Bits = bitsOf(c.desc.Type, x)
		return v
	}
	x := f.level + f.drift*float64(at-b.from)/1e9
	v.Bits = bitsOf(c.desc.Type, x*(1+f.noise*noise(c.key, at)))
	return v
}

func (p *parser) cell(words []string) error {
	if len(words) < 2 {
		return fmt.Errorf("%s: no value", words[0])
	}
	name, key, has := strings.Cut(strings.TrimSuffix(words[0], "]"), "[")
	d := p.metrics[name]
	if d == nil {
		return fmt.Errorf("no metric %q", name)
	}
	c := cell{desc: d, key: words[0]}
	if has {
		if c.in = p.instances[[2]string{d.Indom, key}]; c.in == nil {
			return fmt.Errorf("no instance %q of %q", key, d.Indom)
		}
	} else if d.Indom != metric.NoIndom {
		return fmt.Errorf("%s needs an instance", name)
	}
	f, err := parseForm(d, strings.Join(words[1:], " "))
	c.form = f
	p.block.cells = append(p.block.cells, c)
	return err
}

// flush makes the ticks of the block that has been described.
func (p *parser) flush() error {
	b := p.block
	p.block = nil
	if b == nil {
		return nil
	}
	if p.part == nil {
		p.beginPart()
	}
	groups := p.groups(b)
	for at := b.from; at <= b.to; at += b.step {
		t := &metric.Tick{Class: b.class, At: p.stamp(at)}
		for _, g := range groups {
			t.Blocks = append(t.Blocks, p.fill(g, b, at))
		}
		p.part.Ticks = append(p.part.Ticks, t)
	}
	return nil
}

// group is a metric.Group with the cells that fill it.
type group struct {
	*metric.Group
	cells map[*metric.Desc]map[*metric.Instance]*cell
	rows  []*metric.Instance
}

func (p *parser) groups(b *block) []*group {
	var out []*group
	byIndom := make(map[string]*group)
	for i := range b.cells {
		c := &b.cells[i]
		g := byIndom[c.desc.Indom]
		if g == nil {
			name := c.desc.Indom
			if name == metric.NoIndom {
				name = "one"
			}
			g = &group{Group: &metric.Group{Name: name, Indom: c.desc.Indom},
				cells: make(map[*metric.Desc]map[*metric.Instance]*cell)}
			byIndom[c.desc.Indom] = g
			out = append(out, g)
		}
		if g.cells[c.desc] == nil {
			g.cells[c.desc] = make(map[*metric.Instance]*cell)
			g.Metrics = append(g.Metrics, c.desc)
		}
		g.cells[c.desc][c.in] = c
		known := false
		for _, in := range g.rows {
			known = known || in == c.in
		}
		if !known {
			g.rows = append(g.rows, c.in)
		}
	}
	return out
}

func (p *parser) fill(g *group, b *block, at int64) *metric.Block {
	out := &metric.Block{Group: g.Group, At: p.stamp(at), Rows: g.rows, Cols: make([]metric.Column, len(g.Metrics))}
	for i, d := range g.Metrics {
		col := &out.Cols[i]
		for _, in := range g.rows {
			v := metric.Value{Type: d.Type, Miss: metric.NotRead}
			if c := g.cells[d][in]; c != nil {
				v = p.next(c, b, at)
			}
			col.Push(v)
		}
	}
	return out
}
