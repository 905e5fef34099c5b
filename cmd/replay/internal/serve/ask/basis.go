package ask

import (
	"context"
	"time"
)

// Basis is what an answer was made from.
type Basis struct {
	Command  string   // the command line that gives the answer again
	Archives []string // their ids
	Zone     *time.Location
	From, To int64 // the part of the window that the archives cover
	Absent   []Absence
}

// An Absence is a time of the window in which nothing was recorded.
type Absence struct {
	From, To int64
	Reason   string
}

// Answer answers a command line within the limits, for a caller that needs no messages. Its
// errors are for clients.
func (s *Server) Answer(ctx context.Context, c Command) (aside Aside, err error) {
	err = s.turn(ctx, c.Args, func(ctx context.Context, _ func()) (err error) {
		aside, err = s.run(ctx, c)
		return err
	})
	return aside, err
}
