package recording

import (
	"tachograph/store/chunk"
	"tachograph/store/gather"
)

// collection is what waits for the next commit. It belongs to whoever holds the
// Writer's mutex; the batches of the queue, once they stand there, to whoever
// holds committing.
type collection struct {
	rest  gather.Batch // since the last batch
	queue []*batch
	// On the continuous clock: when rest was begun, and when all was made
	// power-safe last, or handed on to be.
	begun, synced int64
	first, last   int64 // wall clocks of the first and last tick of the archive
	boltSize      int64 // of the pages in use, when they were committed to last
}

// batch is what one commit takes over from the journal.
type batch struct {
	gather.Batch
	seq    uint64
	sealed []*chunk.Sealed // of builders; nil before they are encoded
}

const (
	// CommitEvery is how many intervals of Options.Seal one commit covers; at the
	// end of the others the journal is fully synced, which is as safe. Larger chunks are
	// smaller per value, and each commit costs some pages besides.
	CommitEvery = 12
	// turnEvery is how many of them a generation of the journal covers. A
	// longer one is smaller per value; but whoever reads the live archive
	// decodes each from its beginning, all of them at a time.
	turnEvery = 3
	// generationSize is at what size of the journal a commit is due earlier.
	generationSize = 4 << 20
)

// commitMemory is how much may be collected before a commit is due earlier:
// encoding it takes a multiple for a moment.
const commitMemory = 5 << 20

// memoryCheck is after how many ticks the memory of what is collected is
// looked at.
const memoryCheck = 64

// keepSchedule has all made power-safe when it is time: by a full sync of the
// journal, or, each CommitEvery times, by a commit of what has been collected.
func (w *Writer) keepSchedule(l *live, now int64) {
	if w.commitDue(l, now) {
		w.collect(l, now)
		w.work.wake()
		return
	}
	if now-l.synced >= int64(w.conf.Seal) {
		l.synced = now
		if l.age++; l.age >= turnEvery {
			w.perhapsTurn(l)
		}
		w.work.wake()
	}
}

func (w *Writer) commitDue(l *live, now int64) bool {
	if now-l.begun >= CommitEvery*int64(w.conf.Seal) || now < l.begun {
		return true
	}
	if w.count.ticks%memoryCheck != 0 {
		return false
	}
	return l.rest.Memory() > min(commitMemory, w.opt.MemoryBound/2) || l.jw.Size() > generationSize || l.jw.Encoder().Full()
}

// collect queues what has been collected for the next commit. The caller holds
// the Writer's mutex.
func (w *Writer) collect(l *live, now int64) {
	l.begun, l.synced = now, now
	b := &batch{Batch: l.rest, seq: l.jw.Seq()}
	l.rest = gather.Batch{}
	if b.Empty() {
		return
	}
	l.queue = append(l.queue, b)
	if !w.closed { // else nothing follows that would need another generation
		w.perhapsTurn(l)
	}
}
