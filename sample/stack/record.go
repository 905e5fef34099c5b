package stack

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"tachograph/sample/catalog"
	"tachograph/sample/metric"
)

// Recording is what stacks are sampled into.
type Recording struct {
	Platform catalog.Platform
	Now      func() metric.Stamp
	Append   func(*metric.Tick) error
}

// Run has s look as it is wished, with a tick for each second of it. The
// statistics are good also where an error ended it.
func (r Recording) Run(ctx context.Context, s Sampler, wish Wish) (Statistics, error) {
	if err := wish.check(); err != nil {
		return Statistics{}, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	now := r.Now()
	book := NewBook(r.Platform, now)
	var failed error
	write := func() {
		tick := book.Tick(now)
		if tick == nil || failed != nil {
			return
		}
		if failed = r.Append(tick); failed != nil {
			cancel()
		}
	}
	due := now.Cont + int64(time.Second)
	stats, err := s.Sample(ctx, wish, func(sample *Sample) {
		if now = r.Now(); now.Cont >= due {
			write()
			due = now.Cont + int64(time.Second)
		}
		book.Add(sample)
	})
	now = r.Now()
	write()
	if failed != nil {
		err = failed
	}
	return stats, err
}

// Longest is how long stacks can be sampled in one go.
const Longest = 10 * time.Minute

func (w Wish) check() error {
	switch {
	case w.PID < 0:
		return fmt.Errorf("stacks of process %d: there is no such number", w.PID)
	case w.Rate < 1 || w.Rate > MaxRate:
		return fmt.Errorf("stacks %d times a second: it must be between 1 and %d", w.Rate, MaxRate)
	case w.For <= 0 || w.For > Longest:
		return fmt.Errorf("stacks for %s: it must be more than nothing and at most %s", w.For, Longest)
	}
	return nil
}

// Event tells of a session that began at from and is over at at, and why it
// was wished. about is what was looked at: "Safari (pid 312)", "all processes".
func (s *Statistics) Event(from, at metric.Stamp, wish Wish, about, reason string) metric.Event {
	seconds := float64(at.Cont-from.Cont) / 1e9
	text := fmt.Sprintf("stacks of %s were sampled for %.1f s, %d times", about, seconds, s.Samples)
	if reason != "" {
		text += ": " + reason
	}
	e := metric.Event{At: at, Kind: metric.EventStacks, Text: text, Labels: metric.Period(from.Time(), time.Duration(at.Cont-from.Cont))}
	label := func(name string, value int64, always bool) {
		if value != 0 || always {
			e.Labels = append(e.Labels, metric.Label{Name: name, Value: strconv.FormatInt(value, 10)})
		}
	}
	label("pid", int64(wish.PID), false)
	label("rate", int64(wish.Rate), true)
	label("samples", int64(s.Samples), true)
	label("missed", int64(s.Missed), false)
	label("gone", int64(s.Gone), false)
	label("failed", int64(s.Failed), false)
	label("suspensions", int64(s.Suspensions), false)
	label("suspended_median_ns", s.Median, false)
	label("suspended_longest_ns", s.Longest, false)
	label("task_ports", int64(s.Tasks), false)
	for _, l := range []metric.Label{{Name: "how", Value: s.How}, {Name: "why_failed", Value: s.Why}, {Name: "reason", Value: reason}} {
		if l.Value != "" {
			e.Labels = append(e.Labels, l)
		}
	}
	return e
}
