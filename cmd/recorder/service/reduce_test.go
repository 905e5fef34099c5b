package service

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/fault"
	"tachograph/store/layout"
	"tachograph/store/query"
	"tachograph/store/recording"
	"tachograph/store/rewrite"
	"tachograph/store/storetest/proof"
	"tachograph/testdata/patience"
)

var aHost = metric.Host{ID: "host-1", Name: "host", OS: "Linux", Platform: "linux"}

// days makes finished archives of an hour each, all of one boot, in a directory; the first
// began at begin.
func days(t *testing.T, dir string, n int, begin int64) []string {
	t.Helper()
	g := &metric.Group{Name: "many"}
	for i := range 20 {
		g.Metrics = append(g.Metrics, &metric.Desc{Name: fmt.Sprintf("t.count%d", i), Type: metric.U64, Sem: metric.Counter, Class: metric.Fast})
	}
	var paths []string
	for d := range n {
		from := begin + int64(d)*3600e9
		path := filepath.Join(dir, layout.FinishedName(aHost.Name, from, from+3599e9, 0))
		iv := metric.Intervals{}
		iv[metric.Fast] = time.Second
		w, err := rewrite.Create(path, rewrite.About{Host: aHost, Boot: "boot-1", TimeZone: "UTC", Intervals: iv})
		if err != nil {
			t.Fatal(err)
		}
		for i := range int64(3600) {
			at := metric.Stamp{Wall: from + i*1e9, Cont: int64(d)*3600e9 + i*1e9 + 1}
			at.Awake = at.Cont
			b := &metric.Block{Group: g, At: at, Rows: []*metric.Instance{nil}, Cols: make([]metric.Column, len(g.Metrics))}
			for c := range b.Cols {
				b.Cols[c].Bits = []uint64{uint64((int64(d)*3600+i)*int64(c+1) + i%7)}
			}
			if err := w.Append(&metric.Tick{Class: metric.Fast, At: at, Blocks: []*metric.Block{b}}); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Finish(); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	return paths
}

const (
	reducingDir = "TACHO_TEST_REDUCE"
	began       = int64(1795168800e9)
	several     = 7
)

func openDir(dir string) (*diskArchive, error) {
	now := func() metric.Stamp { return afterwards() }
	w, err := recording.Create(recording.Options{Dir: dir, Host: aHost, BootID: "boot-1", TimeZone: "UTC", Recorder: "test", Sync: time.Second, Seal: time.Minute,
		Now: now, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, err
	}
	return &diskArchive{w, dir, slog.New(slog.DiscardHandler)}, nil
}

// afterwards is a week after everything was recorded, on a clock that has been right.
func afterwards() metric.Stamp {
	return metric.Stamp{Wall: began + 7*24*3600e9, Cont: 7 * 24 * 3600e9, Awake: 7 * 24 * 3600e9}
}

var keep = recording.Limits{KeepFor: time.Hour, Reduce: true, KeepReducedFor: 10000 * time.Hour}

// What TestKilledReducer says.
const begun, nothingDue = "begun\n", "nothing is due\n"

// TestKilledReducer is the process that TestKillWhileReducing kills.
func TestKilledReducer(t *testing.T) {
	dir := os.Getenv(reducingDir)
	if dir == "" {
		return
	}
	a, err := openDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	os.Stdout.WriteString(begun)
	for {
		done, err := a.Prune(keep, afterwards())
		if err != nil {
			t.Fatal(err)
		}
		if len(done.Due)+len(done.Removed) == 0 {
			os.Stdout.WriteString(nothingDue)
			return
		}
		for _, path := range done.Due {
			if _, err := a.Reduce(context.Background(), path, time.Minute, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// gains are what the counters of a directory gained over all that is there.
func gains(t *testing.T, dir string) map[string]float64 {
	t.Helper()
	r, err := store.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	out := make(map[string]float64)
	for i := range 20 {
		name := fmt.Sprintf("t.count%d", i)
		for s, err := range query.Ranges(r, query.RangeRequest{Request: query.Request{Metrics: []string{name}}}) {
			if err != nil {
				t.Fatal(err)
			}
			out[name] = s.Increase + float64(s.Count)
		}
	}
	return out
}

// TestKillWhileReducing kills a process that reduces and removes archives again and again,
// at random moments. There is never less than there was, nor anything twice.
func TestKillWhileReducing(t *testing.T) {
	proof.Unraced(t)
	dir := t.TempDir()
	days(t, dir, several, began)
	want := gains(t, dir)
	r := rand.New(rand.NewPCG(1, 2))
	kills := 0
	for finished := false; !finished; {
		cmd := exec.Command(os.Args[0], "-test.run", "^TestKilledReducer$")
		cmd.Env = append(os.Environ(), reducingDir+"="+dir)
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		said := bufio.NewReader(out)
		if line, err := said.ReadString('\n'); line != begun {
			t.Fatalf("it says %q: %v, %v", line, err, cmd.Wait())
		}
		killed := time.AfterFunc(time.Hour, func() { _ = cmd.Process.Kill() })
		if kills < proof.Pick(t, 15, 40) {
			killed.Reset(time.Duration(float64(r.IntN(12)) * patience.Late() * float64(time.Millisecond)))
		}
		rest, err := io.ReadAll(said)
		ended := killed.Stop()
		err = cmp.Or(cmd.Wait(), err)
		if ended && err != nil {
			t.Fatalf("%v: %s", err, rest)
		}
		if finished = err == nil && strings.Contains(string(rest), nothingDue); !finished {
			kills++
		}
		if got := gains(t, dir); len(got) != len(want) {
			t.Fatalf("after %d kills there are %d metrics", kills, len(got))
		} else {
			for name, x := range want {
				if got[name] != x {
					t.Fatalf("after %d kills %s has %v instead of %v", kills, name, got[name], x)
				}
			}
		}
	}
	list, err := filepath.Glob(filepath.Join(dir, "*"+layout.FinishedSuffix))
	if err != nil || len(list) != several {
		t.Fatalf("%v, %v", list, err)
	}
	small := 0
	for _, path := range list {
		proof.Sound(t, path)
		if isReduced(path) {
			small++
		}
	}
	if small != several-2 {
		t.Errorf("%d archives were reduced, all but the last two should be", small)
	}
	if rest, _ := filepath.Glob(filepath.Join(dir, "*.tmp*")); len(rest) > 0 {
		t.Errorf("left behind: %v", rest)
	}
	t.Logf("%d kills", kills)
}

func TestReducingEndsWithTheRecorder(t *testing.T) {
	dir := t.TempDir()
	path := days(t, dir, 1, began)[0]
	a, err := openDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	for n := range 60 {
		ctx, cancel := context.WithCancel(context.Background())
		left := n
		to, err := a.Reduce(ctx, path, time.Minute, func() {
			if left--; left < 0 {
				cancel()
			}
		})
		cancel()
		if err == nil {
			if err := os.Remove(to); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if list, _ := filepath.Glob(filepath.Join(dir, "*.tacho*")); !slices.Equal(list, []string{path}) {
			t.Fatalf("ended after %d pieces there is %v", n, list)
		}
	}
}

func TestWhatIsReducedIsNotShipped(t *testing.T) {
	dir := t.TempDir()
	path := days(t, dir, 1, began)[0]
	a, err := openDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	to, err := a.Reduce(context.Background(), path, time.Minute, nil)
	if err != nil || isReduced(path) || !isReduced(to) {
		t.Fatalf("%s, %v", to, err)
	}
	if st, err := os.Stat(to); err != nil || st.Mode() != 0o640 {
		t.Fatalf("%v, %v", st, err)
	}
	if _, _, ok := layout.ParseFinishedName(filepath.Base(to)); !ok {
		t.Errorf("%s is no name of an archive", to)
	}
}

func TestWhoIsToBlame(t *testing.T) {
	dir := t.TempDir()
	a, err := openDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	bad := filepath.Join(dir, "host-20261120T000000Z--20261121T000000Z.tacho")
	if err := os.WriteFile(bad, make([]byte, 8192), 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Reduce(context.Background(), bad, time.Minute, nil); !hopeless(err) {
		t.Errorf("%v passes", err)
	}
	if err := fmt.Errorf("writing: %w", syscall.ENOSPC); hopeless(err) {
		t.Errorf("%v does not pass", err)
	}
}

// What is due is reduced one by one, slowly; what fails is tried again later, or given up
// where the archive is to blame.
func TestReducerWorksThroughWhatIsDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.cfg.Archive.KeepReducedFor, b.cfg.Archive.ReduceTo = 1000*time.Hour, time.Minute
		b.cfg.Intervals[metric.Fast] = time.Minute
		b.archive.prunes = recording.Pruned{Due: []string{"good", "full", "bad"}}
		var took time.Duration // under b.archive.mu
		b.archive.reducing = func(_ context.Context, path string, pace func()) (string, error) {
			switch path {
			case "full":
				return "", fmt.Errorf("writing: %w", syscall.ENOSPC)
			case "bad":
				return "", &fault.Error{Kind: fault.Damaged, Err: errors.New("it is damaged")}
			}
			start := time.Now()
			time.Sleep(time.Second)
			pace()
			b.archive.mu.Lock()
			took = time.Since(start)
			b.archive.prunes.Due = []string{"full", "bad"}
			b.archive.mu.Unlock()
			return "small", nil
		}
		s, stop := b.run()
		time.Sleep(30 * time.Minute)
		b.archive.mu.Lock()
		if took < 300*time.Second {
			t.Errorf("a second of work and its pause took %v", took)
		}
		last := b.archive.limits[len(b.archive.limits)-1]
		if !last.Reduce || last.KeepReducedFor != 1000*time.Hour || last.Irreducible["bad"] == "" || last.Crowded["full"] == "" || len(last.Irreducible)+len(last.Crowded) != 2 {
			t.Errorf("%+v", last)
		}
		b.archive.prunes.Due = []string{"full"}
		n := len(b.archive.reduced)
		b.archive.mu.Unlock()
		if st := s.Status().Reduction; st == nil || st.Error == "" {
			t.Errorf("%+v", st)
		}
		time.Sleep(3 * time.Hour)
		stop()
		if more := b.archive.reduced[n:]; len(more) < 1 || len(more) > 4 || more[0] != "full" {
			t.Errorf("later it tried %v", more)
		}
	})
}

func TestStoppingEndsReducing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.cfg.Archive.KeepReducedFor, b.cfg.Archive.ReduceTo = 1000*time.Hour, time.Minute
		b.archive.prunes = recording.Pruned{Due: []string{"long"}}
		b.archive.reducing = func(ctx context.Context, _ string, pace func()) (string, error) {
			for ctx.Err() == nil {
				time.Sleep(time.Second)
				pace()
			}
			return "", ctx.Err()
		}
		s, stop := b.run()
		time.Sleep(10 * time.Minute)
		if st := s.Status().Reduction; st == nil || st.Path != "long" {
			t.Errorf("%+v", st)
		}
		start := time.Now()
		stop()
		if took := time.Since(start); took > 2*time.Second {
			t.Errorf("stopping took %v", took)
		}
	})
}
