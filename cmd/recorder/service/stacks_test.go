package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tachograph/sample/metric"
	"tachograph/sample/stack"
)

// steady sees one stack at each of its rounds.
type steady struct{ err error }

func (s steady) Sample(ctx context.Context, wish stack.Wish, give func(*stack.Sample)) (stats stack.Statistics, err error) {
	for stats.Rounds < int(wish.For.Seconds()*float64(wish.Rate)) && s.err == nil && ctx.Err() == nil {
		give(&stack.Sample{Thread: stack.Thread{PID: wish.PID}, Frames: []stack.Frame{{Name: "main", Address: 1}}, Count: 1})
		stats.Rounds++
		stats.Samples++
		time.Sleep(time.Second / time.Duration(wish.Rate))
	}
	return stats, s.err
}

// leave leaves a wish in the directory of a service.
func (b *bench) leave(w StackWish) string {
	b.t.Helper()
	text, err := json.Marshal(w)
	if err != nil {
		b.t.Fatal(err)
	}
	path := filepath.Join(b.dir, WishName)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		b.t.Fatal(err)
	}
	return path
}

func TestStacksAreSampledWhenAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.stacks = func() (stack.Sampler, error) { return steady{}, nil }
		s, stop := b.run()
		defer stop()
		time.Sleep(time.Second)
		s.SampleAsked(t.Context()) // Nobody asks.
		if st := s.Status(); st.LastSampling != nil {
			t.Errorf("without a wish: %+v", st.LastSampling)
		}
		path := b.leave(StackWish{PID: 7, Rate: 10, Seconds: 3, About: "app (pid 7)", Reason: "by hand"})
		s.SampleAsked(t.Context())
		st, err := ReadStatus(b.dir)
		if err != nil {
			t.Fatal(err)
		}
		if did := st.LastSampling; did == nil || did.Samples != 30 || did.Error != "" || !strings.HasPrefix(did.Text, "stacks of app (pid 7) were sampled for 3.0 s") {
			t.Errorf("the status says %+v", did)
		}
		if _, err := os.Lstat(path); err == nil {
			t.Errorf("the wish is still there")
		}
		events := b.archive.kinds(metric.EventStacks)
		if len(events) != 1 || events[0].Label("samples") != "30" || events[0].Label("reason") != "by hand" {
			t.Errorf("events %+v", events)
		}
	})
}

// A hanging sampler reports that task_for_pid hung, unless the wish forbids that call.
type hanging struct{ without [][]string }

func (h *hanging) Sample(_ context.Context, wish stack.Wish, _ func(*stack.Sample)) (stack.Statistics, error) {
	h.without = append(h.without, wish.Without)
	if slices.Contains(wish.Without, "task_for_pid") {
		return stack.Statistics{}, errors.New("task_for_pid is not called")
	}
	return stack.Statistics{Hung: []string{"task_for_pid"}}, errors.New("task_for_pid did not return")
}

// A call that hangs costs a thread. It is made once in a boot, however often the recorder is
// restarted.
func TestWhatHangsIsNotCalledAgainInThisBoot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		h := &hanging{}
		b.stacks = func() (stack.Sampler, error) { return h, nil }
		for range 2 {
			s, stop := b.run()
			b.leave(StackWish{PID: 7, Rate: 10, Seconds: 3, About: "app (pid 7)"})
			s.SampleAsked(t.Context())
			stop()
		}
		b.boot = "another"
		s, stop := b.run()
		b.leave(StackWish{PID: 7, Rate: 10, Seconds: 3, About: "app (pid 7)"})
		s.SampleAsked(t.Context())
		stop()
		if got, want := fmt.Sprint(h.without), "[[] [task_for_pid] []]"; got != want {
			t.Errorf("called without %s, want %s", got, want)
		}
	})
}

func TestStacksAreSampledOnceAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.stacks = func() (stack.Sampler, error) { return steady{}, nil }
		s, stop := b.run()
		defer stop()
		b.leave(StackWish{Rate: 10, Seconds: 60, About: "all"})
		go s.SampleAsked(t.Context())
		time.Sleep(10 * time.Second)
		b.leave(StackWish{Rate: 10, Seconds: 1, About: "more"})
		s.SampleAsked(t.Context())
		if st := s.Status(); st.LastSampling == nil || st.LastSampling.Error != errSampling.Error() {
			t.Errorf("the second is told %+v", st.LastSampling)
		}
		time.Sleep(time.Minute)
		if st := s.Status(); st.LastSampling.Samples != 600 {
			t.Errorf("the first came to %+v", st.LastSampling)
		}
	})
}

func TestRefusedWishes(t *testing.T) {
	broken := errors.New("the kernel does not allow it")
	for _, c := range []struct {
		name   string
		leave  func(b *bench, path string)
		stacks func() (stack.Sampler, error)
		want   string
	}{
		{"no sampler", func(b *bench, _ string) { b.leave(StackWish{Rate: 1, Seconds: 1}) }, nil, "cannot be sampled here"},
		{"a sampler that is not allowed", func(b *bench, _ string) { b.leave(StackWish{Rate: 1, Seconds: 1}) }, func() (stack.Sampler, error) { return nil, broken }, broken.Error()},
		{"a sampler that fails", func(b *bench, _ string) { b.leave(StackWish{Rate: 1, Seconds: 1}) }, func() (stack.Sampler, error) { return steady{broken}, nil }, broken.Error()},
		{"too often", func(b *bench, _ string) { b.leave(StackWish{Rate: 1e6, Seconds: 1}) }, func() (stack.Sampler, error) { return steady{}, nil }, "between 1 and 1000"},
		{"no JSON", func(_ *bench, path string) { os.WriteFile(path, []byte("{"), 0o600) }, nil, "unexpected end"},
		{"a link", func(_ *bench, path string) { os.Symlink("/etc/passwd", path) }, nil, WishName},
		{"a directory", func(_ *bench, path string) { os.Mkdir(path, 0o700) }, nil, "no regular file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t)
				b.stacks = c.stacks
				s, stop := b.run()
				defer stop()
				c.leave(b, filepath.Join(b.dir, WishName))
				s.SampleAsked(t.Context())
				st := s.Status()
				if st.LastSampling == nil || !strings.Contains(st.LastSampling.Error, c.want) {
					t.Errorf("%+v, want an error with %q", st.LastSampling, c.want)
				}
				if n := len(b.archive.kinds(metric.EventStacks)); n != 0 {
					t.Errorf("%d events", n)
				}
			})
		})
	}
}
