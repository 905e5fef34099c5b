// Package follow delivers what is recorded, as it is recorded: each tick and
// each event once, from a position on, across commits and turns of the journal,
// from one archive to the next, through restarts of the recorder and boots of the
// machine. It reads files and takes no lock, so a recorder does not notice how
// many follow it.
//
// What is not committed comes from the journal, in the order in which it was
// recorded. What is, comes out of chunks, where classes stand apart: the ticks
// of a class come in their order, those of several by the clock.
//
// A tick that is recorded late, older than one of its class that has been delivered,
// is passed over: each class is told in its order, and a position could not say that
// one before it is missing. Who begins at an earlier position gets it once it stands
// in a chunk.
//
// A Follower that is at the present end reads the journal's last file when the
// kernel tells that it was written to (inotify, kqueue), and nothing else; when files
// come or go it looks what that means. On file systems of other machines, of whose
// writes no kernel tells, it looks each second.
//
// A Position says what has been delivered. It names an archive by its ID and not
// by its file, so it holds when the archive has been finished, compacted and
// renamed, and of each class the clock of the last tick, so it holds when some
// of the others cannot be read any more.
package follow
