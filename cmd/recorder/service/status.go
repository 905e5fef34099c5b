package service

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"tachograph/cmd/internal/cli"
	"tachograph/cmd/recorder/trigger"
	"tachograph/sample/engine"
	"tachograph/store/disk"
)

// StatusName is the status file in the archive directory. It is replaced as a whole, so that
// readers see a complete one, unless the disk is full.
const StatusName = "recorder.status"

// statusEvery is how often the status file is written, unless Options say otherwise or nothing
// is read that often.
const statusEvery = 10 * time.Second

// Status is the content of the status file.
type Status struct {
	Version string    `json:"version"`
	PID     int       `json:"pid"`
	Host    string    `json:"host"`
	BootID  string    `json:"boot_id"`
	At      time.Time `json:"at"`
	Started time.Time `json:"started"`
	Stopped bool      `json:"stopped"`
	Config  string    `json:"config,omitempty"`
	Dir     string    `json:"dir"`

	CPUSeconds     float64        `json:"cpu_seconds"`
	CPUPercent     float64        `json:"cpu_percent"` // of one core, lately
	ResidentBytes  int64          `json:"resident_bytes"`
	Values         uint64         `json:"values"`
	Events         uint64         `json:"events"`
	Errors         uint64         `json:"errors"`
	ErrorsLastHour uint64         `json:"errors_last_hour"`
	Faults         []string       `json:"faults,omitempty"`
	Classes        []ClassStatus  `json:"classes"`
	Sources        []SourceStatus `json:"sources"`
	Archive        ArchiveStatus  `json:"archive"`
	KeepFor        Seconds        `json:"keep_for_seconds"`
	KeepSize       int64          `json:"keep_size_bytes"`
	KeepReducedFor Seconds        `json:"keep_reduced_for_seconds,omitempty"`
	Reduction      *Reduction     `json:"reduction,omitempty"`
	OnBattery      bool           `json:"on_battery"`
	TCPGate        string         `json:"tcp_gate,omitempty"`
	Notices        []string       `json:"notices,omitempty"`
	LastRotation   *Rotation      `json:"last_rotation,omitempty"`
	LastShipping   *Shipping      `json:"last_shipping,omitempty"`
	LastReload     *Reload        `json:"last_reload,omitempty"`
	LastSampling   *Sampling      `json:"last_sampling,omitempty"`
	HungCalls      []string       `json:"hung_calls,omitempty"` // not made again in this boot

	Triggers []trigger.Status `json:"triggers,omitempty"`
	Owners   *OwnersStatus    `json:"owners,omitempty"`
}

// ClassStatus is one class's part of a status.
type ClassStatus struct {
	Class           string    `json:"class"`
	IntervalSeconds float64   `json:"interval_seconds"` // in force; 0 for a class that is read once per archive
	Stretched       bool      `json:"stretched,omitempty"`
	Burst           bool      `json:"burst,omitempty"`
	LastTick        time.Time `json:"last_tick"`
	Ticks           uint64    `json:"ticks"`
	Overruns        uint64    `json:"overruns"`
	Values          uint64    `json:"values"`
	TookSeconds     float64   `json:"took_seconds"` // the last tick
	MaxLateSeconds  float64   `json:"max_late_seconds"`
}

// SourceStatus is one source's part of a status.
type SourceStatus struct {
	Source       string  `json:"source"`
	Reads        uint64  `json:"reads"`
	Errors       uint64  `json:"errors"`
	Timeouts     uint64  `json:"timeouts"`
	Hung         bool    `json:"hung,omitempty"`
	TotalSeconds float64 `json:"total_seconds"`
	LastSeconds  float64 `json:"last_seconds"`
	MaxSeconds   float64 `json:"max_seconds"`
}

// Status returns the present status.
func (s *Service) Status() Status {
	e := s.engine.Status()
	s.mu.Lock()
	cfg, rotated, reloaded, onBattery := s.cfg, s.rotated, s.reloaded, s.onBattery
	s.mu.Unlock()
	st := Status{
		Version: s.opt.Version, PID: os.Getpid(), Host: hostName(), BootID: s.opt.Machine.BootID, At: e.Now.Time(), Started: s.started,
		Config: cfg.File, Dir: s.opt.Dir, CPUSeconds: e.CPU.Seconds(), CPUPercent: e.CPUShare * 100, ResidentBytes: e.Resident,
		Values: e.Values, Events: e.Events, Errors: e.Errors, ErrorsLastHour: e.ErrorsLastHour, Faults: e.Faults,
		Archive: s.archive.Status(), KeepFor: Seconds(cfg.Archive.KeepFor), KeepSize: cfg.Archive.KeepSize, OnBattery: onBattery,
		KeepReducedFor: Seconds(cfg.Archive.KeepReducedFor), Reduction: s.reducer.status(),
	}
	for _, c := range e.Classes {
		if c.Sources > 0 && c.Interval != 0 {
			st.Classes = append(st.Classes, classStatus(c))
		}
	}
	for _, src := range e.Sources {
		st.Sources = append(st.Sources, SourceStatus{
			Source: src.Source, Reads: src.Reads, Errors: src.Errors, Timeouts: src.Timeouts, Hung: src.Hung,
			TotalSeconds: src.Total.Seconds(), LastSeconds: src.Last.Seconds(), MaxSeconds: src.Max.Seconds(),
		})
	}
	st.Notices, st.Owners = e.Notices, s.archive.status()
	st.Triggers = s.watcher.Status(e.Now)
	if s.opt.Machine.TCPGate != nil {
		st.TCPGate = s.opt.Machine.TCPGate()
	}
	if !rotated.At.IsZero() {
		st.LastRotation = &rotated
	}
	if !reloaded.At.IsZero() {
		st.LastReload = &reloaded
	}
	st.LastSampling, st.HungCalls = s.sampling.status(), s.sampling.hungCalls()
	if ship := s.shipper.status(); !ship.At.IsZero() || ship.Waiting > 0 {
		st.LastShipping = &ship
	}
	return st
}

