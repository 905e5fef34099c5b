package recording

import (
	"fmt"
	"slices"

	"tachograph/sample/metric"
	"tachograph/store/chunk"
	"tachograph/store/layout"
)

// commit writes what is queued in l to its bbolt file, in one commit, and then
// lets go of the journal files that it came from. A batch stays queued until
// it is safe.
func (w *Writer) commit(l *live) error {
	l.committing.Lock()
	defer l.committing.Unlock()
	w.mu.Lock()
	queue := slices.Clone(l.queue)
	if len(queue) == 0 {
		w.mu.Unlock()
		return nil
	}
	p := layout.Progress{Sealed: queue[len(queue)-1].seq}
	if p.Closed = l.jw == nil || w.closed && p.Sealed == l.jw.Seq(); !p.Closed {
		p.Generation = l.needed(p.Sealed)
	}
	unnamed := l.unnamed
	w.mu.Unlock()
	began := w.awake()
	if err := l.examine(); err != nil {
		return fmt.Errorf("sealing %s: %w", l, err)
	}
	if unnamed && p.Generation > 0 {
		// What the archive says to be there must be there after a power cut.
		if err := w.dir.sync(); err != nil {
			return fmt.Errorf("sealing %s: %w", l, err)
		}
	}
	for _, b := range queue {
		w.encode(l, b)
	}
	t := l.tot.Clone()
	before := l.bytesWritten()
	err := l.update(layout.Build(&t, func(b *layout.Builder) {
		for _, q := range queue {
			q.put(b)
		}
		b.Descs(l.cat.Pending())
		b.Count()
		b.Progress(p)
	}))
	if err != nil {
		return fmt.Errorf("sealing %s: %w", l, err)
	}
	l.tot, l.ended = t, p.Closed
	l.cat.Commit(int(t.Metrics))
	size := l.pagesInUse()
	w.mu.Lock()
	l.boltSize = size
	w.total.bolt += l.bytesWritten() - before
	w.total.commits++
	l.queue, l.committed = slices.Clone(l.queue[len(queue):]), p.Sealed
	l.kept, l.safe = max(l.kept, p.Sealed), max(l.safe, p.Sealed)
	// A commit makes nothing safe that stands in another archive's journal.
	if l == w.cur && !w.rotatedAtRisk() {
		w.safeAt = began
	}
	w.mu.Unlock()
	w.dropGenerations(l)
	return nil
}

// encode makes chunks of a batch's builders. What cannot be encoded is given
// up and said, rather than blocking all that comes after it.
func (w *Writer) encode(l *live, b *batch) {
	if b.sealed != nil {
		return
	}
	for _, d := range b.Descs {
		l.cat.Number(d)
	}
	b.sealed = []*chunk.Sealed{}
	for _, builder := range b.Builders {
		if builder == nil {
			continue
		}
		s, err := builder.Seal(l.cat.Number)
		if err != nil {
			w.log.Error("a chunk cannot be encoded and is lost", "class", builder.Class(), "ticks", builder.Ticks(), "error", err)
			b.Events = append(b.Events, lossEvent(builder, err))
			continue
		}
		b.sealed = append(b.sealed, s)
	}
}

// lossEvent tells of ticks that could not be encoded.
func lossEvent(b *chunk.Builder, err error) metric.Event {
	first, last := b.First(), b.Last()
	return layout.GapEvent(last, first.Wall, last.Cont-first.Cont,
		fmt.Sprintf("%d ticks of class %s could not be encoded: %v", b.Ticks(), b.Class(), err))
}

func (b *batch) put(to *layout.Builder) {
	for _, s := range b.sealed {
		to.ChunkApart(s)
	}
	to.Events(b.Events)
	if b.Conf != nil {
		to.Settings(b.Conf.Text, b.Conf.Intervals)
	}
}
