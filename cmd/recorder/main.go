// Command recorder samples the metrics of this machine into local archives.
package main

import (
	"os"
)

func main() {
	os.Exit(newApp(os.Stdout, os.Stderr).run(os.Args[1:]))
}
