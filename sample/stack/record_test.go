package stack

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"tachograph/sample/metric"
)

// madeUp returns the same sample at each of its instants.
type madeUp struct {
	clock *int64
	at    []int64
	err   error
}

func (m madeUp) Sample(ctx context.Context, wish Wish, give func(*Sample)) (Statistics, error) {
	n := 0
	for _, at := range m.at {
		if ctx.Err() != nil {
			break
		}
		*m.clock = at
		s := seenBy(1, Running, 1, Frame{Image: app, Address: 0x1010, Name: "main"})
		s.End = Truncated
		give(s)
		n++
	}
	return Statistics{Samples: n, How: "made up"}, m.err
}

func TestRecording(t *testing.T) {
	const second = int64(time.Second)
	var clock int64
	full := errors.New("disk full")
	for _, c := range []struct {
		name  string
		wish  Wish
		at    []int64
		err   error // error of the sampler
		fails int   // the tick that cannot be appended
		want  []uint64
		ends  error
		text  string
	}{
		{name: "a tick a second", wish: Wish{PID: 1, Rate: 2, For: 3 * time.Second}, at: []int64{0, second / 2, second, 3 * second / 2, 2 * second}, want: []uint64{2, 2, 1}},
		{name: "nothing for a while", wish: Wish{Rate: 2, For: time.Minute}, at: []int64{0, 30 * second}, want: []uint64{1, 1}},
		{name: "nothing", wish: Wish{Rate: 2, For: time.Minute}},
		{name: "what was seen before it failed", wish: Wish{Rate: 2, For: time.Minute}, at: []int64{0}, err: full, want: []uint64{1}, ends: full},
		{name: "the archive refuses", wish: Wish{Rate: 2, For: time.Minute}, at: []int64{0, second, 2 * second, 3 * second}, fails: 2, want: []uint64{1}, ends: full},
		{name: "too often", wish: Wish{Rate: 1001, For: time.Second}, text: "stacks 1001 times a second: it must be between 1 and 1000"},
		{name: "too long", wish: Wish{Rate: 1, For: time.Hour}, text: "stacks for 1h0m0s: it must be more than nothing and at most 10m0s"},
		{name: "nobody", wish: Wish{PID: -3, Rate: 1, For: time.Hour}, text: "stacks of process -3: there is no such number"},
	} {
		t.Run(c.name, func(t *testing.T) {
			clock = 0
			var got []uint64
			ticks := 0
			r := Recording{Now: func() metric.Stamp { return metric.Stamp{Wall: clock, Cont: clock} }, Append: func(tick *metric.Tick) error {
				if ticks++; ticks == c.fails {
					return full
				}
				got = append(got, tick.Blocks[stackGroup].Cols[0].Bits...)
				return nil
			}}
			stats, err := r.Run(t.Context(), madeUp{&clock, c.at, c.err}, c.wish)
			if c.text != "" {
				if err == nil || err.Error() != c.text {
					t.Errorf("%v, want %s", err, c.text)
				}
				return
			}
			if !errors.Is(err, c.ends) || !slices.Equal(got, c.want) {
				t.Errorf("counts %v and error %v, want %v and %v", got, err, c.want, c.ends)
			}
			if c.fails == 0 && (stats.Samples != len(c.at) || stats.Cut != len(c.at) || stats.Broken != 0) {
				t.Errorf("%d samples, %d cut, %d broken, want %d, all cut", stats.Samples, stats.Cut, stats.Broken, len(c.at))
			}
		})
	}
}

// A sampler may use the same memory for the next sample, also of the waker's stack.
func TestBatchKeepsSamples(t *testing.T) {
	frames, waker := []Frame{{Name: "wait"}}, &Waker{Thread: Thread{TID: 9}, Frames: []Frame{{Name: "wake"}}}
	var b batch
	b.add(&Sample{Frames: frames, Waker: waker, Waited: 7})
	frames[0].Name, waker.Frames[0].Name, waker.Thread.TID = "", "", 0
	b.add(&Sample{Frames: frames})
	if s := b.samples[0]; s.Frames[0].Name != "wait" || s.Waker == nil || s.Waker.Thread.TID != 9 || s.Waker.Frames[0].Name != "wake" || s.Waited != 7 {
		t.Errorf("kept %+v, waker %+v", s, s.Waker)
	}
}

func TestSessionEvent(t *testing.T) {
	s := Statistics{Samples: 495, Missed: 2, Rounds: 497, Broken: 3, Suspensions: 400, Suspended: 4900000, Median: 12000, Longest: 80000,
		Tasks: 1, How: "mach", Waits: 12, WaitsLost: 3, WaitsWhy: "too many"}
	s.Spread.Add(12000)
	s.Spread.Add(80000)
	from := metric.Stamp{Wall: 1e18, Cont: 1e9}
	e := s.Event(from, metric.Stamp{Wall: 1e18 + 5e9, Cont: 6e9}, Wish{PID: 312, Rate: 99}, "Safari (pid 312)", "asked for by hand")
	if want := "stacks of Safari (pid 312) were sampled for 5.0 s, 495 times: asked for by hand"; e.Text != want {
		t.Errorf("%q, want %q", e.Text, want)
	}
	for name, want := range map[string]string{
		"waits": "12", "waits_lost": "3", "why_no_waits": "too many",
		"pid": "312", "seconds": "5.000", "rate": "99", "samples": "495", "missed": "2", "gone": "", "rounds": "497", "walk_errors": "3", "cut": "0", "suspended_ns": "4900000",
		"suspended_longest_ns": "80000", "suspended_up_to_ns": "20000:1 100000:1", "suspended_median_ns": "12000", "how": "mach", "reason": "asked for by hand",
	} {
		if got := e.Label(name); got != want {
			t.Errorf("label %s is %q, want %q", name, got, want)
		}
	}
}
