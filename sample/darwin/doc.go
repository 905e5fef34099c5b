// Package darwin reads the system-wide metrics of macOS.
//
// What calls the kernel stands in files that only macOS builds; the calls
// themselves are in package sample/darwin/sys and the meaning of the bytes in
// package sample/darwin/decode. Which answer feeds which metric is said by the
// rows of sample/catalog alone, whose texts package sample/darwin/rows makes
// executable. That is portable, as are the small computations in between.
//
// # What the kernel withholds or distorts
//
// host_statistics64 answers afresh only a few times a second for all programs
// together that are not Apple's; after that it repeats an older answer and
// says nothing. The memory source asks for each revision of the struct once a
// round and shares the answers among its metrics. The revisions have budgets
// of their own, so the one that nobody else asks for shows when the other is a
// repetition: what only that one has is then absent as stale, not a rate of
// zero followed by a double one. An answer that has not changed since less
// than the kernel's window ago is stale as well. macOS 27 repeats one answer,
// its newest revision, to everybody: there a repetition shows by not having changed,
// and what has changed may be up to a second older than it is stamped, where other
// programs ask as often.
//
// The list of interfaces gives such programs byte counts that are cut to 32
// bits and rounded down to 1 KiB. The counts are therefore taken from the
// interface MIB, which has them whole, and from the list only where that
// fails; they are then marked as 32 bits wide.
//
// Some drivers of macOS 26 and 27 leave the bytes received standing, and maybe the
// packets. Bytes that stand while packets come are no count; where the packets stand as
// well, and much is sent, the protocols' own counts tell whether something came.
//
// The TCP statistics are all zero for callers other than root while
// net.inet.tcp.disable_access_to_stats is 1, which is the default. Zeros of
// that kind are recorded as absent, with the reason.
//
// The list of TCP connections holds, since macOS 27, the caller's own only unless
// that is root. The kernel still says how many there are: in the list's last record,
// in a sysctl and when asked for the list's size. A list with fewer than half of them
// is no list of all, and what is counted in it is absent. Nor does it prove then that
// zeros of the TCP statistics are true.
//
// # What it costs
//
// Counted by the simulated Mac, for a laptop with one disk, eight interfaces
// and the 1,675 names of a real sysctl tree: a round of the fast metrics (1 s)
// enters the kernel 22 times, one of the polled metrics (10 s) 168 times, of
// which 119 are sysctls, and one of the constrained metrics (60 s) 1,378 times,
// all of them sysctls. The tree's part is about three million sysctl calls a
// day, 35 a second, each of which copies a few bytes; in a finished archive it
// takes some 16 KB of the 600 KB of an hour. Looking at what the
// machine has, at the start of each archive, takes about 7,000 calls, four for
// each name. Looking again for what was not there, every minute at most, takes
// about 60, and at every tenth time 1,700 more to see whether the tree has other
// names. No reading allocates once its buffers have their size.
//
// # What has been executed
//
// All of it, as a program for either processor (arm64 in an emulator) on a
// simulated kernel whose every value is known, with equal results; see the
// tests. On a real Mac none of it has run yet.
package darwin
