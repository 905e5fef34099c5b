// Package pushstate reads and writes the file in which replay push keeps how much a
// receiver has acknowledged. The next push continues from it, and recorder status shows it.
//
// Each receiver has one file. A writer replaces the whole file, so that a reader never
// sees half of one. It contains no secrets.
package pushstate

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tachograph/store/disk"
)

// Version is the version of the file format.
const Version = 1

// Suffix ends the names of these files.
const Suffix = ".push"

// State is the contents of the file.
type State struct {
	Version int `json:"version"`
	// Target is the address that is pushed to, without its secrets.
	Target string `json:"target"`
	Host   string `json:"host,omitempty"` // its ID
	Name   string `json:"host_name,omitempty"`
	// Archives are the paths that the push reads. The command that prints the status opens
	// them to see how much is left.
	Archives []string  `json:"archives,omitempty"`
	PID      int       `json:"pid"`
	Follow   bool      `json:"follow"`
	At       time.Time `json:"at"` // when this was written
	Began    time.Time `json:"started"`
	// Ended says that the push has ended by itself, not by a crash.
	Ended bool `json:"ended"`

	// Acked is the position that the receiver has acknowledged. While a batch that begins there
	// is being sent, InFlight is the position of its end.
	Acked    string `json:"acknowledged,omitempty"`
	InFlight string `json:"in_flight,omitempty"`
	// AckedWall is when the latest acknowledged value was recorded, and Recorded the same for
	// the latest value read. Both are nanoseconds since 1970.
	AckedWall int64 `json:"acknowledged_until,omitempty"`
	Recorded  int64 `json:"read_until,omitempty"`
	// Since is the wall clock before which nothing is pushed.
	Since int64 `json:"since,omitempty"`

	Values  uint64 `json:"values"`  // acknowledged
	Batches uint64 `json:"batches"` // acknowledged
	Bytes   uint64 `json:"bytes"`   // of these
	Waiting uint64 `json:"waiting"` // values ready to be sent, not yet acknowledged
	// Rate is how many values a second of recording had lately.
	Rate    float64 `json:"values_per_second"`
	Retries uint64  `json:"retries"`

	// Refused counts the batches that the receiver has refused for good, and Set has the
	// positions of the latest of them in the recording.
	Refused       uint64  `json:"refused_batches"`
	RefusedValues uint64  `json:"refused_values"`
	Set           []Range `json:"refused,omitempty"`
	// Lost counts what was removed before it was pushed.
	Lost     uint64 `json:"lost"`
	LostText string `json:"lost_text,omitempty"`

	LastError   string    `json:"last_error,omitempty"`
	LastErrorAt time.Time `json:"last_error_at,omitzero"`
	// Failing says that the last attempt failed and will be repeated.
	Failing bool `json:"failing"`
}

// Range is a part of a recording that a receiver refused.
type Range struct {
	From   string    `json:"from"`
	To     string    `json:"to"`
	Since  int64     `json:"since"` // wall clocks in nanoseconds
	Until  int64     `json:"until"`
	Values uint64    `json:"values"`
	Why    string    `json:"why"`
	At     time.Time `json:"at"`
	// Sent says that it was sent once more, with unknown result.
	Sent bool `json:"sent_again,omitempty"`
}

// MostRanges is how many refused ranges are kept.
const MostRanges = 100

// maxSize is far larger than any such file.
const maxSize = 256 << 10

// Read reads the file at path. The path may be under the control of another user: Read refuses a
// link, a pipe, and a file that is too large.
func Read(path string) (*State, error) {
	f, err := disk.OpenNoFollow(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxSize+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxSize {
		return nil, fmt.Errorf("%s is far too large to be the state of a push", path)
	}
	s := &State{}
	if err := json.Unmarshal(text, s); err != nil {
		return nil, fmt.Errorf("%s is damaged: remove it to begin anew", path)
	}
	if s.Version != Version {
		return nil, fmt.Errorf("%s is of another version (%d) of this program: remove it to begin anew", path, s.Version)
	}
	return s, nil
}

// Write replaces the file at path, so that after a power cut it is either the old one or this
// one.
func (s *State) Write(path string) error {
	s.Version = Version
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	scratch := path + ".tmp"
	f, err := disk.OS.OpenFile(scratch, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("the state of this push cannot be written: %w", err)
	}
	_, err = f.Write(append(text, '\n'))
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = disk.OS.Rename(scratch, path)
	}
	if err != nil {
		return fmt.Errorf("the state of this push cannot be written: %w", err)
	}
	return nil
}

// Lock makes sure that only one program at a time uses the state at path.
func Lock(path string) (unlock func(), err error) {
	l, err := disk.OS.Lock(path + ".lock")
	if errors.Is(err, disk.ErrLocked) {
		return nil, fmt.Errorf("another replay push keeps %s: wait until it has ended, or give this one a --state of its own", path)
	}
	if err != nil {
		return nil, fmt.Errorf("%s cannot be locked: %w", path, err)
	}
	return func() { _ = l.Unlock() }, nil
}

// Name returns the name of the file for a target and, if a host was chosen, for that host.
func Name(target, host string) string {
	name := ""
	if u, err := url.Parse(target); err == nil {
		name = strings.Map(func(r rune) rune {
			if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '.' || r == '-' {
				return r
			}
			return '-'
		}, strings.ToLower(u.Host))
	}
	h := fnv.New32a()
	fmt.Fprintf(h, "%s\n%s", target, host)
	return fmt.Sprintf("%.60s-%08x%s", name, h.Sum32(), Suffix)
}

// mostTargets is how many states of a directory are reported.
const mostTargets = 32

// Told is a state with its path.
type Told struct {
	Path string
	*State
}

// In returns the states in a directory, which may not exist.
func In(dir string) (list []Told, errs []error) {
	names, err := filepath.Glob(filepath.Join(dir, "*"+Suffix))
	if err != nil {
		return nil, nil
	}
	slices.Sort(names)
	for _, path := range names[:min(len(names), mostTargets)] {
		s, err := Read(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			errs = append(errs, err)
		default:
			list = append(list, Told{path, s})
		}
	}
	if n := len(names) - mostTargets; n > 0 {
		errs = append(errs, fmt.Errorf("%d more in %s are not looked at", n, dir))
	}
	return list, errs
}

// Lag returns how far the acknowledged part is behind the recording, which reaches at least to
// newest.
func (s *State) Lag(newest int64) time.Duration {
	newest = max(newest, s.Recorded)
	if s.AckedWall == 0 || newest <= s.AckedWall {
		return 0
	}
	return time.Duration(newest - s.AckedWall)
}

// Trouble returns what the user should know about, "" if nothing.
func (s *State) Trouble(now time.Time) string {
	var parts []string
	switch {
	case s.Ended && s.Follow:
		parts = append(parts, "it has ended")
	case !s.Ended && now.Sub(s.At) > silence:
		parts = append(parts, "nothing was heard of it for "+now.Sub(s.At).Truncate(time.Second).String())
	}
	if s.Failing && s.LastError != "" {
		parts = append(parts, s.LastError)
	}
	return strings.Join(parts, "; ")
}

// silence is the age of the file from which on a running push has a problem: twice the longest
// time between two writes.
const silence = 2 * Beat

// Beat is how often a running push writes its state, even if nothing has changed.
const Beat = 30 * time.Second
