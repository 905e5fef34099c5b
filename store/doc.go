// Package store reads what was recorded: a Reader shows one archive, or a
// directory of them, as one timeline of values, events and lives. It is also
// the front page of everything below it. FORMAT.md has the bytes, in
// journal/FORMAT.md those of the journal.
//
// # The life of a tick
//
// A tick is everything of one class that was read at one deadline. The sampler
// hands it to the Writer:
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
// When Append returns, the tick is in the journal: killing the recorder loses
// nothing. Within a second a barrier makes it safe from a crash of the kernel,
// within minutes a full sync from a power cut. A Reader looks at both, the file
// and the journal beside it, and sees each record once: a sequence number says
// how far the file has taken the journal over.
//
// The container is bbolt because it survives any crash of its own writer and
// its file is one that others can open. What that costs stands in boltread
// (reading beside a writer, and damaged files, which bbolt does neither) and in
// disk (bbolt believes its file, so somebody must look first).
//
// # Who knows whom
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
// Imports go down in this picture and never up (TestImportsGoDown). sample/metric, which says what
// a metric, a value and an event are, lies below all of it and below the
// samplers: it is the one thing that both wings of the program share.
//
// # Words
//
//   - archive: what one rotation period of one boot of one host came to. It is
//     live while it is being written, and finished afterwards.
//   - directory: where a recorder keeps its archives, and its lock.
//   - tick, event, description, configuration: what is recorded.
//   - record: one of these in the journal, or one key and value of a bucket.
//   - journal: what a live archive has accepted and its bbolt file does not hold
//     yet. Its files are generations; to turn is to begin the next of them.
//   - collect: to put together what came since the last commit, as a batch.
//   - commit: to take batches over from the journal into the bbolt file.
//   - seal: to encode a chunk, from which on it never changes. The configuration
//     calls the interval at which everything is made safe from a power cut by
//     the same word.
//   - chunk: the ticks of a class over a stretch of time, column by column.
//   - digest: what the instances of some chunks came to that come and go.
//   - rotate: to begin the next archive; finish: to complete the one before.
//   - take over: what a start does with what an earlier run left.
//   - trouble: the disk refuses. Recording goes on in memory, up to a bound.
//   - damage: a file is not as it was written; loss: what cannot be read for it.
//   - run: values of one series at successive ticks; span: a stretch of time.
package store
