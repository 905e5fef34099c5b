//go:build !linux

package main

// guest reports whether this program is one inside the emulator, where it is
// always Linux.
func guest() bool { return false }

// besides are incidents that are made on this machine, which are so on Linux only.
var besides []recipe
