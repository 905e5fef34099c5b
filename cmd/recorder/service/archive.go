package service

import (
	"context"
	"time"

	"tachograph/sample"
	"tachograph/sample/metric"
	"tachograph/store/recording"
)

// Archive is where values go: the store's writer, or a test's stand-in.
type Archive interface {
	sample.Sink
	// Late stores a tick that is older than others of its class.
	Late(t *metric.Tick) error
	// Rotate begins a new archive; it may be called while a tick is being
	// appended. What remains to be done with the old one is done by finish,
	// which may take its time and returns the finished archive's path.
	// Appending goes on meanwhile.
	Rotate(why string) (finish func() (path string, err error), err error)
	// Reconfigure notes a changed configuration and works by it from now on.
	Reconfigure(s Settings) error
	Status() ArchiveStatus
	// Written counts the bytes given to files since the recorder started.
	Written() uint64
	// Prune removes finished archives that are too old or too much.
	Prune(limits recording.Limits, now metric.Stamp) (recording.Pruned, error)
	// Reduce makes of a finished archive one of steps, beside it, and returns its path.
	// It calls pace between pieces of work.
	Reduce(ctx context.Context, path string, step time.Duration, pace func()) (string, error)
	Close() error
	// CloseWithin is how long Close may take at most.
	CloseWithin() time.Duration
}

// Settings are what the archive needs to know of the configuration.
type Settings struct {
	Config     string // the effective configuration, as TOML
	Intervals  metric.Intervals
	Sync, Seal time.Duration
	Buffer     int64
}

// ArchiveStatus is the state of the archive being written.
type ArchiveStatus struct {
	Path    string    `json:"path"`
	Since   time.Time `json:"since"`
	Bytes   int64     `json:"bytes"`
	Written uint64    `json:"written"` // to all files since the recorder started
	// AtRisk is how much recording a crash of the kernel and a power cut may
	// cost at this moment.
	AtRiskCrash    Seconds `json:"at_risk_crash_seconds"`
	AtRiskPowerCut Seconds `json:"at_risk_power_cut_seconds"`
	// Trouble says why nothing can be stored at present; empty when it can.
	Trouble string `json:"trouble,omitempty"`
	// Dropped counts what could not be kept since the trouble began,
	// Unfinished archives that were rotated out and could not be finished.
	Dropped    uint64 `json:"dropped,omitempty"`
	Unfinished int    `json:"unfinished,omitempty"`
	// SetAside are archives that were found damaged, also while they were being
	// written, and wait to be repaired.
	SetAside []string `json:"set_aside,omitempty"`
	// Finished and FinishedBytes count the finished archives beside it.
	Finished      int       `json:"finished"`
	FinishedBytes int64     `json:"finished_bytes"`
	Oldest        time.Time `json:"oldest"` // beginning of the oldest one
}

// Past is what earlier runs left in the archive directory.
type Past struct {
	BootID string
	Last   metric.Stamp // of the last tick; zero when there is none
	Clean  bool         // the run ended by itself
	Host   metric.Host
	Config string // the effective configuration, as TOML; empty when unknown
}
