// Package darwin reads the system-wide metrics of macOS.
//
// What calls the kernel stands in files that only macOS builds; the calls
// themselves are in package sample/darwin/sys and the meaning of the bytes in
// package sample/darwin/decode. Tables that say which answer feeds which
// metric are portable, as are the small computations between the two.
//
// # What the kernel withholds or distorts
//
// host_statistics64 answers afresh only a few times a second for all programs
// together that are not Apple's; after that it repeats an older answer and
// says nothing. The memory source asks once a round, shares the answer among
// its metrics, and calls an answer that has not changed since less than the
// kernel's window ago stale: absent, not a rate of zero followed by a double
// one.
//
// The list of interfaces gives such programs byte counts that are cut to 32
// bits and rounded down to 1 KiB. The counts are therefore taken from the
// interface MIB, which has them whole, and from the list only where that
// fails; they are then marked as 32 bits wide.
//
// The TCP statistics are all zero for callers other than root while
// net.inet.tcp.disable_access_to_stats is 1, which is the default. Zeros of
// that kind are recorded as absent, with the reason.
package darwin
