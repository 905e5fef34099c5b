// Package symbol finds the names of functions in the files that code is mapped
// from: ELF's symbol tables, Mach-O's, and the table by which Go's runtime prints
// tracebacks, which also programs without symbols have.
//
// It is used twice. While stacks are recorded a Namer names what is seen, within
// a budget of time and memory. Afterwards, on any machine, a Directory finds the
// file that an image was, by its UUID or build ID.
//
// Files are strangers': whatever a header claims is held against limits and the
// size of the file before it is believed, nothing is read twice, and a table that
// makes no sense is no table. Names are as the linker knows them, not demangled.
package symbol
