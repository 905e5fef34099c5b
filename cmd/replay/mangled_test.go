package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"tachograph/cmd/internal/visible"
	"tachograph/sample/metric"
	"tachograph/store/query/querytest"
	"tachograph/store/recording"
	"tachograph/store/storetest"
	"tachograph/store/storetest/mangle"
	"tachograph/store/storetest/proof"
	"tachograph/testdata/patience"
)

// What no file, however it was made, may do: make a question fail, take more of
// a processor than this, or more memory, or wait for what never comes.
const (
	mangledTime   = 10 * time.Second
	mangledWait   = 2 * time.Minute
	mangledMemory = 300 << 20
)

// mangledEnv tells the test binary that it is the child, and which inputs to
// put questions to: FROM-TO.
const mangledEnv = "TACHO_MANGLED"

// TestMangled puts every question to archives, live ones with their journals,
// and directories that were damaged, or made by somebody who knows the format.
// Inputs are numbered; TACHO_MANGLED_FROM=N begins with another one.
// TACHO_LONG=1 goes on for TACHO_MANGLED_FOR (5m).
func TestMangled(t *testing.T) {
	proof.Unraced(t)
	t.Parallel()
	if part := os.Getenv(mangledEnv); part != "" {
		mangledChild(t, part)
		return
	}
	n, length := 8, time.Duration(0)
	if os.Getenv("TACHO_LONG") != "" {
		n, length = 1<<40, 5*time.Minute
		if text := os.Getenv("TACHO_MANGLED_FOR"); text != "" {
			d, err := time.ParseDuration(text)
			if err != nil {
				t.Fatal(err)
			}
			length = d
		}
	}
	next, _ := strconv.Atoi(os.Getenv("TACHO_MANGLED_FROM"))
	first := next
	base := t.TempDir()
	mangledSeeds(t, base)
	end := time.Now().Add(length)
	failures := 0
	for next < first+n && failures < 20 && (length == 0 || time.Now().Before(end)) {
		upTo := min(next+200, first+n)
		reached, err := mangledPart(t, base, next, upTo, end)
		if err != nil {
			failures++
			t.Errorf("input %d: %v", reached, err)
			next = reached + 1
			continue
		}
		next = reached
	}
	t.Logf("%d inputs", next-first)
}

// mangledPart runs a child on the inputs from first on, and returns the first
// that was not done, or that it failed over.
func mangledPart(t *testing.T, base string, first, upTo int, end time.Time) (int, error) {
	dir, err := os.MkdirTemp("", "mangled")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestMangled$", "-test.timeout=0")
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d-%d", mangledEnv, first, upTo), "TACHO_MANGLED_BASE="+base,
		"TACHO_MANGLED_END="+end.Format(time.RFC3339Nano), "TMPDIR="+dir)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	at := first
	var last []string
	lines := bufio.NewScanner(stdout)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if n, ok := strings.CutPrefix(lines.Text(), "mangled: done "); ok {
			at, _ = strconv.Atoi(n)
			at++
			last = nil
		} else if len(last) < 60 {
			last = append(last, lines.Text())
		}
	}
	if err := cmd.Wait(); err != nil {
		text := errs.String()
		return at, fmt.Errorf("%w; the files are left in %s\n%s\n%s", err, dir, strings.Join(last, "\n"), text[:min(len(text), 6000)])
	}
	return at, os.RemoveAll(dir)
}

