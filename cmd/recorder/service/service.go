package service

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"tachograph/cmd/recorder/trigger"
	"tachograph/cmd/recorder/witness"
	"tachograph/config"
	"tachograph/sample"
	"tachograph/sample/engine"
	"tachograph/sample/metric"
	"tachograph/sample/notice"
	"tachograph/sample/platform"
	"tachograph/sample/stack"
)

// Options are the parts of a service. Open, Sources, Rows and the clock are passed in so that
// tests can replace them.
type Options struct {
	Dir    string
	Config *config.Config
	// Load reads the configuration again.
	Load    func() (*config.Config, error)
	Version string
	Sources []sample.Source
	// Rows is the platform's catalogue.
	Rows []*metric.Desc
	// Reconfigure passes changed options to the sources.
	Reconfigure func(platform.Options) error
	// Open opens the archive.
	Open    func(catalog []*metric.Desc, s Settings) (Archive, Past, error)
	Machine Machine
	// Stacks makes a sampler of stacks; nil if there is none.
	Stacks func() (stack.Sampler, error)
	Log    *slog.Logger
	Level  *slog.LevelVar
	// StatusEvery is how often the status file is written; zero: as usual.
	StatusEvery time.Duration
}

// Machine is what a service needs from the platform.
type Machine struct {
	Now   func() metric.Stamp
	Zone  func() string
	Slept func() (sleep, wake time.Time, ok bool)
	// WakeReason is why the machine last woke, in the kernel's words.
	WakeReason func() string
	Usage      func() engine.Usage
	Worked     func() time.Duration
	OnBattery  func() bool
	BootID     string
	Host       metric.Host
	// History returns what happened to the machine between the last run and this one: boots,
	// shutdowns, panics.
	History func(past time.Time, sameBoot bool) []metric.Event
	// TCPGate says whether the kernel withholds its TCP counters; empty if it has no such gate.
	TCPGate func() string
}

// Service is a running recorder.
type Service struct {
	opt      Options
	log      *slog.Logger
	engine   *engine.Engine
	archive  *watched
	rotator  *rotator
	shipper  *shipper
	reducer  *reducer
	sampling *sampling
	descs    []*metric.Desc
	started  time.Time
	notices  *notice.Watcher
	witness  *witness.Watcher
	watcher  *trigger.Watcher
	actions  *actions
	fired    chan struct{} // a trigger has fired: write the status soon
	writing  sync.Mutex    // held while the status file is written
	// finishing counts the archives that are being finished.
	finishing atomic.Int32

	mu        sync.Mutex
	cfg       *config.Config
	onBattery bool
	rotated   Rotation
	reloaded  Reload
	zone      string // cached with its location, which is expensive to look up
	place     *time.Location
}

// settings returns a configuration's settings for the archive.
func settings(c *config.Config, onBattery bool) Settings {
	s := Settings{Config: c.TOML(), Intervals: c.InForce(), Sync: c.Archive.Sync, Seal: c.Archive.Seal, Buffer: c.Archive.Buffer}
	if onBattery {
		s.Sync = c.Archive.SyncOnBattery
	}
	return s
}

// plan returns a configuration's plan for the engine.
func plan(c *config.Config) engine.Plan {
	return engine.Plan{Intervals: c.InForce(), Class: c.Class, MaxCPU: c.Budget.MaxCPU, MaxMemory: c.Budget.MaxMemory, Before: ahead(c)}
}

// ahead returns how much of the time before they fire triggers keep: for each class, the most
// that any trigger keeps.
func ahead(c *config.Config) (all [metric.NumClasses]engine.Before) {
	for i := range c.Triggers {
		t := &c.Triggers[i]
		if t.Off() || t.Burst.Before == 0 {
			continue
		}
		for _, cl := range t.Burst.Classes {
			b := &all[cl]
			if b.For == 0 || t.Burst.Every < b.Every {
				b.Every = t.Burst.Every
			}
			b.For = max(b.For, t.Burst.Before)
		}
	}
	return all
}

// New checks the configuration against the machine and opens the archive.
func New(opt Options) (*Service, error) {
	s := &Service{opt: opt, log: opt.Log, cfg: opt.Config, started: opt.Machine.Now().Time(), notices: notice.New(), fired: make(chan struct{}, 1)}
	s.sampling = &sampling{s: s, counts: stack.NewCounts()}
	if before, err := ReadStatus(opt.Dir); err == nil {
		s.sampling.remember(before)
	}
	sources := append(slices.Clone(opt.Sources), s.sampling.counts)
	s.descs = platform.Metrics(opt.Rows, sources)
	s.witness = witness.NewWatcher(witness.Compile(witness.For(platform.Catalog), s.descs), opt.Machine.Now)
	set, err := s.check(s.cfg)
	if err != nil {
		return nil, err
	}
	s.setLevel(s.cfg)
	s.onBattery = opt.Machine.OnBattery != nil && opt.Machine.OnBattery()
	s.shipper = newShipper(s, opt.Dir)
	s.reducer = newReducer(s)
	archive, past, err := opt.Open(s.descs, settings(s.cfg, s.onBattery))
	if err != nil {
		return nil, err
	}
	s.archive = &watched{Archive: archive}
	s.notices.Recall(past.Settings)
	s.engine, err = engine.New(engine.Options{
		Sources: sources, Plan: plan(s.cfg), Sink: s.archive, Now: opt.Machine.Now, Zone: opt.Machine.Zone,
		Slept: opt.Machine.Slept, WakeReason: opt.Machine.WakeReason, Usage: opt.Machine.Usage, Worked: opt.Machine.Worked, Log: opt.Log, Before: s.before(past),
		Upkeep: func() bool { return s.finishing.Load() > 0 }, Written: archive.Written, Notice: s.look, Late: archive.Late,
		Spending: func() bool { return s.actions.sampling.Load() },
	})
	if err != nil {
		archive.Close()
		return nil, err
	}
	s.watchTriggers(set)
	s.rotator = newRotator(s)
	s.shipper.look()
	return s, nil
}

