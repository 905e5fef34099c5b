// Package e2e contains the end-to-end tests. They run the recorder, built for macOS, on
// the simulated Mac, and read its archives with replay, built for this machine.
//
// Every value must be the one that the scenario defines, and every tick must be stored or
// explained by an event. The expected values come from package sample/darwin/darwintest,
// which shares no code with the recorder.
//
// The tests skip where the simulated Mac is not available. TACHO_LONG=1 runs their long
// forms.
package e2e
