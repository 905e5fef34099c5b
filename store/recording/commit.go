package recording

import (
	"bytes"
	"fmt"
	"slices"

	"tachograph/sample/metric"
	"tachograph/store/archive"
	"tachograph/store/chunk"
	"tachograph/store/layout"
)

// commit writes the queue of l to its bbolt file, in one commit, and then releases the journal
// files that the queue came from. A batch stays queued until it is safe.
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
		// A file that the archive says exists must exist after a power cut.
		if err := w.dir.sync(); err != nil {
			return fmt.Errorf("sealing %s: %w", l, err)
		}
	}
	for _, b := range queue {
		w.encode(l, b, (*chunk.Builder).Seal)
	}
	chunks := w.merged(l, queue, p.Closed)
	t := l.tot.Clone()
	before := l.bytesWritten()
	err := l.update(layout.Build(&t, func(b *layout.Builder) {
		b.Describe(l.cat.Desc)
		for _, s := range chunks {
			b.ChunkApart(s)
		}
		putRest(b, queue)
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
	// A commit does not make records in another archive's journal safe.
	if l == w.cur && !w.rotatedAtRisk() {
		w.safeAt = began
	}
	w.mu.Unlock()
	w.dropGenerations(l)
	return nil
}

// encode makes chunks of a batch's builders. A chunk that cannot be encoded is given up, with a
// log line and a gap event, because it would block everything after it. The caller holds
// committing.
func (w *Writer) encode(l *live, b *batch, seal func(*chunk.Builder, func(*metric.Desc) uint32) (*chunk.Sealed, error)) {
	if b.sealed != nil && b.by == l.cat {
		return
	}
	for _, d := range b.Descs {
		l.cat.Number(d)
	}
	sealed := []*chunk.Sealed{}
	var losses []metric.Event
	lost := func(in *chunk.Info, err error) { losses = append(losses, lossEvent(in, err)) }
	for _, s := range b.sealed {
		again, err := renumbered(s, b.by, l.cat)
		if err != nil {
			w.log.Error("a chunk cannot be taken over and is lost", "class", s.Info.Class, "ticks", s.Info.Ticks, "error", err)
			lost(&s.Info, err)
			continue
		}
		sealed = append(sealed, again)
	}
	if err := w.settle(b); err != nil {
		w.log.Error("ticks that came late cannot be put among the others and are lost", "error", err)
	}
	for _, builder := range b.Builders {
		if builder == nil || b.sealed != nil {
			continue
		}
		s, err := seal(builder, l.cat.Number)
		if err != nil {
			w.log.Error("a chunk cannot be encoded and is lost", "class", builder.Class(), "ticks", builder.Ticks(), "error", err)
			lost(&chunk.Info{Class: builder.Class(), Ticks: uint64(builder.Ticks()), First: builder.First(), Last: builder.Last()}, err)
			continue
		}
		sealed = append(sealed, s)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	b.sealed, b.by = sealed, l.cat
	b.Builders = [metric.NumClasses]*chunk.Builder{} // merging and committing take their memory again
	for i := range losses {
		b.Events.Add(&losses[i])
	}
}

// settle sorts the late ticks of b in among the others. Nothing else changes a batch that is
// being encoded, but heldMemory and others read it, so settle holds the mutex for the change.
func (w *Writer) settle(b *batch) error {
	if b.sealed != nil {
		return nil
	}
	builders, err := b.Settled()
	w.mu.Lock()
	defer w.mu.Unlock()
	b.Put(builders)
	return err
}

// renumbered returns s with the numbers that another catalogue has for its metrics.
func renumbered(s *chunk.Sealed, from, to *layout.Catalog) (*chunk.Sealed, error) {
	c, err := chunk.Open(bytes.NewReader(s.Data), s.Info.Size)
	if err != nil {
		return nil, err
	}
	return chunk.Renumber(c, from.Desc, to.Number)
}

// lossEvent returns a gap event for ticks that could not be encoded.
func lossEvent(in *chunk.Info, err error) metric.Event {
	return layout.GapEvent(in.Last, in.First.Wall, in.Last.Cont-in.First.Cont,
		fmt.Sprintf("%d ticks of class %s could not be encoded: %v", in.Ticks, in.Class, err))
}

// merged returns the chunks of a queue, those of a class merged into one. If there is no time
// for that they stay apart, which only costs bytes until the archive is finished.
func (w *Writer) merged(l *live, queue []*batch, hurry bool) (out []*chunk.Sealed) {
	for class := range metric.NumClasses {
		var parts []*chunk.Sealed
		for _, b := range queue {
			for _, s := range b.sealed {
				if s.Info.Class == class {
					parts = append(parts, s)
				}
			}
		}
		if !hurry {
			parts = w.merge(l, parts)
		}
		out = append(out, parts...)
	}
	return out
}

func (w *Writer) merge(l *live, parts []*chunk.Sealed) (out []*chunk.Sealed) {
	for len(parts) > 0 {
		n := archive.Together(parts)
		s, err := archive.Merge(parts[:n], l.cat.Desc)
		if err != nil {
			w.log.Error("chunks cannot be merged and are left as they are", "class", parts[0].Info.Class, "error", err)
			out = append(out, parts[:n]...)
		} else {
			out = append(out, s)
		}
		parts = parts[n:]
	}
	return out
}

// putRest puts the settings and events of a queue.
func putRest(to *layout.Builder, queue []*batch) {
	for _, b := range queue {
		if b.Conf != nil {
			to.Settings(b.Conf.Text, b.Conf.Intervals)
		}
	}
	to.Events(func(yield func(metric.Event) bool) {
		for _, b := range queue {
			for e := range b.Events.All() {
				if !yield(e) {
					return
				}
			}
		}
	})
}
