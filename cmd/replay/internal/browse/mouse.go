package browse

import (
	"time"

	"github.com/gdamore/tcell/v2"
)

// hit is a part of the screen that can be clicked. Do is told where in it, and
// whether it was clicked twice.
type hit struct {
	rect
	do func(x, y int, twice bool)
}

// drag is a selection of columns of the timeline while the button is held.
type drag struct{ from, to int }

// click is the last one, to know two quick ones at one place.
type click struct {
	x, y int
	at   time.Time
}

// quick is how fast the second click of two follows the first.
const quick = 500 * time.Millisecond

// hit makes a part of the screen one that can be clicked; the last that is drawn is
// the one on top.
func (a *app) hit(r rect, do func(x, y int, twice bool)) { a.hits = append(a.hits, hit{r, do}) }

// mouse does what the mouse means.
func (a *app) mouse(e *tcell.EventMouse) {
	x, y := e.Position()
	buttons := e.Buttons()
	switch {
	case buttons&tcell.WheelUp != 0:
		a.wheel(x, y, -1)
	case buttons&tcell.WheelDown != 0:
		a.wheel(x, y, 1)
	case buttons&tcell.ButtonPrimary != 0:
		if a.pressed {
			a.drags(x)
			return
		}
		a.pressed = true
		a.down(x, y, e.When())
	default:
		a.pressed = false
		a.release()
	}
}

// down is the button going down.
func (a *app) down(x, y int, at time.Time) {
	twice := a.lastClick.x == x && a.lastClick.y == y && at.Sub(a.lastClick.at) < quick
	a.lastClick = click{x, y, at}
	if twice {
		a.lastClick = click{}
	}
	a.said = ""
	if a.prompt != nil {
		a.prompt = nil
	}
	for i := len(a.hits) - 1; i >= 0; i-- {
		if h := a.hits[i]; h.has(x, y) {
			h.do(x-h.x, y-h.y, twice)
			return
		}
	}
}

// clickTimeline moves the cursor, and begins to select a stretch.
func (a *app) clickTimeline(x, _ int, _ bool) {
	if a.engine == nil {
		return
	}
	a.drag = &drag{x, x}
}

// drags extends what is selected.
func (a *app) drags(x int) {
	if a.drag != nil {
		a.drag.to = min(max(x-a.timelineRect.x, 0), a.timelineRect.w-1)
	}
}

// release is the button going up: a stretch is zoomed to, a click moves the cursor.
func (a *app) release() {
	d := a.drag
	a.drag = nil
	switch {
	case d == nil:
	case d.from == d.to:
		a.jump(a.instantAt(d.from))
	default:
		from, to := a.instantAt(min(d.from, d.to)), a.instantAt(max(d.from, d.to))
		a.remember()
		a.zoomTo(from, to)
		if a.at < a.from || a.at > a.to {
			a.goTo(a.from + (a.to-a.from)/2)
		}
	}
}

// wheel zooms over the timeline, and scrolls elsewhere.
func (a *app) wheel(x, y, by int) {
	switch {
	case a.overlay() != nil:
		a.overlay().scroll(by * 3)
	case a.timelineRect.has(x, y) && by < 0:
		a.zoomAt(a.instantAt(x-a.timelineRect.x), 0.7)
	case a.timelineRect.has(x, y):
		a.zoomAt(a.instantAt(x-a.timelineRect.x), 1/0.7)
	default:
		a.scroll(by * 3)
	}
}
