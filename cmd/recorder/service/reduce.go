package service

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"tachograph/config"
	"tachograph/store/archive"
	"tachograph/store/disk"
	"tachograph/store/fault"
	"tachograph/store/layout"
	"tachograph/store/recording"
	"tachograph/store/reduce"
)

// Reduction is the state of reducing archives before they are removed.
type Reduction struct {
	// Path is the archive being reduced; empty if none is.
	Path  string    `json:"path,omitempty"`
	Since time.Time `json:"since"`
	// Waiting is how many are waiting.
	Waiting int `json:"waiting,omitempty"`
	// Error says why the last archive could not be reduced; empty if it could.
	Error string `json:"error,omitempty"`
}

// reducer makes reduced archives of those that have been kept long enough, one at a time and
// slowly: it uses a part of the CPU time that the recorder may use. An archive is removed only
// after its reduced archive has its final name, so that one of the two exists whenever the
// recorder is killed.
type reducer struct {
	s    *Service
	poke chan struct{}

	mu          sync.Mutex
	due         []string
	irreducible map[string]string
	crowded     map[string]crowded
	now         Reduction
}

// A crowded archive could not be reduced when it was last tried, for lack of space or for
// another reason that may pass.
type crowded struct {
	why   string
	tried int64 // by the continuous clock
}

const (
	// budgetPart is the fraction of the recorder's CPU budget that reducing uses: one in 4.
	budgetPart = 4
	// unboundedShare is how much of a core it uses if there is no budget.
	unboundedShare = 0.05
	// crowdedFor is how long to wait before a crowded archive is tried again.
	crowdedFor = time.Hour
)

func newReducer(s *Service) *reducer {
	return &reducer{s: s, poke: make(chan struct{}, 1), irreducible: make(map[string]string), crowded: make(map[string]crowded)}
}

// limits returns how long archives are kept.
func (r *reducer) limits(a *config.Archive) recording.Limits {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := recording.Limits{KeepFor: a.KeepFor, KeepSize: a.KeepSize, Reduce: a.KeepReducedFor > 0, KeepReducedFor: a.KeepReducedFor,
		Irreducible: maps.Clone(r.irreducible), Crowded: make(map[string]string)}
	for path, c := range r.crowded {
		l.Crowded[path] = c.why
	}
	return l
}

// give sets the archives to reduce.
func (r *reducer) give(due []string) {
	now := r.s.opt.Machine.Now().Cont
	r.mu.Lock()
	r.due = slices.DeleteFunc(slices.Clone(due), func(path string) bool {
		c, tried := r.crowded[path]
		return path == r.now.Path || r.irreducible[path] != "" || tried && now-c.tried < int64(crowdedFor)
	})
	r.now.Waiting = len(r.due)
	r.mu.Unlock()
	select {
	case r.poke <- struct{}{}:
	default:
	}
}

func (r *reducer) next() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.due) == 0 {
		return ""
	}
	path := r.due[0]
	r.due = r.due[1:]
	r.now = Reduction{Path: path, Since: r.s.opt.Machine.Now().Time(), Waiting: len(r.due)}
	return path
}

func (r *reducer) status() *Reduction {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.now.Path == "" && r.now.Error == "" {
		return nil
	}
	now := r.now
	return &now
}

func (r *reducer) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.poke:
		}
		for path := r.next(); path != "" && ctx.Err() == nil; path = r.next() {
			r.reduce(ctx, path)
		}
	}
}

// reduce reduces an archive and has the original removed.
func (r *reducer) reduce(ctx context.Context, path string) {
	cfg := r.s.config()
	start := r.s.opt.Machine.Now()
	to, err := r.s.archive.Reduce(ctx, path, cfg.Archive.ReduceTo, pacing(ctx, cfg.Budget.MaxCPU))
	debug.FreeOSMemory()
	if ctx.Err() != nil {
		return // The next start continues with it.
	}
	r.mu.Lock()
	r.now = Reduction{Waiting: len(r.due)}
	switch {
	case err == nil:
		delete(r.crowded, path)
	case hopeless(err):
		r.now.Error = err.Error()
		r.irreducible[path] = err.Error()
	default:
		r.now.Error = err.Error()
		r.crowded[path] = crowded{err.Error(), r.s.opt.Machine.Now().Cont}
	}
	r.mu.Unlock()
	if err != nil {
		r.s.log.Warn("an archive cannot be reduced", "path", path, "error", err)
	} else {
		r.s.log.Info("archive reduced", "path", path, "to", to, "took", time.Duration(r.s.opt.Machine.Now().Cont-start.Cont).Round(time.Second))
	}
	r.s.rotator.prune()
}

// hopeless reports whether the archive itself is the cause, and not the disk or something that
// may pass.
func hopeless(err error) bool {
	switch fault.Of(err) {
	case fault.NotArchive, fault.Damaged, fault.OtherFormat, fault.Bug:
		return true
	}
	return false
}

// pacing returns a function that pauses after each piece of work, so that the work stays within
// a part of the budget.
func pacing(ctx context.Context, maxCPU float64) func() {
	share := maxCPU / budgetPart
	if maxCPU == 0 {
		share = unboundedShare
	}
	last := time.Now()
	return func() {
		worked := time.Since(last)
		pause := time.NewTimer(time.Duration(float64(worked) * (1/share - 1)))
		defer pause.Stop()
		select {
		case <-ctx.Done():
		case <-pause.C:
		}
		last = time.Now()
	}
}

// Reduce makes a reduced archive of the one at path, beside it.
func (a *diskArchive) Reduce(ctx context.Context, path string, step time.Duration, pace func()) (string, error) {
	f, err := archive.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	to := ""
	for n := 1; ; n++ {
		to = filepath.Join(a.dir, layout.FinishedName(f.Info.Host.Name, f.Info.From, f.Info.To, n))
		if _, err := os.Lstat(to); os.IsNotExist(err) {
			break
		} else if err != nil {
			return "", err
		}
	}
	// It gets its name once it has the right owner and group.
	scratch := to + layout.TmpSuffix
	if err := os.Remove(scratch); err != nil && !os.IsNotExist(err) {
		return "", err
	}
	defer os.Remove(scratch)
	damaged := func(err error) {
		a.log.Warn("an archive is reduced without what is damaged of it", "path", path, "error", err)
	}
	if err := reduce.Archive(ctx, scratch, []*archive.File{f}, reduce.Options{Step: step, Pace: pace, Note: damaged}); err != nil {
		return "", err
	}
	if err := a.Writer.Own(scratch); err != nil {
		return "", err
	}
	if err := os.Rename(scratch, to); err != nil {
		return "", err
	}
	return to, disk.OS.SyncDir(a.dir)
}
