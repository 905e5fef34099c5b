package browse

import (
	"strings"

	"github.com/gdamore/tcell/v2"
	"github.com/rivo/uniseg"

	"tachograph/cmd/internal/visible"
	"tachograph/cmd/replay/internal/human"
)

// rect is a part of the screen.
type rect struct{ x, y, w, h int }

// has reports whether a cell lies in r.
func (r rect) has(x, y int) bool { return x >= r.x && x < r.x+r.w && y >= r.y && y < r.y+r.h }

// top splits r into its first n lines and the rest.
func (r rect) top(n int) (above, below rect) {
	n = min(max(n, 0), r.h)
	return rect{r.x, r.y, r.w, n}, rect{r.x, r.y + n, r.w, r.h - n}
}

// A canvas draws text on the terminal. It makes text from any source harmless, replaces letters
// that the terminal lacks, and keeps the text within its columns.
type canvas struct {
	tcell.Screen
	ascii bool
	theme theme
}

// text draws s in at most width columns and returns how many it took.
func (c *canvas) text(x, y, width int, s string, st tcell.Style) int {
	if width <= 0 {
		return 0
	}
	s = human.Cut(visible.Text(s), width)
	if c.ascii {
		s = visible.ASCII(s)
	}
	at, state := x, -1
	for s != "" {
		var letter string
		var w int
		letter, s, w, state = uniseg.FirstGraphemeClusterInString(s, state)
		if w == 0 {
			continue
		}
		if at+w > x+width {
			break
		}
		c.Put(at, y, letter, st)
		at += w
	}
	return at - x
}

// padded draws s and fills the rest of the width; with before, in front of s.
func (c *canvas) padded(x, y, width int, s string, before bool, st tcell.Style) {
	if width <= 0 {
		return
	}
	have := min(human.Width(visible.Text(s)), width)
	fill := strings.Repeat(" ", width-have)
	if before {
		c.text(x, y, width-have, fill, st)
		c.text(x+width-have, y, have, s, st)
		return
	}
	n := c.text(x, y, width, s, st)
	c.text(x+n, y, width-n, strings.Repeat(" ", width-n), st)
}

// span is text in one style.
type span struct {
	text  string
	style tcell.Style
}

// spans draws parts of a line one after the other.
func (c *canvas) spans(x, y, width int, list ...span) int {
	used := 0
	for _, s := range list {
		used += c.text(x+used, y, width-used, s.text, s.style)
	}
	return used
}

// fill empties a part of the screen.
func (c *canvas) fill(r rect, st tcell.Style) {
	for y := r.y; y < r.y+r.h; y++ {
		for x := r.x; x < r.x+r.w; x++ {
			c.Put(x, y, " ", st)
		}
	}
}

// restyle changes the style of cells, but not their content.
func (c *canvas) restyle(r rect, change func(tcell.Style) tcell.Style) {
	for y := r.y; y < r.y+r.h; y++ {
		for x := r.x; x < r.x+r.w; {
			s, st, w := c.Get(x, y)
			c.Put(x, y, s, change(st))
			x += max(w, 1)
		}
	}
}

// frame draws a window with a title over the screen, and returns its inside.
func (c *canvas) frame(r rect, title string) rect {
	c.fill(r, c.theme.plain)
	st := c.theme.faint
	line := strings.Repeat("─", max(r.w-2, 0))
	c.text(r.x, r.y, r.w, "┌"+line+"┐", st)
	c.text(r.x, r.y+r.h-1, r.w, "└"+line+"┘", st)
	for y := r.y + 1; y < r.y+r.h-1; y++ {
		c.text(r.x, y, 1, "│", st)
		c.text(r.x+r.w-1, y, 1, "│", st)
	}
	if title != "" {
		c.text(r.x+2, r.y, r.w-4, " "+title+" ", c.theme.head)
	}
	return rect{r.x + 2, r.y + 1, max(r.w-4, 0), max(r.h-2, 0)}
}

// theme has the styles. Colours are the terminal's own sixteen, on its own background, so that
// light and dark terminals both show them. The text says everything that a colour says.
type theme struct {
	plain, bold, faint, head, chosen, alarm, warn, mark, gone tcell.Style
}

func newTheme(color bool) theme {
	d := tcell.StyleDefault
	t := theme{
		plain: d, bold: d.Bold(true), faint: d.Dim(true), head: d.Bold(true), chosen: d.Reverse(true),
		alarm: d.Bold(true), warn: d.Bold(true), mark: d.Bold(true), gone: d.Dim(true),
	}
	if color {
		t.head = d.Foreground(tcell.ColorTeal).Bold(true)
		t.alarm = d.Foreground(tcell.ColorMaroon).Bold(true)
		t.warn = d.Foreground(tcell.ColorPurple)
		t.mark = d.Foreground(tcell.ColorTeal)
	}
	return t
}
