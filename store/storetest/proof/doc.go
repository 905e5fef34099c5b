// Package proof is what the proofs that nothing is lost have in common: they
// record a storetest.Machine, of which every value can be told afterwards,
// break something, and compare what is left with what must be.
package proof
