package service

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"tachograph/cmd/internal/pushstate"
	"tachograph/config"
	"tachograph/store/disk"
)

// Report is a status, judged from outside.
type Report struct {
	Healthy  bool     `json:"healthy"`
	Running  bool     `json:"running"`
	Problems []string `json:"problems,omitempty"`

	Now             time.Time `json:"now"`
	ValuesPerSecond float64   `json:"values_per_second"`
	BytesPerDay     int64     `json:"bytes_per_day"`
	DaysKept        float64   `json:"days_kept"`
	DaysFit         float64   `json:"days_fit"`
	// Server is the state of the second service; empty: there is none.
	Server string `json:"server,omitempty"`
	// Pushes are how far pushes to servers have come.
	Pushes []pushstate.Report `json:"pushes,omitempty"`

	Status Status `json:"status"`
}

// lockName is the file that the archive's writer holds locked.
const lockName = "recorder.lock"

// Running reports whether the recorder that wrote st still runs: there is a writer of the
// directory, with that pid.
func Running(dir string, st Status) bool {
	if st.Stopped {
		return false
	}
	f, err := disk.OpenNoFollow(filepath.Join(dir, lockName), os.O_RDONLY, 0)
	if err == nil {
		defer f.Close()
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB)
		if err == nil {
			return false
		}
		return errors.Is(err, syscall.EWOULDBLOCK)
	}
	// If the lock cannot be opened, which only its owner can do, check the process.
	err = syscall.Kill(st.PID, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

const (
	// stale is the age at which a status file shows that its recorder does not run properly.
	stale = 3 * statusEvery
	day   = 24 * time.Hour
)

// Judge looks at a status from outside.
func Judge(dir string, st Status, now time.Time) Report {
	r := Report{Now: now, Running: Running(dir, st), Status: st}
	if up := st.At.Sub(st.Started).Seconds(); up > 0 {
		r.ValuesPerSecond = float64(st.Values) / up
	}
	r.measureArchive(dir)
	r.Problems = r.problems()
	r.Healthy = len(r.Problems) == 0
	return r
}

func (r *Report) problems() []string {
	st := &r.Status
	var p []string
	if !r.Running {
		if st.Stopped {
			return append(p, "it was stopped")
		}
		return append(p, "it is gone without having been stopped")
	}
	if age := r.Now.Sub(st.At); age > max(stale, 3*r.shortest()) {
		return append(p, fmt.Sprintf("it has not shown any life for %s", config.FormatDuration(age.Truncate(time.Second))))
	}
	if st.Archive.Trouble != "" {
		p = append(p, "nothing can be stored: "+st.Archive.Trouble)
	}
	for _, name := range st.Archive.SetAside {
		p = append(p, fmt.Sprintf("%s was damaged and is set aside: 'replay repair' may save what it holds; then remove it", name))
	}
	for _, c := range st.Classes {
		if interval := time.Duration(c.IntervalSeconds * float64(time.Second)); interval > 0 && c.Ticks > 0 {
			if age := st.At.Sub(c.LastTick); age > 3*interval+10*time.Second {
				p = append(p, fmt.Sprintf("class %s was last read %s ago", c.Class, config.FormatDuration(age.Truncate(time.Second))))
			}
		}
	}
	p = append(p, st.Faults...)
	if rot := st.LastRotation; rot != nil && rot.Error != "" {
		p = append(p, "the last rotation failed: "+rot.Error)
	}
	if re := st.LastReload; re != nil && re.Error != "" {
		p = append(p, "the last reload was refused: "+oneLine(re.Error))
	}
	if ship := st.LastShipping; ship != nil && ship.Error != "" {
		p = append(p, "the last shipping failed: "+ship.Error)
	}
	return p
}

// oneLine joins the lines of an error that has several.
func oneLine(text string) string {
	return strings.ReplaceAll(strings.TrimSpace(text), "\n", "; ")
}

// shortest returns the interval of the class that is read most often: the status file need not
// be written more often.
func (r *Report) shortest() time.Duration {
	var shortest time.Duration
	for _, c := range r.Status.Classes {
		if d := time.Duration(c.IntervalSeconds * float64(time.Second)); d > 0 && (shortest == 0 || d < shortest) {
			shortest = d
		}
	}
	return shortest
}

// measureArchive computes how fast the archives grow, how many days they hold and how many fit.
func (r *Report) measureArchive(dir string) {
	a := &r.Status.Archive
	total := a.Bytes + a.FinishedBytes
	since := a.Since
	if !a.Oldest.IsZero() && a.Oldest.Before(since) {
		since = a.Oldest
	}
	span := r.Status.At.Sub(since)
	if since.IsZero() || span <= 0 {
		return
	}
	r.DaysKept = span.Hours() / 24
	// A minute says little about a day.
	if span < 10*time.Minute {
		return
	}
	r.BytesPerDay = int64(float64(total) / (float64(span) / float64(day)))
	if r.BytesPerDay <= 0 {
		return
	}
	room := total
	var fs syscall.Statfs_t
	if syscall.Statfs(dir, &fs) == nil {
		room += int64(fs.Bavail) * int64(fs.Bsize)
	}
	if size := r.Status.KeepSize; size > 0 {
		room = min(room, size)
	}
	r.DaysFit = float64(room) / float64(r.BytesPerDay)
	if keep := time.Duration(r.Status.KeepFor); keep > 0 {
		r.DaysFit = min(r.DaysFit, keep.Hours()/24)
	}
}

// Sentence joins a report's problems.
func (r *Report) Sentence() string { return strings.Join(r.Problems, "; ") }
