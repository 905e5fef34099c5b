package perf

import (
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tachograph/sample/stack"
)

// A file of /proc that does not answer costs one goroutine. What is left is sampled, without that
// file, now and in sessions that know of it.
func TestCallsThatNeverReturn(t *testing.T) {
	needsPerf(t, false)
	for name, c := range map[string]struct{ file, call, wait string }{
		"stack":   {"stack", "/proc/PID/stack", "pipe_read"},
		"syscall": {"syscall", "/proc/PID/stack", "pipe_read"},
		"wchan":   {"wchan", "/proc/PID/wchan", ""},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := started(t, compiled(t))
			over := make(chan struct{})
			defer close(over)
			var asked atomic.Int32
			s := New()
			s.every = 100 * time.Millisecond
			s.open = func(path string) (*os.File, error) {
				if strings.HasSuffix(path, "/"+c.file) {
					asked.Add(1)
					<-over
				}
				if c.file == "wchan" && strings.HasSuffix(path, "/stack") { // as an ordinary user
					return nil, os.ErrPermission
				}
				return os.Open(path)
			}
			wish := stack.Wish{PID: int32(cmd.Process.Pid), Rate: 99}
			for _, hung := range []int{1, 0} {
				waits := 0
				got, statistics := sampled(t, s, wish, func(g *seen, x *stack.Sample) bool {
					if x.State == stack.Waiting && strings.Contains(x.Wait, c.wait) {
						waits++
					}
					return asked.Load() > 0 && count(g.running) > 20 && waits > 5
				})
				if len(statistics.Hung) != hung || slices.Contains(statistics.Hung, c.call) != (hung > 0) || asked.Load() != 1 || count(got.running) <= 20 {
					t.Errorf("%+v, asked %d times", statistics, asked.Load())
				}
				if hung > 0 && !strings.Contains(statistics.Why, c.call+" did not return within 1s") {
					t.Errorf("why: %s", statistics.Why)
				}
				wish.Without = []string{c.call}
			}
		})
	}
}

// Without perf events that hung before, waiting threads are seen all the same.
func TestWithoutEventsThatHung(t *testing.T) {
	cmd := started(t, compiled(t))
	got, statistics := sampled(t, New(), stack.Wish{PID: int32(cmd.Process.Pid), Rate: 50, Without: []string{"perf_event_open"}}, func(g *seen, x *stack.Sample) bool { return count(g.waiting) >= 20 })
	if statistics.How != "proc" || !strings.Contains(statistics.Why, "perf_event_open did not return") || len(got.running) > 0 || len(statistics.Hung) != 0 {
		t.Errorf("%+v\n%v", statistics, got.running)
	}
}
