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

// collectLater puts the first collection off, once.
var collectLater = sync.OnceFunc(func() {
	if os.Getenv("GOGC") == "" {
		putOffCollection()
	}
})

// putOffCollection has the collector do what it always does from its next run on,
// so that the peak of what takes more memory is no other.
func putOffCollection() {
	usual := debug.SetGCPercent(100 * firstCollection)
	runtime.AddCleanup(new([64]byte), func(percent int) {
		if !lasting.Load() {
			debug.SetGCPercent(percent)
		}
	}, usual)
}

// lasting says that a command goes on for hours.
var lasting atomic.Bool

// followingPercent is by how much the heap grows between two collections while a
// command goes on for hours: it makes little, and holds what it holds.
const followingPercent = 40

// collectFollowing gives back what it took to begin and is not needed to go on.
func collectFollowing() {
	if os.Getenv("GOGC") == "" {
		lasting.Store(true)
		debug.SetGCPercent(followingPercent)
	}
	debug.FreeOSMemory()
}
