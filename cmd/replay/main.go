// Command replay answers questions about the archives that recorder makes. It
// only reads, needs no privilege, and works on any machine.
package main

import (
	"os"
	"time"
)

func main() {
	a := newApp(os.Stdout, os.Stderr, time.Now)
	a.collector = &collector{}
	a.terminal(os.Stdout, os.Stderr)
	status := a.run(os.Args[1:])
	if a.signal != 0 {
		status = a.die()
	}
	os.Exit(status)
}
