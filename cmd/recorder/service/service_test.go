package service

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tachograph/config"
	"tachograph/sample"
	"tachograph/sample/engine"
	"tachograph/sample/metric"
	"tachograph/sample/stack"
	"tachograph/store/recording"
)

// shelf is an archive in memory.
type shelf struct {
	mu       sync.Mutex
	late     []metric.Stamp
	ticks    int
	events   []metric.Event
	rotated  []time.Time
	since    time.Time
	settings []Settings
	bytes    int64
	pruned   int
	prunes   recording.Pruned
	// What retention was asked to do, and what reducing an archive comes to.
	limits    []recording.Limits
	reduced   []string
	reducing  func(ctx context.Context, path string, pace func()) (string, error)
	rotateErr error
	// finishing is what finishing an archive waits for.
	finishing chan struct{}
	closed    bool
	dir       string
	now       func() metric.Stamp
}

func (a *shelf) Append(t *metric.Tick) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ticks++
	if a.since.IsZero() {
		a.since = t.At.Time()
	}
	a.bytes += 100
	return nil
}

func (a *shelf) Late(t *metric.Tick) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.late = append(a.late, t.At)
	return nil
}

func (a *shelf) Event(es ...metric.Event) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.events = append(a.events, es...)
	return nil
}

func (a *shelf) Describe([]*metric.Desc) error { return nil }

func (a *shelf) Rotate(why string) (func() (string, error), error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.rotateErr != nil {
		return nil, a.rotateErr
	}
	a.rotated = append(a.rotated, a.now().Time())
	a.bytes, a.since = 0, time.Time{}
	path := filepath.Join(a.dir, fmt.Sprintf("%d.tacho", len(a.rotated)))
	return func() (string, error) {
		if a.finishing != nil {
			<-a.finishing
		}
		return path, os.WriteFile(path, nil, 0o600)
	}, nil
}

func (a *shelf) Reconfigure(s Settings) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.settings = append(a.settings, s)
	return nil
}

func (a *shelf) Status() ArchiveStatus {
	a.mu.Lock()
	defer a.mu.Unlock()
	return ArchiveStatus{Path: fmt.Sprintf("%d.live", len(a.rotated)), Bytes: a.bytes, Since: a.since}
}

func (a *shelf) Written() uint64 { return 0 }

func (a *shelf) CloseWithin() time.Duration { return 25 * time.Second }

func (a *shelf) Reduce(ctx context.Context, path string, _ time.Duration, pace func()) (string, error) {
	a.mu.Lock()
	a.reduced = append(a.reduced, path)
	a.mu.Unlock()
	return a.reducing(ctx, path, pace)
}

func (a *shelf) Prune(limits recording.Limits, _ metric.Stamp) (recording.Pruned, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.pruned++
	a.limits = append(a.limits, limits)
	done := a.prunes
	a.prunes.Removed = nil
	return done, nil
}

func (a *shelf) Close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
	return nil
}

func (a *shelf) kinds(kind metric.EventKind) []metric.Event {
	a.mu.Lock()
	defer a.mu.Unlock()
	var out []metric.Event
	for _, e := range a.events {
		if e.Kind == kind {
			out = append(out, e)
		}
	}
	return out
}

// clockSource has one metric, in the class fast.
type clockSource struct{ group metric.Group }

func (s *clockSource) Name() string            { return "clock" }
func (s *clockSource) Groups() []*metric.Group { return []*metric.Group{&s.group} }
func (s *clockSource) Refresh() error          { return nil }
func (s *clockSource) Close() error            { return nil }
func (s *clockSource) Read(c *sample.Context, frames []*sample.Frame) error {
	for _, f := range frames {
		f.Reset(c.Now())
		f.SetUint(f.Row(nil), 0, 1)
	}
	return nil
}

