// Package client subscribes to what replay serve serves: it decodes frames into
// values, and goes on by itself where a connection or the server ended.
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

// A Subscription is what to subscribe to.
type Subscription struct {
	// Service is where.
	Service tachographv1connect.LiveServiceClient
	// Request is what is wanted, and where to begin.
	Request *tachographv1.SubscribeRequest
	// First and Last are how long to wait before trying again: at first, and at
	// most. 0: a tenth of a second, half a minute.
	First, Last time.Duration
	// Trouble, if set, is told what ended a stream that is begun anew.
	Trouble func(error)
}

// Run calls fn with each frame until ctx ends, fn returns an error, or the server
// refuses. A stream that is interrupted is gone on with where it was: fn is then
// given a snapshot of how things stood there, of new rows, and what was missed.
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

// again reports whether it makes sense to come back after err.
func again(err error) bool {
	switch connect.CodeOf(err) {
	case connect.CodeInvalidArgument, connect.CodeNotFound, connect.CodeOutOfRange, connect.CodeFailedPrecondition,
		connect.CodePermissionDenied, connect.CodeUnauthenticated, connect.CodeUnimplemented:
		return false
	}
	return true
}

// errEnded is that a stream ended without an error, which servers do not do.
var errEnded = errors.New("the stream has ended")

func (s *Subscription) once(ctx context.Context, req *tachographv1.SubscribeRequest, fn func(*Frame) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // else a stream that fn ended stays open
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