// mangledSeeds makes the sound archives that are mangled.
func mangledSeeds(t *testing.T, base string) {
	t.Helper()
	parts, err := querytest.Load("testdata/mac.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"finished", "stopped", "live", "both"} {
		if err := os.Mkdir(filepath.Join(base, name), 0o750); err != nil {
			t.Fatal(err)
		}
	}
	writePart(t, parts[0], filepath.Join(base, "stopped"))
	m := storetest.NewMachine(3)
	live := t.TempDir()
	clock := proof.NewClock(m.At(0))
	w, err := recording.Create(mangledOptions(live, m, clock.Now))
	if err != nil {
		t.Fatal(err)
	}
	for s := range 150 {
		clock.Set(m.At(s))
		for _, tick := range m.Ticks(s) {
			if err := w.Append(tick); err != nil {
				t.Fatal(err)
			}
		}
		if s%10 == 0 {
			if err := w.Event(metric.Event{At: m.At(s), Kind: metric.EventSleep, Text: "it slept"}); err != nil {
				t.Fatal(err)
			}
		}
		if s == 70 {
			if _, err := w.Rotate("test"); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, suffix := range map[string]string{"live": ".live", "both": ".", "finished": ".tacho"} {
		copyFiles(t, live, filepath.Join(base, name), suffix)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

func mangledOptions(dir string, m *storetest.Machine, now func() metric.Stamp) recording.Options {
	return recording.Options{Dir: dir, Host: metric.Host{ID: "1", Name: "mac"}, BootID: "b", TimeZone: "UTC", Catalog: m.Catalog(),
		Intervals: m.Intervals(), Now: now, Seal: 20 * time.Second, Log: slog.New(slog.DiscardHandler)}
}

// copyFiles copies the files of a directory whose names hold part.
func copyFiles(t *testing.T, from, to, part string) {
	t.Helper()
	entries, err := os.ReadDir(from)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.Contains(e.Name(), part) || strings.HasSuffix(e.Name(), ".lock") {
			continue
		}
		b, err := os.ReadFile(filepath.Join(from, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(to, e.Name()), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// mangledChild puts the questions. It ends the process where a limit is passed.
func mangledChild(t *testing.T, part string) {
	var first, upTo int
	if _, err := fmt.Sscanf(part, "%d-%d", &first, &upTo); err != nil {
		t.Fatal(err)
	}
	base := os.Getenv("TACHO_MANGLED_BASE")
	end, _ := time.Parse(time.RFC3339Nano, os.Getenv("TACHO_MANGLED_END"))
	long := os.Getenv("TACHO_LONG") != ""
	os.Setenv("TACHO_PANIC", "1")
	// What is resident is needed: garbage is collected before there is much of it.
	debug.SetGCPercent(100)
	debug.SetMemoryLimit(mangledMemory / 2)
	watch := newWatch()
	for n := first; n < upTo && (!long || time.Now().Before(end)); n++ {
		mangledInput(t, watch, base, n)
		fmt.Printf("mangled: done %d\n", n)
		debug.FreeOSMemory()
	}
}

func mangledInput(t *testing.T, watch *watch, base string, n int) {
	rnd := rand.New(rand.NewPCG(uint64(n), 20))
	seed := []string{"finished", "stopped", "live", "both"}[rnd.IntN(4)]
	dir, err := os.MkdirTemp("", "input") // It stays where the process ends over it.
	if err != nil {
		t.Fatal(err)
	}
	copyFiles(t, filepath.Join(base, seed), dir, "")
	did, err := mangle.Directory(rnd, dir)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Printf("mangled: input %d: %s, %s\n", n, seed, did)
	list := everyQuestion(dir)
	if rnd.IntN(4) > 0 {
		rnd.Shuffle(len(list), func(i, k int) { list[i], list[k] = list[k], list[i] })
		list = list[:12]
	}
	for _, q := range list {
		format := []string{"table", "table", "csv", "json"}[rnd.IntN(4)]
		q = append(q, "--utc", "--format", format)
		watch.question("replay "+strings.Join(q, " "), func() { mangledReplay(t, q, format) })
	}
	watch.question("browsing "+dir, func() { mangledMoments(dir) })
	archives, _ := filepath.Glob(filepath.Join(dir, "*"))
	for _, a := range archives {
		if strings.HasSuffix(a, ".live") || strings.HasSuffix(a, ".tacho") {
			q := []string{"repair", a, "-o", filepath.Join(t.TempDir(), "new.tacho")}
			watch.question(strings.Join(q, " "), func() { mangledReplay(t, q, "table") })
		}
	}
	watch.question("a recorder's start", func() { mangledTakeOver(t, dir) })
	if !t.Failed() {
		os.RemoveAll(dir)
	}
}

func mangledReplay(t *testing.T, q []string, format string) {
	out, errs := &scan{format: format}, &scan{format: "table"}
	a := newApp(out, errs, func() time.Time { return testNow })
	a.run(q)
	for _, s := range []*scan{out, errs} {
		if s.bad != "" {
			t.Fatalf("replay %s: it writes %q", strings.Join(q, " "), s.bad)
		}
	}
}

// scan looks at what is written, and keeps none of it.
type scan struct {
	format string
	bad    string
}

func (s *scan) Write(p []byte) (int, error) {
	if i := bytes.Index(p, []byte("this program failed")); i >= 0 && s.bad == "" {
		s.bad = string(p[i:min(i+300, len(p))])
	}
	if i := bytes.IndexFunc(p, func(r rune) bool { return r < 0x10000 && r != '\n' && r != '\t' && visible.Acts(r) }); i >= 0 && s.bad == "" {
		s.bad = string(p[i:min(i+60, len(p))])
	}
	return len(p), nil
}

// mangledTakeOver starts a recorder on what is there.
func mangledTakeOver(t *testing.T, dir string) {
	m := storetest.NewMachine(3)
	clock := proof.NewClock(m.At(200))
	w, err := recording.Create(mangledOptions(dir, m, clock.Now))
	if err != nil {
		t.Fatalf("the recorder does not start: %v", err)
	}
	for s := 200; s < 203; s++ {
		clock.Set(m.At(s))
		for _, tick := range m.Ticks(s) {
			if err := w.Append(tick); err != nil {
				t.Fatalf("it does not record: %v", err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatalf("it does not stop: %v", err)
	}
}

// A watch ends the process where a question takes too long or too much.
type watch struct {
	mu    sync.Mutex
	what  string
	began atomic.Pointer[asking] // nil while there is no question
}

// asking is when a question was asked, and what the process had worked by then.
type asking struct {
	at     time.Time
	worked time.Duration
}

func newWatch() *watch {
	w := &watch{}
	go func() {
		for {
			<-time.After(5 * time.Millisecond)
			began := w.began.Load()
			if began == nil {
				continue
			}
			if d := worked() - began.worked; d > mangledTime && d > patience.Stretch(mangledTime) {
				w.end(fmt.Sprintf("took more than %v of a processor", mangledTime))
			}
			if d := time.Since(began.at); d > mangledWait && d > patience.Stretch(mangledWait) {
				w.end(fmt.Sprintf("took more than %v", mangledWait))
			}
			if used := resident(); used > mangledMemory {
				w.end(fmt.Sprintf("took %d MB", used>>20))
			}
		}
	}()
	return w
}

func (w *watch) end(why string) {
	w.mu.Lock()
	b := make([]byte, 1<<16)
	b = b[:runtime.Stack(b, true)]
	fmt.Printf("mangled: %s: %s\n", w.what, why)
	os.Stderr.Write(b)
	os.Exit(3)
}

func (w *watch) question(what string, fn func()) {
	w.mu.Lock()
	w.what = what
	w.mu.Unlock()
	began := asking{time.Now(), worked()}
	w.began.Store(&began)
	defer w.began.Store(nil)
	defer func() {
		if p := recover(); p != nil {
			fmt.Printf("mangled: %s: %v\n", what, p)
			panic(p)
		}
	}()
	fn()
	if os.Getenv("TACHO_MANGLED_TIMES") != "" && time.Since(began.at) > time.Second {
		fmt.Printf("mangled: %v, %d MB: %s\n", time.Since(began.at).Round(time.Millisecond), resident()>>20, what)
	}
}

// resident is how much memory the process has; 0 where that cannot be told.
func resident() int64 {
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	var total, pages int64
	if _, err := fmt.Sscan(string(b), &total, &pages); err != nil && !errors.Is(err, io.EOF) {
		return 0
	}
	return pages * int64(os.Getpagesize())
}

// worked is the processor time that this process has used. On a busy machine it says how
// much there is to do, where the time of day says how busy that is.
func worked() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
