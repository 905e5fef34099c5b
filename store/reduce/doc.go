// Package reduce makes archives of steps: of a minute, or an hour, where others hold a
// reading each second. What is made is an ordinary archive that any reader opens, and a
// year of them is as easily asked as a day.
//
// # What a step becomes
//
// The wall clock is divided into steps from midnight UTC on; a reading at the very begin
// of a step belongs to it. Of each group of metrics the readings of a step become one
// block, with the stamps of the last of them: the instances and values that there were
// then. So each column by itself is what a recorder with that interval would have left,
// and rates, tables of processes and moments come of it as they always do: a counter's
// rate over a step is exact. Beside a column stand its companions, metrics of their own,
// which hold what the last reading does not tell:
//
//	reduced.first.NAME                 the first value, of levels and counters
//	reduced.min.NAME, reduced.max.NAME the smallest and the largest of a level
//	reduced.mean.NAME                  its mean by time, from the first reading to the last, as f32
//	reduced.steepest.NAME              the most that a counter gained in a second
//	reduced.began, reduced.readings    of each group: how long before the block its first
//	                                   reading was, and how many there were
//
// Together these are the summary of the step, and summaries add up: what a Reader tells of
// a window of whole steps (first, last, least, largest, count, gain) is what it would have
// told of the readings, to the last digit. The mean is within 2^-24 of itself; that of a
// counter's level, which nobody needs, is as if it had risen evenly in each step. Percentiles
// are not kept and not told.
//
// # Where one step becomes several blocks
//
// A block never stands for readings that one summary cannot tell of. A group's step is cut
// where a counter falls, before that reading and after it, so that the gain over a reset or
// a wrap is told by the readings around it; where a text or a discrete value changes; where
// an instance of the system comes or goes, a value becomes absent or is absent for another
// reason; at each sleep, wake and gap; and where one of the archives that are reduced ends.
// So nothing is bridged that was not before, and what is rare costs a few ticks more.
//
// # Processes
//
// Of processes and threads, which come and go all the time, a block has all that were seen in
// the step. Those that had gone at its last sweep have counters, texts and peaks as they were
// last, and their levels are absent: vanished. Of what is held (proc.memory.rss, footprint)
// the mean and the largest value are kept, and for how much of a step the process was there
// (reduced.lived), if not for all of it; and when in the step each was read first and last
// (reduced.came, reduced.went). The first sweep of an archive stands by itself,
// since totals are counted from it. Processes that are not to be told by themselves are
// counted in one instance, (others): its counters are what all of them have used, and what
// it holds is what they hold together.
//
// # Reducing again
//
// An archive of steps can be reduced to longer ones, which must be multiples: the least of the
// least, the mean of the means by time, and so on. No step is counted twice either: a Reader
// of a directory that holds both shows of each time that which tells more.
package reduce
