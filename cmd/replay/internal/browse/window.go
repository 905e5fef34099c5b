package browse

import (
	"strings"

	"github.com/gdamore/tcell/v2"

	"tachograph/cmd/internal/visible"
	"tachograph/cmd/replay/internal/human"
)

// An overlay is a window over the page.
type overlay interface {
	// draw draws the window in a part of the screen.
	draw(a *app, r rect)
	// key handles a key, or returns false if it has no meaning there.
	key(a *app, name string) bool
	scroll(by int)
}

// overlay is the window on top, nil if there is none.
func (a *app) overlay() overlay {
	if n := len(a.overlays); n > 0 {
		return a.overlays[n-1]
	}
	return nil
}

// put shows a window on top of the others.
func (a *app) put(o overlay) {
	const most = 20
	if len(a.overlays) == most {
		a.overlays = a.overlays[1:]
	}
	a.overlays = append(a.overlays, o)
}

// overlayKey passes a key to the window on top. A key that the window does not use goes to the
// program, if the program goes on behind the window.
func (a *app) overlayKey(name string) {
	o := a.overlay()
	if o.key(a, name) {
		return
	}
	switch name {
	case "Esc":
		if a.w.askingLong() {
			a.escape()
			return
		}
		a.overlays = a.overlays[:len(a.overlays)-1]
	case "q", "Backspace":
		a.overlays = a.overlays[:len(a.overlays)-1]
	case "Down", "j":
		o.scroll(1)
	case "Up", "k":
		o.scroll(-1)
	case "PgDn", "Space", "Ctrl-D":
		o.scroll(10)
	case "PgUp", "Ctrl-U":
		o.scroll(-10)
	case "Home", "g":
		o.scroll(-1 << 20)
	case "End", "G":
		o.scroll(1 << 20)
	default:
		a.do(name)
	}
}

// line is a line of text in parts. It can be chosen if it does something; at is the time of what
// it describes.
type line struct {
	spans []span
	does  func(*app)
	at    int64
	key   string // says which one is chosen, where lines come and go
}

// said returns a line in one style.
func said(text string, st tcell.Style) line { return line{spans: []span{{text, st}}} }

// text is a window with lines that scroll.
type text struct {
	title  string
	keys   string // a hint about keys that mean something here
	lines  func(a *app, width int) []line
	keyed  func(a *app, name string) bool
	top    int
	chosen int  // a line that does something; -1 while there is none
	choice bool // lines can be chosen
	whole  bool // it takes the whole screen
	// network says that it shows connections or ports, which are read while it is open.
	network bool
	shown   int
	all     []line
	// command has the arguments of the replay command that prints the same.
	command []string
}

func (t *text) draw(a *app, r rect) {
	c := a.c
	inner := c.frame(r, t.title)
	foot := "Esc closes"
	if t.keys != "" {
		foot = t.keys + "; " + foot
	}
	t.all = t.lines(a, inner.w)
	t.shown = inner.h
	t.bound()
	for i := range min(inner.h, len(t.all)-t.top) {
		l := t.all[t.top+i]
		c.spans(inner.x, inner.y+i, inner.w, l.spans...)
		if t.choice && t.top+i == t.chosen {
			c.restyle(rect{inner.x, inner.y + i, inner.w, 1}, func(st tcell.Style) tcell.Style { return st.Reverse(true) })
		}
		if l.does != nil {
			do := l.does
			n := t.top + i
			a.hit(rect{inner.x, inner.y + i, inner.w, 1}, func(_, _ int, twice bool) {
				t.chosen = n
				if twice {
					do(a)
				}
			})
		}
	}
	if len(t.all) > inner.h {
		foot = "lines " + human.Figures(float64(t.top+1)) + " to " + human.Figures(float64(min(t.top+inner.h, len(t.all)))) + " of " + human.Figures(float64(len(t.all))) + "; " + foot
	}
	n := human.Width(foot) + 2
	c.text(r.x+max(r.w-n-2, 1), r.y+r.h-1, min(n, r.w-2), " "+foot+" ", c.theme.faint)
}

// bound keeps the scroll position and the selection within the lines.
func (t *text) bound() {
	if t.choice {
		if t.chosen >= len(t.all) || t.chosen >= 0 && t.all[t.chosen].does == nil {
			t.chosen = -1
		}
		if t.chosen >= 0 {
			t.top = min(max(t.top, t.chosen-t.shown+1), t.chosen)
		}
	}
	t.top = max(min(t.top, len(t.all)-t.shown), 0)
}

// choose goes to the next line that does something, if one is near.
func (t *text) choose(by int) bool {
	from := t.chosen + by
	if t.chosen < 0 {
		from = t.top
	}
	const beyond = 4 // lines to scroll at most
	for i := from; i >= max(t.top-beyond, 0) && i < min(t.top+t.shown+beyond, len(t.all)); i += by {
		if t.all[i].does != nil {
			t.chosen = i
			return true
		}
	}
	return false
}

func (t *text) key(a *app, name string) bool {
	if name == "Enter" && t.choice && t.chosen >= 0 && t.chosen < len(t.all) {
		if do := t.all[t.chosen].does; do != nil {
			do(a)
		}
		return true
	}
	return t.keyed != nil && t.keyed(a, name)
}

func (t *text) scroll(by int) {
	if t.choice && (by == 1 || by == -1) && t.choose(by) {
		return
	}
	t.chosen = -1
	t.top = max(min(t.top+by, len(t.all)-t.shown), 0)
}

// wrapped breaks a text into lines.
func wrapped(s string, width int, st tcell.Style) []line {
	var out []line
	for i, l := range human.Wrap(visible.Text(strings.ReplaceAll(s, "\n", " ")), max(width-2, 10)) {
		if i > 0 {
			l = "  " + l
		}
		out = append(out, said(l, st))
	}
	return out
}
