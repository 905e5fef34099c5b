package recording

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tachograph/sample/metric"
	"tachograph/store/boltread"
	"tachograph/store/chunk"
	"tachograph/store/disk"
	"tachograph/store/gather"
	"tachograph/store/journal"
	"tachograph/store/layout"
)

// takeOver continues or finishes the archives that earlier runs left in the directory, and
// begins a new archive if there is none to continue.
func (w *Writer) takeOver() error {
	list, err := w.dir.leftovers()
	if err != nil {
		return err
	}
	var aside []leftover
	defer func() { w.tellSetAside(aside) }()
	for i, left := range list {
		l, err := w.reopen(left)
		if errors.Is(err, disk.ErrDamaged) || errors.As(err, new(*layout.RecordError)) {
			w.damaged(left, err)
			aside = append(aside, left)
			continue
		}
		if errors.Is(err, disk.ErrHeld) {
			// A reader's lock must not keep the recorder from recording. The archive is whole
			// and taken over at the next start.
			w.log.Error("an earlier archive is locked by another process, and left as it is until the next start; a new one is begun", "archive", left.path)
			continue
		}
		if err != nil {
			return err
		}
		if w.finishedAlready(l) {
			l.closeFiles()
			w.removeLive(l)
			continue
		}
		if i == len(list)-1 && w.continues(&l.head, l.tot.Finished) {
			if err := w.resume(l); err != nil {
				l.closeFiles()
				return err
			}
			w.cur = l
			continue
		}
		if _, err := w.finish(l); err != nil {
			l.closeFiles()
			if errors.Is(err, disk.ErrDamaged) {
				w.damaged(left, err)
				aside = append(aside, left)
				continue
			}
			w.makeSafe(left)
			// The archive is whole, only not compact: it can wait.
			w.log.Warn("an earlier archive cannot be finished now", "archive", l.String(), "error", err)
		}
	}
	if w.cur != nil {
		return nil
	}
	l, err := w.newLive(w.basis(0))
	if err == nil {
		w.recordInto(l)
	}
	return err
}

// tellSetAside records an event for each archive that was set aside.
func (w *Writer) tellSetAside(aside []leftover) {
	for _, left := range aside {
		if w.cur == nil {
			return // the start failed
		}
		e := metric.Event{
			At: w.opt.Now(), Kind: metric.EventErrorBegin,
			Text:   fmt.Sprintf("an earlier archive is damaged and set aside as %s: replay repair may save what it holds", filepath.Base(left.path)+layout.DamagedSuffix),
			Labels: []metric.Label{{Name: "path", Value: left.path + layout.DamagedSuffix}},
		}
		_ = w.event(&e)
	}
}

// makeSafe syncs the journals of an archive that stays as an earlier run left it: that run may
// have been killed before it synced them.
func (w *Writer) makeSafe(left leftover) {
	for _, path := range left.journals {
		f, err := w.dir.fs.OpenFile(path, os.O_RDWR, 0)
		if err == nil {
			err = f.Sync()
			f.Close()
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			w.log.Warn("a journal cannot be synced", "path", path, "error", err)
		}
	}
}

// continues reports whether new records belong into the archive with header h.
func (w *Writer) continues(h *layout.Header, finished bool) bool {
	return !finished && h.Format == layout.FormatVersion && h.BootID == w.opt.BootID && h.Host.ID == w.opt.Host.ID
}

// finishedAlready reports whether l is in the directory as a finished archive: then the finish
// was interrupted after its last step.
func (w *Writer) finishedAlready(l *live) bool {
	entries, err := w.dir.fs.ReadDir(w.dir.path)
	if err != nil {
		return false
	}
	prefix := layout.HostPart(l.head.Host.Name) + "-"
	for _, e := range entries {
		if _, _, ok := layout.ParseFinishedName(e.Name()); ok && strings.HasPrefix(e.Name(), prefix) && e.Type().IsRegular() {
			if h, err := layout.ReadHeader(w.dir.file(e.Name())); err == nil && h.ID == l.head.ID {
				return true
			}
		}
	}
	return false
}

// damaged sets aside an archive that cannot be read, so that the recorder can go on and the
// archive can be repaired.
func (w *Writer) damaged(left leftover, why error) {
	w.log.Error("an earlier archive is damaged; it is set aside for replay repair", "archive", left.path, "as", left.path+layout.DamagedSuffix, "error", why)
	w.setAside(left)
}

func (w *Writer) setAside(left leftover) {
	for _, name := range append([]string{left.path}, left.journals...) {
		if err := w.dir.fs.Rename(name, name+layout.DamagedSuffix); err != nil {
			w.log.Error("a damaged archive cannot be set aside", "path", name, "error", err)
		}
	}
}

// reopen opens an archive that an earlier run left, and reads the records of its journal that
// the archive does not hold yet; these become its queue.
func (w *Writer) reopen(left leftover) (*live, error) {
	l := &live{path: left.path, journals: journals{generation: left.last}}
	if err := w.openBolt(l, l.path); err != nil {
		return nil, fmt.Errorf("an earlier archive: %w", err)
	}
	err := layout.WithSnapshot(l.path, l.load)
	if err == nil {
		err = w.replay(l, left.journals)
	}
	if err != nil {
		l.closeFiles()
		return nil, fmt.Errorf("an earlier archive: %s: %w", left.path, err)
	}
	return l, nil
}

