package recording

import (
	"slices"
	"time"

	"tachograph/sample/metric"
	"tachograph/store/chunk"
	"tachograph/store/gather"
	"tachograph/store/journal"
	"tachograph/store/layout"
)

// collection is what waits for the next commit. It belongs to whoever holds the
// Writer's mutex; the batches of parts and of the queue, once they stand there,
// to whoever holds committing, who holds the mutex as well to change them.
type collection struct {
	rest  gather.Batch // since the last batch
	taken uint64       // the last record before rest
	parts []*batch     // before rest, copied into the journal meanwhile
	queue []*batch     // to be committed
	// On the continuous clock: when parts were begun, and when all was made
	// power-safe last, or handed on to be.
	begun, synced int64
	age           int   // of rest, in intervals of Seal
	unsafe        bool  // a full sync is due
	first, last   int64 // wall clocks of the first and last tick of the archive
	boltSize      int64 // of the pages in use, when they were committed to last
}

// batch is what is taken over from the journal together.
type batch struct {
	gather.Batch
	base, seq uint64          // the last record before it, and its own last one
	sealed    []*chunk.Sealed // of builders; nil before they are encoded
	by        *layout.Catalog // that numbers the metrics of sealed
}

const (
	// CommitEvery is how many intervals of Options.Seal one commit covers; at the
	// end of the others the journal is fully synced, which is as safe. Larger chunks are
	// smaller per value, and each commit costs some pages besides.
	CommitEvery = 12
	// generationSize is at what size of a generation of the journal a commit is
	// due earlier.
	generationSize = 4 << 20
	// partEvery is how many of them a part covers, and so a generation of the
	// journal. A longer one is smaller per value.
	partEvery = 3
	// partValues is how many values a part has, if it comes to so many before. An
	// event counts as eventValues.
	partValues  = 3 << 18
	eventValues = 64
	// partBytes is to how many bytes of records a part comes, if it does before:
	// they are what a reader of the live archive decodes one by one, 0.3 ms for each
	// KB. A third of them tell once more what everything is called, so that a machine
	// on which much begins and ends gets no part of less than partLeast for them.
	partBytes = 40 << 10
	partLeast = int64(time.Minute)
)

// How much may be collected before a commit is due earlier, for making one chunk of
// it takes a multiple for a moment: before it is encoded, and as chunks.
const (
	commitMemory = 5 << 20
	commitSize   = 448 << 10
)

// memoryCheck and valuesCheck are after how many ticks, or values, it is looked at how
// much has been collected. One tick can bring as many megabytes of text as there are
// processes that are started with much of it, and a chunk must not have more than its
// readers take.
const (
	memoryCheck = 16
	valuesCheck = 4096
)

// keepSchedule has all made power-safe when it is time: by a full sync of the
// journal, or, each CommitEvery times, by a commit of what has been collected.
func (w *Writer) keepSchedule(l *live, now int64) {
	switch {
	case w.commitDue(l, now):
		w.collect(l, now)
	case now-l.synced >= int64(w.conf.Seal):
		l.synced, l.unsafe = now, true
		if l.age++; l.age >= partEvery {
			w.part(l, now)
		}
	case w.partDue(l, now):
		w.part(l, now)
	default:
		return
	}
	w.work.wake()
}

func (w *Writer) commitDue(l *live, now int64) bool {
	if now-l.begun >= CommitEvery*int64(w.conf.Seal) || now < l.begun {
		return true
	}
	if w.count.ticks%memoryCheck != 0 && w.count.values-w.looked < valuesCheck {
		return false
	}
	w.looked = w.count.values
	memory, size := l.rest.Memory(), int64(0)
	for _, b := range l.parts {
		memory += b.Memory()
		size += b.size()
	}
	return memory > min(commitMemory, w.opt.MemoryBound/2) || size > commitSize || l.jw.Size() > generationSize || l.jw.Encoder().Full()
}

// partDue reports whether a part is large enough. The caller holds the Writer's
// mutex.
func (w *Writer) partDue(l *live, now int64) bool {
	if l.jw.Size()-l.copied > partBytes && now-l.turned >= partLeast {
		return true
	}
	return w.count.ticks%memoryCheck == 0 && l.rest.Values()+int64(l.rest.Events.Len())*eventValues > partValues
}

// begin is when the first tick of b was.
func (b *batch) begin() (first metric.Stamp, ok bool) {
	first, ok = b.First()
	for _, s := range b.sealed {
		if at := s.Info.First; !ok || at.Cont < first.Cont {
			first, ok = at, true
		}
	}
	return first, ok
}

// size is that of the chunks of b.
func (b *batch) size() (n int64) {
	for _, s := range b.sealed {
		n += s.Info.Size
	}
	return n
}

// part makes a part of what has been collected, so that readers of the live
// archive find most of it as chunks. What changes how values are understood is
// committed at once instead: a copy does not say it. The caller holds the
// Writer's mutex.
func (w *Writer) part(l *live, now int64) {
	if len(l.rest.Descs) > 0 || l.rest.Conf != nil {
		w.collect(l, now)
		return
	}
	if !l.rest.Empty() {
		l.parts = append(l.parts, l.take())
		w.perhapsTurn(l)
	}
}

// take makes a batch of what has been collected; nil if the journal holds no
// more either.
func (l *live) take() *batch {
	b := &batch{Batch: l.rest, base: l.taken, seq: l.jw.Seq()}
	if b.Empty() && b.seq == b.base {
		return nil
	}
	l.rest, l.taken, l.age = b.Next(), b.seq, 0
	return b
}

// collect queues what has been collected for the next commit. The caller holds
// the Writer's mutex.
func (w *Writer) collect(l *live, now int64) {
	l.begun, l.synced = now, now
	b := l.take()
	if b != nil {
		l.parts = append(l.parts, b)
	}
	l.queue, l.parts = append(l.queue, l.parts...), nil
	if b != nil && !w.closed { // else nothing follows that would need another generation
		w.perhapsTurn(l)
	}
}

// copyParts encodes the parts of l and puts them into its journal as copies of the
// generations that they came from. What cannot be copied stays where it is.
func (w *Writer) copyParts(l *live) {
	l.committing.Lock()
	defer l.committing.Unlock()
	w.mu.Lock()
	parts := slices.Clone(l.parts)
	w.mu.Unlock()
	for _, b := range parts {
		if b.sealed != nil {
			continue
		}
		w.encode(l, b, (*chunk.Builder).SealBare) // what it lacks comes with the merge
		if _, news := l.cat.Pending(); len(news) > 0 {
			w.mu.Lock()
			if !w.closed {
				w.collect(l, l.begun)
				w.work.wake()
			}
			w.mu.Unlock()
			return
		}
		data := gather.AppendCopy(nil, b.sealed, &b.Events)
		w.mu.Lock()
		b.Builders = [metric.NumClasses]*chunk.Builder{}
		if _, held := l.jw.Held(); held == 0 && l == w.cur && !w.closed && l.generationOf(b) {
			before := l.jw.Size()
			_ = w.wrote(l, l.jw.Copy(&journal.Copy{From: b.base, To: b.seq, Data: data}))
			l.copied += l.jw.Size() - before
		}
		w.mu.Unlock()
	}
}

// generationOf reports whether b is what one of the generations before the
// present one holds.
func (l *live) generationOf(b *batch) bool {
	return slices.ContainsFunc(l.old, func(g generation) bool { return g.base == b.base && g.seq == b.seq })
}
