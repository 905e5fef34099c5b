package main

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tachograph/cmd/internal/cli"
	"tachograph/store/archive"
	"tachograph/store/follow"
	"tachograph/store/recording"
	"tachograph/store/storetest"
	"tachograph/store/storetest/proof"
	"tachograph/store/storetest/recorded"
	"tachograph/testdata/patience"
)

// heard is what a command has printed so far.
type heard struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (h *heard) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.b.Write(p)
}

func (h *heard) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.b.String()
}

// A listener is a command that follows.
type listener struct {
	out, said heard
	cancel    context.CancelFunc
	done      chan int
	present   chan struct{} // closed when it has come to the present end
}

// watched is a follower that says when it has come to the present end.
type watched struct {
	follower
	once    sync.Once
	present chan struct{}
}

func (w *watched) Next(ctx context.Context) (archive.Item, error) {
	it, err := w.follower.Next(ctx)
	if it.Present {
		w.once.Do(func() { close(w.present) })
	}
	return it, err
}

// listen starts a command at the clock's time.
func listen(t *testing.T, clock *proof.Clock, args ...string) *listener {
	l := &listener{done: make(chan int, 1), present: make(chan struct{})}
	a := newApp(&l.out, &l.said, func() time.Time { return clock.Now().Time() })
	a.follows = func(opt follow.Options, paths ...string) (follower, error) {
		f, err := followArchives(opt, paths...)
		return &watched{follower: f, present: l.present}, err
	}
	a.ctx, l.cancel = context.WithCancel(context.Background())
	go func() { l.done <- a.run(args) }()
	t.Cleanup(func() { l.end() })
	return l
}

// end ends the command, if it has not ended, and returns its status.
func (l *listener) end() int {
	l.cancel()
	status := <-l.done
	l.done <- status
	return status
}

// stage is where a machine is recorded while others follow.
type stage struct {
	t     *testing.T
	dir   string
	seed  uint64
	clock *proof.Clock
	w     *recording.Writer
	boot  int
	m     *storetest.Machine
}

func newStage(t *testing.T, seed uint64) *stage {
	s := &stage{t: t, dir: t.TempDir(), seed: seed, clock: proof.NewClock(storetest.MachineStart), m: storetest.NewMachine(seed)}
	s.create()
	t.Cleanup(func() { s.w.Close() })
	return s
}

func (s *stage) create() {
	opt := recorded.ProofOptions(s.dir, s.seed, s.clock.Now)
	opt.BootID = fmt.Sprint("boot-", s.boot)
	var err error
	if s.w, err = recording.Create(opt); err != nil {
		s.t.Fatal(err)
	}
}

func (s *stage) close() {
	if err := s.w.Close(); err != nil {
		s.t.Fatal(err)
	}
}

// second records a second of the machine.
func (s *stage) second(n int) {
	for _, it := range s.items(n) {
		s.clock.Set(it.At())
		if err := it.Append(s.w); err != nil {
			s.t.Fatal(err)
		}
	}
}

func (s *stage) items(n int) (list []proof.Item) {
	for _, t := range s.m.Ticks(n) {
		list = append(list, proof.Item{Second: n, Tick: t})
	}
	if e, ok := s.m.Event(n); ok {
		list = append(list, proof.Item{Second: n, Event: &e})
	}
	return list
}

// live records seconds, with turns, ends and boots of the recorder among them.
func (s *stage) live(from, to int) {
	for n := from; n < to; n++ {
		s.second(n)
		switch n % 40 {
		case 17:
			if _, err := s.w.Rotate("test"); err != nil {
				s.t.Fatal(err)
			}
		case 25: // The recorder is started again.
			s.close()
			s.create()
		case 33: // The machine boots.
			s.close()
			s.boot++
			s.create()
		}
	}
}

