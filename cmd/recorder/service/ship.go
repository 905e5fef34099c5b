package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"tachograph/sample/metric"
	"tachograph/store/layout"
)

// unshippedName is the file in the archive directory that lists the finished archives that the
// command has not handled yet.
const unshippedName = "recorder.unshipped"

// Shipping is the last result of the command.
type Shipping struct {
	At      time.Time `json:"at"`
	Path    string    `json:"path"`
	Error   string    `json:"error,omitempty"`
	Waiting int       `json:"waiting"` // archives still to be handled
}

// shipper runs the command for finished archives, one at a time, and again if it fails. Besides
// it, only actions.run starts a process, for triggers.
type shipper struct {
	s    *Service
	dir  string
	file string
	poke chan struct{}

	mu      sync.Mutex
	waiting []string
	known   map[string]bool // finished archives that need no handling
	last    Shipping
}

const (
	firstRetry = time.Minute
	maxRetry   = 6 * time.Hour
)

// newShipper takes up what earlier runs left to do. It is made before the archive is opened:
// archives finished from then on must be shipped.
func newShipper(s *Service, dir string) *shipper {
	sh := &shipper{s: s, dir: dir, file: filepath.Join(dir, unshippedName), poke: make(chan struct{}, 1)}
	sh.known = sh.finished()
	if text, err := readFile(sh.file); err == nil {
		// If the list cannot be read, begin a new one: the archives still exist.
		json.Unmarshal(text, &sh.waiting)
		// The command must get only finished archives of this directory.
		sh.waiting = slices.DeleteFunc(sh.waiting, func(path string) bool {
			return filepath.Dir(path) != dir || !strings.HasSuffix(path, layout.FinishedSuffix)
		})
	}
	return sh
}

// finished lists the finished archives of the directory.
func (sh *shipper) finished() map[string]bool {
	found, _ := filepath.Glob(filepath.Join(layout.GlobQuote(sh.dir), "*"+layout.FinishedSuffix))
	set := make(map[string]bool)
	for _, path := range found {
		set[path] = true
	}
	return set
}

// look lists the archives that were finished since the last look: those that were rotated out,
// and those of earlier boots that were finished when the archive was opened.
func (sh *shipper) look() {
	now := sh.finished()
	wanted := len(sh.s.config().Archive.OnFinish) > 0
	sh.mu.Lock()
	fresh := len(sh.waiting)
	for _, path := range slices.Sorted(maps.Keys(now)) {
		if !sh.known[path] && wanted && !isReduced(path) {
			sh.waiting = append(sh.waiting, path)
		}
	}
	if len(sh.waiting) > fresh {
		sh.save()
	}
	sh.known = now
	sh.mu.Unlock()
	select {
	case sh.poke <- struct{}{}:
	default:
	}
}

// isReduced reports whether an archive was made of another one, which has been shipped.
func isReduced(path string) bool {
	h, err := layout.ReadHeader(path)
	return err == nil && h.Reduced != nil
}

// save writes the list; the caller holds mu.
func (sh *shipper) save() {
	var err error
	if len(sh.waiting) == 0 {
		if err = os.Remove(sh.file); errors.Is(err, os.ErrNotExist) {
			err = nil
		}
	} else {
		text, _ := json.Marshal(sh.waiting)
		err = replaceFile(sh.file, text)
	}
	if err != nil {
		sh.s.log.Warn("the list of archives to ship could not be written", "error", err)
	}
}

func (sh *shipper) run(ctx context.Context) {
	retry := firstRetry
	timer := time.NewTimer(0) // what earlier runs left is due at once
	defer timer.Stop()
	waiting := true
	for {
		select {
		case <-ctx.Done():
			return
		case <-sh.poke:
			if waiting {
				continue
			}
		case <-timer.C:
			waiting = false
		}
		for ctx.Err() == nil {
			path, command := sh.first()
			if path == "" {
				break
			}
			err := sh.ship(ctx, command, path)
			if ctx.Err() != nil {
				return
			}
			sh.note(path, err)
			if err != nil {
				timer.Reset(retry)
				waiting = true
				retry = min(2*retry, maxRetry)
				break
			}
			retry = firstRetry
		}
	}
}

// first returns the archive that has waited longest, "" if there is none. Archives that
// retention has removed meanwhile need no shipping.
func (sh *shipper) first() (path string, command []string) {
	command = sh.s.config().Archive.OnFinish
	sh.mu.Lock()
	defer sh.mu.Unlock()
	for len(sh.waiting) > 0 && len(command) > 0 {
		if info, err := os.Lstat(sh.waiting[0]); err == nil && info.Mode().IsRegular() {
			return sh.waiting[0], command
		}
		sh.waiting = sh.waiting[1:]
		sh.save()
	}
	return "", nil
}

// ship runs the command for one archive, within its time limit.
func (sh *shipper) ship(ctx context.Context, command []string, path string) error {
	return execute(ctx, command, []string{path}, commandEnv(sh.dir, "TACHOGRAPH_ARCHIVE="+path), sh.s.config().Archive.OnFinishLimit)
}

// note removes a shipped archive from the list, or notes the failure. When a result is in the
// status, its event is already in the archive.
func (sh *shipper) note(path string, err error) {
	last := Shipping{At: sh.s.opt.Machine.Now().Time(), Path: path}
	ev := metric.Event{Kind: metric.EventShip, Text: "archive shipped: " + path, Labels: []metric.Label{{Name: "path", Value: path}}}
	if err != nil {
		last.Error = err.Error()
		ev.Text = fmt.Sprintf("archive not shipped: %s: %s", path, err)
		ev.Labels = append(ev.Labels, metric.Label{Name: "error", Value: err.Error()})
		sh.s.log.Warn(ev.Text)
	} else {
		sh.s.log.Info(ev.Text)
	}
	sh.s.engine.Event(ev)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	sh.last = last
	if err == nil && len(sh.waiting) > 0 && sh.waiting[0] == path {
		sh.waiting = sh.waiting[1:]
		sh.save()
	}
}

func (sh *shipper) status() Shipping {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	st := sh.last
	st.Waiting = len(sh.waiting)
	return st
}

// tailBuffer keeps the end of a command's output.
type tailBuffer struct{ b []byte }

func (t *tailBuffer) Write(p []byte) (int, error) {
	t.b = append(t.b, p...)
	if n := len(t.b) - 4096; n > 0 {
		t.b = append(t.b[:0], t.b[n:]...)
	}
	return len(p), nil
}

// line returns the last line, made fit for a log.
func (t *tailBuffer) line() string {
	text := strings.TrimSpace(strings.ToValidUTF8(string(t.b), "?"))
	text = text[strings.LastIndexByte(text, '\n')+1:]
	if len(text) > 200 {
		text = text[:200]
	}
	return text
}
