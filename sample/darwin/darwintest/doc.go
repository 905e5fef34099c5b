// Package darwintest builds and runs the simulated Mac for tests, reads the scenarios that
// describe one, and computes the value of every metric at the instant at which a scenario
// is frozen.
//
// It knows the format of the scenarios and the definitions of the metrics, and shares no
// code and no table with the sources under test.
package darwintest
