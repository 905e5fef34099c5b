package browse

import (
	"context"
	"errors"
	"strings"
	"time"

	"tachograph/store/query"
)

// longestHistory is how many places are remembered.
const longestHistory = 100

// here returns the current place.
func (a *app) here() visit { return visit{a.at, a.from, a.to, a.whole, a.page} }

// remember keeps the current place for goBack.
func (a *app) remember() {
	p := a.here()
	if n := len(a.back); n > 0 && a.back[n-1] == p {
		return
	}
	a.back = append(a.back, p)
	if len(a.back) > longestHistory {
		a.back = a.back[1:]
	}
	a.ahead = nil
}

// goTo moves the cursor to another instant.
func (a *app) goTo(at int64) {
	if a.engine == nil {
		return
	}
	at = a.clamp(at)
	a.willed()
	a.moves++
	a.stepN = 0
	a.at = at
	a.follow()
	a.show(at)
}

// willed notes that the user moves. It cancels searches, and reading for windows: the user no
// longer needs them.
func (a *app) willed() {
	a.wills++
	a.giveUp()
}

// jump moves the cursor to another instant, from which the user can come back.
func (a *app) jump(at int64) {
	a.remember()
	a.goTo(at)
}

// follow makes the cursor stay at the end from now on if it is there.
func (a *app) follow() { a.following = a.Changed != nil && a.at >= a.end }

// step moves by that many samples.
func (a *app) step(n int) {
	if a.engine == nil {
		return
	}
	a.willed()
	if a.stepN == 0 {
		a.stepBase = a.at
	}
	a.following = false
	a.stepN += n
}

// by moves by a length of time.
func (a *app) by(d time.Duration) {
	at := a.at + int64(d)
	switch {
	case at < a.first && a.at <= a.first:
		a.tell("this is the first sample of the recording", false)
	case at > a.last && a.at >= a.end:
		a.tell("this is the last sample of the recording", false)
	}
	a.goTo(at)
}

// restore goes to a place.
func (a *app) restore(p visit) {
	a.page, a.whole, a.from, a.to = p.page, p.whole, p.from, p.to
	if p.whole {
		a.fit()
	}
	a.goTo(p.at)
}

func (a *app) goBack() {
	n := len(a.back)
	if n == 0 {
		a.tell("there is nowhere to go back to", false)
		return
	}
	p := a.back[n-1]
	a.back = a.back[:n-1]
	a.ahead = append(a.ahead, a.here())
	a.restore(p)
}

func (a *app) goForward() {
	n := len(a.ahead)
	if n == 0 {
		a.tell("there is nowhere to go forward to", false)
		return
	}
	p := a.ahead[n-1]
	a.ahead = a.ahead[:n-1]
	a.back = append(a.back, a.here())
	a.restore(p)
}

// zoom makes the timeline show a shorter or longer span, with the cursor in the same place.
func (a *app) zoom(factor float64) {
	if a.engine == nil {
		return
	}
	span := float64(a.to - a.from)
	share := float64(a.at-a.from) / max(span, 1)
	span *= factor
	if least := float64(a.leastSpan()); span < least {
		span = least
	}
	if span >= float64(a.last-a.first) {
		a.fit()
		return
	}
	a.zoomTo(a.at-int64(span*share), a.at-int64(span*share)+int64(span))
}

// leastSpan returns the shortest span of a timeline.
func (a *app) leastSpan() int64 { return int64(20 * time.Second) }

// zoomTo shows a span on the timeline.
func (a *app) zoomTo(from, to int64) {
	if least := a.leastSpan(); to-from < least {
		middle := from + (to-from)/2
		from, to = middle-least/2, middle+least/2
	}
	span := to - from
	if from < a.first {
		from, to = a.first, a.first+span
	}
	if to > a.last {
		from, to = a.last-span, a.last
	}
	if from <= a.first && to >= a.last {
		a.fit()
		return
	}
	a.whole, a.from, a.to = false, max(from, a.first), to
}

