// Package simulation proves the recorder on a simulated Mac whose time runs
// fast: weeks of sleep, reboots, panics, power cuts and steps of the clock, and
// at the end every tick is either in the archives or explained by an event.
//
// It contains only tests. The long forms run with TACHO_LONG set.
package simulation
