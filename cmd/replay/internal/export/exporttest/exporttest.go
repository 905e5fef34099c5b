// Package exporttest is shared by the tests of formats: recordings with values that are hard to
// write, and what a reader of the format must find.
package exporttest

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tachograph/cmd/replay/internal/export"
	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/query"
	"tachograph/store/query/querytest"
	"tachograph/store/rewrite"
	"tachograph/store/storetest/recorded"
)

// Attack is a name that an attacker might give to a machine or a process.
const Attack = "../../x, \"y\"\n\\'z\x1b]0;\x07\xff{a=\"1\"} 1 # EOF"

// hard has numbers at the limits of their types, texts, absences, a process that changes its
// name, and a PID that is used twice, over two boots and midnight.
const hard = `start 2026-11-20T23:59:30Z
host one id=H1 os=Linux platform=linux
interval fast 10s
interval process 10s
metric t.unsigned u64 counter disk fast byte
metric t.signed i64 instant - fast
metric t.small i32 instant - fast
metric t.single f32 instant load fast
metric t.double f64 instant - fast percent
metric t.text string discrete - fast
metric t.never u64 instant - fast
  unsupported no such thing here
metric proc.psinfo.utime u64 counter process process millisec
metric proc.memory.rss u64 instant process process Kbyte
metric proc.io.read_bytes u64 counter process process byte
instance disk disk0 sda
instance disk disk1 sdb
instance load 1 1 minute
instance process 100/1 000100 alpha
instance process 100/2 000100 alpha
instance process 200/1 000200 beta
boot b1 -1h
tick fast 0s
  t.unsigned[disk0] 18446744073709551615
  t.unsigned[disk1] 9007199254740993
  t.signed -9223372036854775808
  t.small -5
  t.single[1] 0.1
  t.double NaN
  t.text "first, \"text\""
tick fast 10s
  t.unsigned[disk0] !permission denied
  t.unsigned[disk1] 9007199254740995
  t.signed 9007199254740993
  t.small 7
  t.single[1] 16777217
  t.double -0.5
  t.text "second"
tick process 0s
  proc.psinfo.utime[100/1] 1000
  proc.psinfo.utime[200/1] 50
  proc.memory.rss[100/1] 4000
  proc.memory.rss[200/1] 100
  proc.io.read_bytes[100/1] 0
  proc.io.read_bytes[200/1] 12345678901234567
tick process 10s
  proc.psinfo.utime[100/1] 3000
  proc.psinfo.utime[200/1] 60
  proc.memory.rss[100/1] 8000
  proc.memory.rss[200/1] 100
  proc.io.read_bytes[100/1] 4096
  proc.io.read_bytes[200/1] !permission denied
event 12s process exit | alpha ended: exit 3 | indom=process key=100/1 how=exit_3
tick process 30s
  proc.psinfo.utime[100/2] 10
  proc.psinfo.utime[200/1] 70
  proc.memory.rss[100/2] 40
  proc.memory.rss[200/1] 100
tick fast 40s
  t.unsigned[disk0] 100
  t.signed 3
  t.text "second"
boot b2 50s
tick fast 60s
  t.unsigned[disk0] 5
  t.signed 4
tick process 60s
  proc.psinfo.utime[100/1] 33
  proc.memory.rss[100/1] 44
`

// Hard returns the recording hard; with hostile, there is an attack in every text.
func Hard(t testing.TB, hostile bool) query.Archive {
	t.Helper()
	parts, err := querytest.Parse(strings.NewReader(hard))
	if err != nil {
		t.Fatal(err)
	}
	done := make(map[*metric.Instance]bool)
	for _, p := range parts {
		if !hostile {
			break
		}
		p.Info.Host.Name = Attack
		for _, d := range p.Catalog {
			d.Help += Attack
		}
		for _, tick := range p.Ticks {
			for _, b := range tick.Blocks {
				for _, in := range b.Rows {
					if in != nil && !done[in] {
						done[in] = true
						in.Name += Attack
					}
				}
			}
		}
	}
	return querytest.New(parts...)
}

