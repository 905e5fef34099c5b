// Package witness compares sources of the kernel that must agree, and reports which metrics are
// not to be trusted if they do not.
//
// A pair is one row of a table: two expressions in replay's language, of which the first never
// exceeds the second whatever the machine does (Pair). A check looks at the machine four times.
// It takes the least from the two looks in the middle, the most from the first and the last: so
// the most is counted over a longer time, and differences in when two sources are read cannot
// be the reason if the least exceeds it. For levels, which move up and down, it compares the
// smallest of the four with the greatest.
//
// The recorder does this once an hour (Watcher) with the values that it reads anyway; it reads
// nothing for it. It checks a pair that disagrees again at once, and reports it only after
// three disagreements in a row. `recorder check --witness` does the same on demand.
package witness
