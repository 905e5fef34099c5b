// Command replay answers questions about the archives that recorder makes. It
// only reads, needs no privilege, and works on any machine.
package main

import (
	"os"
	"time"

	"tachograph/cmd/internal/cli"
	"tachograph/cmd/replay/internal/swiftnames"
)

func main() { os.Exit(status()) }

// status runs the program and returns its exit status.
func status() int {
	if swiftnames.Child(os.Args) {
		if swiftnames.Serve(os.Stdin, os.Stdout) != nil {
			return cli.Failed
		}
		return cli.Yes
	}
	swiftnames.Use()
	a := newApp(os.Stdout, os.Stderr, time.Now)
	a.collector = &collector{}
	a.terminal(os.Stdout, os.Stderr)
	status := a.run(os.Args[1:])
	if a.signal != 0 {
		return a.die()
	}
	return status
}
