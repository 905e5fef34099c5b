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

// A Sink makes batches for one receiver. It is used by one goroutine at a time, but
// for Send of a batch, which runs beside the making of the next one.
type Sink interface {
	// Prepare makes sure that there is somebody who takes what is to be sent; it is
	// repeated until it succeeds, or is Fatal.
	Prepare(ctx context.Context) error
	// NewBatch begins a batch. The same items in the same order make the same batch.
	NewBatch(id BatchID) Batch
}

// A Based sink is told, before the first batch, how things stood at the position
// where it begins.
type Based interface {
	Base(item *archive.Item) error
}

// A Choosy sink takes the values of some instance domains only. What it does not want
// is left out of ticks before they are kept and counted.
type Choosy interface {
	Wants(indom string) bool
}

// A Batch is what is sent at once. All of it is of one archive.
type Batch interface {
	// Add adds an item, a tick or an event, which may be kept and never changes. An
	// instance is the same pointer from item to item while it is read and called the
	// same. Rows come in the order of their keys, blocks in that of their groups' names.
	Add(item *archive.Item) error
	// Size is how large the batch has become: values, and bytes as they are sent.
	Size() (values, bytes int)
	// Send returns nil when the receiver has acknowledged the batch. It may be called
	// again after any other error but Refused. See Retry, Refused, Partial and Fatal;
	// any other error is a Retry.
	Send(ctx context.Context) error
}

// BatchID says which part of a recording a batch is.
type BatchID struct {
	Archive  *archive.Info
	From, To follow.Position
	// Again says that it was on its way when an earlier run ended, so that the
	// receiver may have it.
	Again bool
}

// String is the same for the same batch, and for no other: letters, digits, - and _.
func (id BatchID) String() string {
	h := fnv.New128a()
	fmt.Fprintf(h, "%s %s", id.From, id.To)
	return fmt.Sprintf("%x", h.Sum(nil))
}

// Retry says that a batch was not taken and may be later.
type Retry struct {
	After time.Duration // as the receiver asked for; 0: as usual
	// Slow says that somebody has to do something about it: a token is wrong, or
	// nothing takes batches at this address.
	Slow bool
	Err  error
}

func (e *Retry) Error() string { return e.Err.Error() }
func (e *Retry) Unwrap() error { return e.Err }

// Refused says that the receiver will never take this batch.
type Refused struct{ Err error }

func (e *Refused) Error() string { return e.Err.Error() }
func (e *Refused) Unwrap() error { return e.Err }

// Partial says that the receiver has taken the batch but for some values, which it
// will never take.
type Partial struct {
	Values int
	Err    error
}

func (e *Partial) Error() string { return e.Err.Error() }
func (e *Partial) Unwrap() error { return e.Err }

// Fatal says that no batch will ever be taken.
type Fatal struct{ Err error }

func (e *Fatal) Error() string { return e.Err.Error() }
func (e *Fatal) Unwrap() error { return e.Err }
