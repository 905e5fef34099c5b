// Package rows makes sources of the catalogue's rows for macOS: the source text
// of a row is what binds its metric to the kernel's answers. It calls nothing
// and is the same, and tested, on every platform.
//
// A text is a question and, after a colon, a formula over the answer:
//
//	sysctl net.inet.udp.stats udpstat: udps_hdrops + udps_badsum + udps_badlen
//	getfsstat statfs: (f_blocks - f_bfree) * f_bsize / 1024
//	sysctl vm.loadavg loadavg: ldavg[i] / fscale
//	IOKit IOAccelerator/PerformanceStatistics: "Device Utilization %" or "GPU Activity(%)"
//
// Where the answer is a struct the question ends with its name, and the words
// of the formula are members as package decode describes them. Elsewhere they
// are what the source takes them for: keys, names of sysctls. A question that
// is its own answer has no colon ("sysctl kern.maxfiles").
//
// Operators stand between blanks. + and - bind less than * and /, "or" least:
// it takes the first operand that there is; where there is none, and one was
// not believed, that is why. Of whole numbers, which have no sign, what is
// taken away is at most what there is: two counters of one thing are not read
// at one instant. A metric that is a floating point number is computed in such
// numbers. Nothing divided by nothing is nothing; anything else divided by it
// is absent. A member that is an array is summed up with [], one element is
// [3], and [i] is the one that belongs to the instance. Where the instances
// have formulas of their own, semicolons part them. A word with parentheses is
// one of the source's own functions; where it is none, it is a word of the
// source's, with all that stands between them.
package rows
