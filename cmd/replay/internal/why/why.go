// Package why finds out what was out of the ordinary on a machine at an instant or in a
// window, and puts the cause first: the machine was asleep or off, a process ran away, a
// volume was full. It compares the window with a calm stretch of the same recording, which
// it chooses and names.
//
// Each detector, one per file, looks for one kind of trouble and returns findings: who,
// since when, how much more than in the calm stretch. rank sorts the findings by what
// explains the others, and puts a consequence into the line of its cause. No rule depends
// on the name of a program.
package why

import (
	"context"
	"time"

	"tachograph/sample/metric"
	"tachograph/store/query"
)

// Request is a question about one host.
type Request struct {
	Host string // its ID
	// At is the instant in question. If it is zero, the question is about Window; if that is zero
	// as well, about the worst of the whole recording.
	At     int64
	Window query.Window
	Defs   *query.Definitions
	// Format writes an instant; nil writes the time of day in UTC.
	Format func(wall int64) string
	// Zone is the time zone of the times of breaks, as in moment.Sentence; nil means UTC.
	Zone *time.Location
	// Claims asks for the claims of the lines, for which more is read.
	Claims bool
}

// Answer is what was found, most important first.
type Answer struct {
	Host metric.Host
	// Window is the window examined, Calm the stretch it was compared with: zero where there was
	// none.
	Window, Calm query.Window
	// How says how the window was chosen, where it was not given.
	How string
	// Found says that something was out of the ordinary. If it is false, Lines has one line that
	// says so; with Untold, the line says that there is no answer, and why.
	Found, Untold bool
	Lines         []Line
}

// Line is one finding: a sentence of one line that may contain a stranger's names.
type Line struct {
	Text string
	// Kind is the detector's name for it: "sleep", "runaway", "volume" ...
	Kind string
	// Weight is how much it hurt and how certain that is, 0 to 1.
	Weight float64
	// Since is when it began, Until when it was over; zero where that has no meaning.
	Since, Until int64
	// More are the arguments of the replay command that shows more.
	More []string
	// Claims are the numbers that the sentence is based on, if the request asks for them.
	Claims []Claim
}

// A Claim is one number that a sentence is based on: the value of a metric of an instance from
// one instant to another.
type Claim struct {
	Metric   string
	Instance string // its name; empty where the metric has none
	Key      string // its key
	From, To int64
	Of       string // "rate" a second of a counter, "max" of a level, "waited" of a thread for another
	Units    string // of the metric
	Value    float64
	// At is when a maximum was first reached; 0 where it is that of several series, or not known.
	At int64
	// More are the arguments of the replay command that shows it; nil where it is ranges.
	More []string
	// Usual is what the value was in the calm stretch; NaN if it is not known.
	Usual float64
}

// mostLines is the most lines of an answer.
const mostLines = 10

// Ask answers why. Where no time was given and the worst minutes show nothing, it answers for the
// whole recording: what does not use much, such as a server that was killed, may lie outside
// those minutes.
func Ask(ctx context.Context, a query.Archive, r Request) (*Answer, error) {
	q, err := newQuestion(ctx, a, r)
	if err != nil {
		return nil, err
	}
	answer, err := q.answer()
	if err != nil || answer.Found || answer.Untold {
		return answer, err
	}
	if q.how == worstMinutes {
		r.Window = query.Window{From: q.from, To: q.to}
		field := q.whole
		if q, err = newQuestion(ctx, a, r); err != nil {
			return nil, err
		}
		q.how, q.field = "the whole recording", field
		if answer, err = q.answer(); err != nil || answer.Found {
			return answer, err
		}
	}
	answer.Lines = []Line{q.nothing()}
	answer.Untold = answer.Lines[0].Kind == "untold"
	q.stacks(answer)
	return answer, nil
}

// answer returns an answer without lines if nothing was found.
func (q *question) answer() (*Answer, error) {
	outside, err := q.choose()
	if err != nil {
		return nil, err
	}
	if outside {
		return &Answer{Host: q.host, Window: q.w, Untold: true, Lines: []Line{q.outside()}}, nil
	}
	found, err := q.findings()
	if err != nil {
		return nil, err
	}
	if s := q.during(q.asked.From, q.asked.To); s != nil && s.state == "asleep" {
		q.shown, q.calm, q.how = q.asked, query.Window{}, ""
	}
	found = rank(found, q.slack(), q.accounts)
	if q.r.Claims {
		found = q.proven(found)
	}
	answer := &Answer{Host: q.host, Window: q.shown, Calm: q.calm, How: q.how, Lines: lines(found)}
	if answer.Found = len(answer.Lines) > 0; answer.Found {
		q.stacks(answer)
	}
	return answer, nil
}

// show writes an instant.
func (q *question) show(wall int64) string {
	if q.r.Format != nil {
		return q.r.Format(wall)
	}
	return time.Unix(0, wall).UTC().Format(time.TimeOnly)
}

// stamp writes an instant for a command line.
func stamp(wall int64) string {
	return time.Unix(0, wall).UTC().Truncate(time.Second).Format(time.RFC3339)
}

// span returns the flags for a stretch of time.
func span(from, to int64) []string {
	if to%int64(time.Second) != 0 {
		to += int64(time.Second)
	}
	return []string{"--from", stamp(from), "--to", stamp(to)}
}
