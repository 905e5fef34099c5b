package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tachograph/sample/metric"
	"tachograph/store/query"
)

// mostLines is how many series of a part are drawn as lines, mostRows how many as shaded rows.
const mostLines, mostRows = 8, 256

// plotsShare is the plots' share of the work; the rest are processes.
const plotsShare = 0.3

// plots reads the series of all plots.
func (c *collector) plots() error {
	for i := range wishes {
		if err := c.ctx.Err(); err != nil {
			return err
		}
		if c.r.Progress != nil {
			c.r.Progress(plotsShare * float64(i) / float64(len(wishes)))
		}
		if err := c.plot(&wishes[i]); err != nil {
			return err
		}
	}
	return nil
}

// drawn reports whether there is a plot with one of these IDs.
func (c *collector) drawn(ids ...string) bool {
	return slices.ContainsFunc(c.page.doc.Plots, func(p *Plot) bool { return slices.Contains(ids, p.ID) })
}

// plot adds one picture, if the archive has the data.
func (c *collector) plot(wish *wish) error {
	if base, all := strings.CutSuffix(wish.id, "-all"); all && c.drawn(base) {
		return nil // Its parts are drawn instead.
	}
	p := &Plot{ID: wish.id, Group: wish.group, Title: wish.title, About: wish.about, Form: wish.of.form,
		Stacked: wish.stacked, Heat: wish.heat, Full: wish.full}
	factor := 1.0
	if wish.cores {
		if c.cores == 0 {
			return nil // The number of processors is unknown, so there is no share.
		}
		factor = 1 / c.cores
	}
	moved := false
	for i, part := range wish.parts {
		tracks, err := c.read(&part, wish.of)
		if err != nil {
			return err
		}
		if len(tracks) == 0 && (wish.whole || wish.lead && i == 0) {
			return nil
		}
		most := mostLines
		if wish.heat || c.r.Brief {
			most = mostRows
		}
		if len(tracks) > most {
			slices.SortStableFunc(tracks, func(x, y *track) int { return cmp.Compare(y.total, x.total) })
			for _, t := range tracks[most:] {
				if t.moves() {
					p.More++ // A series that is always zero is not missed.
				}
			}
			tracks = tracks[:most]
			slices.SortStableFunc(tracks, func(x, y *track) int { return naturally(x.name, y.name) })
		}
		for _, t := range tracks {
			t.finish(factor)
			line, moves := c.line(t, wish.of)
			if part.quiet && !moves && !c.r.Brief {
				continue
			}
			moved = moved || moves
			p.Series = append(p.Series, line)
		}
	}
	if len(p.Series) == 0 || wish.quiet && !moved && !c.r.Brief {
		return nil
	}
	if wish.fullExpr != "" {
		if full := c.constant(wish.fullExpr, wish.of); full > 0 {
			p.Full, p.FullText = full, wish.of.write(full)
		}
	}
	c.describe(p)
	c.page.doc.Plots = append(c.page.doc.Plots, p)
	return nil
}

// line puts a track into blocks, and reports whether it ever differs from zero.
func (c *collector) line(t *track, of *measure) (l *Line, moves bool) {
	l = &Line{Name: t.name, Rest: t.name == "free", Average: of.write(t.total / t.seconds)}
	spread := false
	most := 0.0
	known := false
	for i, x := range t.mean {
		if x != x {
			continue
		}
		if !known || t.high[i] > most {
			most, known = t.high[i], true
		}
		moves = moves || t.high[i] != 0 || t.low[i] != 0
		spread = spread || t.high[i] != t.low[i]
	}
	l.Most = of.write(most)
	l.Mean = c.page.blocks.floats(t.mean)
	if spread {
		l.Low, l.High = c.page.blocks.floats(t.low), c.page.blocks.floats(t.high)
	}
	return l, moves
}

// describe describes a plot in words.
func (c *collector) describe(p *Plot) {
	var words []string
	for i, l := range p.Series {
		if i == mostLines {
			words = append(words, fmt.Sprintf("and %d more", len(p.Series)-i))
			break
		}
		name := l.Name
		if name == "" {
			name = p.Title
		}
		words = append(words, fmt.Sprintf("%s %s on average, at most %s", name, l.Average, l.Most))
	}
	p.Words = p.Title + ". " + p.About + " " + strings.Join(words, "; ") + "."
}