// bench is a service on a bench: its clock starts at an evening in Berlin.
type bench struct {
	t       *testing.T
	archive *shelf
	dir     string
	start   time.Time
	step    time.Duration
	battery bool
	mu      sync.Mutex
	cfg     *config.Config
	loadErr error
	past    Past
	log     io.Writer
	stacks  func() (stack.Sampler, error)
	used    func() time.Duration // processor time
	// since is the last run as the machine's history was asked about it.
	since *time.Time
	more  []sample.Source // besides the clock
	boot  string
}

func newBench(t *testing.T) *bench {
	b := &bench{t: t, dir: t.TempDir(), start: time.Now(), cfg: config.Default(), log: io.Discard, boot: "this boot"}
	b.archive = &shelf{dir: b.dir, now: b.now}
	return b
}

// evening is when the clock of a bench starts: 20:00 before the night in which
// Berlin puts its clocks forward.
var evening = time.Date(2026, 3, 28, 19, 0, 0, 0, time.UTC)

func (b *bench) now() metric.Stamp {
	b.mu.Lock()
	defer b.mu.Unlock()
	d := int64(time.Since(b.start))
	return metric.Stamp{Wall: evening.UnixNano() + d + int64(b.step), Awake: d + 1e9, Cont: d + 1e9}
}

func (b *bench) set(change func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	change()
}

// stepClock moves the wall clock once everything that was due until now is done: a tick
// that was read by the clock before the step is in the archive before it.
func (b *bench) stepClock(step time.Duration) {
	synctest.Wait()
	b.set(func() { b.step = step })
}

// run starts the service and returns it with a function that stops it.
func (b *bench) run() (*Service, func()) {
	s, err := New(Options{
		Dir: b.dir, Config: b.cfg, Version: "test", StatusEvery: time.Hour,
		Load: func() (*config.Config, error) {
			b.mu.Lock()
			defer b.mu.Unlock()
			return b.cfg, b.loadErr
		},
		Sources: append([]sample.Source{&clockSource{metric.Group{Name: "clock", Metrics: []*metric.Desc{{Name: "clock.one", Type: metric.U64, Sem: metric.Instant, Class: metric.Fast}}}}}, b.more...),
		Open: func(catalog []*metric.Desc, s Settings) (Archive, Past, error) {
			b.archive.settings = append(b.archive.settings, s)
			return b.archive, b.past, nil
		},
		Machine: Machine{
			Now: b.now, Zone: func() string { return "Europe/Berlin" }, BootID: b.boot,
			History: func(past time.Time, _ bool) []metric.Event {
				b.since = &past
				return nil
			},
			Usage: func() engine.Usage {
				if b.used != nil {
					return engine.Usage{User: b.used()}
				}
				return engine.Usage{}
			},
			OnBattery: func() bool {
				b.mu.Lock()
				defer b.mu.Unlock()
				return b.battery
			},
		},
		Stacks: b.stacks, Log: slog.New(slog.NewTextHandler(b.log, nil)),
	})
	if err != nil {
		b.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- s.Run(ctx) }()
	return s, func() {
		cancel()
		if err := <-done; err != nil {
			b.t.Error(err)
		}
	}
}

func TestRotationAtLocalMidnight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.cfg.Intervals[metric.Fast] = time.Minute
		_, stop := b.run()
		time.Sleep(54 * time.Hour)
		stop()
		berlin, _ := time.LoadLocation("Europe/Berlin")
		var got []string
		for _, c := range b.archive.rotated {
			got = append(got, c.In(berlin).Format("02 15:04"))
		}
		// The 29th has only 23 hours.
		if want := "29 00:00, 30 00:00, 31 00:00"; strings.Join(got, ", ") != want {
			t.Errorf("rotated at %s, want %s", strings.Join(got, ", "), want)
		}
		if !b.archive.closed || b.archive.pruned < 54 {
			t.Errorf("closed %v, pruned %d times", b.archive.closed, b.archive.pruned)
		}
	})
}