// check compiles the triggers, and checks what may be wrong with a configuration on this
// machine.
func (s *Service) check(cfg *config.Config) (*trigger.Set, error) {
	set, err := trigger.Compile(cfg, s.descs)
	return set, errors.Join(cfg.CheckMetrics(s.descs), err)
}

// before returns events for the time between the last run and this one.
func (s *Service) before(past Past) []metric.Event {
	sameBoot := past.BootID == s.opt.Machine.BootID
	var events []metric.Event
	if s.opt.Machine.History != nil {
		events = s.opt.Machine.History(past.Last.Time(), sameBoot)
	}
	events = append(events, sinceThen(past, s.opt.Machine.Host, "recorder "+s.opt.Version, s.cfg)...)
	// If the run was killed in this boot, the archive itself has an event for the gap.
	if past.Last == (metric.Stamp{}) || sameBoot && !past.Clean {
		return events
	}
	now := s.opt.Machine.Now()
	length, note := time.Duration(now.Cont-past.Last.Cont), ""
	how := "the recorder did not run"
	if !sameBoot {
		how = "the machine was restarted, and nothing was recorded"
		// Only the wall clock continues from boot to boot, and it may have been set.
		length = time.Duration(now.Wall - past.Last.Wall)
		if up := time.Duration(now.Cont); length < up {
			length, note = up, " or longer: the wall clock was set back meanwhile"
		}
	}
	return append(events, metric.Ended(now, metric.EventGap, now.Time().Add(-length), length, fmt.Sprintf("%s for %s%s", how, length.Round(time.Second), note)))
}

// Run records until ctx is done; when it returns, everything read is in the archive.
func (s *Service) Run(ctx context.Context) error {
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	s.actions.ctx = inner
	var helpers sync.WaitGroup
	helpers.Go(func() { s.rotator.run(inner) })
	helpers.Go(func() { s.shipper.run(inner) })
	helpers.Go(func() { s.reducer.run(inner) })
	helpers.Go(func() { s.keepStatus(inner) })
	err := s.engine.Run(ctx)
	cancel()
	helpers.Go(s.actions.group.Wait)
	// An archive may be being finished, which takes long on a slow disk; the next start does
	// that again.
	waitAtMost(&helpers, s.helpersWithin())
	err = errors.Join(err, s.archive.Close())
	s.writeStatus(true)
	for _, src := range s.opt.Sources {
		src.Close()
	}
	return err
}

// helpersWithin is how long the work beside sampling may take to end: ten seconds on a disk on
// which closing the archive may take twenty-five.
func (s *Service) helpersWithin() time.Duration { return s.archive.CloseWithin() * 2 / 5 }

// StopWithin is how long Run may take to end, with time to spare: on an ordinary disk less than
// a service manager waits before it kills.
func (s *Service) StopWithin() time.Duration {
	return s.archive.CloseWithin() + s.helpersWithin() + 10*time.Second
}

func waitAtMost(group *sync.WaitGroup, limit time.Duration) {
	done := make(chan struct{})
	go func() {
		group.Wait()
		close(done)
	}()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
}

// PlatformOptions returns a configuration's options for the sources.
func PlatformOptions(c *config.Config) platform.Options {
	return platform.Options{Args: string(c.Process.Args), Threads: c.Process.Threads, ThreadsTop: c.Process.ThreadsTop, KeepReports: c.Process.KeepReports == "on",
		Network: platform.Network{Peers: c.Network.Peers, Connections: c.Network.Connections, Namespaces: c.Network.Namespaces}}
}

func (s *Service) setLevel(c *config.Config) {
	if s.opt.Level == nil {
		return
	}
	var level slog.Level
	if level.UnmarshalText([]byte(c.Log.Level)) == nil {
		s.opt.Level.Set(level)
	}
}

func (s *Service) config() *config.Config {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cfg
}

// watchBattery switches to the sync interval for the battery and back.
func (s *Service) watchBattery() {
	if s.opt.Machine.OnBattery == nil {
		return
	}
	on := s.opt.Machine.OnBattery()
	s.mu.Lock()
	changed := on != s.onBattery
	s.onBattery = on
	cfg := s.cfg
	s.mu.Unlock()
	if !changed || cfg.Archive.Sync == cfg.Archive.SyncOnBattery {
		return
	}
	if err := s.archive.Reconfigure(settings(cfg, on)); err != nil {
		s.log.Warn("the sync interval could not be changed", "error", err)
		return
	}
	s.log.Debug("power changed", "battery", on)
}

// location is the time zone in force, which may differ from the one in which the program was
// started.
func (s *Service) location() *time.Location {
	if s.opt.Machine.Zone == nil {
		return time.Local
	}
	zone := s.opt.Machine.Zone()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.place == nil || s.zone != zone {
		s.zone, s.place = zone, platform.Location(zone)
	}
	return s.place
}

// hostName is the host's name for messages.
func hostName() string {
	name, err := os.Hostname()
	if err != nil {
		return "this machine"
	}
	return name
}
