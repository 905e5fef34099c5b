// Package reflectionv1 is the reflection service of gRPC: what clients ask that have
// no .proto of a server. It is made here from its .proto because the package that
// others use puts descriptions together at the start of every program that has it.
package reflectionv1
