// Package proof is the common part of the proofs that nothing is lost. They record a
// storetest.Machine, whose every value can be computed afterwards, break something, and compare
// what is left with what must be.
package proof
