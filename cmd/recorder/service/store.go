package service

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tachograph/config"
	"tachograph/sample/metric"
	"tachograph/sample/notice"
	"tachograph/sample/platform"
	"tachograph/store"
	"tachograph/store/layout"
	"tachograph/store/recording"
)

// diskArchive is a directory of archives on disk.
type diskArchive struct {
	*recording.Writer
	dir string
	log *slog.Logger
}

// OpenStore opens the directory of archives that the configuration names.
func OpenStore(cfg *config.Config, version string, now func() metric.Stamp, log *slog.Logger) func([]*metric.Desc, Settings) (Archive, Past, error) {
	return func(catalog []*metric.Desc, set Settings) (Archive, Past, error) {
		dir := cfg.Archive.Dir
		past := lookBack(dir, log)
		w, err := recording.Create(recording.Options{
			Dir: dir, Group: cfg.Archive.Group, Host: platform.ThisHost(), BootID: platform.BootID(), TimeZone: platform.Zone(),
			Look:     func() (metric.Host, string) { return platform.ThisHost(), platform.Zone() },
			Recorder: "recorder " + version, Config: set.Config, Catalog: catalog, Intervals: set.Intervals,
			Seal: set.Seal, Sync: set.Sync, MemoryBound: set.Buffer, Now: now, Log: log,
		})
		if err != nil {
			return nil, past, err
		}
		return &diskArchive{w, dir, log}, past, nil
	}
}

// Append also counts a tick that only memory holds as stored: the writer itself reports the
// trouble, and stores the tick when it can.
func (a *diskArchive) Append(t *metric.Tick) error {
	if err := a.Writer.Append(t); err != nil && !errors.Is(err, recording.ErrHeld) {
		return err
	}
	return nil
}

// Late is Append for a tick from before a burst.
func (a *diskArchive) Late(t *metric.Tick) error {
	if err := a.Writer.Late(t); err != nil && !errors.Is(err, recording.ErrHeld) {
		return err
	}
	return nil
}

func (a *diskArchive) Rotate(why string) (func() (string, error), error) {
	old, err := a.Writer.BeginRotation(why)
	if err != nil {
		return nil, err
	}
	return old.Finish, nil
}

func (a *diskArchive) Reconfigure(s Settings) error {
	return a.Writer.Reconfigure(s.Config, s.Intervals, s.Sync, s.Seal)
}

// Written counts the bytes given to the archive's files.
func (a *diskArchive) Written() uint64 {
	st := a.Writer.Status()
	return uint64(st.JournalWritten + st.CommitWritten + st.FinishWritten)
}

func (a *diskArchive) Status() ArchiveStatus {
	st := a.Writer.Status()
	s := ArchiveStatus{
		Path: st.Path, Bytes: st.Bytes + st.JournalBytes, Written: uint64(st.JournalWritten + st.CommitWritten + st.FinishWritten),
		AtRiskCrash: Seconds(st.PanicLoss), AtRiskPowerCut: Seconds(st.PowerLoss), Trouble: st.Degraded, Dropped: st.Dropped, Unfinished: st.Unfinished,
	}
	if st.Since != 0 {
		s.Since = time.Unix(0, st.Since)
	}
	s.countFinished(a.dir)
	return s
}

// countFinished adds up the finished archives of a directory. Their names show their span.
func (s *ArchiveStatus) countFinished(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), layout.LiveSuffix+layout.DamagedSuffix) && e.Type().IsRegular() {
			s.SetAside = append(s.SetAside, e.Name())
		}
		info, err := e.Info()
		if !strings.HasSuffix(e.Name(), layout.FinishedSuffix) || err != nil || !info.Mode().IsRegular() {
			continue
		}
		s.Finished++
		s.FinishedBytes += info.Size()
		if from, _, ok := layout.ParseFinishedName(e.Name()); ok && (s.Oldest.IsZero() || from.Before(s.Oldest)) {
			s.Oldest = from
		}
	}
}

// lookBack finds out how the last run ended, from the newest archive.
func lookBack(dir string, log *slog.Logger) Past {
	var past Past
	path := newest(dir)
	if path == "" {
		return past
	}
	r, err := store.Open(path)
	if err != nil {
		log.Debug("the last archive cannot be read", "path", path, "error", err)
		return past
	}
	defer r.Close()
	for _, a := range r.Archives() {
		past.BootID, past.Last = a.BootID, a.Last
		past.Host, past.Config, past.Recorder = a.Host, a.Config, a.Recorder
		if a.Empty {
			// It ended before it had recorded anything but events, maybe only that of this
			// boot.
			boot := ""
			for e := range r.Events(0, 0, metric.EventBoot) {
				boot = e.Archive.BootID
			}
			return Past{BootID: boot, Host: a.Host, Config: a.Config, Recorder: a.Recorder}
		}
		for e := range r.Events(0, 0, metric.EventStop, metric.EventStart) {
			past.Clean = e.Kind == metric.EventStop && e.At.Cont >= a.Last.Cont
		}
		past.Settings = settingsOf(r, a)
	}
	return past
}

// settingsOf returns the last values of settings in an archive.
func settingsOf(r *store.Reader, a *store.ArchiveInfo) map[string]metric.Value {
	sel := store.Selection{From: a.To, Prior: true}
	for _, d := range r.Metrics() {
		if notice.Outlasts(d) {
			sel.Metrics = append(sel.Metrics, d.Name)
		}
	}
	if sel.Metrics == nil {
		return nil
	}
	values := make(map[string]metric.Value)
	for run := range r.Select(sel) {
		for i := range run.Wall {
			if v := run.At(i); v.Miss == metric.Present {
				values[run.Metric.Name] = v
			}
		}
	}
	return values
}

// newest returns the archive that was written last: the unfinished one if there is one, else
// the one with the highest serial number. Names do not show that if the clock was set back.
func newest(dir string) (path string) {
	for _, suffix := range []string{layout.LiveSuffix, layout.FinishedSuffix} {
		found, _ := filepath.Glob(filepath.Join(layout.GlobQuote(dir), "*"+suffix))
		serial := uint64(0)
		for _, p := range slices.Backward(found) {
			if info, err := os.Lstat(p); err != nil || !info.Mode().IsRegular() {
				continue
			}
			if h, err := layout.ReadHeader(p); path == "" || err == nil && h.Serial > serial {
				path = p
				if err == nil {
					serial = h.Serial
				}
			}
		}
		if path != "" {
			return path
		}
	}
	return ""
}
