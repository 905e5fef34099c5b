// Package sample reads metrics. It knows what a metric is (package
// sample/metric), which ones there are (sample/catalog), how each platform
// supplies them (sample/linux, sample/darwin) and when each is due
// (sample/engine). It does not know how values are kept.
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

	// Groups lists what the source supplies. A metric that this machine does
	// not have is in its group with Desc.Unsupported set. The answer does not
	// change until Refresh.
	Groups() []*metric.Group

	// Read fills the frames, each of which wants some metrics of one of the
	// source's groups. It must set the Stamp of each frame it fills. A value
	// that cannot be read is set missing with its reason; an error is
	// returned only when nothing at all could be read, and then the engine
	// marks all cells.
	Read(c *Context, frames []*Frame) error

	// Refresh looks again for what the machine has: called at the start of
	// each archive, and whenever a Looker has seen a change.
	Refresh() error

	// Close releases what the source holds.
	Close() error
}

// A Looker is a Source whose machine may change while it is read: a driver that
// matches late, a module that is loaded, a battery or a card that is put in.
type Looker interface {
	Source
	// Look reports whether Refresh would find the machine other than it found
	// it last. It changes nothing about the source and is cheap: the engine
	// asks it again and again.
	Look() bool
}

// Context is what the engine lends a source for one reading.
type Context struct {
	// Now reads the three clocks.
	Now func() metric.Stamp
	// Emit records an event: a process that started, a disk that went away.
	// It may be called only during Read.
	Emit func(metric.Event)
	// Class is what is being read. A source that goes on where it stopped does
	// so for each class by itself.
	Class metric.Class
	// Enough reports whether a source of very many instances shall stop, keep
	// what it has read, and go on there the next time. Nil is never.
	Enough func() bool
	// Living says that only what there is now is wanted: the last totals of what has
	// ended are nobody's business.
	Living bool
	// Repeated says that an answer which the kernel repeats, as it does for who asks too
	// often, is wanted as well, with the time at which it was new. In a recording it would
	// look like a machine that stood still.
	Repeated bool

	read, of int
}

// Late asks Enough. That reads the clocks: ask once for some dozens of
// instances. It is also a sign of life: a source is taken to hang when it has
// not asked for the clocks for long.
func (c *Context) Late() bool { return c.Enough != nil && c.Enough() }

// Partly says that only some of the instances there are could be read in time.
func (c *Context) Partly(read, of int) { c.read, c.of = read, of }

// Part returns what Partly has said since the last time; of is 0 if nothing.
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

// ReasonOf is why there are no values where a source returned err.
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
