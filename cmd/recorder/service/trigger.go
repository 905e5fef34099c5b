package service

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"tachograph/cmd/recorder/trigger"
	"tachograph/config"
	"tachograph/sample/metric"
)

// actions carry out what triggers ask for: one thing of a kind at a time.
type actions struct {
	s       *Service
	ctx     context.Context // set before anything is read
	group   sync.WaitGroup
	running atomic.Bool
	looking sync.Mutex
	begun   []func() // under looking: actions that start once the firing is recorded
	// sampling says that stacks are being sampled for a trigger.
	sampling atomic.Bool
}

// commandLimit is how long a trigger's command may take.
const commandLimit = time.Minute

var (
	errNoSpare   = errors.New("the recorder's budget has nothing to spare")
	errBusy      = errors.New("stacks are being sampled already")
	errRunning   = errors.New("the command of a trigger is still running")
	errNoProcess = errors.New("nobody knows the process's number")
)

// watchTriggers makes the watcher of the service's triggers. The watcher remembers what they
// did before the recorder was restarted.
func (s *Service) watchTriggers(set *trigger.Set) {
	s.actions = &actions{s: s}
	act := trigger.Actions{Run: s.actions.run, Burst: s.engine.Burst}
	if s.opt.Stacks != nil {
		act.Stacks = s.actions.stacks
	}
	s.watcher = trigger.New(set, act)
	if before, err := ReadStatus(s.opt.Dir); err == nil {
		s.watcher.Restore(before.Triggers, s.opt.Machine.Now())
	}
}

// look has the watcher evaluate a tick. After a firing it has the status written soon, so that
// a recorder started after a kill knows of it too.
func (s *Service) look(t *metric.Tick, stall time.Duration) []metric.Event {
	s.actions.looking.Lock()
	defer s.actions.looking.Unlock()
	events := s.watcher.Look(t, stall)
	if judge := s.witness.Look(t); judge != nil {
		s.actions.group.Go(func() {
			for _, e := range judge() {
				s.log.Warn(e.Text, "event", string(e.Kind))
				s.engine.Event(e)
			}
		})
	}
	if len(events) == 0 {
		return s.notices.Look(t)
	}
	// An action may fail at once. The firing is recorded before the failure.
	for _, e := range append(s.notices.Look(t), events...) {
		s.log.Info(e.Text, "event", string(e.Kind))
		s.engine.Event(e)
	}
	for _, goOn := range s.actions.begun {
		s.actions.group.Go(goOn)
	}
	s.actions.begun = nil
	select {
	case s.fired <- struct{}{}:
	default:
	}
	return nil
}

// stacks begins a session of sampling; look calls it.
func (a *actions) stacks(f trigger.Firing, w config.StacksWish) error {
	if w.Of == "process" && f.PID == 0 {
		return errNoProcess
	}
	if a.broke() {
		return errNoSpare
	}
	if !a.s.sampling.turn.TryLock() {
		return errBusy
	}
	a.begun = append(a.begun, func() {
		defer a.s.sampling.turn.Unlock()
		a.sampling.Store(true)
		defer a.sampling.Store(false)
		ctx, cancel := context.WithTimeout(a.ctx, w.For+stacksGrace)
		defer cancel()
		done := make(chan struct{})
		a.group.Go(func() { a.afford(ctx, cancel, done) })
		wish := StackWish{PID: f.PID, Rate: w.Rate, Seconds: w.For.Seconds(), About: about(f), Reason: f.Reason}
		_, _, err := a.s.sampling.sample(ctx, wish)
		close(done)
		a.failed("stacks", f, err)
	})
	return nil
}

// about names the process whose stacks a firing samples.
func about(f trigger.Firing) string {
	if f.PID == 0 {
		return "all processes"
	}
	name := strings.TrimLeft(f.Instance.Name, "0123456789")
	return strings.TrimSpace(fmt.Sprintf("%s (pid %d)", strings.TrimSpace(name), f.PID))
}

// stacksGrace is how much longer than planned a session may take, to process what it has
// sampled.
const stacksGrace = 10 * time.Second

// broke reports whether the budget has nothing left for triggers.
func (a *actions) broke() bool {
	spare, bounded := a.s.engine.Spare()
	return bounded && spare <= 0
}

// afford ends an action when the budget has nothing left for it.
func (a *actions) afford(ctx context.Context, end func(), done <-chan struct{}) {
	look := time.NewTicker(time.Second)
	defer look.Stop()
	for {
		select {
		case <-done:
			return
		case <-ctx.Done():
			return
		case <-look.C:
		}
		if a.broke() {
			end()
			a.s.engine.Event(metric.Event{Kind: metric.EventBudget, Text: "stacks were sampled for less long than was asked for: what the recorder's budget had to spare is used up"})
			return
		}
	}
}

// run starts a trigger's command; look calls it. The command's output is dropped unless it fails.
func (a *actions) run(f trigger.Firing, command []string) error {
	if !a.running.CompareAndSwap(false, true) {
		return errRunning
	}
	a.begun = append(a.begun, func() {
		defer a.running.Store(false)
		env := commandEnv(a.s.opt.Dir, "TACHOGRAPH_TRIGGER="+f.Name, "TACHOGRAPH_REASON="+f.Reason, "TACHOGRAPH_VALUE="+f.Value)
		if f.Instance != nil {
			env = append(env, "TACHOGRAPH_INSTANCE="+f.Instance.Name)
		}
		if f.PID != 0 {
			env = append(env, "TACHOGRAPH_PID="+strconv.Itoa(int(f.PID)))
		}
		a.failed("command", f, execute(a.ctx, command, nil, env, commandLimit))
	})
	return nil
}

// failed logs and records an action that was begun and failed.
func (a *actions) failed(what string, f trigger.Firing, err error) {
	if err == nil || a.ctx.Err() != nil {
		return
	}
	text := f.Name + ": the " + what + " failed: " + err.Error()
	a.s.log.Warn(text)
	a.s.engine.Event(metric.Event{Kind: metric.EventTrigger, Text: text, Labels: []metric.Label{
		{Name: "trigger", Value: f.Name}, {Name: "failed", Value: what}, {Name: "error", Value: err.Error()},
	}})
}
