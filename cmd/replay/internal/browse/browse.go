// Package browse implements the full-screen program that moves through a recording: a
// timeline above, the moment under the cursor below.
//
// It asks an engine in the background, one question at a time, so that the screen never
// blocks. It restores the terminal however it ends, and prints nothing from an archive
// that a terminal would obey.
package browse

import (
	"context"
	"time"

	"tachograph/cmd/replay/internal/moment"
	"tachograph/cmd/replay/internal/stacks"
	"tachograph/sample/metric"
	"tachograph/store/query"
)

// An Engine answers questions about one host's recording: a *moment.Recording. Only one
// goroutine uses it at a time.
type Engine interface {
	Host() metric.Host
	Span() (from, to int64)
	Lanes() []moment.Lane
	Timeline(from, to int64, columns int) (*moment.Timeline, error)
	Step(at int64, n int) int64
	Next(at int64, forward bool) (moment.Mark, bool)
	Peak(lane string, from, to int64) (at int64, value float64, ok bool, err error)
	Holds(ctx context.Context, condition string, at int64, forward bool) (from, to int64, ok bool, err error)
	At(at int64) (*moment.Moment, error)
	Network(at int64) (*moment.Network, error) // nil where a recording does not say who used it
	Life(key string) (*moment.Life, error)
	Course(key string, from, to int64, columns int) (*moment.Track, error)
	Diff(a, b int64) ([]*query.Change, error)
	Stacks(at int64) (*stacks.Profile, error)
	// Until cancels the current question with ctx, which is then its error. Asking the question
	// again gives the full answer.
	Until(context.Context)
	// Progress returns how much of the current question's data has been read, from 0 to 1, where
	// that is known. It is the only method that may be called while another one runs.
	Progress() float64
}

// Options say what to show, and how.
type Options struct {
	// Open opens the recording as soon as something has been recorded. Its context ends when the
	// result is no longer needed. Open, Refresh and Parse are called where the engine is used.
	Open func(context.Context) (Opened, error)
	// Changed signals that something was recorded since the last call of Refresh; nil if nothing
	// can be. Refresh makes the engine see it.
	Changed <-chan struct{}
	Refresh func() error
	// Parse reads an instant that the user typed, relative to the one at the cursor.
	Parse func(text string, at int64) (int64, error)
	// Sentence describes a difference between two moments in words.
	Sentence func(*query.Change) string
	// Command returns a replay command on the open recording, as words for a shell.
	Command func(args ...string) string
	// Waiting is the text to show while there is no recording yet.
	Waiting string
	Now     func() time.Time
	ASCII   bool // the locale has only ASCII letters
	Color   bool
}

// Opened is an open recording and what to show of it first.
type Opened struct {
	Engine Engine
	// Zone is the time zone in which times are read and shown.
	Zone *time.Location
	// At is the instant to show first; 0: the end.
	At int64
	// From and To are the ends of the first timeline; 0: the ends of the recording.
	From, To int64
	// Note is the first message.
	Note string
}

// Answer is the state that the program ended in.
type Answer struct {
	// At is the last instant at the cursor, 0 if there was none.
	At int64
	// Busy says that a question is still being answered: the archives are in use.
	Busy bool
}
