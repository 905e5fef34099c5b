package browse

import (
	"time"

	"github.com/gdamore/tcell/v2"
)

// hit is a part of the screen that can be clicked. do gets the position in it, and whether it
// was a double click.
type hit struct {
	rect
	do func(x, y int, twice bool)
}

// drag is a selection of columns of the timeline while the button is held.
type drag struct{ from, to int }

// click is the last click, to recognize double clicks.
type click struct {
	x, y int
	at   time.Time
}

// quick is the longest time between the two clicks of a double click.
const quick = 500 * time.Millisecond

// hit makes a part of the screen clickable; parts drawn later are on top.
func (a *app) hit(r rect, do func(x, y int, twice bool)) { a.hits = append(a.hits, hit{r, do}) }

// mouse handles an event of the mouse.
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

// down handles the press of a button.
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

// clickTimeline begins to select a stretch of the timeline.
func (a *app) clickTimeline(x, _ int, _ bool) {
	if a.engine == nil {
		return
	}
	a.drag = &drag{x, x}
}

// drags extends the selection.
func (a *app) drags(x int) {
	if a.drag != nil {
		a.drag.to = min(max(x-a.timelineRect.x, 0), a.timelineRect.w-1)
	}
}

// release handles the release of a button: it zooms to a selected stretch, or else moves the
// cursor.
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
