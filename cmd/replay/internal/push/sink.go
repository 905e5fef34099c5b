// Package push sends what is recorded to a receiver on another machine: every tick and
// event, in batches, from the last acknowledged position on.
//
// The archive is the buffer. An Engine follows it and builds one batch while another is on
// its way. While the receiver is slow or away the Engine stops reading, so that it uses
// the memory of two batches and the disk space of one small file, whatever happens.
//
// That file, the state, contains the acknowledged position and, before a batch is sent,
// the end of that batch. After a kill the Engine builds the very same batch again: the
// ticks of each class between two clocks and the events between two counts, in a fixed
// order. A receiver that knows what it has can recognise it.
//
// A Sink knows the format of a batch and where to send it.
package push

import (
	"context"
	"fmt"
	"hash/fnv"
	"time"

	"tachograph/store/archive"
	"tachograph/store/follow"
)

// A Sink makes batches for one receiver. Only one goroutine at a time uses it, except for a
// batch's Send, which runs while the next batch is made.
type Sink interface {
	// Prepare makes sure that the receiver accepts batches. It is repeated until it succeeds or
	// returns a Fatal.
	Prepare(ctx context.Context) error
	// NewBatch begins a batch. The same items in the same order make the same batch.
	NewBatch(id BatchID) Batch
}

// A Standing sink gets, before the first batch, the standing values at the position where the batch
// begins.
type Standing interface {
	Standing(item *archive.Item) error
}

// A Choosy sink takes the values of some instance domains only. The others are left out of ticks
// before they are kept and counted.
type Choosy interface {
	Wants(indom string) bool
}

// A Batch holds the data of one request. All of it is from one archive.
type Batch interface {
	// Add adds an item, a tick or an event. The batch may keep it, and it never changes. An
	// instance is the same pointer in all items as long as it is read and has the same name.
	// Rows are in the order of their keys, blocks in the order of their groups' names.
	Add(item *archive.Item) error
	// Size returns how large the batch is: in values, and in bytes as they are sent.
	Size() (values, bytes int)
	// Send returns nil when the receiver has acknowledged the batch. It may be called
	// again after any other error but Refused. See Retry, Refused, Partial and Fatal;
	// any other error is a Retry.
	Send(ctx context.Context) error
}

// BatchID identifies a batch by its part of a recording.
type BatchID struct {
	Archive  *archive.Info
	From, To follow.Position
	// Again says that the batch was being sent when an earlier run ended, so the receiver may
	// have it.
	Again bool
}

// String returns a text that is unique for the batch: letters, digits, - and _.
func (id BatchID) String() string {
	h := fnv.New128a()
	fmt.Fprintf(h, "%s %s", id.From, id.To)
	return fmt.Sprintf("%x", h.Sum(nil))
}

// Retry says that a batch was not accepted, and may be later.
type Retry struct {
	After time.Duration // the pause that the receiver asked for; 0: the usual one
	// Slow says that a person has to fix something: a token is wrong, or nothing accepts batches
	// at this address.
	Slow bool
	Err  error
}

func (e *Retry) Error() string { return e.Err.Error() }
func (e *Retry) Unwrap() error { return e.Err }

// Refused says that the receiver will never accept this batch.
type Refused struct{ Err error }

func (e *Refused) Error() string { return e.Err.Error() }
func (e *Refused) Unwrap() error { return e.Err }

// Partial says that the receiver has accepted the batch except for some values, which it will
// never accept.
type Partial struct {
	Values int
	Err    error
}

func (e *Partial) Error() string { return e.Err.Error() }
func (e *Partial) Unwrap() error { return e.Err }

// Fatal says that no batch will ever be accepted.
type Fatal struct{ Err error }

func (e *Fatal) Error() string { return e.Err.Error() }
func (e *Fatal) Unwrap() error { return e.Err }
