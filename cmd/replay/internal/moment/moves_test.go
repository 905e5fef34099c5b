package moment

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	"tachograph/store"
)

// movesEnv names a directory of archives to move through, of a day or of a month:
// go run ./testdata/measure/makedays -out DIR -days 30 makes a month.
const movesEnv = "TACHO_MOVES"

// most is how long a move may take, in what is shown of it and in all: of a day,
// and of more.
const mostOfDay, mostOfMonth = 50 * time.Millisecond, 100 * time.Millisecond

// BenchmarkMoves goes through archives as browse does and says how long moves
// take: the move itself, the moment it leads to and the timeline above it. What was
// opened once is moved through from cold. Moves that look through all that was
// recorded are told apart: they can be given up, and say how far they are.
func BenchmarkMoves(b *testing.B) {
	dir := os.Getenv(movesEnv)
	if dir == "" {
		b.Skip(movesEnv + " names no archives")
	}
	for b.Loop() {
		j := &journey{b: b, rnd: rand.New(rand.NewPCG(1, 2)), took: make(map[string][]time.Duration), cpu: make(map[string][]time.Duration)}
		j.run(dir)
		j.report()
	}
}

type journey struct {
	b       *testing.B
	rnd     *rand.Rand
	r       *Recording
	from    int64 // of the timeline
	to      int64
	at      int64
	took    map[string][]time.Duration
	cpu     map[string][]time.Duration
	order   []string
	limit   time.Duration
	resides uint64
}

// timed times what is done at one keystroke.
func (j *journey) timed(what string, fn func() error) {
	began, before := time.Now(), processorTime()
	err := fn()
	took, cpu := time.Since(began), processorTime()-before
	if err != nil {
		j.b.Fatalf("%s: %v", what, err)
	}
	if j.took[what] == nil {
		j.order = append(j.order, what)
	}
	j.took[what] = append(j.took[what], took)
	j.cpu[what] = append(j.cpu[what], cpu)
}

// processorTime is what this program has used; on a machine that is busy with other
// things it tells more than a clock.
func processorTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// show is what the screen needs of where one is.
func (j *journey) show() error {
	if _, err := j.r.At(j.at); err != nil {
		return err
	}
	_, err := j.r.Timeline(j.from, j.to, 150)
	return err
}

// move goes somewhere and shows it.
func (j *journey) move(what string, where func() int64) {
	j.timed(what, func() error {
		j.at = where()
		return j.show()
	})
}

func (j *journey) somewhere() int64 {
	from, to := j.r.Span()
	return from + j.rnd.Int64N(to-from)
}

func (j *journey) run(dir string) {
	files, _ := filepath.Glob(filepath.Join(dir, "*"))
	a, err := store.Open(files...)
	if err != nil {
		j.b.Fatal(err)
	}
	defer a.Close()
	began := time.Now()
	if j.r, err = Open(a, "", nil); err != nil {
		j.b.Fatal(err)
	}
	opened := time.Since(began)
	j.from, j.to = j.r.Span()
	if j.limit = mostOfDay; j.to-j.from > 36*block {
		j.limit = mostOfMonth
	}
	j.at = j.to
	j.move("the first screen", func() int64 { return j.at })
	j.move("the first jump", j.somewhere)
	for range 30 {
		j.move("jump anywhere", j.somewhere)
	}
	j.steps()
	for range 10 {
		j.zoom()
	}
	j.from, j.to = j.r.Span()
	for range 10 {
		j.move("next event", func() int64 {
			m, ok := j.r.Next(j.at, true)
			if !ok {
				return j.somewhere()
			}
			return m.From
		})
	}
	j.lives()
	j.throughAll()
	fmt.Printf("opened in %v; %d archives, %d lanes\n", opened.Round(time.Millisecond/10), len(files), len(j.r.lanes))
	runtime.GC()
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	j.resides = mem.HeapAlloc
	runtime.KeepAlive(j.r)
}

func (j *journey) steps() {
	for _, s := range []struct {
		what string
		n    int
		by   int64
	}{{"a sample", 1, 0}, {"ten seconds", 0, 10e9}, {"a minute", 0, 60e9}, {"an hour", 0, block}, {"a day", 0, 24 * block}} {
		j.at = j.somewhere()
		for range 30 {
			j.move(s.what, func() int64 {
				if s.n != 0 {
					return j.r.Step(j.at, s.n)
				}
				at := j.at + s.by
				if _, to := j.r.Span(); at > to {
					at, _ = j.r.Span()
				}
				return at
			})
		}
	}
}