// TestFollowSaysWhatIsSaidAfterwards follows what is recorded and compares with what
// the same command says when it has been.
func TestFollowSaysWhatIsSaidAfterwards(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, line string }{
		{"values", "values test.kernel test.disk.level test.limits.state test.proc.small"},
		{"rates", "rates test.kernel test.disk test.limits test.proc"},
		{"expressions", "rates rate(test.kernel.count)*2 sum(rate(test.disk.count)) test.kernel.load+test.limits.level test.proc.level/2"},
		{"instances", "rates test.disk.count test.proc.count -i disk1 -i 0010*"},
		{"steps", "rates test.kernel test.disk.count test.limits.level --step 3s"},
		{"events", "events"},
		{"some events", "events --kind process*"},
	} {
		for i, from := range []string{"start", ""} {
			if i > 0 && !proof.Long() && c.name != "values" && c.name != "steps" && c.name != "events" {
				continue // Where it begins is the same for all that are of values.
			}
			t.Run(c.name+" from "+from, func(t *testing.T) {
				s := newStage(t, 7)
				const begin, end = 45, 150
				s.live(0, begin)
				args := append(words(c.line), "--archive", s.dir, "--format", "json", "--utc")
				follow := append(slices.Clone(args), "-f")
				afterwards := slices.Clone(args)
				since := ""
				switch now := s.clock.Now().Time().UTC().Add(2 * time.Millisecond); {
				case from == "start":
					follow = append(follow, "--from", from)
					afterwards = append(afterwards, "--from", from)
				case c.name == "steps": // They begin at whole multiples.
					since = now.Add(3 * time.Second).Format(time.RFC3339Nano)
				default:
					since = now.Add(1).Format(time.RFC3339Nano) // At the very beginning stands what holds then.
					afterwards = append(afterwards, "--from", now.Format(time.RFC3339Nano))
				}
				l := listen(t, s.clock, follow...)
				<-l.present
				s.live(begin, end)
				want, said, status := replayWith(openStore, s.clock.Now().Time(), afterwards...)
				if status != cli.Yes {
					t.Fatalf("%d: %s", status, said)
				}
				until := ""
				if c.name == "steps" {
					until = s.m.At(end - 15).Time().UTC().Format(time.RFC3339Nano)
				}
				agree(t, l, want, since, until)
			})
		}
	}
}

// agree waits until the command has printed what is wanted, up to a time if one is
// given.
func agree(t *testing.T, l *listener, want, since, until string) {
	t.Helper()
	var got, wanted []string
	for ctx := patience.Context(t, time.Minute); ctx.Err() == nil && len(got) <= len(wanted); <-time.After(5 * time.Millisecond) {
		told := l.out.String()
		left := lackOperands(told, want)
		if got, wanted = linesOf(told, since, until, left), linesOf(want, since, until, left); slices.Equal(got, wanted) {
			return
		}
	}
	for i := range max(len(got), len(wanted)) {
		if i >= len(got) || i >= len(wanted) || got[i] != wanted[i] {
			t.Fatalf("%d lines instead of %d; the first that differs is\n%s, want\n%s\non stderr stands\n%s", len(got), len(wanted), lineAt(got, i), lineAt(wanted, i), l.said.String())
		}
	}
}

func lineAt(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return "nothing"
}

// lackOperands are those lines, without values, in which somebody says that an
// expression has no value because an operand has none: what is read once, when a
// recorder starts, may be read before the first tick and written behind it.
func lackOperands(texts ...string) map[string]bool {
	left := make(map[string]bool)
	for _, text := range texts {
		for line := range strings.Lines(text) {
			if strings.Contains(line, `"reason":"an operand has no value"`) {
				left[withoutValue(line)] = true
			}
		}
	}
	return left
}

// withoutValue is what a line tells of: a time, a metric and an instance.
func withoutValue(line string) string {
	for _, name := range []string{`,"rate":`, `,"value":`} {
		if of, _, ok := strings.Cut(line, name); ok {
			return of
		}
	}
	return line
}

// linesOf are lines of json, in an order of their own, whose times lie between two,
// if these are given. Of steps in which there is no value it is not compared why: what
// comes later decides whether they are told at all. Those that are left out are not
// compared at all.
func linesOf(text, since, until string, left map[string]bool) (lines []string) {
	for line := range strings.Lines(text) {
		if !strings.HasSuffix(line, "\n") {
			continue // it is being written
		}
		if left[withoutValue(line)] {
			continue
		}
		at := strings.TrimPrefix(line, `{"time":"`)
		if at[:len(since)] >= since && at[:len(until)] <= until && (until == "" || !strings.Contains(line, ":null,")) {
			lines = append(lines, strings.TrimSuffix(line, "\n"))
		}
	}
	slices.Sort(lines)
	return lines
}
