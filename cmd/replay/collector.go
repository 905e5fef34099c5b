package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// firstCollection is how large the heap becomes before the collector first looks
// at it, as a multiple of the usual 4 MB. Most answers need less than that in all,
// and would be interrupted four times for it.
const firstCollection = 4

// followingPercent is by how much the heap grows between two collections while a
// command goes on for hours: it makes little, and holds what it holds.
const followingPercent = 40

// reducingPercent is the same while archives are reduced: what is held grows with
// the busiest hour, and half as much garbage as usual.
const reducingPercent = 50

// A collector says how the garbage of the whole process is collected, for the one
// command that the process is. A nil one leaves that as it is: commands that run
// beside others have none.
type collector struct {
	putOff sync.Once
	// lasting says that a command goes on for hours.
	lasting atomic.Bool
}

// later puts the first collection off, once.
func (c *collector) later() {
	if c != nil && os.Getenv("GOGC") == "" {
		c.putOff.Do(c.putOffFirst)
	}
}

// putOffFirst has the collector do what it always does from its next run on, so
// that the peak of what takes more memory is no other.
func (c *collector) putOffFirst() {
	usual := debug.SetGCPercent(100 * firstCollection)
	runtime.AddCleanup(new([64]byte), func(percent int) {
		if !c.lasting.Load() {
			debug.SetGCPercent(percent)
		}
	}, usual)
}

// following returns the memory that a command needed only to begin.
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

// serving sets the memory limit of a server, so that it stays below it whatever
// clients ask.
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
