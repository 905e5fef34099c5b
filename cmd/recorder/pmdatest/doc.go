// Package pmdatest holds the tests of recorder as an agent of Performance Co-Pilot: the
// real pmcd starts it as it starts its own, and PCP's programs say what they get. It must
// be what the recorder itself says of this machine: each metric what `recorder metrics`
// lists, each value one that `recorder probe` reads.
//
// On a simulated Mac the same is asked through a pipe, by a client in Go.
//
// The tests skip where PCP or the simulated Mac is not at hand. TACHO_LONG=1 runs their
// long forms. The benchmarks compare what answering costs with PCP's own agents:
//
//	go test -run '^$' -bench . -benchtime 300x ./cmd/recorder/pmdatest
package pmdatest
