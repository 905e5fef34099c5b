package recording

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"tachograph/sample/metric"
	"tachograph/store/disk"
	"tachograph/store/journal"
	"tachograph/store/layout"
)

// A Writer records into the archives of one directory. All methods may be
// called from several goroutines.
//
// What Append and Event have accepted stands in the journal and survives the
// process. Goroutines of the Writer make it safe from more: the syncer from a
// crash of the kernel, the sealer, which also takes it over into the archive
// proper, from a power cut. Neither holds the mutex while it waits for the
// disk.
type Writer struct {
	opt Options
	log *slog.Logger
	dir *directory

	mu      sync.Mutex
	cur     *live
	conf    journal.Config
	changes int // of the catalogue and the configuration
	trouble trouble
	closed  bool
	total   totalWritten
	count   counts
	// syncedAt and safeAt are when all that had been accepted before last was
	// made safe by a barrier and by a full sync, on the clock of awake.
	syncedAt, safeAt time.Duration
	usual            atomic.Int64  // nanoseconds that a barrier takes, lately
	serial           atomic.Uint64 // of the last archive made
	// turned are the archives turned away from that are not finished yet,
	// unfinished those of them whose finish failed.
	turned, unfinished []*live

	cutting sync.Mutex // held while an archive is made beside the present one
	syncing sync.Mutex // held while a journal file is synced, or closed
	work    workers
}

// totalWritten counts bytes handed to write(2), and calls that made them safe.
type totalWritten struct {
	journal, bolt, finish int64
	barriers, syncs       int64 // of the journal
	seals                 int64 // commits of the archive
}

// counts is what Status says about the present run.
type counts struct {
	ticks, values, events uint64
	last                  [metric.NumClasses]metric.Stamp
}

// Create opens the directory for recording. It takes over what an earlier run
// left there: the archive it was writing is continued if it belongs to the
// same boot and format, and finished otherwise.
func Create(opt Options) (*Writer, error) {
	opt = opt.withDefaults()
	dir, err := openDirectory(opt)
	if err != nil {
		return nil, err
	}
	w := &Writer{opt: opt, log: opt.Log, dir: dir, conf: journal.Config{
		Text: opt.Config, Intervals: opt.Intervals, Sync: opt.Sync, Seal: opt.Seal,
	}}
	w.syncedAt, w.safeAt = w.awake(), w.awake()
	w.serial.Store(dir.lastSerial())
	if err := w.takeOver(); err != nil {
		w.abandon()
		return nil, err
	}
	w.startWorkers()
	return w, nil
}

// awake reads the clock that tells how long the disk takes and what is at risk:
// it stands still with the machine, during which nothing is recorded.
func (w *Writer) awake() time.Duration { return time.Duration(w.opt.Now().Awake) }

// abandon lets go of everything after a failed Create.
func (w *Writer) abandon() {
	if w.cur != nil {
		w.cur.closeFiles()
	}
	w.dir.release()
}

func (l *live) closeFiles() {
	for i := range l.old {
		closeFile(&l.old[i].file)
	}
	closeFile(&l.file)
	if l.db != nil {
		_ = l.db.Close()
		l.db = nil
	}
}

func closeFile(f *disk.File) {
	if *f != nil {
		_ = (*f).Close()
		*f = nil
	}
}

// Append records a tick. When it returns nil, the tick survives the process
// being killed at any instruction. ErrHeld and ErrDropped say that the disk is
// in trouble, of which the Writer itself tells once; any other error that the
// tick is malformed. t is not kept.
func (w *Writer) Append(t *metric.Tick) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return ErrClosed
	}
	if w.full() {
		w.trouble.drop(t.At)
		return ErrDropped
	}
	l := w.cur
	if err := l.rest.Tick(t); err != nil {
		return err
	}
	err := w.wrote(l, l.jw.Tick(t))
	w.count.ticks++
	w.count.values += uint64(t.Values())
	w.count.last[t.Class] = t.At
	if l.first == 0 {
		l.first = t.At.Wall
	}
	l.last = max(l.last, t.At.Wall)
	w.perhapsSeal(l, t.At.Cont)
	return err
}

