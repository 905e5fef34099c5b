// Package client subscribes to replay serve. It decodes frames into values, and resumes by
// itself after a connection or the server ended.
package client

import (
	"context"
	"errors"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	tachographv1 "tachograph/api/tachograph/v1"
	"tachograph/api/tachograph/v1/tachographv1connect"
)

// A Subscription says what to subscribe to.
type Subscription struct {
	// Service is the client of the server.
	Service tachographv1connect.LiveServiceClient
	// Request says what to send, and from where on.
	Request *tachographv1.SubscribeRequest
	// First and Last are the shortest and the longest pause before a retry. 0: a tenth of a
	// second, half a minute.
	First, Last time.Duration
	// Trouble, if set, gets the error of each stream that is then resumed.
	Trouble func(error)
}

// Run calls fn with each frame until ctx ends, fn returns an error, or the server refuses the
// request. An interrupted stream is resumed where it was: fn then gets a snapshot of the values
// there, with new rows, and after it what was missed.
func (s *Subscription) Run(ctx context.Context, fn func(*Frame) error) error {
	req := proto.Clone(s.Request).(*tachographv1.SubscribeRequest)
	first, last := s.First, s.Last
	if first <= 0 {
		first = 100 * time.Millisecond
	}
	if last <= 0 {
		last = 30 * time.Second
	}
	for wait := first; ; wait = min(2*wait, last) {
		own := false
		err := s.once(ctx, req, func(f *Frame) error {
			wait = first
			err := fn(f)
			if own = err != nil; err == nil && f.Position != "" {
				req.Position = f.Position
			}
			return err
		})
		if own || ctx.Err() != nil || !again(err) {
			return err
		}
		if s.Trouble != nil {
			s.Trouble(err)
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-timer.C:
		}
	}
}

// again reports whether it makes sense to retry after err.
func again(err error) bool {
	switch connect.CodeOf(err) {
	case connect.CodeInvalidArgument, connect.CodeNotFound, connect.CodeOutOfRange, connect.CodeFailedPrecondition,
		connect.CodePermissionDenied, connect.CodeUnauthenticated, connect.CodeUnimplemented:
		return false
	}
	return true
}

// errEnded says that a stream ended without an error, which servers do not do.
var errEnded = errors.New("the stream has ended")

func (s *Subscription) once(ctx context.Context, req *tachographv1.SubscribeRequest, fn func(*Frame) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // or a stream that fn ended would stay open
	stream, err := s.Service.Subscribe(ctx, connect.NewRequest(req))
	if err != nil {
		return err
	}
	defer stream.Close()
	var d Decoder
	for stream.Receive() {
		f, err := d.Add(stream.Msg())
		if err == nil && f != nil {
			err = fn(f)
		}
		if err != nil {
			cancel()
			return err
		}
	}
	if err := stream.Err(); err != nil {
		return err
	}
	return errEnded
}
