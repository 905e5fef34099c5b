// Package pcparchive writes and reads the archives of Performance Co-Pilot:
// BASE.meta with what metrics and instances are, BASE.0 and on with values, and
// BASE.index with where which time stands.
//
// A Writer makes version 3, whose times are nanoseconds of 64 bits. A Reader reads
// versions 2 and 3, each part plain or compressed (gz, xz, lzma, bz2, zst), without
// an index, and up to where a part was cut off. It trusts nothing that it reads: no
// length and no number makes it take more memory than a bounded multiple of what is
// really there.
//
// The pages of PCP that describe the format, LOGARCHIVE(5), are wrong in two points;
// what is here was measured: seconds are two words, the lower one first, and the text
// of labels follows each set's head.
package pcparchive
