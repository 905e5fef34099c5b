// Package scenario reads the files that describe a simulated Mac and works out
// what every metric must be at the instant at which the scenario is frozen.
//
// It is the oracle of the tests: it knows the format of the scenarios and the
// definition of the metrics, and shares no code and no table with the sources
// that it judges.
package scenario
