package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// firstCollection is the size of the heap at which the garbage collector first runs, as a
// multiple of the usual 4 MB. Most answers need less than that in all, and would otherwise be
// interrupted four times.
const firstCollection = 4

// followingPercent is by how much the heap grows between two collections while a command runs
// for hours: it makes little garbage and keeps what it holds.
const followingPercent = 40

// reducingPercent is the same while archives are reduced: the memory held grows with the busiest
// hour, and the garbage adds half as much as usual.
const reducingPercent = 50

// A collector sets how the garbage of the whole process is collected, for the one command that
// the process runs. A nil collector changes nothing: commands that share a process have none.
type collector struct {
	putOff sync.Once
	// lasting is set if the command runs for hours.
	lasting atomic.Bool
}

// later postpones the first collection, once.
func (c *collector) later() {
	if c != nil && os.Getenv("GOGC") == "" {
		c.putOff.Do(c.putOffFirst)
	}
}

// putOffFirst postpones the first collection and restores the usual setting when it has run, so
// that commands that need more memory have the same peak as ever.
func (c *collector) putOffFirst() {
	usual := debug.SetGCPercent(100 * firstCollection)
	runtime.AddCleanup(new([64]byte), func(percent int) {
		if !c.lasting.Load() {
			debug.SetGCPercent(percent)
		}
	}, usual)
}

// following gives back to the system the memory that a command needed only to begin.
func (c *collector) following() {
	if c == nil {
		return
	}
	if os.Getenv("GOGC") == "" {
		c.lasting.Store(true)
		debug.SetGCPercent(followingPercent)
	}
	debug.FreeOSMemory()
}

// softLimit is the memory that a server tries to stay below. A question about very many processes
// may need more.
const softLimit = 200 << 20

// serving sets the memory limit of a server: as the limit comes near, garbage is collected more often.
func (c *collector) serving() {
	if c != nil && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(softLimit)
	}
}

// reducing makes the collector run as often as reducing archives needs. The caller
// calls reduced when they are done.
func (c *collector) reducing() (reduced func()) {
	if c == nil {
		return func() {}
	}
	usual := debug.SetGCPercent(reducingPercent)
	return func() { debug.SetGCPercent(usual) }
}
