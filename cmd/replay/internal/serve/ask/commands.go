package ask

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"connectrpc.com/connect"

	tachographv1 "tachograph/api/tachograph/v1"
	"tachograph/api/tachograph/v1/tachographv1connect"
	"tachograph/cmd/internal/listen"
)

// Line is a command line whose answer is returned as text.
type Line struct {
	Args []string
	// Width and Height are the size of the client's terminal, 0 if it has none.
	Width, Height int
	// Color is set if the client shows colours.
	Color bool
	// Server is how the client names this server in the command lines that an answer contains.
	Server string
	// Output and Errors take what the command prints.
	Output, Errors io.Writer
	// Follow is for a command that will go on with what is being recorded: it takes a place for it
	// before it prints anything, and fails if too many commands have one. Once the command has printed
	// what was recorded, it calls goOn. From then on it has all the time that its client listens,
	// no turn of those of the questions, and what it prints is sent at once.
	Follow func() (goOn func() error, err error)
}

// RunLine answers a command line until the context ends, and returns its exit status.
type RunLine func(ctx context.Context, l Line) int

// Commands implements CommandService. Its answers take turns with those of a Server.
type Commands struct {
	server   *Server
	run      RunLine
	stopping context.Context
}

// Commands returns the service that answers with run. When stopping is done, commands that follow end
// with its cause.
func (s *Server) Commands(run RunLine, stopping context.Context) *Commands {
	return &Commands{s, run, stopping}
}

// Handler returns the handler of the service, and its path.
func (c *Commands) Handler(options ...connect.HandlerOption) (path string, handler http.Handler) {
	return tachographv1connect.NewCommandServiceHandler(c, options...)
}

// mostColumns is the largest terminal.
const mostColumns = 1 << 12

// Run answers one command line.
func (c *Commands) Run(ctx context.Context, r *connect.Request[tachographv1.RunRequest], stream *connect.ServerStream[tachographv1.RunResponse]) error {
	q := r.Msg
	if err := checkWords(append(q.GetArgs(), q.GetServer())); err != nil {
		return connect.NewError(connect.CodeInvalidArgument, err)
	}
	return c.server.turn(ctx, q.GetArgs(), func(ctx context.Context, leave func()) error {
		ctx, stop := context.WithCancelCause(ctx)
		defer stop(nil)
		end := func() {}
		defer func() { end() }()
		to := &printed{ctx: ctx, send: stream.Send}
		status := int32(c.run(ctx, Line{
			Args: q.GetArgs(), Server: q.GetServer(), Color: q.GetColor(),
			Width: int(min(q.GetWidth(), mostColumns)), Height: int(min(q.GetHeight(), mostColumns)),
			Output: printer(func(b []byte) error { return to.add(&to.next.Output, len(to.next.Errors) > 0, b) }),
			Errors: printer(func(b []byte) error { return to.add(&to.next.Errors, len(to.next.Output) > 0, b) }),
			Follow: func() (goOn func() error, err error) {
				rise, ok := c.server.following.Take(listen.Of(ctx))
				if !ok {
					return nil, fmt.Errorf("the server has no room for one more command that follows, with %d in all and half as many of one client: end another one, or leave --follow out", c.server.limits.Following)
				}
				end = rise
				return func() error {
					if to.live {
						return nil
					}
					unwatch := context.AfterFunc(c.stopping, func() { stop(context.Cause(c.stopping)) })
					end = func() {
						unwatch()
						rise()
					}
					leave()
					to.live = true
					return to.flush()
				}, nil
			},
		}))
		to.next.Status = &status
		return to.flush()
	})
}

func checkWords(words []string) error {
	total := 0
	for _, w := range words {
		if total += len(w); len(w) > mostText || strings.ContainsRune(w, 0) {
			return fmt.Errorf("a word of the command line has %d bytes or a zero in it; it may have %d", len(w), mostText)
		}
	}
	if total > mostTexts || len(words) > mostWords {
		return errors.New("the command line is too long")
	}
	return nil
}

// printed sends what a command prints, in the order in which it is printed.
type printed struct {
	ctx  context.Context
	send func(*tachographv1.RunResponse) error
	next tachographv1.RunResponse
	live bool // what is printed is sent at once
}

// mostPrinted is how many bytes one message has.
const mostPrinted = 32 << 10

// add adds b to one of the texts of the next message. If turned, the other one has what was printed
// before.
func (p *printed) add(to *[]byte, turned bool, b []byte) error {
	if turned {
		if err := p.flush(); err != nil {
			return err
		}
	}
	for len(b) > 0 {
		n := min(len(b), mostPrinted-len(*to))
		*to = append(*to, b[:n]...)
		b = b[n:]
		if len(*to) == mostPrinted {
			if err := p.flush(); err != nil {
				return err
			}
		}
	}
	if p.live {
		return p.flush()
	}
	return context.Cause(p.ctx)
}

func (p *printed) flush() error {
	if err := context.Cause(p.ctx); err != nil {
		return err
	}
	err := p.send(&p.next)
	p.next.Output, p.next.Errors = p.next.Output[:0], p.next.Errors[:0]
	return err
}

// A printer is a Writer that is a function.
type printer func(b []byte) error

func (p printer) Write(b []byte) (int, error) {
	if err := p(b); err != nil {
		return 0, err
	}
	return len(b), nil
}
