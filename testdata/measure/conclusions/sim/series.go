// Package sim simulates a Linux machine second by second: processes want processors, memory,
// disks and networks, the machine shares out what it has, and every total is the sum of its
// parts. What happens is written as by the recorder, with the names, units and intervals of
// sample/catalog.
package sim

import (
	_ "embed"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"tachograph/sample/catalog"
	"tachograph/sample/metric"
)

//go:embed baseline.txt
var baseline string

// A column is one metric of a group. For each row it has the value without the model, what that
// gains each second, and what the model adds.
type column struct {
	desc              *metric.Desc
	base, rate, extra []float64
	words             []string // of a string metric, for each row
	moved             bool     // the model has set it
}

// A group is the metrics of one class and one domain, which are read together.
type group struct {
	class  metric.Class
	group  *metric.Group
	rows   []*metric.Instance
	index  map[string]int
	cols   []*column
	byName map[string]*column
}

// series are all values of the machine except those of processes.
type series struct {
	groups []*group
	of     map[string]*group // by metric
}

// newSeries returns the values of an idle machine.
func newSeries() *series {
	s := &series{of: make(map[string]*group)}
	for line := range strings.Lines(baseline) {
		f := strings.Fields(line)
		if len(f) == 0 || f[0] == "#" || strings.HasPrefix(f[0], "#") || strings.Contains(line, "catalogue") {
			continue
		}
		d := catalog.Find(catalog.Linux, f[0])
		if d == nil || d.Unsupported != "" {
			continue
		}
		c := s.add(d)
		if d.Indom == metric.NoIndom {
			c.base, c.rate, c.extra = make([]float64, 1), make([]float64, 1), make([]float64, 1)
			if len(f) > 1 {
				c.base[0], _ = strconv.ParseFloat(f[1], 64)
			}
			if len(f) > 2 {
				c.rate[0], _ = strconv.ParseFloat(f[2], 64)
			}
		}
	}
	return s
}

// add adds a metric to the group of its class and domain.
func (s *series) add(d *metric.Desc) *column {
	for _, g := range s.groups {
		if g.class == d.Class && g.group.Indom == d.Indom {
			return s.join(g, d)
		}
	}
	name := d.Indom
	if name == "" {
		name = "system"
	}
	g := &group{class: d.Class, group: &metric.Group{Name: name, Indom: d.Indom}, index: make(map[string]int), byName: make(map[string]*column)}
	if d.Indom == metric.NoIndom {
		g.rows, g.index[""] = []*metric.Instance{nil}, 0
	}
	s.groups = append(s.groups, g)
	return s.join(g, d)
}

func (s *series) join(g *group, d *metric.Desc) *column {
	c := &column{desc: d}
	g.group.Metrics = append(g.group.Metrics, d)
	g.cols = append(g.cols, c)
	g.byName[d.Name] = c
	s.of[d.Name] = g
	return c
}

// row adds an instance to all groups of a domain.
func (s *series) row(indom, key string, labels ...metric.Label) {
	for _, g := range s.groups {
		if g.group.Indom != indom {
			continue
		}
		if _, ok := g.index[key]; ok {
			continue
		}
		g.index[key] = len(g.rows)
		g.rows = append(g.rows, &metric.Instance{ID: uint64(len(g.rows) + 1), Key: key, Name: key, Labels: labels})
		for _, c := range g.cols {
			c.base, c.rate, c.extra = append(c.base, 0), append(c.rate, 0), append(c.extra, 0)
			if c.desc.Type == metric.String {
				c.words = append(c.words, "")
			}
		}
	}
}

// cell finds a value. What the recorder does not record on this machine has none.
func (s *series) cell(name, key string) (*column, int) {
	g := s.of[name]
	if g == nil {
		panic("sim: no metric " + name)
	}
	i, ok := g.index[key]
	if !ok {
		panic(fmt.Sprintf("sim: no instance %q of %s", key, name))
	}
	c := g.byName[name]
	c.moved = true
	return c, i
}

// count adds to a counter.
func (s *series) count(name, key string, gain float64) {
	c, i := s.cell(name, key)
	c.extra[i] += gain
}

// level sets what the model adds to a level.
func (s *series) level(name, key string, x float64) {
	c, i := s.cell(name, key)
	c.extra[i] = x
}

// fix sets a value without the model.
func (s *series) fix(name, key string, x float64) {
	c, i := s.cell(name, key)
	c.base[i] = x
}

// say sets the text of a string metric.
func (s *series) say(name, key, word string) {
	c, i := s.cell(name, key)
	c.words[i] = word
}

// pass adds a second to the counters that the model does not change.
func (s *series) pass() {
	for _, g := range s.groups {
		for _, c := range g.cols {
			if c.moved || c.desc.Sem != metric.Counter {
				continue
			}
			for i, r := range c.rate {
				c.base[i] += r
			}
		}
	}
}

// tick returns the present tick of a class; nil if it has nothing.
func (s *series) tick(class metric.Class, at metric.Stamp) *metric.Tick {
	t := &metric.Tick{Class: class, At: at}
	for _, g := range s.groups {
		if g.class != class || len(g.rows) == 0 {
			continue
		}
		b := &metric.Block{Group: g.group, At: at, Rows: g.rows, Cols: make([]metric.Column, len(g.cols))}
		for n, c := range g.cols {
			col := &b.Cols[n]
			col.Bits = make([]uint64, len(g.rows))
			for i := range g.rows {
				if c.desc.Type == metric.String {
					col.Bits[i], col.Words = uint64(len(col.Words)), append(col.Words, c.words[i])
					continue
				}
				col.Bits[i] = Bits(c.desc.Type, c.base[i]+c.extra[i])
			}
		}
		t.Blocks = append(t.Blocks, b)
	}
	if len(t.Blocks) == 0 {
		return nil
	}
	return t
}

// Bits returns a number in the form that a column holds.
func Bits(t metric.Type, x float64) uint64 {
	switch t {
	case metric.F32:
		return uint64(math.Float32bits(float32(x)))
	case metric.F64:
		return math.Float64bits(x)
	case metric.I32, metric.I64:
		return uint64(int64(math.Round(x)))
	}
	return uint64(max(math.Round(x), 0))
}

// wallText formats an instant for a label.
func wallText(wall int64) string { return time.Unix(0, wall).UTC().Format(time.RFC3339Nano) }
