// Package sample reads metrics. It knows what a metric is (package sample/metric), which metrics
// exist (sample/catalog), how each platform supplies them (sample/linux, sample/darwin) and when
// each is due (sample/engine). It does not know how values are stored.
package sample

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"tachograph/sample/metric"
)

// A Source reads a set of metrics in one go: one system call or one file feeds
// many of them.
//
// Sources are opened once, describe what this machine can supply, and are then
// read again and again by one goroutine at a time, without allocating in
// steady state.
type Source interface {
	// Name is short and unique: "vmstat", "proc", "iflist". It appears in
	// timings, errors and the configuration.
	Name() string

	// Groups lists what the source supplies. A metric that this machine lacks is in its group
	// with Desc.Unsupported set. The answer does not change until Refresh.
	Groups() []*metric.Group

	// Read fills the frames; each asks for some metrics of one of the source's groups. It must
	// set the Stamp of each frame it fills. It marks a value that it cannot read as missing, with
	// the reason. It returns an error only when it could read nothing at all; the engine then
	// marks all cells.
	Read(c *Context, frames []*Frame) error

	// Refresh looks again for what the machine has. The engine calls it at the start of each
	// archive, and whenever a Looker has seen a change.
	Refresh() error

	// Close releases what the source holds.
	Close() error
}

// A Looker is a Source for parts of the machine that may change between readings: a driver that
// matches late, a module that is loaded, a battery or a card that is put in.
type Looker interface {
	Source
	// Look reports whether Refresh would find a different machine than last time. It changes
	// nothing about the source and is cheap, because the engine calls it again and again.
	Look() bool
}

// Context is what the engine gives a source for one reading.
type Context struct {
	// Now reads the three clocks.
	Now func() metric.Stamp
	// Emit records an event: a process that started, a disk that went away.
	// It may be called only during Read.
	Emit func(metric.Event)
	// Class is the class being read. A source that reads in parts keeps a separate position for
	// each class.
	Class metric.Class
	// Enough reports whether a source with very many instances must stop, keep what it has read,
	// and continue there the next time. Nil means never.
	Enough func() bool
	// Living asks only for what exists now, without the last totals of what has ended.
	Living bool
	// Repeated also accepts an answer that the kernel repeats, as it does for callers that ask
	// too often, stamped with the time when it was new. In a recording such an answer would look
	// like a machine at rest.
	Repeated bool

	read, of int
}

// Late calls Enough. That reads the clocks: call it once for some dozens of instances. The call
// is also a sign of life: a source that has not read the clocks for long is taken to hang.
func (c *Context) Late() bool { return c.Enough != nil && c.Enough() }

// Partly records that the source could read only some of the existing instances in time.
func (c *Context) Partly(read, of int) { c.read, c.of = read, of }

// Part returns what Partly recorded since the last call; of is 0 if it recorded nothing.
func (c *Context) Part() (read, of int) {
	read, of = c.read, c.of
	c.read, c.of = 0, 0
	return read, of
}

// Read has s fill frames. A panic becomes an error: a mistake in one source must
// not end the reading of all others.
func Read(s Source, c *Context, frames []*Frame) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("mistake in the program: %v", p)
		}
	}()
	return s.Read(c, frames)
}

// ReasonOf is the reason for missing values when a source returned err.
func ReasonOf(err error) metric.Reason {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return metric.Permission
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOSYS), errors.Is(err, syscall.ENOTSUP):
		return metric.Unsupported
	}
	text := err.Error()
	if len(text) > 120 {
		text = text[:120]
	}
	return metric.ReasonFor(text)
}
