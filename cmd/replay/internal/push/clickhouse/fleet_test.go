package clickhouse

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tachograph/cmd/internal/peertest"
	"tachograph/cmd/replay/internal/push"
	"tachograph/store"
	"tachograph/store/follow"
)

const questions = "../../../../../docs/fleet/clickhouse"

// question is a query of docs/fleet/clickhouse, asked on the day after the recording.
func question(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(questions, name))
	if err != nil {
		t.Fatal(err)
	}
	q := strings.NewReplacer("today()", "toDate('"+fleetToday.Format("2006-01-02")+"')",
		"now()", "toDateTime('"+fleetToday.Format("2006-01-02 15:04:05")+"')").Replace(string(text))
	return regexp.MustCompile(`\b(FROM|JOIN)(\s+)(samples|processes|events|ticks|archives|hosts|metrics|instances)\b`).ReplaceAllString(q, "${1}${2}fleet.${3}")
}

// Each question says of which time it is asked, and how it is asked of another one.
func TestQuestionsSayWhen(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(questions, "*.sql"))
	if err != nil || len(files) == 0 {
		t.Fatal("there are no questions", err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		comment, query, _ := strings.Cut(string(text), "\nSELECT")
		if !strings.Contains(query, "today()") {
			continue
		}
		for _, want := range []string{"yesterday|last seven days", "s/today\\(\\)/toDate\\('"} {
			if !regexp.MustCompile(want).MatchString(comment) {
				t.Errorf("%s asks of some day, and its comment lacks %s:\n%s", filepath.Base(f), want, comment)
			}
		}
	}
}

// pushed runs the engine for one machine, as replay push does.
func pushed(ctx context.Context, address, state string, done func(values, bytes uint64), paths ...string) error {
	endpoint, err := push.NewEndpoint(address, push.Access{})
	if err != nil {
		return err
	}
	open, oldest := push.Archives(follow.Options{}, paths...)
	e := push.New(push.Options{Target: address, Sink: New(Options{Endpoint: endpoint, Layout: Layout{Database: "fleet", Cluster: "fleet"}}),
		Open: open, Oldest: oldest, State: state, MaxValues: 500_000})
	err = e.Run(ctx)
	done(e.State().Values, e.State().Bytes)
	return err
}

// TestFleet pushes a fleet into two shards, of which each is killed and started again meanwhile;
// all is there once and equal, and each question has the answer that replay gives.
// TACHO_FLEET=1000 is the size of the fleet, TACHO_FLEET_STEP=5m how often it was read (at most
// each half hour: which machine was idle in an hour takes two readings of it),
// TACHO_FLEET_PROCESSES=12 how many programs a machine has besides Indexer, and
// TACHO_FLEET_PUSHERS=4 how many machines push at once.
func TestFleet(t *testing.T) {
	peertest.Need(t, "clickhouse-server")
	f, pushing := simulated{hosts: 30, step: 30 * time.Minute, processes: 4}, 4
	if os.Getenv("TACHO_FLEET") != "" {
		f.step, f.processes = 5*time.Minute, 12
	}
	set(t, "TACHO_FLEET", strconv.Atoi, &f.hosts)
	set(t, "TACHO_FLEET_STEP", time.ParseDuration, &f.step)
	set(t, "TACHO_FLEET_PROCESSES", strconv.Atoi, &f.processes)
	set(t, "TACHO_FLEET_PUSHERS", strconv.Atoi, &pushing)
	if f.step > 30*time.Minute {
		t.Fatalf("TACHO_FLEET_STEP=%s: no hour has two readings, and no machine can be known to be idle: at most 30m", f.step)
	}
	dir := t.TempDir()
	began := time.Now()
	machines := f.archives(t, dir)
	t.Logf("%d hosts recorded in %s", f.hosts, time.Since(began).Round(time.Millisecond))
	all := shards(t, 2)
	cluster(t, all, "fleet")
	began = time.Now()
	var values, bytes, ready atomic.Uint64
	var pushers sync.WaitGroup
	work := make(chan int)
	for w := range pushing {
		pushers.Go(func() {
			for n := range work {
				err := pushed(t.Context(), all[w%2].url(), filepath.Join(dir, fmt.Sprintf("%d.push", n)), func(v, b uint64) {
					values.Add(v)
					bytes.Add(b)
				}, machines[n]...)
				if err != nil {
					t.Errorf("host %d: %v", n, err)
				}
				ready.Add(1)
			}
		})
	}
	for n := range machines {
		if n == len(machines)/3 || n == len(machines)*2/3 { // one shard is gone, and comes back
			s := all[n*3/len(machines)%2]
			s.kill()
			s.start()
		}
		work <- n
	}
	close(work)
	pushers.Wait()
	t.Logf("%d hosts: %d values in %s, %d bytes over the wire", f.hosts, values.Load(), time.Since(began).Round(time.Millisecond), bytes.Load())
	if t.Failed() {
		return
	}
	for _, s := range all {
		t.Logf("rows of samples and processes on a shard: %s", strings.TrimSpace(s.ask("SELECT (SELECT count() FROM fleet.samples_local), (SELECT count() FROM fleet.processes_local)")))
	}
	var paths []string
	for _, p := range machines {
		paths = append(paths, p...)
	}
	if f.hosts <= 100 { // more is a matter of memory
		check(t, all[0], fields(), "fleet", paths...)
	}
	began = time.Now()
	want := expectedAnswers(t, paths)
	t.Logf("replay has all answers after %s", time.Since(began).Round(time.Millisecond))
	ask(t, all[1], want)
	for _, table := range tables() {
		for _, s := range all {
			s.ask("OPTIMIZE TABLE fleet." + table.name + "_local FINAL")
		}
	}
	for _, s := range all {
		t.Logf("bytes after merges:\n%s", s.ask("SELECT table, sum(rows), sum(data_compressed_bytes), sum(data_uncompressed_bytes) FROM system.parts WHERE database = 'fleet' AND active GROUP BY table ORDER BY table"))
	}
	ask(t, all[0], want)
}

// set takes a setting of a test from the environment.
func set[T any](t *testing.T, name string, parse func(string) (T, error), to *T) {
	t.Helper()
	s := os.Getenv(name)
	if s == "" {
		return
	}
	v, err := parse(s)
	if err != nil {
		t.Fatalf("%s=%s: %v", name, s, err)
	}
	*to = v
}

// expectedAnswers puts each question to replay.
func expectedAnswers(t *testing.T, paths []string) map[string]string {
	t.Helper()
	r, err := store.Open(paths...)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	a := &asked{t: t, r: r, name: make(map[string]string), began: make(map[[3]string]int64)}
	for _, info := range r.Archives() {
		a.name[info.Host.ID] = info.Host.Name
	}
	return a.answers()
}

// ask puts each question to ClickHouse, which should say what replay does.
func ask(t *testing.T, s *server, want map[string]string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(questions, "*.sql"))
	if err != nil || len(files) != len(want) {
		t.Fatalf("%d questions, and answers to %d: %v", len(files), len(want), err)
	}
	for _, file := range files {
		name := filepath.Base(file)
		q := question(t, name)
		began := time.Now()
		got := s.ask(q + " FORMAT TabSeparated")
		t.Logf("%-28s %s", name, time.Since(began).Round(time.Millisecond))
		if want[name] == "" {
			t.Errorf("%s: replay says nothing", name)
		}
		if err := sameAnswer(want[name], got); err != nil {
			t.Errorf("%s: %v\nClickHouse says\n%sreplay says\n%s", name, err, got, want[name])
		}
	}
}
