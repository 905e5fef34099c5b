// Package symbol finds the names of functions in the files that code is mapped from: in ELF's
// symbol tables, in Mach-O's, and in the table that Go's runtime uses to print tracebacks,
// which even programs without symbols have. Stripped ELF files may have their symbols compressed
// in them, or in a debug file elsewhere; the libraries of macOS have theirs in a shared cache.
// For code that was made at run time it reads what the program wrote of it.
//
// It is used twice. While stacks are recorded, a Namer names what occurs in them, within a
// budget of time and memory. Afterwards, on any machine, a Directory finds the file of an image
// by its UUID or build ID, or the shared cache that it is a part of.
//
// Files are not trusted: whatever a header claims is checked against limits and the size of the
// file, nothing is read twice, and a table that makes no sense is ignored. Names are as the
// linker knows them, not demangled.
package symbol
