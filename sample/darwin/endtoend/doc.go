// Package endtoend holds the test of the whole: the recorder for macOS records
// a simulated Mac, and replay for this machine reads the archive back. Every
// value must be exactly what the scenario defines.
package endtoend
