//go:build !linux

// Command beside makes incidents on a Linux machine, beside whatever else it does.
package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "beside: these incidents are made on Linux alone")
	os.Exit(1)
}