// read reduces a part of a plot to tracks, one for each instance.
func (c *collector) read(p *curve, of *measure) ([]*track, error) {
	for _, text := range p.exprs {
		t, ok := c.target(text)
		if !ok {
			continue
		}
		tracks, err := c.tracks(t, p, of)
		if err != nil {
			return nil, err
		}
		if len(tracks) > 0 {
			return tracks, nil
		}
	}
	return nil, nil
}

// target parses an expression, if the archive can compute it.
func (c *collector) target(text string) (query.Target, bool) {
	list, err := query.Targets(c.a, nil, []string{text})
	if err != nil || len(list) != 1 {
		return query.Target{}, false // Most archives lack some metrics; that is not worth a message.
	}
	names := []string{}
	if list[0].Metric != nil {
		names = append(names, list[0].Metric.Name)
	} else {
		names = list[0].Expr.Metrics()
	}
	for _, name := range names {
		if d := c.a.Lookup(name); d == nil || d.Unsupported != "" {
			return query.Target{}, false
		}
	}
	return list[0], true
}

func (c *collector) tracks(t query.Target, p *curve, of *measure) ([]*track, error) {
	byKey := make(map[string]*track)
	var out []*track
	for s, err := range query.ReadTarget(c.a, t, query.Request{Window: c.w, Mode: query.Shown}) {
		if err != nil {
			return nil, err
		}
		if s.Type == metric.String {
			continue
		}
		factor := of.factor(s.Units)
		if factor == 0 {
			return nil, nil
		}
		if of == shares && s.Metric != nil && !s.Rate && s.Units == metric.NoUnits {
			factor = 0.01 // Old archives do not say that they are in percent.
		}
		key := ""
		if s.Instance != nil {
			key = s.Instance.Key
		}
		own := byKey[key]
		if own == nil {
			own = newTrack(nameOf(p, s.Instance), c.grid.n)
			byKey[key] = own
			out = append(out, own)
		}
		every := everyOf(s)
		for i, wall := range s.Wall {
			if s.Miss != nil && s.Miss[i] != metric.Present {
				continue
			}
			own.add(c.grid, wall, s.Value(i).Number()*factor, every)
		}
		if err := c.ctx.Err(); err != nil {
			return nil, err
		}
	}
	out = slices.DeleteFunc(out, func(t *track) bool { return t.seconds == 0 })
	slices.SortStableFunc(out, func(x, y *track) int { return naturally(x.name, y.name) })
	return out, nil
}

// nameOf returns the name of a series.
func nameOf(p *curve, in *metric.Instance) string {
	if in == nil || !p.each {
		return p.name
	}
	return strings.TrimSpace(in.Name + " " + p.name)
}

// constant returns the last value of an expression.
func (c *collector) constant(text string, of *measure) float64 {
	t, ok := c.target(text)
	if !ok {
		return 0
	}
	last := 0.0
	for s, err := range query.ReadTarget(c.a, t, query.Request{Window: c.w, Mode: query.Shown}) {
		if err != nil {
			return 0
		}
		for i := range s.Wall {
			if x := s.Value(i).Number(); x > 0 {
				last = x * of.factor(s.Units)
			}
		}
	}
	return last
}

// naturally compares names so that cpu2 comes before cpu10.
func naturally(x, y string) int {
	digit := func(b byte) bool { return b >= '0' && b <= '9' }
	for x != "" && y != "" {
		if digit(x[0]) && digit(y[0]) {
			m, n := 0, 0
			for m < len(x) && digit(x[m]) {
				m++
			}
			for n < len(y) && digit(y[n]) {
				n++
			}
			a, b := strings.TrimLeft(x[:m], "0"), strings.TrimLeft(y[:n], "0")
			if d := cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)); d != 0 {
				return d
			}
			x, y = x[m:], y[n:]
			continue
		}
		if x[0] != y[0] {
			return cmp.Compare(x[0], y[0])
		}
		x, y = x[1:], y[1:]
	}
	return cmp.Compare(len(x), len(y))
}
