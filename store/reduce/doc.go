// Package reduce makes archives of steps: one value a minute, or an hour, instead of a reading
// each second. The result is an ordinary archive that any reader opens, and questions about a
// year of it are answered as easily as about a day.
//
// # What a step becomes
//
// The wall clock is divided into steps from midnight UTC on; a reading at the very beginning of
// a step belongs to it. The readings of a group of metrics in a step become one block, with the
// stamps of the last of them: the instances and values at that time. So each column by itself is
// what a recorder with that interval would have left, and rates, tables of processes and moments
// are computed from it as always: a counter's rate over a step is exact. Beside a column are its
// companions, metrics of their own, which hold what the last reading does not show:
//
//	reduced.first.NAME                 the first value, of levels and counters
//	reduced.min.NAME, reduced.max.NAME the smallest and the largest of a level
//	reduced.mean.NAME                  its mean by time, from the first reading to the last, as f32
//	reduced.steepest.NAME              the most that a counter gained in a second
//	reduced.began, reduced.readings    of each group: how long before the block its first
//	                                   reading was, and how many there were
//
// Together these are the summary of the step, and summaries add up: what a Reader gives for a
// window of whole steps (first, last, least, largest, count, gain) is what it would give for the
// readings, to the last digit. The mean is within 2^-24 of itself; the mean of a counter's
// level, which has no use, is as if it had risen evenly in each step. Percentiles are not kept
// and not given.
//
// # Where one step becomes several blocks
//
// A block never covers readings that one summary cannot describe. A group's step is cut where a
// counter falls, before that reading and after it, so that the readings around a reset or a wrap
// show the gain over it; where a text or a discrete value changes; where an instance of the
// system comes or goes, a value becomes absent or is absent for another reason; at each sleep,
// wake and gap; and where one of the source archives ends. So nothing is bridged that was not
// before, and what is rare costs a few ticks more.
//
// # Processes
//
// For processes and threads, which come and go all the time, a block has all that were seen in
// the step. Those that had gone at its last sweep have counters, texts and peaks as they were
// last, and their levels are absent: vanished. For amounts that are held (proc.memory.rss,
// footprint) the mean and the largest value are kept, and for how much of a step the process was
// there (reduced.lived), if not for all of it; and when in the step each process was read first
// and last (reduced.came, reduced.went). The first sweep of an archive is a block of its own,
// since totals are counted from it. Processes that are not listed one by one are counted in one
// instance, (others): its counters are the sum of what all of them used, and its levels are what
// they hold together.
//
// # Reducing again
//
// An archive of steps can be reduced to longer steps, which must be multiples: the least of the
// least, the mean of the means by time, and so on. No step is counted twice either: a Reader of
// a directory that holds both shows, for each time, the archive with more detail.
package reduce
