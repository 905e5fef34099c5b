package browse

import (
	"context"
	"strings"
	"time"

	"tachograph/cmd/replay/internal/moment"
	"tachograph/sample/metric"
)

// app is the program: what it shows, and what it knows of the recording so far. All of it
// belongs to the goroutine that draws.
type app struct {
	Options
	Zone   *time.Location
	c      *canvas
	w      *worker
	engine Engine // nil until the recording is open

	host          metric.Host
	first, last   int64 // the span of the recording
	end           int64 // the last sample
	lanes         []moment.Lane
	at            int64 // the instant under the cursor
	whole         bool  // the timeline shows the whole recording
	from, to      int64 // the ends of the timeline
	lane          int   // the chosen one
	page          page
	back, ahead   []visit
	stepBase      int64 // where pending steps begin
	stepN         int   // how many are pending
	moves         int   // counts moves: an answer to a question from before a move is too late
	wills         int   // counts the moves that the user made
	serial        int   // counts the additions to the recording
	arrangement         // of processes
	arrangedOnce  bool  // it was chosen, by the user or by what was recorded
	table         arranged
	lists         [pages]list
	marks         []int64
	condition     string // that n and N look for
	overlays      []overlay
	prompt        *prompt
	said          string
	saidBad       bool
	following     bool // the cursor stays at the end
	hits          []hit
	drag          *drag
	quit          bool
	quitErr       error
	lastClick     click
	pressed       bool // a button of the mouse
	typed         map[*question][]string
	again         bool      // more was recorded while a refresh was running
	longBegan     time.Time // when the last long question was asked
	spin          int
	shownMoment   *moment.Moment
	momentWhen    int64 // the instant of shownMoment
	shownTimeline *moment.Timeline
	pinned        map[string]moment.Track
	asked         wanted
	askedTimeline timelineWanted
	better        timelineWanted // the shown timeline, if a better one can be had
	askedPins     timelineWanted
	network       *moment.Network // who used the network at the moment; nil before it is read
	askedNetwork  networkWanted
	waited        time.Duration // about how long there has been something to wait for
	needsSync     bool
	width, height int
	timelineRect  rect
	tableRows     int // lines of this page's list
}

// visit is a position and a page that the user can go back to.
type visit struct {
	at, from, to int64
	whole        bool
	page         page
}

// wanted says which moment to show.
type wanted struct {
	at            int64
	stepN, serial int
	moves         int
}

type timelineWanted struct {
	from, to int64
	columns  int
	serial   int
	pins     string
}

func newApp(opt Options, c *canvas) *app {
	a := &app{Options: opt, c: c, w: newWorker(), whole: true, page: pageProcesses}
	a.sort = "cpu"
	a.width, a.height = c.Size()
	a.open()
	return a
}

// open asks the worker to open the recording, which may mean waiting for one.
func (a *app) open() {
	a.w.ask(askRefresh, "", func(ctx context.Context) func() {
		o, err := a.Open(ctx)
		if err == nil && o.Engine == nil {
			err = ctx.Err()
		}
		if err != nil {
			return func() { a.quit, a.quitErr = true, err }
		}
		e := o.Engine
		now := lookAround(e)
		return func() {
			a.engine, a.Zone, a.host = e, o.Zone, e.Host()
			a.around(now)
			switch {
			case o.At != 0:
				a.at = a.clamp(o.At)
			default:
				a.at = a.end
			}
			a.fit()
			if o.From != 0 || o.To != 0 {
				if o.To == 0 {
					o.To = a.last
				}
				a.zoomTo(max(o.From, a.first), min(o.To, a.last))
				a.at = min(max(a.at, a.from), a.to)
			}
			a.follow()
			a.tell(o.Note, false)
			if o.At != 0 {
				a.tellOutside(o.At)
			}
		}
	})
}

// clamp returns the recorded instant that is nearest to at.
func (a *app) clamp(at int64) int64 { return min(max(at, a.first), a.last) }

// fit shows the whole recording on the timeline.
func (a *app) fit() { a.whole, a.from, a.to = true, a.first, max(a.last, a.first+1) }

// want asks for what the screen needs and does not have yet.
func (a *app) want() {
	if a.engine == nil {
		return
	}
	if w := (wanted{a.at, a.stepN, a.serial, a.moves}); w != a.asked {
		a.asked = w
		a.wantMoment()
	}
	a.wantNetwork()
	columns := a.timelineRect.w
	if columns <= 0 {
		return
	}
	w := timelineWanted{a.from, a.to, columns, a.serial, ""}
	if w != a.askedTimeline {
		a.askedTimeline, a.better = w, timelineWanted{}
		a.w.drop(askBetter)
		a.wantTimeline(askTimeline)
	}
	if w.pins = strings.Join(a.pins, "\x00"); w != a.askedPins {
		a.wantPins(w)
	}
}