func (j *journey) zoom() {
	j.from, j.to = j.r.Span()
	for j.to-j.from > 10*60e9 {
		j.timed("zoom", func() error {
			half := (j.to - j.from) / 4
			j.from, j.to = j.at-half, j.at+half
			return j.show()
		})
	}
	j.at = j.somewhere()
}

func (j *journey) lives() {
	for range 10 {
		m, err := j.r.At(j.somewhere())
		if err != nil || len(m.Processes) == 0 {
			continue
		}
		p := m.Processes[j.rnd.IntN(len(m.Processes))]
		j.timed("life of a process", func() error {
			_, err := j.r.Life(p.Key)
			return err
		})
	}
	for range 3 {
		a, b := j.somewhere(), j.somewhere()
		j.timed("difference", func() error {
			_, err := j.r.Diff(a, b)
			return err
		})
	}
}

// throughAll are the moves for which all must be looked at.
func (j *journey) throughAll() {
	from, to := j.r.Span()
	for _, l := range j.r.Lanes() {
		j.timed("(all) peak of everything", func() error {
			_, _, _, err := j.r.Peak(l.Name, from, to)
			return err
		})
	}
	for range 2 {
		j.timed("(all) a condition that holds nowhere", func() error {
			_, _, _, err := j.r.Holds(context.Background(), "rate(kernel.all.cpu.user) > 1000", from, true)
			return err
		})
	}
	for range 5 {
		j.timed("(all) giving one up", func() error {
			ctx, stop := context.WithCancel(context.Background())
			began := make(chan struct{})
			var gave time.Time
			go func() {
				<-began
				for j.r.Progress() == 0 && ctx.Err() == nil {
					runtime.Gosched()
				}
				gave = time.Now()
				stop()
			}()
			close(began)
			j.r.progress.set(0, 1)
			_, _, _, _ = j.r.Holds(ctx, "rate(kernel.all.cpu.user) > 1000", from, true)
			stop()
			if !gave.IsZero() {
				j.took["(all) from giving up to the end"] = append(j.took["(all) from giving up to the end"], time.Since(gave))
			}
			return nil
		})
	}
	for rough := true; rough; {
		began := time.Now()
		t, err := j.r.Timeline(from, to, 150)
		if err != nil {
			j.b.Fatal(err)
		}
		rough = t.Rough
		j.took["(all) a piece of the exact timeline"] = append(j.took["(all) a piece of the exact timeline"], time.Since(began))
	}
	for _, l := range j.r.Lanes() {
		j.timed("peak, when the timeline is exact", func() error {
			_, _, _, err := j.r.Peak(l.Name, from, to)
			return err
		})
	}
	j.order = append(j.order, "(all) from giving up to the end", "(all) a piece of the exact timeline")
}

func (j *journey) report() {
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	var all, allCPU []time.Duration
	text := fmt.Sprintf("\n%-40s %6s %9s %9s %9s   %s\n", "", "times", "median", "99 %", "longest", "processor time: median, 99 %, longest")
	three := func(list []time.Duration) string {
		if len(list) == 0 {
			return ""
		}
		slices.Sort(list)
		return fmt.Sprintf("%6.1f ms %6.1f ms %6.1f ms", ms(list[len(list)/2]), ms(list[(len(list)*99)/100]), ms(list[len(list)-1]))
	}
	row := func(what string, list, cpu []time.Duration) {
		text += fmt.Sprintf("%-40s %6d %s   %s\n", what, len(list), three(list), three(cpu))
	}
	for _, what := range j.order {
		if len(j.took[what]) == 0 {
			continue
		}
		if what[0] != '(' {
			all, allCPU = append(all, j.took[what]...), append(allCPU, j.cpu[what]...)
		}
		row(what, j.took[what], j.cpu[what])
	}
	row("all moves but (all)", all, allCPU)
	within, _ := slices.BinarySearchFunc(all, j.limit, cmp.Compare[time.Duration])
	over := len(all) - within
	fmt.Printf("%sover %v: %d of %d; %d MB are kept\n", text, j.limit, over, len(all), j.resides>>20)
	j.b.ReportMetric(ms(all[len(all)/2]), "ms-median")
	j.b.ReportMetric(ms(all[len(all)*99/100]), "ms-p99")
	j.b.ReportMetric(ms(all[len(all)-1]), "ms-longest")
	j.b.ReportMetric(float64(j.resides)/(1<<20), "MB-kept")
}