// A rotation on command makes up for a missed one.
func TestARotationByHandMakesUpForAMissedOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.cfg.Intervals[metric.Fast] = time.Minute
		b.archive.rotateErr = errors.New("no room")
		s, stop := b.run()
		time.Sleep(4*time.Hour + time.Minute) // midnight, with no room
		b.archive.mu.Lock()
		b.archive.rotateErr = nil
		b.archive.mu.Unlock()
		for range 2 {
			if _, err := s.Rotate("by hand"); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
		}
		time.Sleep(20 * time.Hour)
		stop()
		if n := len(b.archive.rotated); n != 2 {
			t.Errorf("rotated %d times: %v", n, b.archive.rotated)
		}
	})
}

// An archive that cannot be finished must not keep the recorder from stopping.
func TestStopWhileAnArchiveIsBeingFinished(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.cfg.Intervals[metric.Fast] = time.Minute
		answer := make(chan struct{})
		b.archive.finishing = answer
		_, stop := b.run()
		time.Sleep(4*time.Hour + time.Minute) // midnight
		began := time.Now()
		stop()
		if took := time.Since(began); took > 20*time.Second || !b.archive.closed {
			t.Errorf("stopping took %v, closed: %v", took, b.archive.closed)
		}
		close(answer)
		synctest.Wait() // what was left behind writes into the directory
	})
}

// What retention removes, and what it keeps against the configuration, is said.
func TestRetentionIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		var log strings.Builder
		b.log = &log
		b.archive.prunes = recording.Pruned{
			Removed: []recording.Removal{{Path: "/a/x.tacho", From: evening.Add(-48 * time.Hour), To: evening.Add(-24 * time.Hour), Bytes: 7, Why: "it is old"}},
			Kept:    "the clock is not believed",
		}
		_, stop := b.run()
		time.Sleep(5 * time.Hour)
		stop()
		events := b.archive.kinds(metric.EventRemoved)
		if len(events) != 1 || events[0].Text != "archive removed: /a/x.tacho: it is old" || len(events[0].Labels) != 4 {
			t.Errorf("events: %+v", events)
		}
		for _, line := range []string{"archive removed", "the clock is not believed"} {
			if n := strings.Count(log.String(), line); n != 1 {
				t.Errorf("%q is logged %d times:\n%s", line, n, log.String())
			}
		}
	})
}

func TestRotationSurvivesSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.cfg.Intervals[metric.Fast] = time.Minute
		_, stop := b.run()
		time.Sleep(time.Hour)
		// The clock was a year ahead for an hour.
		b.stepClock(365 * 24 * time.Hour)
		time.Sleep(time.Hour)
		b.stepClock(0)
		time.Sleep(22 * time.Hour)
		stop()
		if n := len(b.archive.rotated); n != 2 {
			t.Errorf("rotated %d times: %v", n, b.archive.rotated)
		}
	})
}

func TestRotationBySizeAndFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.cfg.Archive.Rotate, _ = config.ParseSchedule("off")
		b.cfg.Archive.MaxSize = 1 << 20
		b.archive.bytes = 1 << 20
		b.archive.rotateErr = errors.New("no room")
		s, stop := b.run()
		time.Sleep(30 * time.Minute)
		if st := s.Status(); st.LastRotation == nil || st.LastRotation.Error != "no room" {
			t.Errorf("last rotation: %+v", st.LastRotation)
		}
		b.archive.mu.Lock()
		b.archive.rotateErr = nil
		b.archive.mu.Unlock()
		time.Sleep(11 * time.Minute)
		stop()
		if n := len(b.archive.rotated); n != 1 {
			t.Errorf("rotated %d times", n)
		}
	})
}