// wantMoment asks for the moment at the cursor, or for the one that the pending steps lead to.
func (a *app) wantMoment() {
	e, at, base, n, moves := a.engine, a.at, a.stepBase, a.stepN, a.moves
	a.w.ask(askMoment, "reading", func(context.Context) func() {
		if n != 0 {
			at = e.Step(base, n)
		}
		m, err := e.At(at)
		return func() {
			if moves != a.moves {
				if err == nil && m != nil {
					a.shownMoment, a.momentWhen = m, at // Better than the one before.
					a.firstArrangement()
				}
				return
			}
			if err != nil {
				a.tell(err.Error(), true)
				return
			}
			a.at = at
			if a.stepN == n {
				a.stepN = 0
			}
			a.asked.at, a.asked.stepN = a.at, a.stepN
			a.shownMoment, a.momentWhen = m, at
			a.firstArrangement()
			a.show(at)
			a.follow()
		}
	})
}

// wantTimeline asks for the courses of all lanes and, once they are shown, for those that could
// not be read at once.
func (a *app) wantTimeline(k kind) {
	e, want := a.engine, a.askedTimeline
	a.w.ask(k, "drawing the timeline", func(context.Context) func() {
		t, err := e.Timeline(want.from, want.to, want.columns)
		return func() {
			if k == askBetter && want != a.better {
				return // Another one is shown by now.
			}
			if err != nil {
				a.tell(err.Error(), true)
				return
			}
			a.shownTimeline = t
			for i := range t.Lanes {
				join(&t.Lanes[i])
			}
			if t.Rough && a.askedTimeline == want {
				a.better = want
				a.wantTimeline(askBetter)
			}
		}
	})
}

// show moves the timeline so that the cursor is on it.
func (a *app) show(at int64) {
	if a.whole || at >= a.from && at <= a.to {
		return
	}
	span := a.to - a.from
	switch {
	case at < a.from && at >= a.from-span/2:
		a.from -= span / 2
	case at > a.to && at <= a.to+span/2:
		a.from += span / 2
	default:
		a.from = at - span/2
	}
	a.from = max(min(a.from, a.last-span), a.first)
	a.to = a.from + span
}

// tell shows a message until the next key.
func (a *app) tell(text string, bad bool) { a.said, a.saidBad = text, bad }

// long asks a question that takes long. It is answered in the background and can be cancelled,
// and the engine gets its context.
func (a *app) long(k kind, what string, run func(context.Context) func()) {
	e := a.engine
	a.longBegan = a.Now()
	a.w.ask(k, what, func(ctx context.Context) func() {
		e.Until(ctx)
		defer e.Until(context.Background())
		return run(ctx)
	})
}

// giveUp cancels all long questions.
func (a *app) giveUp() {
	for k := range kinds {
		if k.long() {
			a.w.cancel(k)
		}
	}
}

// busy returns what the user is waiting for, once that takes long; "" if it is nothing, or
// nothing that the user asked for. It returns sooner what would otherwise show no reaction on
// the screen.
func (a *app) busy() string {
	what, is := a.w.busy()
	unseen := a.w.askingLong() || a.stepN != 0
	if !is || a.waited < soon || a.waited < patience && !unseen {
		return ""
	}
	return what
}

// extent is what a recording covers.
type extent struct {
	first, last, end int64
	lanes            []moment.Lane
}

// lookAround reads the extent of a recording. Call it where the engine is used.
func lookAround(e Engine) extent {
	x := extent{lanes: e.Lanes()}
	x.first, x.last = e.Span()
	x.end = e.Step(x.last, 0)
	return x
}

func (a *app) around(x extent) { a.first, a.last, a.end, a.lanes = x.first, x.last, x.end, x.lanes }

// refreshed takes in the extent of a recording that has grown.
func (a *app) refreshed(x extent) {
	a.around(x)
	a.serial++
	if a.following {
		a.at = a.end
		a.moves++
		a.stepN = 0
	}
	if a.whole {
		a.fit()
	} else if a.following && a.to < a.last {
		span := a.to - a.from
		a.to = a.last
		a.from = a.to - span
	}
}
