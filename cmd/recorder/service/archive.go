package service

import (
	"context"
	"time"

	"tachograph/sample"
	"tachograph/sample/metric"
	"tachograph/store/recording"
)

// Archive stores values: the store's writer, or a stand-in in tests.
type Archive interface {
	sample.Sink
	// Late stores a tick that is older than others of its class.
	Late(t *metric.Tick) error
	// Rotate begins a new archive; it may be called while a tick is being appended. finish
	// completes the old archive, which may take long, and returns its path. Appending goes on
	// meanwhile.
	Rotate(why string) (finish func() (path string, err error), err error)
	// Reconfigure notes a changed configuration and applies it from now on.
	Reconfigure(s Settings) error
	Status() ArchiveStatus
	// Written counts the bytes given to files since the recorder started.
	Written() uint64
	// Prune removes finished archives that are too old, or exceed the size limit.
	Prune(limits recording.Limits, now metric.Stamp) (recording.Pruned, error)
	// Reduce makes a reduced archive of a finished one, with steps of this length, beside it,
	// and returns its path. It calls pace between pieces of work.
	Reduce(ctx context.Context, path string, step time.Duration, pace func()) (string, error)
	Close() error
	// CloseWithin is how long Close may take at most.
	CloseWithin() time.Duration
}

// Settings are the parts of the configuration that the archive needs.
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
	// AtRisk is how much recording a crash of the kernel, or a power cut, would lose now.
	AtRiskCrash    Seconds `json:"at_risk_crash_seconds"`
	AtRiskPowerCut Seconds `json:"at_risk_power_cut_seconds"`
	// Trouble says why nothing can be stored at present; empty when it can.
	Trouble string `json:"trouble,omitempty"`
	// Dropped counts the values that could not be kept since the trouble began, Unfinished the
	// archives that were rotated out and could not be finished.
	Dropped    uint64 `json:"dropped,omitempty"`
	Unfinished int    `json:"unfinished,omitempty"`
	// SetAside are archives that were found damaged, even while they were being written, and
	// wait to be repaired.
	SetAside []string `json:"set_aside,omitempty"`
	// Finished and FinishedBytes count the finished archives beside it.
	Finished      int       `json:"finished"`
	FinishedBytes int64     `json:"finished_bytes"`
	Oldest        time.Time `json:"oldest"` // beginning of the oldest one
}

// Past is what earlier runs left in the archive directory.
type Past struct {
	BootID string
	Last   metric.Stamp // of the last tick; zero if there is none
	Clean  bool         // the run ended by itself
	Host   metric.Host
	Config string // the effective configuration, as TOML; empty if unknown
	// Recorder is the recorder's name and version.
	Recorder string
	// Settings are the last values of the machine's settings, by metric.
	Settings map[string]metric.Value
}
