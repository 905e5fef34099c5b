package store_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/storetest"
	"tachograph/store/storetest/proof"
)

// The day is an archive of 24 hours, processes every 10 seconds and the rest
// every second, made by repeating a dataset. TACHO_DAY names one that is kept
// between runs; without it one is made for each run.
const dayEnv = "TACHO_DAY"

// queryEnv makes the test binary run one query and exit: a cold start.
const queryEnv = "TACHO_QUERY"

func TestMain(m *testing.M) {
	if q := os.Getenv(queryEnv); q != "" {
		if err := queries[q](os.Args[1]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	code := m.Run()
	for _, dir := range scratchDirs {
		os.RemoveAll(dir)
	}
	os.Exit(code)
}

// scratchDirs are removed at the end.
var scratchDirs []string

var theDay = sync.OnceValues(func() (string, error) {
	if p := os.Getenv(dayEnv); p != "" {
		if _, err := os.Stat(p); err == nil {
			return p, nil
		}
		return p, makeDay(p, 0, 36, 1, 10)
	}
	dir, err := os.MkdirTemp("", "tacho-day")
	if err != nil {
		return "", err
	}
	scratchDirs = append(scratchDirs, dir)
	p := filepath.Join(dir, "day.tacho")
	return p, makeDay(p, 0, 36, 1, 10)
})

// makeDay records rounds of the dataset, from a given one on, into a finished
// archive.
func makeDay(path string, first, rounds, systemEvery, procEvery int) error {
	data, err := storetest.Find()
	if err != nil {
		return err
	}
	rep, err := storetest.NewRepeater(data, systemEvery, procEvery)
	if err != nil {
		return err
	}
	rep.Skip(first)
	t := &scratch{}
	defer t.clean()
	w := proof.NewBuilder(t, filepath.Join(t.TempDir(), "live"))
	var sealed int64
	for range rounds {
		rep.Round(func(tick *metric.Tick) error {
			if tick.At.Cont-sealed >= int64(5*time.Minute) {
				w.Seal(nil)
				sealed = tick.At.Cont
			}
			w.Append(tick)
			return nil
		})
	}
	w.Seal(nil)
	w.Finish(path)
	return nil
}

// scratch is a testing.TB for work outside of tests.
type scratch struct {
	testing.TB
	dirs []string
}

func (s *scratch) Helper()           {}
func (s *scratch) Fatal(args ...any) { panic(fmt.Sprint(args...)) }
func (s *scratch) Error(args ...any) { panic(fmt.Sprint(args...)) }
func (s *scratch) TempDir() string {
	dir, err := os.MkdirTemp("", "tacho-scratch")
	if err != nil {
		panic(err)
	}
	s.dirs = append(s.dirs, dir)
	return dir
}

func (s *scratch) clean() {
	for _, d := range s.dirs {
		os.RemoveAll(d)
	}
}

// queries are the questions whose answers have a time limit.
var queries = map[string]func(path string) error{
	"nothing": func(string) error { return nil },
	"open": func(path string) error {
		r, err := store.Open(path)
		if err != nil {
			return err
		}
		defer r.Close()
		if len(r.Archives()) == 0 || len(r.Metrics()) == 0 || len(r.Hosts()) == 0 {
			return fmt.Errorf("nothing there")
		}
		return nil
	},
	"rate":    queryRate,
	"process": queryProcess,
	"top":     queryTop,
	"system":  querySystem,
	"decode":  queryAll,
}

// queryRate takes one counter's rate over everything.
func queryRate(path string) error {
	r, err := store.Open(path)
	if err != nil {
		return err
	}
	defer r.Close()
	n, sum := 0, 0.0
	var last float64
	for run := range r.Select(store.Selection{Metrics: []string{"stat.stat.ctxt"}}) {
		for i := range run.Wall {
			v := float64(run.Bits[i])
			if n > 0 {
				sum += v - last
			}
			last = v
			n++
		}
	}
	if n == 0 || sum <= 0 {
		return fmt.Errorf("%d values, increase %g", n, sum)
	}
	return nil
}

// queryProcess reads all process metrics of one process.
func queryProcess(path string) error {
	r, err := store.Open(path)
	if err != nil {
		return err
	}
	defer r.Close()
	key := os.Getenv("TACHO_KEY")
	n := 0
	for run := range r.Select(store.Selection{Metrics: processMetrics(r), Keys: []string{key}}) {
		n += len(run.Wall)
	}
	if n == 0 {
		return fmt.Errorf("process %q is not there", key)
	}
	return nil
}

// queryTop finds the 20 processes that used most CPU in ten minutes.
func queryTop(path string) error {
	r, err := store.Open(path)
	if err != nil {
		return err
	}
	defer r.Close()
	in := r.Archives()[0]
	mid := in.From + (in.To-in.From)/2
	used := make(map[*metric.Instance]float64)
	sel := store.Selection{Metrics: []string{"process.process.utime", "process.process.stime"}, From: mid, To: mid + int64(10*time.Minute)}
	for s := range r.Summarize(sel) {
		used[s.Instance] += s.Increase
	}
	var all []*metric.Instance
	for in := range used {
		all = append(all, in)
	}
	slices.SortFunc(all, func(a, b *metric.Instance) int { return int(used[b] - used[a]) })
	if len(all) < 20 || used[all[0]] == 0 {
		return fmt.Errorf("%d processes", len(all))
	}
	return nil
}

// querySystem takes minimum, mean and maximum of all system-wide series.
func querySystem(path string) error {
	r, err := store.Open(path)
	if err != nil {
		return err
	}
	defer r.Close()
	n := uint64(0)
	for s := range r.Summarize(store.Selection{Metrics: systemMetrics(r)}) {
		n += s.Count
	}
	if n == 0 {
		return fmt.Errorf("no values")
	}
	return nil
}

// queryAll decodes every value.
func queryAll(path string) error {
	r, err := store.Open(path)
	if err != nil {
		return err
	}
	defer r.Close()
	n := 0
	for run := range r.Select(store.Selection{}) {
		n += len(run.Wall)
	}
	decoded = n
	return nil
}

var decoded int

// BenchmarkQuery asks the questions in this process, the archive open or not
// as the question has it.
func BenchmarkQuery(b *testing.B) {
	day, err := theDay()
	if err != nil {
		b.Skip(err)
	}
	b.Setenv("TACHO_KEY", someProcess(b, day))
	for _, q := range []string{"open", "rate", "process", "top", "system"} {
		b.Run(q, func(b *testing.B) {
			for b.Loop() {
				if err := queries[q](day); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("decode", func(b *testing.B) {
		for b.Loop() {
			if err := queryAll(day); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(decoded)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mvalues/s")
	})
}

// BenchmarkCold asks them of a new process each time.
func BenchmarkCold(b *testing.B) {
	day, err := theDay()
	if err != nil {
		b.Skip(err)
	}
	key := someProcess(b, day)
	st, err := os.Stat(day)
	if err != nil {
		b.Fatal(err)
	}
	b.Logf("the day has %d bytes", st.Size())
	for _, q := range []string{"nothing", "open", "rate", "process", "top", "system"} {
		b.Run(q, func(b *testing.B) {
			var cpu time.Duration
			for b.Loop() {
				cmd := exec.Command(os.Args[0], day)
				cmd.Env = append(os.Environ(), queryEnv+"="+q, "TACHO_KEY="+key)
				if out, err := cmd.CombinedOutput(); err != nil {
					b.Fatalf("%v: %s", err, out)
				}
				cpu += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
			}
			b.ReportMetric(float64(cpu.Microseconds())/1e3/float64(b.N), "cpu-ms/op")
		})
	}
}

// someProcess is the key of a process that lived long around noon.
func someProcess(b *testing.B, path string) string {
	r, err := store.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	in := r.Archives()[0]
	mid := in.From + (in.To-in.From)/2
	var best *store.Life
	for l := range r.Lives("process", mid-int64(time.Hour), mid+int64(time.Hour)) {
		if best == nil || l.To-l.From > best.To-best.From {
			best = l
		}
	}
	if best == nil {
		b.Fatal("no process")
	}
	return best.Instance.Key
}