// Of returns a recording that tests of commands use. It is in replay's testdata, above the
// package of the test.
func Of(t testing.TB, name string) query.Archive {
	t.Helper()
	path := filepath.Join("..", "..", "testdata", name)
	if _, err := os.Stat(path); err != nil {
		path = filepath.Join("..", path)
	}
	parts, err := querytest.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	return querytest.New(parts...)
}

// Recorded returns what a real Writer wrote: disks and processes that come and go, over several
// archives.
func Recorded(t testing.TB) query.Archive {
	t.Helper()
	dir, _ := recorded.RecordDir(t.(*testing.T), 7, 900)
	r, err := store.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// Value is a recorded value.
type Value struct {
	Host, Metric, Instance, Key string
	Labels                      []metric.Label // of the instance
	Wall                        int64
	metric.Value
}

// Values returns all values of a request, in the order that Request.Values yields them.
func Values(t testing.TB, r *export.Request) []Value {
	t.Helper()
	var list []Value
	for _, d := range r.Wanted() {
		for s, err := range r.Values(context.Background(), r.Window, d) {
			if err != nil {
				t.Fatal(err)
			}
			for i, wall := range s.Wall {
				v := Value{Host: s.Archive.Host.Name, Metric: s.Name, Wall: wall, Value: s.Value(i)}
				if s.Instance != nil {
					v.Instance, v.Key, v.Labels = s.Instance.Name, s.Instance.Key, s.Instance.Labels
				}
				list = append(list, v)
			}
		}
	}
	return list
}

// Asked runs a program that checks an output. If the program is missing, Asked skips the test
// with these words: CI installs the program and looks for them.
func Asked(t testing.TB, there bool, what string, cmd *exec.Cmd) string {
	t.Helper()
	if !there {
		t.Skipf("%s is not installed", what)
	}
	var wrong strings.Builder
	cmd.Stderr = &wrong
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s\n%s", what, err, out, wrong.String())
	}
	return string(out)
}

// Duck runs queries in DuckDB, in its version for node, and returns its output as JSON: a list
// of rows for each query.
func Duck(t testing.TB, questions ...string) string {
	t.Helper()
	const program = `
const { DuckDBInstance } = require('@duckdb/node-api');
(async () => {
  const connection = await (await DuckDBInstance.create(':memory:')).connect();
  const all = [];
  for (const q of JSON.parse(process.env.QUESTIONS)) all.push((await connection.runAndReadAll(q)).getRowsJson());
  console.log(JSON.stringify(all));
})().catch(e => { console.error(e); process.exit(1); });`
	node, err := exec.LookPath("node")
	there := err == nil && exec.Command(node, "-e", "require('@duckdb/node-api')").Run() == nil
	cmd := exec.Command(node, "-e", program)
	cmd.Env = append(os.Environ(), "QUESTIONS="+quoted(questions))
	return Asked(t, there, "DuckDB", cmd)
}

func quoted(list []string) string {
	b, err := json.Marshal(list)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// Archives writes the archives of a description to dir, one for each of its parts.
func Archives(t testing.TB, dir string, parts []*querytest.Part) (paths []string) {
	t.Helper()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for i, p := range parts {
		path := filepath.Join(dir, fmt.Sprintf("%02d.tacho", i))
		w, err := rewrite.Create(path, rewrite.About{Host: p.Info.Host, Boot: p.Info.BootID, TimeZone: p.Info.TimeZone,
			Recorder: "test", Intervals: p.Info.Intervals, ID: p.Info.ID, Catalog: p.Catalog})
		check(err)
		// A description has the ticks of each group together.
		ticks := slices.SortedStableFunc(slices.Values(p.Ticks), func(a, b *metric.Tick) int { return cmp.Compare(a.At.Cont, b.At.Cont) })
		for _, tick := range ticks {
			check(w.Append(tick))
		}
		for i := range p.Events {
			check(w.Event(&p.Events[i]))
		}
		check(w.Finish())
		paths = append(paths, path)
	}
	return paths
}
