package recording

import (
	"errors"
	"log/slog"
	"time"

	"tachograph/sample/metric"
	"tachograph/store/disk"
)

// Defaults of the Options.
const (
	DefaultSeal        = 5 * time.Minute
	DefaultSync        = time.Second
	DefaultMemoryBound = 16 << 20
	DefaultCloseWithin = 25 * time.Second
)

// Options say where and what a Writer records.
type Options struct {
	// Dir is the archive directory. It is made if its parent exists.
	Dir string
	// Group owns the files and directories that are made, besides the user running; if empty,
	// the system decides.
	Group string

	Host metric.Host
	// Look, if set, returns the present Host and TimeZone when a further archive is begun: a
	// running machine may be renamed, updated or carried elsewhere.
	Look func() (metric.Host, string)
	// BootID names the boot: counters of two boots have nothing in common, so an archive never
	// spans two.
	BootID   string
	TimeZone string
	Recorder string // version of the recorder
	Config   string // effective configuration, TOML
	// Catalog is all metrics, including those that are never sampled.
	Catalog []*metric.Desc
	// Intervals are the effective intervals of the classes.
	Intervals metric.Intervals

	// Seal is how often everything is made safe from a power cut: by a full sync of the journal,
	// or by committing its records to the archive. Sync is how often the journal is made safe
	// from a crash of the kernel.
	Seal, Sync time.Duration
	// MemoryBound is how much may be kept in memory while the disk refuses.
	MemoryBound int64

	// CloseWithin is how long Close may take.
	CloseWithin time.Duration

	// Now reads the clocks. The Writer's goroutines call it, too; the Writer takes the time from
	// nowhere else.
	Now func() metric.Stamp
	Log *slog.Logger
	// FS is the file layer; nil means the machine's.
	FS disk.FS
}

func (o Options) withDefaults() Options {
	if o.Seal <= 0 {
		o.Seal = DefaultSeal
	}
	if o.Sync <= 0 {
		o.Sync = DefaultSync
	}
	if o.MemoryBound <= 0 {
		o.MemoryBound = DefaultMemoryBound
	}
	if o.CloseWithin <= 0 {
		o.CloseWithin = DefaultCloseWithin
	}
	if o.FS == nil {
		o.FS = disk.OS
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		began := time.Now()
		o.Now = func() metric.Stamp {
			up := int64(time.Since(began))
			return metric.Stamp{Wall: time.Now().UnixNano(), Awake: up, Cont: up}
		}
	}
	return o
}

var (
	// ErrHeld means that the disk refused a record, which is kept in memory and will be written
	// when the disk allows: it would not survive a kill now.
	ErrHeld = errors.New("the disk refuses; kept in memory")
	// ErrDropped means that a record was not kept: the disk refuses and the memory bound is
	// reached.
	ErrDropped = errors.New("the disk refuses and the memory bound is reached; not kept")
	// ErrClosed means that the Writer has been closed.
	ErrClosed = errors.New("the writer is closed")
	// ErrLocked means that another process writes to the directory.
	ErrLocked = errors.New("another recorder writes to it")
	// ErrUnsafeDir means that a directory is not fit to hold archives.
	ErrUnsafeDir = errors.New("not fit to hold archives")
)
