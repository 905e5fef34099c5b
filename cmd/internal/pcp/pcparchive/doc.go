// Package pcparchive writes and reads the archives of Performance Co-Pilot: BASE.meta with the
// descriptions of metrics and instances, BASE.0 and following with values, and BASE.index with
// the positions of times.
//
// A Writer makes version 3, whose times are 64-bit nanoseconds. A Reader reads versions 2 and 3,
// each part plain or compressed (gz, xz, lzma, bz2, zst), without an index, and up to where a
// part was cut off. It trusts nothing that it reads: no length or number makes it take more
// memory than a bounded multiple of the data that is really there.
//
// The man page for the format, LOGARCHIVE(5), is wrong in two points. This package follows what
// PCP really writes: seconds are two words, the lower one first, and the text of labels follows
// each set's head.
package pcparchive
