// Package recording writes archives. It holds the Writer, the directory in which the Writer
// keeps archives, and the rules for how long they are kept there.
//
// # What becomes of a record
//
//	Append, Event ...   accepted: it stands in the journal and survives the process
//	      |                 sync, by a barrier: it survives a crash of the kernel
//	      |                 fullSync: it survives a power cut
//	      v
//	collection.rest     in memory, ticks in builders of chunks
//	      |  part           each partEvery intervals of Options.Seal, or when there is much;
//	      |                 the journal turns: the next record begins a new
//	      v                 generation
//	collection.parts    encoded, in memory and for readers in the journal (copyParts)
//	      |  collect        each CommitEvery intervals, or when there is much
//	      v
//	collection.queue
//	      |  commit         one transaction of the bbolt file, with the chunks of
//	      v                 a class merged
//	container           committed: generations that hold nothing else are dropped
//
// While the disk refuses, records are accepted into memory (ErrHeld), up to Options.MemoryBound
// (then ErrDropped). A failure is trouble, reported when it begins and when it ends. The syncer
// tries again after its interval, the committer after retryFirst, then up to retryMost.
//
// # What becomes of an archive
//
//	                BeginRotation            finish
//	+-> current ------------------> rotated ---------> finished
//	|    |    |                      |   ^ |              ^
//	|    |    |    giveUp: damaged   |   +-+ refused      | finish
//	|    |    +-----------+----------+                    |
//	|    | Close,         v                               |
//	|    | or a kill   set aside <------- damaged ---+    |
//	|    v                                           |    |
//	|   left ------------------- takeOver -----------+----+
//	|                                |
//	+------------- resume -----------+
//
// newLive makes an archive current: at Create if none is resumed, at a rotation, and in place of
// one that is damaged (giveUp) or whose files are gone (startAfresh); the new archive, the heir,
// takes over what the old one did not hold yet.
//
// # Who may touch what
//
// The parts of live say which lock guards them. Locks are taken in this order:
//
//	Writer.rotating   the archive that a rotation makes beside the current one
//	live.committing   its container; the heir's before the one of the archive given up
//	Writer.syncing    which journal files are open: none is closed in a sync
//	Writer.mu         everything else
//
// Writer.mu is never held while the disk commits or syncs, so Append waits for no more than its
// own write, a turn, and once in a while a new archive. Functions that need only an archive are
// methods of live or of its part; those that need the directory, the log or the Writer's mutex
// are methods of Writer.
//
// # Time
//
// Due times come from the clocks of ticks and of Options.Now, and timers are those of package
// time: in a bubble of testing/synctest an hour takes milliseconds.
//
// # Why a tick goes two ways
//
// The journal holds everything that chunks are made of, so they could always be made by decoding
// it, as after a kill. That costs too much: decoding takes 22 ns a value, while Append takes 45
// for both ways, the write to the file included; encoding chunks, 7 for values of processes and
// 37 for the system's, stays the same (go test ./store/journal -bench Decode, ./store -bench
// Write/process5s/seal5m, ./store/chunk -bench Seal, on a quiet machine). Decoding would add
// half as much work again, all of it at once, each hour. Memory also holds what the journal has
// lost: a file that is gone or damaged, and a record that it refused.
package recording
