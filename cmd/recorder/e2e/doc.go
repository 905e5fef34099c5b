// Package e2e holds the tests of the whole: the recorder as it is built for
// macOS runs on a simulated Mac, and what it leaves is read with replay, as it
// is built for this machine.
//
// Every value must be the one that the scenario of the simulated Mac defines,
// and every tick must be stored or explained by an event. The oracle is package
// sample/darwin/darwintest, which shares nothing with what it judges.
//
// The tests skip where the simulated Mac is not at hand. TACHO_LONG=1 runs
// their long forms.
package e2e
