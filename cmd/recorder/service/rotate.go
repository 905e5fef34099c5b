package service

import (
	"context"
	"strconv"
	"sync"
	"time"

	"tachograph/config"
	"tachograph/sample/metric"
)

// Rotation is the result of the last rotation.
type Rotation struct {
	At    time.Time `json:"at"`
	Why   string    `json:"why"`
	Path  string    `json:"path,omitempty"`
	Error string    `json:"error,omitempty"`
}

// rotator begins new archives by the clock and by size, and removes old ones.
type rotator struct {
	s    *Service
	poke chan struct{}
	now  func() time.Time

	next time.Time // of the schedule; zero: none
	of   string    // the archive for which next was computed

	rotating sync.Mutex
	failed   time.Time // of the last rotation that failed; guarded by rotating

	pruning sync.Mutex
	pruned  int64  // continuous clock of the last look; guarded by pruning
	kept    string // what the last look reported; guarded by pruning
}

func newRotator(s *Service) *rotator {
	return &rotator{s: s, poke: make(chan struct{}, 1), now: func() time.Time { return s.opt.Machine.Now().Time() }}
}

// glance is how often the rotator looks at clock and size. The wall clock may step and the
// machine may sleep, so it never waits for a distant instant. If nothing is read that often, it
// looks less often too, at least every maxGlance.
const glance, maxGlance = 20 * time.Second, time.Minute

func (r *rotator) run(ctx context.Context) {
	r.schedule()
	r.prune()
	timer := time.NewTimer(glance)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.poke:
			r.schedule()
		case <-timer.C:
		}
		timer.Reset(max(glance, min(r.s.config().Shortest(), maxGlance)))
		r.s.watchBattery()
		if why := r.due(); why != "" && !r.failedLately() {
			r.rotate(why)
			r.schedule()
		} else if r.pruneDue() {
			r.prune()
		}
	}
}

func (r *rotator) wake() {
	select {
	case r.poke <- struct{}{}:
	default:
	}
}

// schedule finds the schedule's next instant again. It counts from the beginning of the
// archive, so that an instant that was missed (the machine slept, the recorder did not run) is
// made up for.
func (r *rotator) schedule() {
	st := r.s.archive.Status()
	r.next, r.of = r.after(st.Since, r.now()), st.Path
}

func (r *rotator) after(began, now time.Time) time.Time {
	if began.IsZero() {
		began = now
	}
	return config.NextRotation(r.s.config().Archive.Rotate, began, now, r.s.location())
}

// due returns why a new archive should begin now; "" if it should not.
func (r *rotator) due() string {
	cfg := r.s.config()
	st := r.s.archive.Status()
	// An archive that was begun on command makes up for missed instants.
	if st.Path != r.of {
		r.schedule()
	}
	now := r.now()
	// After a step back of the clock, or in another time zone, the next
	// instant may be nearer than it was.
	if sooner := r.after(st.Since, now); !sooner.IsZero() && (r.next.IsZero() || sooner.Before(r.next)) {
		r.next = sooner
	}
	if !r.next.IsZero() && !now.Before(r.next) {
		return "schedule " + cfg.Archive.Rotate.String()
	}
	if cfg.Archive.MaxSize > 0 && st.Bytes >= cfg.Archive.MaxSize {
		return "size " + config.FormatSize(cfg.Archive.MaxSize)
	}
	return ""
}

// retryAfter is how long to wait after a failed rotation, unless one is commanded.
const retryAfter = 10 * time.Minute

func (r *rotator) failedLately() bool {
	r.rotating.Lock()
	defer r.rotating.Unlock()
	ago := r.now().Sub(r.failed)
	return ago >= 0 && ago < retryAfter
}

// rotate begins a new archive, finishes the old one, and prunes.
func (r *rotator) rotate(why string) (string, error) {
	r.rotating.Lock()
	defer r.rotating.Unlock()
	path, err := r.s.rotate(why)
	rot := Rotation{At: r.now(), Why: why, Path: path}
	if err != nil {
		rot.Error = err.Error()
		r.failed = rot.At
		r.s.log.Error("the archive could not be rotated", "why", why, "error", err)
	} else {
		r.s.log.Info("archive finished", "why", why, "path", path)
		r.s.shipper.look()
	}
	r.s.mu.Lock()
	r.s.rotated = rot
	r.s.mu.Unlock()
	r.prune()
	// The command that asked for it waits for the status file.
	if err := r.s.writeStatus(false); err != nil {
		r.s.log.Debug("the status file cannot be written", "error", err)
	}
	return path, err
}

// pruneEvery is how often to look for archives to remove, besides after each rotation: if there
// are many, one look removes only some.
const pruneEvery = time.Hour

// prune removes archives that are too old or exceed the size limit, and reports which and why.
func (r *rotator) prune() {
	r.pruning.Lock()
	defer r.pruning.Unlock()
	a := r.s.config().Archive
	now := r.s.opt.Machine.Now()
	r.pruned = now.Cont
	done, err := r.s.archive.Prune(r.s.reducer.limits(&a), now)
	for _, gone := range done.Removed {
		stays, more := "", []metric.Label(nil)
		if gone.Reduced != "" {
			stays, more = "; steps of it stay in "+gone.Reduced, []metric.Label{{Name: "reduced", Value: gone.Reduced}}
		}
		r.s.log.Info("archive removed", "path", gone.Path, "from", gone.From, "to", gone.To, "bytes", gone.Bytes, "why", gone.Why, "reduced", gone.Reduced)
		r.s.engine.Event(metric.Event{
			Kind: metric.EventRemoved, Text: "archive removed: " + gone.Path + ": " + gone.Why + stays,
			Labels: append([]metric.Label{
				{Name: "path", Value: gone.Path},
				{Name: "from", Value: gone.From.UTC().Format(time.RFC3339)},
				{Name: "to", Value: gone.To.UTC().Format(time.RFC3339)},
				{Name: "bytes", Value: strconv.FormatInt(gone.Bytes, 10)},
			}, more...),
		})
	}
	r.s.reducer.give(done.Due)
	if done.Kept != "" && done.Kept != r.kept {
		r.s.log.Warn("archives whose time is over are kept", "why", done.Kept)
	}
	r.kept = done.Kept
	if err != nil {
		r.s.log.Warn("old archives could not be removed", "error", err)
	}
}

// pruneDue reports whether it is time for the next look.
func (r *rotator) pruneDue() bool {
	r.pruning.Lock()
	defer r.pruning.Unlock()
	since := r.s.opt.Machine.Now().Cont - r.pruned
	return since < 0 || since >= int64(pruneEvery)
}

// Rotate begins a new archive on command.
func (s *Service) Rotate(why string) (string, error) { return s.rotator.rotate(why) }

// rotate begins a new archive when the engine is ready for it, and finishes the old one.
func (s *Service) rotate(why string) (path string, err error) {
	var finish func() (string, error)
	err = s.engine.Renew(func() (err error) {
		finish, err = s.archive.Rotate(why)
		return err
	})
	if err != nil {
		return "", err
	}
	// Each archive itself says which of its values are not to be trusted.
	for _, e := range s.witness.Standing() {
		s.engine.Event(e)
	}
	s.finishing.Add(1)
	defer s.finishing.Add(-1)
	return finish()
}
