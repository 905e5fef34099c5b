package recording

import (
	"time"

	"tachograph/sample/metric"
)

// Status describes the state of the recording.
type Status struct {
	// Path is the archive being written, ID its ID, Since the wall clock of its first tick (0
	// before that).
	Path, ID string
	Since    int64
	// Bytes is the size of the archive's pages in use, JournalBytes that of the present journal
	// generation.
	Bytes, JournalBytes int64
	// BytesPerDay is the archive's growth at its pace since Since; zero until enough has been
	// recorded to estimate it.
	BytesPerDay int64

	// Ticks, Values and Events have been accepted since the Writer began; Last is the stamp of
	// the latest tick of each class that had one.
	Ticks, Values, Events uint64
	Last                  map[metric.Class]metric.Stamp

	// PanicLoss bounds what a crash of the kernel would cost now: the age of the oldest record
	// that no barrier covers. PowerLoss is the same for a power cut and full syncs. Each is zero
	// only if nothing would be lost.
	PanicLoss, PowerLoss time.Duration

	// Degraded describes what is wrong with the disk, empty if nothing is. Held is how many
	// bytes wait in memory for the disk, Dropped how many records were not kept since the
	// trouble began.
	Degraded string
	Held     int64
	Dropped  uint64
	// Unfinished counts archives that were rotated away and could not be finished.
	Unfinished int
	// Queued is how many batches wait to be committed.
	Queued int

	// Bytes handed to write(2) since the Writer began, by purpose.
	JournalWritten, CommitWritten, FinishWritten int64
	// Barriers and Syncs are how often the disk was asked to make the journal safe, Commits the
	// commits of the archive, which sync twice each.
	Barriers, Syncs, Commits int64
}

// Status returns the present state of the recording.
func (w *Writer) Status() Status {
	w.mu.Lock()
	defer w.mu.Unlock()
	l := w.cur
	s := Status{
		Path: l.path, ID: l.head.ID, Since: l.first,
		Bytes: l.boltSize, JournalBytes: l.jw.Size(),
		Ticks: w.count.ticks, Values: w.count.values, Events: w.count.events,
		Last:    make(map[metric.Class]metric.Stamp),
		Dropped: w.trouble.dropped, Unfinished: len(w.unfinished), Queued: len(l.queue),
		JournalWritten: w.total.journal + l.jw.Written(), CommitWritten: w.total.bolt, FinishWritten: w.total.finish,
		Barriers: w.total.barriers, Syncs: w.total.syncs, Commits: w.total.commits,
	}
	for c, at := range w.count.last {
		if at != (metric.Stamp{}) {
			s.Last[metric.Class(c)] = at
		}
	}
	now := w.awake()
	crash, cut := w.atRisk()
	if crash {
		s.PanicLoss = max(1, now-w.syncedAt)
	}
	if cut {
		s.PowerLoss = max(1, now-w.safeAt)
	}
	if err := w.trouble.any(); err != nil {
		s.Degraded = err.Error()
		s.Held = w.heldMemory()
	}
	if span := l.last - l.first; span > int64(growthSpan) {
		s.BytesPerDay = int64(float64(l.boltSize+l.jw.Size()) * float64(24*time.Hour) / float64(span))
	}
	return s
}

// growthSpan is how much must have been recorded before a growth per day is worth stating.
const growthSpan = time.Minute
