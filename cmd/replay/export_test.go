package main

import (
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tachograph/cmd/internal/cli"
	"tachograph/cmd/replay/internal/export"
	"tachograph/cmd/replay/internal/format/openmetrics"
	"tachograph/cmd/replay/internal/format/parquet"
	"tachograph/store"
	"tachograph/store/fault"
)

// Every format that reads what is open writes a recording, says how much, replaces nothing unless it is forced to, and
// leaves nothing beside what it was asked for.
func TestExportEveryFormat(t *testing.T) {
	t.Parallel()
	for _, f := range []export.Format{export.CSV, export.JSONL, openmetrics.Format, parquet.Format} {
		t.Run(f.Name, func(t *testing.T) {
			dir := t.TempDir()
			at := filepath.Join(dir, "out")
			line := []string{"export", "--archive", "testdata/mac.txt", "--format", f.Name, "-o", at, "--from", "start", "--to", "+2m"}
			stdout, stderr, status := replayAt(testNow, line...)
			if status != cli.Yes || !strings.HasPrefix(stdout, at+": ") {
				t.Fatalf("status %d: %s%s", status, stdout, stderr)
			}
			if _, stderr, status := replayAt(testNow, line...); status != cli.Failed || !strings.Contains(stderr, "--force") {
				t.Errorf("it is overwritten: status %d, %s", status, stderr)
			}
			if stdout, stderr, status := replayAt(testNow, append(line, "--force")...); status != cli.Yes {
				t.Errorf("--force: status %d, %s%s", status, stdout, stderr)
			}
			if left, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(left) != 1 {
				t.Errorf("there is %q", left)
			}
			hidden, _ := filepath.Glob(filepath.Join(dir, ".*"))
			if len(hidden) > 0 {
				t.Errorf("there is %q", hidden)
			}
		})
	}
}

// What is written is what values shows, with what else makes it one.
func TestExportHasTheValues(t *testing.T) {
	t.Parallel()
	const metrics = "filesys.full kernel.all.load proc.psinfo.sname"
	line := append([]string{"values"}, append(strings.Fields(metrics), "--archive", "testdata/mac.txt", "--utc")...)
	want, _, _ := replayAt(testNow, append(line, "--format", "csv")...)
	line[0] = "export"
	got, stderr, status := replayAt(testNow, append(line, "--format", "csv", "-o", "-")...)
	if status != cli.Yes {
		t.Fatal(stderr)
	}
	read := func(text string) [][]string {
		rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		return rows
	}
	wanted, rows := read(want), read(got)
	if len(rows) != len(wanted) {
		t.Fatalf("%d rows, values has %d", len(rows), len(wanted))
	}
	lines, stderr, status := replayAt(testNow, append(line, "--format", "jsonl", "-o", "-")...)
	if status != cli.Yes {
		t.Fatal(stderr)
	}
	objects := strings.Split(strings.TrimSpace(lines), "\n")
	for i, w := range wanted[1:] {
		r := rows[i+1]
		if r[0] != w[0] || r[1] != "mbp-anna" || r[2] != w[1] || r[3] != w[2] || r[5] != w[3] || (r[6] == "") != (w[3] != "") {
			t.Fatalf("row %d is %q, values has %q", i, r, w)
		}
		var o struct{ Time, Host, Metric, Instance, Key string }
		if err := json.Unmarshal([]byte(objects[i]), &o); err != nil || o.Time != r[0] || o.Metric != r[2] || o.Instance != r[3] || o.Key != r[4] {
			t.Fatalf("line %d is %s, want %q: %v", i, objects[i], r, err)
		}
	}
}

// What is read once per archive is part of every window: with the time at which it was read,
// or where that is no use where the window begins.
func TestExportHasWhatIsReadOnce(t *testing.T) {
	t.Parallel()
	for format, want := range map[string]string{
		"csv":         "2026-11-20T03:00:00.000000000Z,mbp-anna,hinv.ncpu,,,8,",
		"jsonl":       `{"time":"2026-11-20T03:00:00.000000000Z","host":"mbp-anna","metric":"hinv.ncpu","instance":null,"key":null,"value":8}`,
		"openmetrics": "} 8 1795144080.000\n",
		"parquet":     ": 1 value, ",
		"perfetto":    ": 1 value of 1 series",
	} {
		at := "-"
		if format == "parquet" || format == "perfetto" {
			at = filepath.Join(t.TempDir(), "out")
		}
		line := []string{"export", "--archive", "testdata/mac.txt", "--format", format, "-o", at, "--from", "start+8m", "--to", "+1m", "hinv.ncpu"}
		if format == "parquet" {
			line = append(line, "--table", "values")
		}
		stdout, stderr, status := replayAt(testNow, line...)
		if status != cli.Yes || strings.Count(stdout, want) != 1 {
			t.Errorf("%s: status %d, %s%s", format, status, stdout, stderr)
		}
	}
	const said = "no value of hinv.ncpu in this window: it was last read before, at 2026-11-20 03:00:00 UTC, and was 8 ("
	_, stderr, _ := replayAt(testNow, "values", "hinv.ncpu", "--archive", "testdata/mac.txt", "--from", "start+8m", "--to", "+1m", "--utc")
	if !strings.Contains(stderr, said) {
		t.Errorf("values says %s", stderr)
	}
}

// An archive of PCP is of one host.
func TestExportForPCPIsOfOneHost(t *testing.T) {
	t.Parallel()
	at := filepath.Join(t.TempDir(), "out")
	_, stderr, status := replayAt(testNow, "export", "--archive", "testdata/fleet.txt", "--format", "pcp", "-o", at)
	if status != cli.Failed || !strings.Contains(stderr, "an archive of PCP is of one host, and these are ") || !strings.Contains(stderr, ": choose one with --host") ||
		strings.Count(strings.TrimSpace(stderr), "\n") != 0 {
		t.Errorf("status %d: %s", status, stderr)
	}
	if left, _ := filepath.Glob(at + "*"); len(left) > 0 {
		t.Errorf("there is %q", left)
	}
}

// What could not be read is said, and by the exit status; what could be is there.
func TestExportOfWhatIsDamaged(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := filepath.Join(dir, "out")
	for name, harm := range map[string]func(memory){
		"lost": func(m memory) {
			m.Lost = []store.Loss{{Loss: fault.Loss{What: "a chunk cannot be read"}, Path: "x.tacho", Archive: m.Archives()[0]}}
		},
		"damaged": func(m memory) { m.Archives()[0].Damage = []string{"a chunk cannot be read"} },
	} {
		t.Run(name, func(t *testing.T) {
			open := func(paths ...string) (reader, error) {
				a, err := readText(paths...)
				if err != nil {
					return nil, err
				}
				harm(memory{a})
				return memory{a}, nil
			}
			_, stderr, status := replayWith(open, testNow, "export", "--archive", "testdata/renamed.txt", "--format", "csv", "-o", at, "--force")
			if status != cli.No || !strings.Contains(stderr, "is damaged: a chunk cannot be read") {
				t.Errorf("status %d: %s", status, stderr)
			}
			if text, err := os.ReadFile(at); err != nil || strings.Count(string(text), "\n") < 2 {
				t.Errorf("there is %q: %v", text, err)
			}
		})
	}
}