func TestReloadKeepsTheOldOneWhenTheNewOneIsBad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		s, stop := b.run()
		time.Sleep(10 * time.Second)
		b.set(func() { b.loadErr = errors.New("f:3: archive.keep_for is not a duration") })
		if err := s.Reload(); err == nil || !strings.HasPrefix(err.Error(), "the old configuration stays in force: f:3:") {
			t.Errorf("a bad configuration: %v", err)
		}
		if st, err := ReadStatus(b.dir); err != nil || st.LastReload == nil || !strings.Contains(st.LastReload.Error, "f:3:") || st.LastReload.At.IsZero() {
			t.Errorf("the refusal: %+v, %v", st.LastReload, err)
		}
		bad, err := config.Parse("f", "[[rule]]\nmatch = \"clock\"\nclass = \"fast\"\n[classes]\nfast = \"2s\"")
		if err != nil {
			t.Fatal(err)
		}
		b.set(func() { b.loadErr, b.cfg = nil, bad })
		if err := s.Reload(); err != nil {
			t.Error(err)
		}
		if taken := s.Status().LastReload; taken == nil || taken.Error != "" {
			t.Errorf("the refusal is not forgotten: %+v", taken)
		}
		time.Sleep(10 * time.Second)
		stop()
		last := b.archive.settings[len(b.archive.settings)-1]
		if changed := b.archive.kinds(metric.EventConfig); len(changed) != 1 ||
			changed[0].Text != `the configuration was changed: classes.fast from "1s" to "2s"; rule from none to ["clock"] "fast"` {
			t.Errorf("events of the change: %+v", changed)
		}
		if len(b.archive.settings) != 2 || last.Intervals[metric.Fast] != 2*time.Second || !strings.Contains(last.Config, `fast = "2s"`) {
			t.Errorf("settings: %+v", b.archive.settings)
		}
	})
}

func TestBatterySyncsLess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		_, stop := b.run()
		time.Sleep(time.Minute)
		b.set(func() { b.battery = true })
		time.Sleep(time.Minute)
		b.set(func() { b.battery = false })
		time.Sleep(time.Minute)
		stop()
		var got []time.Duration
		for _, s := range b.archive.settings {
			got = append(got, s.Sync)
		}
		if fmt.Sprint(got) != "[1s 5s 1s]" {
			t.Errorf("sync intervals %v", got)
		}
	})
}

func TestGapSinceTheLastRun(t *testing.T) {
	// The clock that is never set stands at one second when a bench begins.
	ago := func(wall, cont time.Duration) metric.Stamp {
		return metric.Stamp{Wall: evening.Add(-wall).UnixNano(), Cont: int64(time.Second - cont)}
	}
	const hour, minute = time.Hour, time.Minute
	for name, tc := range map[string]struct {
		past Past
		want string
	}{
		"nothing recorded before": {Past{}, ""},
		"stopped":                 {Past{BootID: "this boot", Last: ago(hour, hour), Clean: true}, "the recorder did not run for 1h0m0s"},
		"killed":                  {Past{BootID: "this boot", Last: ago(minute, minute)}, ""},
		"another boot":            {Past{BootID: "another", Last: ago(minute, -hour)}, "the machine was restarted, and nothing was recorded for 1m0s"},
		"stopped, then set back":  {Past{BootID: "this boot", Last: ago(-24*hour, hour), Clean: true}, "the recorder did not run for 1h0m0s"},
		"stopped, then set ahead": {Past{BootID: "this boot", Last: ago(24*hour, hour), Clean: true}, "the recorder did not run for 1h0m0s"},
		"another boot, set back": {Past{BootID: "another", Last: ago(-24*hour, -hour)},
			"the machine was restarted, and nothing was recorded for 1s or longer: the wall clock was set back meanwhile"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t)
				b.past = tc.past
				_, stop := b.run()
				stop()
				text := ""
				for _, e := range b.archive.kinds(metric.EventGap) {
					text += e.Text
				}
				if text != tc.want {
					t.Errorf("gap %q, want %q", text, tc.want)
				}
				// The history of the machine is that since the last run, where there was one.
				if none := tc.past.Last == (metric.Stamp{}); b.since.IsZero() != none || !none && !b.since.Equal(time.Unix(0, tc.past.Last.Wall)) {
					t.Errorf("the history was asked for since %v, after %+v", b.since, tc.past.Last)
				}
			})
		})
	}
}
