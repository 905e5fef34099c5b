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

// An Engine answers what is asked about one host's recording: a *moment.Recording.
// It is used by one goroutine at a time.
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
	Life(key string) (*moment.Life, error)
	Course(key string, from, to int64, columns int) (*moment.Track, error)
	Diff(a, b int64) ([]*query.Change, error)
	Stacks(at int64) (*stacks.Profile, error)
	// Until has what is asked end soon after a context does, with its error. It can be
	// asked again, and then is what it would have been.
	Until(context.Context)
	// Progress is how much has been seen for what is being asked, from 0 to 1, where that
	// can be told. Alone of all it may be called while another question is answered.
	Progress() float64
}

// Options say what is looked at, and how.
type Options struct {
	// Open opens what is looked at, as soon as there is something recorded, and is told
	// when nobody waits for it any more. It, Refresh and Parse are called where the
	// engine is used.
	Open func(context.Context) (Opened, error)
	// Changed tells that something was recorded since Refresh was called last; nil
	// where nothing can be. Refresh makes the engine see it.
	Changed <-chan struct{}
	Refresh func() error
	// Parse reads an instant that somebody typed, relative to the one looked at.
	Parse func(text string, at int64) (int64, error)
	// Sentence says a difference between two moments in words.
	Sentence func(*query.Change) string
	// Command is the command line, for a shell, of a replay command on what is open.
	Command func(args ...string) string
	// Waiting is said while there is nothing to show yet.
	Waiting string
	Now     func() time.Time
	ASCII   bool // the locale has no other letters
	Color   bool
}

// Opened is what was opened.
type Opened struct {
	Engine Engine
	// Zone is that in which times are read and shown.
	Zone *time.Location
	// At is the instant that is looked at first; 0: the end.
	At int64
	// From and To are the stretch that is on the timeline first; 0: the ends.
	From, To int64
	// Note is said at first.
	Note string
}

// Answer is what the program ended with.
type Answer struct {
	// At is the moment looked at last, 0 if there was none.
	At int64
	// Busy says that a question is still being answered: the archives are in use.
	Busy bool
}