func classStatus(c engine.ClassStatus) ClassStatus {
	cs := ClassStatus{
		Class: c.Class, Stretched: c.Interval != c.Planned && !c.Burst, Burst: c.Burst, Ticks: c.Ticks, Overruns: c.Overruns, Values: c.Values,
		TookSeconds: c.Duration.Seconds(), MaxLateSeconds: c.MaxLate.Seconds(),
	}
	if c.Ticks > 0 {
		cs.LastTick = c.Last.Time()
	}
	if c.Interval < 365*24*time.Hour {
		cs.IntervalSeconds = c.Interval.Seconds()
	}
	return cs
}

// keepStatus writes the status file until ctx is done. The first ones come soon, because a
// command that starts the recorder waits to see it at work.
func (s *Service) keepStatus(ctx context.Context) {
	soon := []time.Duration{200 * time.Millisecond, 500 * time.Millisecond, time.Second}
	timer := time.NewTimer(0)
	defer timer.Stop()
	failed := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-s.fired:
		}
		err := s.writeStatus(false)
		if err != nil && !failed {
			s.log.Warn("the status file cannot be written", "error", err)
		}
		failed = err != nil
		next := cmp.Or(s.opt.StatusEvery, max(statusEvery, s.config().Shortest()))
		if len(soon) > 0 {
			next, soon = soon[0], soon[1:]
		}
		timer.Reset(next)
	}
}

// writeStatus writes the status file. Several goroutines may call it at a time and would
// overwrite each other's file, so it takes a lock.
func (s *Service) writeStatus(stopped bool) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	st := s.Status()
	st.Stopped = stopped
	text, err := json.Marshal(st)
	if err != nil {
		return err
	}
	return replaceStatus(filepath.Join(s.opt.Dir, StatusName), append(text, '\n'))
}

// replaceStatus replaces the status file, even on a full disk, on which no new file can be
// written: otherwise the old one would go on saying that all is well.
func replaceStatus(path string, text []byte) error {
	err := replaceFile(path, text)
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		err = overwriteFile(path, text)
	}
	return err
}

// overwriteFile overwrites the blocks that the file already has on the disk. A reader may
// meanwhile find it damaged.
func overwriteFile(path string, text []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if st, ok := info.Sys().(*syscall.Stat_t); !info.Mode().IsRegular() || !ok || st.Nlink != 1 {
		return fmt.Errorf("%s is not a file with one name", path)
	}
	if _, err := f.WriteAt(text, 0); err != nil {
		return err
	}
	return f.Truncate(int64(len(text)))
}

// replaceFile replaces a file as a whole. The new file gets the group of the directory, whose
// members may read it.
func replaceFile(path string, text []byte) error {
	tmp := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".tmp")
	os.Remove(tmp)
	f, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o640)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if info, serr := os.Stat(filepath.Dir(path)); serr == nil {
		if _, gid := ids(info); gid >= 0 {
			// Only root may give files to any group; if it fails, the file keeps the owner's
			// group.
			f.Chown(-1, gid)
		}
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(tmp, path)
	}
	if err != nil {
		os.Remove(tmp)
	}
	return err
}

// ReadStatus reads the status file of an archive directory.
func ReadStatus(dir string) (Status, error) {
	var st Status
	text, err := readFile(filepath.Join(dir, StatusName))
	if err != nil {
		return st, err
	}
	if err := json.Unmarshal(text, &st); err != nil {
		return st, fmt.Errorf("%s is damaged", filepath.Join(dir, StatusName))
	}
	return st, nil
}

// maxOwnFile limits what is read of the recorder's own files.
const maxOwnFile = 4 << 20

// readFile reads one of the recorder's own files. It refuses at once whatever another user may
// have put in its place: a link, a pipe, a device, an endless file.
func readFile(path string) ([]byte, error) {
	f, err := disk.OpenNoFollow(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxOwnFile+1))
	if err == nil && len(text) > maxOwnFile {
		err = fmt.Errorf("%s is far too large", path)
	}
	return text, err
}

// Line returns the status in one line.
func (st *Status) Line() string {
	var ticks, overruns uint64
	for _, c := range st.Classes {
		ticks += c.Ticks
		overruns += c.Overruns
	}
	line := fmt.Sprintf("%s  %s, %s, archive %s, %s, cpu %.2g %%, %s",
		st.At.Format("15:04:05"), cli.Count(ticks, "tick"), cli.Count(st.Values, "value"), Size(st.Archive.Bytes), cli.Count(overruns, "overrun"), st.CPUPercent, Size(st.ResidentBytes))
	if len(st.Faults) > 0 {
		line += ", " + cli.Count(len(st.Faults), "thing") + " failing"
	}
	if st.Archive.Trouble != "" {
		line += ", NOT STORING: " + st.Archive.Trouble
	}
	return line
}

// Size prints a number of bytes in three digits.
func Size(n int64) string {
	v, unit := float64(n), "B"
	for _, u := range []string{"KB", "MB", "GB", "TB"} {
		if v < 1000 {
			break
		}
		v, unit = v/1024, u
	}
	if unit == "B" || v >= 100 {
		return fmt.Sprintf("%.0f %s", v, unit)
	}
	return fmt.Sprintf("%.3g %s", v, unit)
}
