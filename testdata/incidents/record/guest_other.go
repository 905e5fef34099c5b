//go:build !linux

package main

// guest reports whether this program runs inside the emulator, where it always runs on Linux.
func guest() bool { return false }

// besides are incidents that are made on this machine, which is possible only on Linux.
var besides []recipe
