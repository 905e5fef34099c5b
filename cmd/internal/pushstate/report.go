package pushstate

import (
	"fmt"
	"time"

	"tachograph/cmd/internal/cli"
	"tachograph/config"
)

// Report is how far a push has brought the recording to a server, for display.
type Report struct {
	Target  string `json:"target"`
	Path    string `json:"path"`
	Running bool   `json:"running"`
	// Until is when the latest acknowledged value was recorded, LagSeconds how far that is
	// behind the recording, and LagValues about how many values that is.
	Until      time.Time `json:"acknowledged_until,omitzero"`
	LagSeconds float64   `json:"lag_seconds"`
	LagValues  uint64    `json:"lag_values"`
	// AtLeast says that the end of the recording is not known: it is at least what the push has
	// read.
	AtLeast   bool      `json:"lag_at_least,omitempty"`
	Values    uint64    `json:"values"`
	Retries   uint64    `json:"retries"`
	Refused   uint64    `json:"refused_values"`
	Lost      uint64    `json:"lost"`
	LostText  string    `json:"lost_text,omitempty"`
	LastError string    `json:"last_error,omitempty"`
	LastAt    time.Time `json:"last_error_at,omitzero"`
	Trouble   string    `json:"trouble,omitempty"`
}

// Reports returns a report for each state in directories, which others may write to. newest is
// when the last value was recorded.
func Reports(dirs []string, newest, now time.Time) (list []Report) {
	for _, dir := range dirs {
		states, errs := In(dir)
		for _, s := range states {
			list = append(list, s.Report(newest, now))
		}
		for _, err := range errs {
			list = append(list, Report{Target: dir, Trouble: err.Error()})
		}
	}
	return list
}

// Report returns how far a push is. newest is when the last value was recorded, zero if not
// known.
func (s Told) Report(newest, now time.Time) Report {
	last := int64(0)
	if !newest.IsZero() {
		last = newest.UnixNano()
	}
	lag := s.Lag(last)
	p := Report{Target: s.Target, Path: s.Path, Running: !s.Ended && now.Sub(s.At) <= 2*Beat, LagSeconds: lag.Seconds(),
		LagValues: s.Waiting, Values: s.Values, Retries: s.Retries, Refused: s.RefusedValues, Lost: s.Lost, LostText: s.LostText,
		AtLeast: last == 0, LastError: s.LastError, LastAt: s.LastErrorAt, Trouble: s.Trouble(now)}
	if s.AckedWall != 0 {
		p.Until = time.Unix(0, s.AckedWall)
	}
	// Estimate the unread part by the rate of values in the read part.
	if s.Rate > 0 {
		p.LagValues = max(p.LagValues, uint64(lag.Seconds()*s.Rate))
	}
	return p
}

// Words returns the report in a line.
func (p *Report) Words() string {
	text := p.Target
	if p.Path == "" {
		return text
	}
	switch {
	case p.Until.IsZero():
		text += ": nothing acknowledged yet"
	case p.LagSeconds < 1 && p.AtLeast:
		text += ": up to what it has read, and what is recorded besides is not known here"
	case p.LagSeconds < 1:
		text += ": up to date"
	default:
		least := ""
		if p.AtLeast {
			least = "at least "
		}
		text += fmt.Sprintf(": %s%s behind, about %s", least, config.FormatDuration(time.Duration(p.LagSeconds*1e9).Truncate(time.Second)), cli.Count(p.LagValues, "value"))
	}
	text += fmt.Sprintf(", %s acknowledged", cli.Count(p.Values, "value"))
	if p.Retries > 0 {
		text += fmt.Sprintf(", %s", cli.Count(p.Retries, "retry"))
	}
	if p.Refused > 0 {
		text += fmt.Sprintf(", %d REFUSED", p.Refused)
	}
	if p.Lost > 0 {
		text += fmt.Sprintf(", LOST: %s", p.LostText)
	}
	if !p.Running {
		text += ", not running"
	}
	return text
}
