// Package follow delivers what is recorded, as it is recorded: each tick and each event once,
// from a position on, across commits and turns of the journal, from one archive to the next,
// through restarts of the recorder and boots of the machine. It reads files and takes no lock,
// so a recorder does not notice how many programs follow it.
//
// Uncommitted records come from the journal, in the order in which they were recorded.
// Committed ones come from chunks, where classes are separate: the ticks of each class come in
// their order, and ticks of different classes by their clock.
//
// A tick that is recorded late, older than one of its class that has been delivered, is
// skipped: each class is delivered in order, and a position could not say that an earlier tick
// is missing. A follower that begins at an earlier position gets it once it is in a chunk.
//
// At the present end, a Follower reads the journal's last file when the kernel reports a write
// to it (inotify, kqueue), and nothing else. When files come or go it finds out what that
// means. On file systems of other machines the kernel reports no writes, so it looks each
// second.
//
// A Position says what has been delivered. It names an archive by its ID and not by its file,
// so it holds when the archive has been finished, compacted and renamed. It has the clock of
// the last tick of each class, so it holds when some of the other ticks cannot be read any
// more.
package follow
