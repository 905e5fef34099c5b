// Package rows interprets the catalog's rows for macOS: the source text of a row connects its
// metric to the kernel's answers. The package makes no calls and is the same, and tested, on
// every platform.
//
// A text is a question and, after a colon, a formula over the answer:
//
//	sysctl net.inet.udp.stats udpstat: udps_hdrops + udps_badsum + udps_badlen
//	getfsstat statfs: (f_blocks - f_bfree) * f_bsize / 1024
//	sysctl vm.loadavg loadavg: ldavg[i] / fscale
//	IOKit IOAccelerator/PerformanceStatistics: "Device Utilization %" or "GPU Activity(%)"
//
// Where the answer is a struct, the question ends with its name, and the words of the formula
// are members as package decode describes them. Otherwise the source gives the words their
// meaning: keys, or names of sysctls. A question that is its own answer has no colon ("sysctl
// kern.maxfiles").
//
// Blanks surround operators. + and - bind less than * and /, "or" least: it takes the first
// operand with a value. If none has a value, and a function rejected one as implausible, that is
// the reason. Whole numbers are unsigned, and a subtraction of them stops at 0, because two
// related counters are not read at the same instant. The formula of a floating point metric is
// computed in floating point. 0 / 0 is 0; any other division by 0 is absent. [] sums up a member
// that is an array, [3] is one element, and [i] is the instance's element. If the instances have
// separate formulas, semicolons separate them. A word with parentheses calls one of the source's
// functions; if there is no such function, the word and all within its parentheses are one of
// the source's own words.
package rows