// perhapsSeal seals when it is time: by a full sync of the journal, or, each
// commitSeals times, by queueing what has been collected for the archive.
func (w *Writer) perhapsSeal(l *live, now int64) {
	if w.commitDue(l, now) {
		w.cut(l, now)
		w.work.wake()
		return
	}
	if now-l.synced >= int64(w.conf.Seal) {
		l.synced = now
		if l.age++; l.age >= generationSeals {
			w.turnPage(l)
		}
		w.work.wake()
	}
}

func (w *Writer) commitDue(l *live, now int64) bool {
	if now-l.begun >= CommitSeals*int64(w.conf.Seal) || now < l.begun {
		return true
	}
	if w.count.ticks%memoryCheck != 0 {
		return false
	}
	return l.rest.Memory() > min(commitMemory, w.opt.MemoryBound/2) || l.jw.Size() > generationSize || l.jw.Encoder().Full()
}

// commitMemory is how much may be collected before a commit is due earlier:
// encoding it takes a multiple for a moment.
const commitMemory = 5 << 20

// memoryCheck is after how many ticks the memory of what is collected is
// looked at.
const memoryCheck = 64

// wrote notes the outcome of adding to the journal.
func (w *Writer) wrote(l *live, err error) error {
	switch {
	case err == nil:
		l.dirty = true
		w.work.dirty()
		if w.trouble.journal != nil {
			w.journalWorks()
		}
		return nil
	case journal.Refused(err):
		// The archive takes it, so it is not lost, but a kill would lose it.
		w.log.Warn("a record does not fit into the journal", "error", err)
		return ErrHeld
	default:
		w.journalFails(l, err)
		return ErrHeld
	}
}

// Event records an event; errors as for Append.
func (w *Writer) Event(e metric.Event) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.event(&e)
}

func (w *Writer) event(e *metric.Event) error {
	if w.closed {
		return ErrClosed
	}
	return w.note(e)
}

// note records an event, also one of the closing itself.
func (w *Writer) note(e *metric.Event) error {
	if w.full() {
		w.trouble.drop(e.At)
		return ErrDropped
	}
	l := w.cur
	w.count.events++
	l.rest.Events = append(l.rest.Events, *e)
	return w.wrote(l, l.jw.Event(e))
}

// Describe adds descriptions to the catalogue. A description that differs from
// an earlier one of the same name holds from now on.
func (w *Writer) Describe(ds []*metric.Desc) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return ErrClosed
	}
	if len(ds) == 0 {
		return nil
	}
	l := w.cur
	l.rest.Descs = append(l.rest.Descs, ds...)
	w.remember(ds)
	return w.wrote(l, l.jw.Describe(ds))
}

// remember keeps the catalogue that the next archive begins with up to date.
func (w *Writer) remember(ds []*metric.Desc) {
	at := make(map[string]int, len(w.opt.Catalogue))
	list := append([]*metric.Desc(nil), w.opt.Catalogue...)
	for i, d := range list {
		at[d.Name] = i
	}
	for _, d := range ds {
		if i, ok := at[d.Name]; ok {
			list[i] = d
		} else {
			at[d.Name] = len(list)
			list = append(list, d)
		}
	}
	w.opt.Catalogue = list
	w.changes++
}

// Reconfigure takes over a changed configuration and records it. What changed
// is for the caller to tell, with an event.
func (w *Writer) Reconfigure(config string, intervals map[metric.Class]time.Duration, sync, seal time.Duration) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return ErrClosed
	}
	if sync <= 0 {
		sync = DefaultSync
	}
	if seal <= 0 {
		seal = DefaultSeal
	}
	w.conf = journal.Config{Text: config, Intervals: maps.Clone(intervals), Sync: sync, Seal: seal}
	w.changes++
	conf := w.conf
	w.cur.rest.Conf = &conf
	w.work.syncEvery(sync)
	return w.wrote(w.cur, w.cur.jw.Config(&conf))
}