// load reads what a Writer must know to continue an archive. An archive with any damage is not
// continued.
func (l *live) load(s *boltread.Snapshot) error {
	var descs []*metric.Desc
	told := make(map[string]bool)
	v := layout.Visitor{
		Header:   func(h layout.Header) { l.head, told[layout.MetaArchive] = h, true },
		Totals:   func(t layout.Totals) { l.tot, told[layout.MetaTotals] = t, true },
		Progress: func(p layout.Progress) { l.committed, l.needs, told[layout.MetaJournal] = p.Sealed, p.Generation, true },
		Descs:    func(first uint32, ds []*metric.Desc) { descs = layout.Place(descs, first, ds) },
		Index:    func(_ uint32, in chunk.Info) { l.span(in.First.Wall, in.Last.Wall) },
	}
	if err := v.VisitAll(s, layout.Buckets...); err != nil {
		return err
	}
	for _, key := range []string{layout.MetaArchive, layout.MetaTotals, layout.MetaJournal} {
		if !told[key] {
			return &layout.RecordError{Bucket: layout.BucketMeta, Key: []byte(key), Err: layout.ErrMissing}
		}
	}
	l.cat = layout.NewCatalog(descs)
	l.boltSize = s.Meta().Bytes()
	return nil
}

func (l *live) span(first, last int64) {
	if l.first == 0 || first < l.first {
		l.first = first
	}
	l.last = max(l.last, last)
}

// maxRecovered is how many ticks go into one chunk when a journal is taken over.
const maxRecovered = 20_000

// replay queues the records of journals that l has not committed.
func (w *Writer) replay(l *live, journals []string) error {
	r := recovery{w: w, l: l, taken: gather.NewIntake(l.cat.Descs), follow: journal.Follower{
		Archive: l.head.ID, Seq: l.committed, Counted: true, Last: max(l.last, l.head.Created), First: l.needs,
	}}
	for i, path := range journals {
		if err := r.file(path, i+1 == len(journals)); err != nil {
			return err
		}
	}
	r.flush()
	return nil
}

// A recovery turns journals into batches.
type recovery struct {
	w      *Writer
	l      *live
	taken  *gather.Intake
	follow journal.Follower
}

// file takes over one generation; last means that no other follows.
func (r *recovery) file(path string, last bool) error {
	f, err := r.w.dir.fs.OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	g := &journal.Generation{File: f, Old: !last, Intern: r.taken.Intern}
	_, g.Number, _ = layout.ParseJournalName(filepath.Base(path))
	end := r.follow.Follow(g, r.record, func(h *journal.Hole) {
		r.lost(h.To, fmt.Sprintf("%d records of the journal are lost to damage", h.Records))
	})
	r.l.old = append(r.l.old, generation{path: path, seq: r.follow.Seq})
	switch end.Verdict {
	case journal.Foreign:
		r.w.log.Error("a journal cannot be taken over; it is set aside", "path", path, "as", path+layout.DamagedSuffix, "error", end.Err)
		return r.w.dir.fs.Rename(path, path+layout.DamagedSuffix)
	case journal.Headless, journal.Emptied:
		// Without its beginning, a journal cannot be read at all.
		r.lost(r.w.opt.Now(), fmt.Sprintf("a journal of %d bytes has lost its beginning", end.Rest))
	case journal.Damaged:
		r.w.log.Error("a journal is damaged", "path", path, "error", end.Err)
		if last { // else the next one's beginning shows what is missing
			r.lost(r.w.opt.Now(), fmt.Sprintf("the last %d bytes of the journal are damaged", end.Rest))
		}
	}
	return nil
}

// lost records a gap that ended at at.
func (r *recovery) lost(at metric.Stamp, text string) {
	from := max(r.l.last, r.l.head.Created)
	r.w.log.Error("a part of the journal is lost", "archive", r.l.String(), "after", time.Unix(0, from), "what", text)
	e := layout.GapEvent(at, from, at.Wall-from, text)
	r.taken.Events.Add(&e)
}

func (r *recovery) record(rec *journal.Record) {
	if err := r.taken.Take(rec); errors.Is(err, gather.ErrTooLate) {
		return // it belongs into a batch that is full
	} else if err != nil {
		r.w.log.Error("a tick of the journal cannot be taken over", "error", err)
	} else if t := rec.Tick; t != nil {
		r.l.span(t.At.Wall, t.At.Wall)
		if to := r.taken.Builders[t.Class]; to != nil && to.Ticks() >= maxRecovered {
			r.flush()
		}
	}
}

func (r *recovery) flush() {
	b := &batch{Batch: r.taken.Batch, seq: r.follow.Seq}
	r.taken.Batch = b.Next()
	if !b.Empty() {
		r.l.queue = append(r.l.queue, b)
	}
}

// resume continues l, which an earlier run of this boot was writing.
func (w *Writer) resume(l *live) error {
	lost := l.last
	crashed := len(l.queue) > 0
	seq := l.committed
	if n := len(l.queue); n > 0 {
		seq = l.queue[n-1].seq
	}
	if err := w.commit(l); err != nil {
		return err
	}
	now := w.opt.Now()
	l.begun, l.synced, l.taken = now.Cont, now.Cont, seq
	l.rest.Since(now.Cont)
	l.kept, l.safe = seq, seq
	if err := w.turn(l, seq); err != nil {
		return fmt.Errorf("going on with %s: %w", l, err)
	}
	if err := w.beginJournal(l, seq); err != nil {
		return fmt.Errorf("going on with %s: %w", l, err)
	}
	l.ended = false
	if crashed && lost != 0 {
		e := layout.GapEvent(now, lost, now.Wall-lost, "the recorder ended without stopping; the last tick is of "+time.Unix(0, lost).UTC().Format(time.RFC3339Nano))
		l.rest.Events.Add(&e)
		return w.wrote(l, l.jw.Event(&e))
	}
	return nil
}
