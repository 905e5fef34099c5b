package stack

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"tachograph/sample/metric"
)

// Recording is where sampled stacks go.
type Recording struct {
	Now    func() metric.Stamp
	Append func(*metric.Tick) error
}

// A Namer names the functions of samples. A Sampler may be a Namer: it gets its samples back
// for that some time after it has given them.
type Namer interface{ Name(*Sample) }

// batch is the samples of about a second, with all their frames.
type batch struct {
	samples []Sample
	frames  []Frame
	until   metric.Stamp
}

// add copies s, whose frames belong to the sampler.
func (b *batch) add(s *Sample) {
	b.samples = append(b.samples, *s)
	mine := &b.samples[len(b.samples)-1]
	mine.Frames = b.keep(s.Frames)
	if s.Waker != nil {
		mine.Waker = &Waker{Thread: s.Waker.Thread, Frames: b.keep(s.Waker.Frames)}
	}
}

func (b *batch) keep(frames []Frame) []Frame {
	from := len(b.frames)
	b.frames = append(b.frames, frames...)
	return b.frames[from:len(b.frames):len(b.frames)]
}

// maxFrames bounds a batch.
const maxFrames = 1 << 17

// Run samples with s as wish says, and appends a tick for each second. The statistics are valid
// even if it returns an error.
//
// The sampler has no time to lose: naming functions may open files, and appending ticks may
// wait for a disk, so another goroutine does both.
func (r Recording) Run(ctx context.Context, s Sampler, wish Wish) (Statistics, error) {
	if err := wish.Check(); err != nil {
		return Statistics{}, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	batches, ended := make(chan batch, 4), make(chan error, 1)
	begin := r.Now()
	go func() {
		err := r.write(NewBook(begin), s, batches)
		if err != nil {
			cancel()
		}
		for range batches { // The sampler must not wait for a writer that has failed.
		}
		ended <- err
	}()
	now := batch{until: begin}
	due := begin.Cont + int64(time.Second)
	var ends [Broken + 1]int
	stats, err := s.Sample(ctx, wish, func(sample *Sample) {
		ends[sample.End] += int(sample.Count)
		at := r.Now()
		if at.Cont >= due || len(now.frames) > maxFrames {
			batches <- now
			now, due = batch{}, at.Cont+int64(time.Second)
		}
		now.add(sample)
		now.until = at
	})
	stats.Broken, stats.Cut = ends[Broken], ends[Truncated]
	batches <- now
	close(batches)
	if failed := <-ended; failed != nil {
		err = failed
	}
	return stats, err
}

// write makes a tick of each batch and appends it.
func (r Recording) write(book *Book, s Sampler, batches <-chan batch) error {
	namer, _ := s.(Namer)
	for b := range batches {
		for i := range b.samples {
			if namer != nil {
				namer.Name(&b.samples[i])
			}
			book.Add(&b.samples[i])
		}
		if tick := book.Tick(b.until); tick != nil {
			if err := r.Append(tick); err != nil {
				return err
			}
		}
	}
	return nil
}

// Longest is the longest time for which stacks can be sampled at once.
const Longest = 10 * time.Minute

// Check reports a value that is not allowed.
func (w Wish) Check() error {
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

// Event returns the event of a session that began at from and ended at at, with the reason for
// it. about is what was sampled: "Safari (pid 312)", "all processes".
func (s *Statistics) Event(from, at metric.Stamp, wish Wish, about, reason string) metric.Event {
	seconds := float64(at.Cont-from.Cont) / 1e9
	text := fmt.Sprintf("stacks of %s were sampled for %.1f s, %d times", about, seconds, s.Samples)
	if reason != "" {
		text += ": " + reason
	}
	if len(s.Hung) > 0 {
		text += "; " + s.Why
	}
	e := metric.Event{At: at, Kind: metric.EventStacks, Text: text, Labels: metric.Period(from.Time(), time.Duration(at.Cont-from.Cont))}
	label := func(name string, value int64, always bool) {
		if value != 0 || always {
			e.Labels = append(e.Labels, metric.Label{Name: name, Value: strconv.FormatInt(value, 10)})
		}
	}
	label("pid", int64(wish.PID), false)
	label("rate", int64(wish.Rate), true)
	label("rounds", int64(s.Rounds), false)
	label("samples", int64(s.Samples), true)
	label("missed", int64(s.Missed), false)
	label("gone", int64(s.Gone), false)
	label("failed", int64(s.Failed), false)
	label("walk_errors", int64(s.Broken), true)
	label("cut", int64(s.Cut), true)
	label("suspensions", int64(s.Suspensions), false)
	label("suspended_ns", s.Suspended, false)
	label("suspended_median_ns", s.Median, false)
	label("suspended_longest_ns", s.Longest, false)
	label("task_ports", int64(s.Tasks), false)
	label("hung", int64(len(s.Hung)), false)
	label("waits", int64(s.Waits), false)
	label("waits_lost", int64(s.WaitsLost), false)
	for _, l := range []metric.Label{{Name: SpreadText, Value: s.Spread.String()}, {Name: "how", Value: s.How}, {Name: "why_failed", Value: s.Why},
		{Name: "why_no_waits", Value: s.WaitsWhy}, {Name: "why_no_python", Value: s.Python}, {Name: "reason", Value: reason}} {
		if l.Value != "" {
			e.Labels = append(e.Labels, l)
		}
	}
	return e
}
