package recording

import (
	"cmp"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"tachograph/sample/metric"
	"tachograph/store/gather"
	"tachograph/store/journal"
)

// A Writer records into the archives of one directory. All methods may be
// called from several goroutines.
//
// A record that Append or Event has accepted is in the journal and survives the process;
// goroutines of the Writer make it safe from more. The package comment shows the states that
// records and archives pass through.
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
	looked  uint64        // count.values when the memory of collected values was last checked
	still   journal.Still // reused by Append
	// syncedAt and safeAt are when everything accepted before was last made safe by a barrier
	// and by a full sync, on the clock of awake.
	syncedAt, safeAt time.Duration
	usual            atomic.Int64  // how many nanoseconds a barrier takes, lately
	serial           atomic.Uint64 // serial number of the last archive made
	// rotated are the archives rotated away that are not finished yet, unfinished those of them
	// whose finish failed.
	rotated, unfinished []*live

	rotating sync.Mutex // held while an archive is made beside the present one
	syncing  sync.Mutex // held while a journal file is synced, or closed
	work     workers
}

// totalWritten counts bytes handed to write(2), and calls that made them safe.
type totalWritten struct {
	journal, bolt, finish int64
	barriers, syncs       int64 // of the journal
	commits               int64
}

// counts is what Status reports of the present run.
type counts struct {
	ticks, values, events uint64
	last                  [metric.NumClasses]metric.Stamp
}

// Create opens the directory for recording. It takes over what an earlier run left there: it
// continues the archive of that run if it has the same boot and format, and finishes it
// otherwise.
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
		if w.cur != nil {
			w.cur.closeFiles()
		}
		dir.release()
		return nil, err
	}
	w.startWorkers()
	return w, nil
}

// awake reads the clock that measures how long the disk takes and what is at risk: it stops
// while the machine sleeps, and nothing is recorded then.
func (w *Writer) awake() time.Duration { return time.Duration(w.opt.Now().Awake) }

// Append records a tick. If it returns nil, the tick survives the process being killed at any
// instruction. ErrHeld and ErrDropped mean that the disk is in trouble, which the Writer itself
// reports once; any other error means that the tick is malformed. t is not kept.
func (w *Writer) Append(t *metric.Tick) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.accepts(t); err != nil {
		return err
	}
	return w.append(t)
}

// Late records a tick that may be older than others of its class, such as the ticks of the
// seconds before something happened: readers find it at its own time. The late ticks of a class
// must come in their order. A tick that is older than the archive, or than what is encoded
// already (which happens within seconds of the encoding), is refused with gather.ErrTooLate;
// other errors are as for Append.
func (w *Writer) Late(t *metric.Tick) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.accepts(t); err != nil {
		return err
	}
	l := w.cur
	if l.rest.TooLate(t) {
		return gather.ErrTooLate
	}
	if t.At.Cont > w.count.last[t.Class].Cont {
		return w.append(t) // it is not late
	}
	if err := l.rest.Late(t); err != nil {
		return err
	}
	w.count.ticks++
	w.count.values += uint64(t.Values())
	l.span(t.At.Wall, t.At.Wall)
	return w.wrote(l, l.jw.Late(t))
}

// accepts returns an error if t is not to be recorded at all.
func (w *Writer) accepts(t *metric.Tick) error {
	switch {
	case w.closed:
		return ErrClosed
	case w.full():
		w.trouble.drop(t.At)
		return ErrDropped
	case t.Class >= metric.NumClasses:
		return fmt.Errorf("tick of unknown class %d", t.Class)
	}
	return nil
}

// append is Append for callers that hold the mutex.
func (w *Writer) append(t *metric.Tick) error {
	l := w.cur
	if err := l.rest.Tick(t); err != nil {
		return err
	}
	err := w.wrote(l, l.jw.TickStill(t, l.rest.Still(t, &w.still)))
	w.count.ticks++
	w.count.values += uint64(t.Values())
	w.count.last[t.Class] = t.At
	if l.first == 0 {
		l.first = t.At.Wall
	}
	l.last = max(l.last, t.At.Wall)
	w.keepSchedule(l, t.At.Cont)
	return err
}

// Event records events, several of them with one write; errors are as for Append.
func (w *Writer) Event(es ...metric.Event) (err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return ErrClosed
	}
	l, accepted := w.cur, false
	for i := range es {
		e := &es[i]
		if w.full() {
			w.trouble.drop(e.At)
			err = ErrDropped
			continue
		}
		accepted = true
		w.count.events++
		l.rest.Events.Add(e)
		if refused := l.jw.HoldEvent(e); refused != nil {
			err = w.wrote(l, refused)
		}
	}
	if accepted {
		err = cmp.Or(err, w.wrote(l, l.jw.Flush()))
	}
	return err
}

func (w *Writer) event(e *metric.Event) error {
	if w.closed {
		return ErrClosed
	}
	return w.note(e)
}

// note records an event, even while the Writer is closing.
func (w *Writer) note(e *metric.Event) error {
	if w.full() {
		w.trouble.drop(e.At)
		return ErrDropped
	}
	l := w.cur
	w.count.events++
	l.rest.Events.Add(e)
	return w.wrote(l, l.jw.Event(e))
}

// Describe adds descriptions to the catalogue. A description that differs from an earlier one of
// the same name replaces it from now on.
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

// remember updates the catalogue that the next archive begins with.
func (w *Writer) remember(ds []*metric.Desc) {
	at := make(map[string]int, len(w.opt.Catalog))
	list := append([]*metric.Desc(nil), w.opt.Catalog...)
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
	w.opt.Catalog = list
	w.changes++
}

// Reconfigure takes over a changed configuration and records it. The caller must record an event
// that says what changed.
func (w *Writer) Reconfigure(config string, intervals metric.Intervals, sync, seal time.Duration) error {
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
	w.conf = journal.Config{Text: config, Intervals: intervals, Sync: sync, Seal: seal}
	w.changes++
	conf := w.conf
	w.cur.rest.Conf = &conf
	w.work.syncEvery(sync)
	return w.wrote(w.cur, w.cur.jw.Config(&conf))
}

// wrote notes the outcome of adding to the journal.
func (w *Writer) wrote(l *live, err error) error {
	switch {
	case err == nil:
		l.dirty = true
		if w.trouble.any() == nil {
			l.makeRoom()
		}
		w.work.dirty()
		if w.trouble.journal != nil {
			w.journalWorks()
		}
		return nil
	case journal.Refused(err):
		// The record is collected for the archive, so it is not lost, but a kill would lose it.
		w.log.Warn("a record does not fit into the journal", "error", err)
		return ErrHeld
	default:
		w.journalFails(l, err)
		return ErrHeld
	}
}
