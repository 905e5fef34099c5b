// Package picture draws time series as an SVG or PNG: panels with one time axis, bands
// where nothing was recorded, marks for events. The same input gives the same bytes. Texts
// may come from strangers: SVG escapes them, and in a PNG they are only dots. The package
// does not know archives.
package picture

import (
	"fmt"
	"math"
	"time"

	"tachograph/cmd/internal/visible"
	"tachograph/cmd/replay/internal/chart"
	"tachograph/sample/metric"
)

// Picture is a picture to draw.
type Picture struct {
	Title, Subtitle string
	From, To        int64 // wall clock
	Zone            *time.Location
	Panels          []Panel
	Bands           []Band
	Marks           []Mark
	Width, Height   int
	Dark            bool
}

// Panel is a plot of lines in one unit.
type Panel struct {
	Title string
	Units metric.Units
	Rate  bool
	Lines []Line
}

// Line is a series of values at equal distances, from the beginning of the picture to its end;
// NaN where there is no value.
type Line struct {
	Name   string
	Values []float64
}

// Band is a time in which nothing was recorded.
type Band struct {
	From, To int64
	Text     string
}

// Mark is an event.
type Mark struct {
	At   int64
	Text string
}

// Sizes in dots, most of them of what is around the panels.
const (
	left, right  = 86.0, 22.0
	top, bottom  = 62.0, 52.0
	titleHeight  = 24.0 // of a panel, with its legend
	panelGap     = 14.0
	leastPanel   = 48.0
	usualPanel   = 150.0
	titleSize    = 17.0
	textSize     = 12.0
	smallestSize = 200
	largestSize  = 8000
)

// UsualHeight returns the best height for a picture with that many panels.
func UsualHeight(panels int) int {
	n := float64(panels)
	return int(top + bottom + float64(n*(usualPanel+titleHeight)) + float64((n-1)*panelGap))
}

// Check refuses a size that is invalid, or has no room for the panels.
func (p *Picture) Check() error {
	if p.Width < smallestSize || p.Height < 100 || p.Width > largestSize || p.Height > largestSize {
		return fmt.Errorf("%dx%d is no size for a picture: use %dx100 to %dx%[4]d", p.Width, p.Height, smallestSize, largestSize)
	}
	if p.panelHeight() < leastPanel {
		least := float64(float64(len(p.Panels))*(leastPanel+titleHeight)) + float64(float64(len(p.Panels)-1)*panelGap)
		return fmt.Errorf("%dx%d has no room for %d panels: make it %d high, or ask for fewer", p.Width, p.Height, len(p.Panels), int(math.Ceil(top+bottom+least)))
	}
	return nil
}

func (p *Picture) panelHeight() float64 {
	n := float64(len(p.Panels))
	return (float64(p.Height)-top-bottom-float64((n-1)*panelGap))/n - titleHeight
}

// Points returns the most points of a line in a picture of that width.
func Points(width int) int { return max(int(float64(width)-left-right), 2) }

type point struct{ x, y float64 }

// canvas is what a picture is drawn on.
type canvas interface {
	rect(x, y, w, h float64, c paint)
	line(points []point, width float64, dashed bool, c paint)
	// text writes s at x on the line y. align is -1, 0 or 1: to the right of x, around it, to
	// the left of it.
	text(x, y, size float64, align int, bold bool, c paint, s string)
	// hint is the text that appears when the mouse points at that part, where that is possible.
	hint(x, y, w, h float64, s string)
}

func (p *Picture) draw(c canvas) {
	t := light
	if p.Dark {
		t = dark
	}
	width, height := float64(p.Width), float64(p.Height)
	c.rect(0, 0, width, height, t.ground)
	c.text(16, 26, titleSize, -1, true, t.text, fitText(p.Title, titleSize, true, width-32))
	c.text(16, 46, textSize, -1, false, t.faint, fitText(p.Subtitle, textSize, false, width-32))
	plotWidth := width - left - right
	x := func(at int64) float64 {
		share := (float64(at) - float64(p.From)) / math.Max(float64(p.To)-float64(p.From), 1)
		return left + float64(math.Min(math.Max(share, 0), 1)*plotWidth)
	}
	ticks := chart.Times(p.From, p.To, p.Zone, max(int(plotWidth/78), 1))
	panel := p.panelHeight()
	y := top
	first, last := 0.0, 0.0
	for i := range p.Panels {
		y += titleHeight
		if i == 0 {
			first = y
		}
		p.panel(c, &t, &p.Panels[i], x, ticks, y, panel)
		y += panel
		last = y
		y += panelGap
	}
	p.marks(c, &t, x, first, last)
	end := -math.MaxFloat64
	for _, tick := range ticks {
		at := x(tick.At)
		c.line([]point{{at, last}, {at, last + 5}}, 1, false, t.axis)
		if half := float64(textWidth(tick.Label, textSize, false) / 2); at-half > end+6 {
			c.text(at, last+19, textSize, 0, false, t.text, tick.Label)
			if tick.Below != "" {
				c.text(at, last+35, textSize, 0, false, t.faint, tick.Below)
			}
			end = at + half
		}
	}
}

