// Package pmdatest holds the tests of recorder as an agent of Performance Co-Pilot: the real
// pmcd starts it like its own agents, and PCP's programs print what they get. That must agree
// with what the recorder itself shows for this machine: each metric with the list of `recorder
// metrics`, each value with one that `recorder probe` reads.
//
// On a simulated Mac a client in Go asks the same through a pipe.
//
// The tests skip where PCP or the simulated Mac is not available. TACHO_LONG=1 runs their long
// forms. The benchmarks compare the cost of answering with that of PCP's own agents:
//
//	go test -run '^$' -bench . -benchtime 300x ./cmd/internal/pcp/pmdatest
package pmdatest
