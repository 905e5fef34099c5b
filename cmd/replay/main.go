// Command replay answers questions about the archives that recorder makes. It
// only reads, needs no privilege, and works on any machine.
package main

import (
	"os"
	"runtime/debug"
	"time"
)

// memoryLimit makes the collector work harder rather than let a question about
// a long archive take more.
const memoryLimit = 72 << 20

func main() {
	debug.SetMemoryLimit(memoryLimit)
	a := newApp(os.Stdout, os.Stderr, time.Now)
	a.terminal(os.Stdout, os.Stderr)
	os.Exit(a.run(os.Args[1:]))
}
