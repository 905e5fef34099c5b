// Command replay answers questions about the archives that recorder makes. It
// only reads, needs no privilege, and works on any machine.
package main

import (
	"os"
	"runtime/debug"
	"time"
)

// A question lives shorter than a collection is worth: the collector is lazy
// until memoryLimit, which is what a question about a long archive may take.
const (
	memoryLimit = 72 << 20
	lazy        = 400
)

func main() {
	debug.SetMemoryLimit(memoryLimit)
	debug.SetGCPercent(lazy)
	a := newApp(os.Stdout, os.Stderr, time.Now)
	a.terminal(os.Stdout, os.Stderr)
	os.Exit(a.run(os.Args[1:]))
}
