// Package darwin reads the system-wide metrics of macOS.
//
// Files that only macOS builds contain the calls to the kernel; the calls themselves are in
// package sample/darwin/sys and the meaning of the bytes in package sample/darwin/decode. The
// rows of sample/catalog alone say which answer feeds which metric; package sample/darwin/rows
// executes their texts. That is portable, as are the small computations in between.
//
// # What the kernel withholds or distorts
//
// For programs that are not Apple's, host_statistics64 answers afresh only a few times a second,
// for all of them together; after that it silently repeats an older answer. The memory source
// asks for each revision of the struct once a round and shares the answers among its metrics.
// Each revision has its own budget, so the one that no other program asks for shows when the
// other is a repetition: members that only the repeated revision has are then absent as stale,
// and do not give a rate of zero followed by a double one. An answer that has not changed within
// the kernel's window is stale as well. macOS 27 repeats one answer, its newest revision, to all
// programs: there a repetition shows only by being unchanged, and a changed answer may be up to
// a second older than its stamp, if other programs ask as often.
//
// In the list of interfaces such programs see byte counts cut to 32 bits and rounded down to 1
// KiB. The counts are therefore taken from the interface MIB, which has them whole, and from the
// list only where that fails; they are then marked as 32 bits wide.
//
// Some drivers of macOS 26 and 27 stop counting the bytes received, and maybe the packets. If
// the bytes stay the same while packets come, they are no count; if the packets stay the same as
// well, and much is sent, the protocols' own counts show whether something came.
//
// The TCP statistics are all zero for callers other than root while
// net.inet.tcp.disable_access_to_stats is 1, which is the default. Such zeros are recorded as
// absent, with the reason.
//
// Since macOS 27 the list of TCP connections shows callers other than root only their own. The
// kernel still says how many there are: in the list's last record, in a sysctl and when asked
// for the list's size. A list with fewer than half of them is not complete, and the counts made
// from it are absent. It then does not prove either that zeros of the TCP statistics are true.
//
// # What it costs
//
// Counted by the simulated Mac, for a laptop with one disk, eight interfaces and the 1,675 names
// of a real sysctl tree: a round of the fast metrics (1 s) enters the kernel 22 times, one of
// the polled metrics (10 s) 168 times, of which 119 are sysctls, and one of the constrained
// metrics (60 s) 1,378 times, all of them sysctls. The tree's part is about three million sysctl
// calls a day, 35 a second, each of which copies a few bytes; in a finished archive it takes
// some 16 KB of the 600 KB of an hour. Looking at what the machine has, at the start of each
// archive, takes about 7,000 calls, four for each name. Looking again for what was missing,
// every minute at most, takes about 60, and at every tenth time 1,700 more to see whether the
// tree's names have changed. No reading allocates once its buffers have their size.
//
// # What has been executed
//
// All of it, as a program for either processor (arm64 in an emulator) on a simulated kernel
// whose every value is known, with equal results; see the tests. None of it has run on a real
// Mac yet.
package darwin
