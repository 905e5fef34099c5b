// Package darwintest is for tests. It builds and runs the simulated Mac, reads
// the scenarios that describe one, and works out what every metric must be at
// the instant at which a scenario is frozen.
//
// It is the oracle: it knows the format of the scenarios and the definition of
// the metrics, and shares no code and no table with the sources that it judges.
package darwintest