// panel draws a plot with its top at y.
func (p *Picture) panel(c canvas, t *theme, panel *Panel, x func(int64) float64, ticks []chart.TimeTick, y, height float64) {
	width := float64(p.Width) - left - right
	var all []float64
	for _, l := range panel.Lines {
		all = append(all, l.Values...)
	}
	low, high := chart.Scale(all)
	axis := chart.Values(low, high, panel.Units, panel.Rate, max(int(height/34), 1))
	for i := range p.Bands {
		b := &p.Bands[i]
		if b.To < p.From || b.From > p.To {
			continue
		}
		from, to := x(b.From), x(b.To)
		c.rect(from, y, math.Max(to-from, 1.5), height, t.band)
		c.hint(from, y, math.Max(to-from, 1.5), height, visible.Text(b.Text))
		if room := to - from - 8; textWidth(visible.Text(b.Text), textSize-1, false) <= room {
			c.text((from+to)/2, y+14, textSize-1, 0, false, t.faint, visible.Text(b.Text))
		}
	}
	for _, tick := range ticks {
		at := x(tick.At)
		c.line([]point{{at, y}, {at, y + height}}, 1, false, t.grid)
	}
	for _, tick := range axis.Ticks {
		at := y + height - float64(axis.Share(tick.Value)*height)
		c.line([]point{{left, at}, {left + width, at}}, 1, false, t.grid)
		c.text(left-8, at+4, textSize, 1, false, t.text, fitText(tick.Label, textSize, false, left-12))
	}
	c.line([]point{{left, y}, {left, y + height}, {left + width, y + height}}, 1, false, t.axis)
	p.legend(c, t, panel, y-8)
	for i, l := range panel.Lines {
		for _, part := range parts(l.Values) {
			points := make([]point, 0, len(part.values)+1)
			for k, v := range part.values {
				at := left + float64((float64(part.from+k)+0.5)/float64(len(l.Values))*width)
				points = append(points, point{at, y + height - float64(axis.Share(v)*height)})
			}
			if len(points) == 1 {
				points = append(points, point{points[0].x + 1.5, points[0].y})
			}
			c.line(thinned(points), 1.6, i >= len(t.lines), t.lines[i%len(t.lines)])
		}
	}
}

// legend draws a panel's title and the names of its lines.
func (p *Picture) legend(c canvas, t *theme, panel *Panel, y float64) {
	width := float64(p.Width) - left - right
	named := len(panel.Lines) > 1 || len(panel.Lines) == 1 && panel.Lines[0].Name != ""
	share := width
	if named {
		share = width * 0.5
	}
	title := fitText(visible.Text(panel.Title), textSize, true, share)
	c.text(left, y, textSize, -1, true, t.text, title)
	if !named {
		return
	}
	at := left + textWidth(title, textSize, true) + 26
	for i, l := range panel.Lines {
		room := left + width - at - 18
		name := visible.Text(l.Name)
		if rest := len(panel.Lines) - i; rest > 1 {
			room -= 46 // Room for how many more there are, in case this is the last one.
			if textWidth(name, textSize, false) > room {
				c.text(at, y, textSize, -1, false, t.faint, fmt.Sprintf("and %d more", rest))
				return
			}
		}
		if room < 30 {
			return
		}
		c.line([]point{{at, y - 4}, {at + 14, y - 4}}, 2.4, i >= len(t.lines), t.lines[i%len(t.lines)])
		name = fitText(name, textSize, false, room)
		c.text(at+18, y, textSize, -1, false, t.text, name)
		at += 18 + textWidth(name, textSize, false) + 14
	}
}

// marks draws events through all panels, with their texts above the first if there is room.
func (p *Picture) marks(c canvas, t *theme, x func(int64) float64, from, to float64) {
	end := -math.MaxFloat64
	for _, m := range p.Marks {
		if m.At < p.From || m.At > p.To {
			continue
		}
		at, text := x(m.At), visible.Text(m.Text)
		c.line([]point{{at, from}, {at, to}}, 1, true, t.mark)
		c.hint(at-3, from, 6, to-from, text)
		text = fitText(text, textSize-1, false, 180)
		w := textWidth(text, textSize-1, false)
		switch {
		case at > end && at+4+w < float64(p.Width)-right:
			c.text(at+4, from+28, textSize-1, -1, false, t.mark, text)
			end = at + 4 + w + 8
		case at-8-w > end && at-8-w > left:
			c.text(at-4, from+28, textSize-1, 1, false, t.mark, text)
			end = at + 8
		}
	}
}

// stretch is a row of values without a gap.
type stretch struct {
	from   int
	values []float64
}

func parts(values []float64) []stretch {
	var out []stretch
	for i := 0; i < len(values); {
		if math.IsNaN(values[i]) || math.IsInf(values[i], 0) {
			i++
			continue
		}
		k := i
		for k < len(values) && !math.IsNaN(values[k]) && !math.IsInf(values[k], 0) {
			k++
		}
		out = append(out, stretch{i, values[i:k]})
		i = k
	}
	return out
}

// thinned leaves out the inner points of level stretches.
func thinned(points []point) []point {
	out := points[:0:0]
	for i, pt := range points {
		if i > 0 && i < len(points)-1 && points[i-1].y == pt.y && points[i+1].y == pt.y {
			continue
		}
		out = append(out, pt)
	}
	return out
}