// zoomAt zooms around another instant than the cursor's.
func (a *app) zoomAt(at int64, factor float64) {
	was := a.at
	a.at = at
	a.zoom(factor)
	a.at = was
	if !a.whole && (was < a.from || was > a.to) {
		a.goTo(min(max(was, a.from), a.to))
	}
}

// nextMark goes to the next or the previous event or break.
func (a *app) nextMark(forward bool) {
	if a.engine == nil {
		return
	}
	e, at := a.engine, a.at
	a.seek("looking for the next event", func(context.Context) (int64, func() string, error) {
		m, ok := e.Next(at, forward)
		switch {
		case ok:
			return m.From, func() string { return a.markText(&m) }, nil
		case forward:
			return 0, saying("no event after this"), nil
		}
		return 0, saying("no event before this"), nil
	})
}

// peak goes to the highest value of the chosen lane on the timeline.
func (a *app) peak() {
	if a.engine == nil || len(a.lanes) == 0 {
		return
	}
	e, lane, from, to := a.engine, a.lanes[a.lane%len(a.lanes)], a.from, a.to
	a.seek("looking for the peak of "+lane.Title, func(context.Context) (int64, func() string, error) {
		at, value, ok, err := e.Peak(lane.Name, from, to)
		if err != nil || !ok {
			return 0, saying("no " + lane.Title + " was recorded here"), err
		}
		return at, saying("peak of " + lane.Title + ": " + laneValue(lane, value)), nil
	})
}

// saying returns a function that returns text.
func saying(text string) func() string { return func() string { return text } }

// seek looks for an instant in the background and goes there. said, which returns the message to
// show then, is called where the screen is drawn.
func (a *app) seek(what string, find func(context.Context) (at int64, said func() string, err error)) {
	wills := a.wills
	a.long(askSeek, what, func(ctx context.Context) func() {
		at, said, err := find(ctx)
		return func() {
			switch {
			case wills != a.wills:
			case err != nil:
				a.tell(err.Error(), true)
			case at == 0:
				a.tell(said(), false)
			default:
				a.jump(at)
				a.tell(said(), false)
			}
		}
	})
}

// holds goes to the next moment at which the condition holds.
func (a *app) holds(forward bool) {
	switch {
	case a.engine == nil:
	case a.condition == "":
		a.ask(promptCondition)
	default:
		e, at, condition := a.engine, a.at, a.condition
		a.seek("looking for "+condition, func(ctx context.Context) (int64, func() string, error) {
			from, to, ok, err := e.Holds(ctx, condition, at, forward)
			if pointed := (*query.ExprError)(nil); errors.As(err, &pointed) {
				// It may be a filter for processes.
				translated, ferr := conditionOf(condition, e.Host().Platform)
				switch {
				case ferr == nil:
					from, to, ok, err = e.Holds(ctx, translated, at, forward)
				case !strings.Contains(condition, ".") && (suggests(ferr.Error()) || !suggests(pointed.Msg)): // as every metric's name does
					err = ferr
				default:
					err = errors.New(pointed.Msg)
				}
			}
			switch {
			case err != nil:
				return 0, nil, err
			case !ok && forward:
				return 0, saying(condition + " does not hold after this"), nil
			case !ok:
				return 0, saying(condition + " does not hold before this"), nil
			}
			return from, func() string { return condition + " holds " + a.spanText(from, to) }, nil
		})
	}
}

// suggests reports whether a message suggests what the user may have meant.
func suggests(text string) bool { return strings.Contains(text, "did you mean") }

// mark marks this moment; a second mark is compared with the first.
func (a *app) mark() {
	if a.engine == nil {
		return
	}
	if len(a.marks) == 2 {
		a.marks = nil
	}
	a.marks = append(a.marks, a.at)
	if len(a.marks) == 1 {
		a.tell("marked; mark a second moment to see what differs", false)
		return
	}
	a.compare()
}
