// Package store reads what was recorded: a Reader shows one archive, or a directory of them, as
// one timeline of values, events and lives. It also introduces everything below it. FORMAT.md
// documents the bytes, journal/FORMAT.md those of the journal.
//
// # The life of a tick
//
// A tick is everything of one class that was read at one deadline. The sampler hands it to the
// Writer:
//
//	sample ── tick ──> recording.Writer.Append
//	                     │         │
//	             journal record   chunk.Builder        (memory)
//	                     │         │
//	       generation of the      │   each interval of config's seal: a full sync,
//	       journal (disk)         │   each twelfth, or when much waits: a commit
//	                     │         ▼
//	                     │       chunk, in the archive's bbolt file
//	                     │         │
//	                     └─ gone ──┤   the archive holds what the journal held
//	                               ▼
//	             rotation: finished archive, its chunks merged to few large ones
//
// When Append returns, the tick is in the journal: killing the recorder loses nothing. Within a
// second a barrier makes it safe from a kernel crash, within minutes a full sync makes it safe
// from a power cut. A Reader reads both the file and the journal beside it, and sees each
// record once: a sequence number says how much of the journal the file has taken over.
//
// The container is bbolt because it survives any crash of its own writer and because other
// tools can open its file. Package boltread adds what bbolt cannot do: reading beside a writer,
// and reading damaged files. Package disk adds a check: bbolt believes its file, so something
// must look first.
//
// # Imports
//
//	query     recent           questions; knows the Reader. What was read last,
//	  │          │             as the Reader would show it
//	  │       derive           answers that follow from values
//	  │          │
//	  │   reduce │             archives of steps, made of others
//	  │      │   │
//	  │   rewrite              archives made of others, or of ticks
//	  │      │   │
//	store   recording   mend   reading; writing; verifying, repairing
//	  │       │    │     │     (they do not know each other, nor
//	  │       │    │     │     follow, which stands beside them)
//	source│        │     │     one archive: its file and its journal
//	  └───┬───┘    │     │
//	   archive     │     │     one file being read, and compacted
//	      └────┬───┴─────┘
//	   layout     gather       every record of an archive, and names;
//	      │          │         what the records of a journal come to
//	   journal    digest       codecs
//	      └────┬─────┤
//	           │   chunk
//	      │          │
//	     disk   boltread       files, and the pages of bbolt's
//	      └────┬─────┘
//	    fault   varint         what can go wrong with them; numbers in bytes
//
// Imports go down in this picture and never up (TestImportsGoDown). Within this package files
// look down, too (TestFilesGoDown): a question to the Reader (select.go, lives.go, totals.go)
// makes plans of what to read in a source (plan.go), and reads their columns (emit.go, sums.go).
// sample/metric, which defines metric, value and event, lies below all of it and below the
// samplers: it is the one thing that both halves of the program share.
//
// # Words
//
//   - archive: the record of one rotation period of one boot of one host. It is
//     live while it is being written, and finished afterwards.
//   - directory: where a recorder keeps its archives, and its lock.
//   - tick, event, description, configuration: the things that are recorded.
//   - record: one of these things in the journal, or one key and value of a bucket.
//   - journal: what a live archive has accepted and its bbolt file does not hold
//     yet. Its files are generations; to turn is to begin the next one.
//   - collect: to put together, as a batch, what came since the last commit.
//   - commit: to take batches over from the journal into the bbolt file.
//   - seal: to encode a chunk, which never changes afterwards. The configuration
//     uses the same word for the interval at which everything is made safe from
//     a power cut.
//   - chunk: the ticks of a class over a stretch of time, column by column.
//   - digest: a summary of the short-lived instances of some chunks.
//   - rotate: to begin the next archive; finish: to complete the one before.
//   - take over: to finish, at the start, what an earlier run left unfinished.
//   - trouble: the disk refuses. Recording goes on in memory, up to a bound.
//   - damage: a file is not as it was written; loss: what cannot be read because of it.
//   - run: values of one series at successive ticks; span: a stretch of time.
package store