// patience is how many times as long as a barrier closing may take: it commits
// up to an hour and may wait for an archive that is being finished.
const patience = 500

// Close seals all that has been accepted. The archive is continued by the next
// Create of the same boot.
//
// Close ends whatever a file does, see CloseWithin: a disk that does not answer
// must not keep the recorder from being stopped. What was accepted then stands
// in the journal, and the next Create takes it over.
func (w *Writer) Close() error {
	within := w.CloseWithin()
	done := make(chan error, 1)
	go func() { done <- w.close() }()
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case err := <-done:
		return err
	case <-timer.C:
		return fmt.Errorf("closing the archive took longer than %s and was given up: the disk does not answer; the next start takes over what stands in the journal", within)
	}
}

// CloseWithin is how long Close may take: Options.CloseWithin or, on a disk that
// is known to be slow, patience times what it usually needs.
func (w *Writer) CloseWithin() time.Duration {
	return max(w.opt.CloseWithin, patience*time.Duration(w.usual.Load()))
}

func (w *Writer) close() error {
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return nil
	}
	w.closed = true
	l := w.cur
	w.cut(l, l.begun)
	turned := w.turned
	w.mu.Unlock()
	w.stopWorkers()
	// A commit that is refused or hangs must find everything safe.
	err := w.lastSync()
	e := l.closeSealed(w)
	if errors.Is(e, disk.ErrDamaged) && w.giveUp(l) {
		e = w.cur.closeSealed(w)
	}
	if e != nil || len(turned) == 0 {
		err = e
	}
	for _, l := range turned {
		l.commit.Lock() // it may be being finished
		w.letGo(l)
		l.commit.Unlock()
	}
	w.dir.release()
	return err
}

// lastSync makes safe what no schedule will any more.
func (w *Writer) lastSync() error {
	w.mu.Lock()
	if _, held := w.cur.jw.Held(); held > 0 && w.cur.jw.Flush() == nil {
		w.cur.dirty = true
	}
	_, risk := w.atRisk()
	w.mu.Unlock()
	if !risk {
		return nil
	}
	return w.fullSync()
}

// closeSealed seals what is queued and closes l. The journal goes if the
// archive holds all of it.
func (l *live) closeSealed(w *Writer) error {
	err := w.seal(l)
	if err == nil {
		err = w.endJournal(l)
	}
	w.mu.Lock()
	held := l.jw.Flush()
	if all := l.sealed == l.jw.Seq() && err == nil; all {
		l.old = append(l.old, generation{path: layout.JournalName(l.path, l.generation), file: l.file, seq: l.sealed})
		l.file = nil
		held = nil
	}
	w.mu.Unlock()
	w.dropGenerations(l)
	if err == nil {
		err = held
	}
	w.letGo(l)
	if e := w.dir.fs.SyncDir(w.dir.path); err == nil && e != nil {
		err = e
	}
	return err
}

// endJournal notes in the archive that it holds all there is.
func (w *Writer) endJournal(l *live) error {
	l.commit.Lock()
	defer l.commit.Unlock()
	w.mu.Lock()
	seq, all := l.jw.Seq(), l.sealed == l.jw.Seq()
	w.mu.Unlock()
	if l.ended || !all {
		return nil
	}
	if err := l.examine(); err != nil {
		return fmt.Errorf("closing %s: %w", l, err)
	}
	err := l.update(layout.Build(&l.tot, func(b *layout.Builder) { b.Progress(layout.Progress{Sealed: seq, Closed: true}) }))
	if err != nil {
		return fmt.Errorf("closing %s: %w", l, err)
	}
	l.ended = true
	return nil
}
