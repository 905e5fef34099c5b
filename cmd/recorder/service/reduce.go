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

// Reduction is how archives fare that are reduced before they are removed.
type Reduction struct {
	// Path is the archive that is being reduced; empty if none is.
	Path  string    `json:"path,omitempty"`
	Since time.Time `json:"since"`
	// Waiting are those to come.
	Waiting int `json:"waiting,omitempty"`
	// Error says why the last one could not be reduced; empty if it could.
	Error string `json:"error,omitempty"`
}

// reducer makes reduced archives of those whose time is over, one at a time and slowly: it
// takes a part of the processor time that the recorder may use. An archive is only
// removed when what was made of it has its name, so that whenever the recorder is killed one
// of the two is there.
type reducer struct {
	s    *Service
	poke chan struct{}

	mu          sync.Mutex
	due         []string
	irreducible map[string]string
	crowded     map[string]crowded
	now         Reduction
}

// A crowded archive is one that there was no room to reduce, or whatever else passes was
// in the way, when it was last tried.
type crowded struct {
	why   string
	tried int64 // by the continuous clock
}

const (
	// budgetPart is the part of the recorder's processor time that reducing takes.
	budgetPart = 4
	// unboundedShare is how much of a core it takes where there is no bound.
	unboundedShare = 0.05
	// crowdedFor is how long it is not tried again where there was no room.
	crowdedFor = time.Hour
)

func newReducer(s *Service) *reducer {
	return &reducer{s: s, poke: make(chan struct{}, 1), irreducible: make(map[string]string), crowded: make(map[string]crowded)}
}

// limits are how long archives are kept.
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

// give says which archives are to be reduced.
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

// reduce reduces an archive and has it removed.
func (r *reducer) reduce(ctx context.Context, path string) {
	cfg := r.s.config()
	start := r.s.opt.Machine.Now()
	to, err := r.s.archive.Reduce(ctx, path, cfg.Archive.ReduceTo, pacing(ctx, cfg.Budget.MaxCPU))
	debug.FreeOSMemory()
	if ctx.Err() != nil {
		return // The next start goes on with it.
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

// hopeless reports whether an archive is to blame, and not the disk or whatever passes.
func hopeless(err error) bool {
	switch fault.Of(err) {
	case fault.NotArchive, fault.Damaged, fault.OtherFormat, fault.Bug:
		return true
	}
	return false
}

// pacing is a pause after each piece of work, as long as keeps to a part of the budget.
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
	// It has its name when it belongs to whom archives belong to.
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
