// Package witness compares sources of the kernel that must agree, and says which
// metrics are not to be trusted where they do not.
//
// A pair is one row of a table: two expressions in replay's language, of which the
// first never exceeds the second whatever the machine does (Pair). A check looks at
// the machine four times. What is said to be the least is taken from the two looks
// in the middle, what is said to be the most from the first and the last: so the
// most is counted over a longer time, and no difference between the times at which
// two sources are read can explain that the least exceeds it. Of levels, which move
// up and down, the smallest of the four counts against the greatest.
//
// The recorder does so once an hour (Watcher) with the values that it reads anyway;
// nothing is read for it. A pair that disagrees is looked at again at once, and is
// told only when it has disagreed three times, one after the other. `recorder check
// --witness` does it when somebody asks.
package witness
