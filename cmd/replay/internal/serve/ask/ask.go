// Package ask serves QueryService. It translates a request into a command line of replay
// and the printed rows into messages, so that programs and people get the same answers.
// The caller supplies the function that runs a command line.
package ask

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"connectrpc.com/connect"

	tachographv1 "tachograph/api/tachograph/v1"
	"tachograph/api/tachograph/v1/tachographv1connect"
	"tachograph/cmd/internal/listen"
	"tachograph/cmd/internal/visible"
	"tachograph/cmd/replay/internal/out"
	"tachograph/cmd/replay/internal/scope"
)

// Command is a command line whose answer is returned as rows.
type Command struct {
	// Args are the command and its arguments, as they come from Arguments.
	Args []string
	// Begin gets the columns and returns the Writer for the rows.
	Begin func(columns []out.Column) (out.Writer, error)
}

// Aside is what an answer has besides its rows.
type Aside struct {
	Lost  []string // what is missing because it cannot be read
	Notes []string
	Basis *Basis // nil unless Args have --show-command
}

// Run answers a command until the context ends. Its errors are of type *Error if their kind is
// known.
type Run func(ctx context.Context, c Command) (Aside, error)

// Limits keep questions from overloading the machine.
type Limits struct {
	// AtOnce is how many questions are answered at a time, only one of them a why, which takes the most
	// memory of a long time. An answer takes more the more processes there were; nothing limits how much.
	AtOnce int
	// Waiting is how many questions may wait for their turn.
	Waiting int
	// Longest is how long an answer may take.
	Longest time.Duration
	// Following is how many command lines may follow what is being recorded. Each takes about 10 MB,
	// and has no turn and no longest time.
	Following int
}

// DefaultLimits are the limits of a server that sets no others.
var DefaultLimits = Limits{AtOnce: 2, Waiting: 32, Longest: time.Minute, Following: 4}

// Server implements QueryService.
type Server struct {
	run       Run
	limits    Limits
	turns     *listen.Turns
	whys      *listen.Turns // taken before one of turns
	following *listen.Seats
}

// New returns a server whose answers come from run.
func New(run Run, limits Limits) *Server {
	return &Server{run: run, limits: limits, turns: listen.NewTurns(limits.AtOnce, limits.Waiting), whys: listen.NewTurns(1, limits.Waiting), following: listen.NewSeats(limits.Following)}
}

// Handler returns the handler of the service, and its path.
func (s *Server) Handler(options ...connect.HandlerOption) (path string, handler http.Handler) {
	return tachographv1connect.NewQueryServiceHandler(s, options...)
}

// Query answers one question.
func (s *Server) Query(ctx context.Context, r *connect.Request[tachographv1.QueryRequest], stream *connect.ServerStream[tachographv1.QueryResponse]) error {
	return s.answer(ctx, r.Msg, func(ctx context.Context, args []string) error {
		sink := newSink(ctx, stream.Send)
		aside, err := s.run(ctx, Command{Args: args, Begin: sink.begin})
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = sink.end(aside)
		}
		return err
	})
}

// answer waits for the question's turn, and answers it within the longest time.
func (s *Server) answer(ctx context.Context, question *tachographv1.QueryRequest, with func(ctx context.Context, args []string) error) error {
	args, err := Arguments(question)
	if err != nil {
		return connect.NewError(connect.CodeInvalidArgument, err)
	}
	return s.turn(ctx, args, func(ctx context.Context, _ func()) error { return with(ctx, args) })
}

// turn waits for the turn of a command line, and calls fn, which may take the longest time. fn may call
// leave to go on without the turn and as long as the client listens.
func (s *Server) turn(ctx context.Context, args []string, fn func(ctx context.Context, leave func()) error) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	late := time.AfterFunc(s.limits.Longest, func() { stop(context.DeadlineExceeded) })
	defer late.Stop()
	end, err := s.take(ctx, args)
	switch {
	case errors.Is(err, listen.ErrTurns):
		return connect.NewError(connect.CodeResourceExhausted, fmt.Errorf("%d questions are being answered and %d wait already; ask again later", s.limits.AtOnce, s.limits.Waiting))
	case err != nil:
		return status(ctx, err)
	}
	defer end()
	return status(ctx, fn(ctx, func() {
		late.Stop()
		end()
	}))
}

// take waits for a turn, for a why also for the end of the one before.
func (s *Server) take(ctx context.Context, args []string) (end func(), err error) {
	who, after := listen.Of(ctx), func() {}
	if slices.Contains(args, "why") {
		if after, err = s.whys.Take(ctx, who); err != nil {
			return nil, err
		}
	}
	leave, err := s.turns.Take(ctx, who)
	if err != nil {
		after()
		return nil, err
	}
	return func() {
		leave()
		after()
	}, nil
}

// codes are the codes of the errors of a question.
var codes = map[scope.Kind]connect.Code{
	scope.Mistake: connect.CodeInvalidArgument, scope.Outside: connect.CodeOutOfRange, scope.Nothing: connect.CodeNotFound,
	scope.Unreadable: connect.CodeUnavailable, scope.Broken: connect.CodeInternal,
}

// shown returns an error with a text that clients can display.
func shown(err error) error { return errors.New(visible.Lines(err.Error())) }

// status returns an error for the protocol. If the time is up, that is the reason, whatever else
// failed because of it.
func status(ctx context.Context, err error) error {
	var told *connect.Error
	failed := &scope.Error{}
	switch {
	case err == nil:
		return nil
	case errors.Is(context.Cause(ctx), context.DeadlineExceeded):
		return connect.NewError(connect.CodeDeadlineExceeded, errors.New("the answer took too long: ask about a shorter window or fewer metrics"))
	case errors.As(context.Cause(ctx), &told):
		return told
	case ctx.Err() != nil:
		return connect.NewError(connect.CodeCanceled, errors.New("the question was withdrawn"))
	case errors.As(err, &told):
		return told
	case errors.As(err, &failed):
		return connect.NewError(codes[failed.Kind], shown(err))
	}
	return connect.NewError(connect.CodeInvalidArgument, shown(err))
}
