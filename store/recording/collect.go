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

// collection is what waits for the next commit. The Writer's mutex guards it. Batches in parts
// and in the queue change only under committing, with the mutex held as well.
type collection struct {
	rest  gather.Batch // since the last batch
	taken uint64       // the last record before rest
	parts []*batch     // before rest, copied into the journal meanwhile
	queue []*batch     // waiting to be committed
	// On the continuous clock: when collecting began, and when everything was last made safe
	// from a power cut, or queued for that.
	begun, synced int64
	age           int   // of rest, in intervals of Seal
	unsafe        bool  // a full sync is due
	first, last   int64 // wall clocks of the first and last tick of the archive
	boltSize      int64 // size of the pages in use after the last commit
}

// batch is a run of records that are taken over from the journal together.
type batch struct {
	gather.Batch
	base, seq uint64          // the last record before it, and its own last one
	sealed    []*chunk.Sealed // made of the builders; nil before they are encoded
	by        *layout.Catalog // the catalogue with the metric numbers of sealed
}

const (
	// CommitEvery is how many intervals of Options.Seal one commit covers; at the end of the
	// other intervals the journal is fully synced, which is as safe. Larger chunks are smaller
	// per value, and each commit costs some pages besides.
	CommitEvery = 12
	// generationSize is the size of a journal generation at which a commit is due earlier.
	generationSize = 4 << 20
	// partEvery is how many of these intervals a part covers, and so a generation of the
	// journal. A longer part is smaller per value.
	partEvery = 3
	// partValues is how many values end a part earlier, if they are more than those of
	// partTicks ticks. An event counts as eventValues.
	partValues  = 3 << 18
	partTicks   = 16
	eventValues = 64
	// partBytes is how many bytes of records end a part earlier: a reader of the live archive
	// decodes them one by one, at 0.3 ms for each KB. A third of them are the names of
	// everything once more, so a machine on which much begins and ends gets no part shorter than
	// partLeast because of partBytes.
	partBytes = 38 << 10
	partLeast = int64(time.Minute)
)

// Limits of what is collected before a commit is due earlier, because making one chunk of it
// takes a multiple of that memory for a moment: before it is encoded, and as chunks. What the
// present instances take by themselves does not count: the next batch takes it as well, and where
// it is more than the limit, on a machine with thousands of processes, a commit would follow
// another without end.
const (
	commitMemory = 5 << 20
	commitSize   = 448 << 10
)

// memoryCheck and valuesCheck are how many ticks, or values, pass between two checks of how much
// has been collected. One tick can bring as many megabytes of text as there are processes that
// start with much of it, and a chunk must not exceed what its readers accept.
const (
	memoryCheck = 16
	valuesCheck = 4096
)

// keepSchedule makes everything safe from a power cut when it is time: by a full sync of the
// journal or, every CommitEvery-th time, by a commit of what has been collected.
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
	return memory > min(commitMemory+l.rest.Standing(), w.opt.MemoryBound/2) || size > commitSize || l.jw.Size() > generationSize || l.jw.Encoder().Full()
}

// partDue reports whether a part is large enough. The caller holds the Writer's mutex.
func (w *Writer) partDue(l *live, now int64) bool {
	if l.jw.Size()-l.copied > partBytes && now-l.turned >= partLeast {
		return true
	}
	return w.count.ticks%memoryCheck == 0 && l.rest.Values()+int64(l.rest.Events.Len())*eventValues > max(partValues, partTicks*l.rest.Cells())
}

// begin returns the time of the first tick of b.
func (b *batch) begin() (first metric.Stamp, ok bool) {
	first, ok = b.First()
	for _, s := range b.sealed {
		if at := s.Info.First; !ok || at.Cont < first.Cont {
			first, ok = at, true
		}
	}
	return first, ok
}

// size returns the size of the chunks of b.
func (b *batch) size() (n int64) {
	for _, s := range b.sealed {
		n += s.Info.Size
	}
	return n
}

// part makes a part of what has been collected, so that readers of the live archive find most of
// it as chunks. Changes to how values are understood are committed at once instead, because a
// copy does not hold them. The caller holds the Writer's mutex.
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

// take makes a batch of what has been collected; nil if the journal has no new record either.
func (l *live) take() *batch {
	b := &batch{Batch: l.rest, base: l.taken, seq: l.jw.Seq()}
	if b.Empty() && b.seq == b.base {
		return nil
	}
	l.rest, l.taken, l.age = b.Next(), b.seq, 0
	return b
}

// collect queues what has been collected for the next commit. The caller holds the Writer's
// mutex.
func (w *Writer) collect(l *live, now int64) {
	l.begun, l.synced = now, now
	b := l.take()
	if b != nil {
		l.parts = append(l.parts, b)
	}
	l.queue, l.parts = append(l.queue, l.parts...), nil
	if b != nil && !w.closed { // after closing nothing follows that would need another generation
		w.perhapsTurn(l)
	}
}

// copyParts encodes the parts of l and puts them into its journal as copies of the generations
// that they came from. A part that cannot be copied stays where it is.
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
		w.encode(l, b, (*chunk.Builder).SealBare) // the merge adds what bare chunks lack
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
		if _, held := l.jw.Held(); held == 0 && l == w.cur && !w.closed && l.generationOf(b) {
			before := l.jw.Size()
			_ = w.wrote(l, l.jw.Copy(&journal.Copy{From: b.base, To: b.seq, Data: data}))
			l.copied += l.jw.Size() - before
		}
		w.mu.Unlock()
	}
}

// generationOf reports whether b holds exactly the records of one of the generations before the
// present one.
func (l *live) generationOf(b *batch) bool {
	return slices.ContainsFunc(l.old, func(g generation) bool { return g.base == b.base && g.seq == b.seq })
}
