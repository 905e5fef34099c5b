package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// What is no archive at all is not sent to repair: whatever is asked of it, one sentence is
// the answer, and nothing is made.
func TestNotAnArchive(t *testing.T) {
	for name, content := range map[string]string{
		"text": strings.Repeat("these are notes\n", 1000), "line": "a note\n", "nothing": "",
		"picture": "\x89PNG\r\n" + strings.Repeat("\x00\x01\xfe", 10000), "zeros": strings.Repeat("\x00", 1<<16),
	} {
		for _, file := range []string{"notes.tacho", "notes.txt"} {
			dir := t.TempDir()
			path := filepath.Join(dir, file)
			if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, command := range ofArchives {
				args := strings.Fields(strings.ReplaceAll(command, "DIR", dir))
				var o, e bytes.Buffer
				status := newApp(&o, &e, time.Now).run(append(args, "--archive", path))
				if want := "replay: " + path + ": it is not an archive\n"; status == 0 || e.String() != want || o.Len() > 0 {
					t.Errorf("%s of %s, %s: status %d, it says %q%q", command, file, name, status, e.String(), o.String())
				}
				if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
					t.Fatalf("%s left %v %v", command, left, err)
				}
			}
		}
	}
}

// ofArchives are the commands that answer of archives, or make files of them.
var ofArchives = []string{
	"", "at 03:00", "diff -1h..-30m -30m..now", "events", "explain kernel.all.load",
	"export --format csv -o DIR/new.csv", "export --format parquet -o DIR/new", "export --format pcp -o DIR/new", "find kernel.all.load>1", "info",
	"merge -o DIR/new.tacho", "metrics", "plot kernel.all.load", "plot kernel.all.load -o DIR/new.svg",
	"ps", "push --to http://127.0.0.1:1/api/v1/write", "ranges kernel.all.load", "rates kernel.all.load",
	"reduce --keep 1m -o DIR/new.tacho", "repair -o DIR/new.tacho", "report -o DIR/new.html",
	"serve --listen 127.0.0.1:0", "snapshot --from -1h -o DIR/new.tacho", "split --by day -o DIR/new", "stacks", "summary", "threads",
	"top", "values kernel.all.load", "verify", "why",
}

// Names that do not exist lead to what was meant, in conditions as elsewhere.
func TestWhatWasMeant(t *testing.T) {
	for _, command := range []string{"rates", "find", "values"} {
		for _, word := range []string{"cpuu", "laod", "memroy"} {
			condition := word
			if command == "find" {
				condition += " > 1"
			}
			_, errs, status := replayAt(testNow, command, condition, "--archive", "testdata/mac.txt")
			if status == 0 || !strings.Contains(errs, "did you mean ") {
				t.Errorf("%s %s: %q", command, condition, errs)
			}
		}
	}
}

// TestAWrongOrderIsRefused gives a wrong --sort where there is something to sort and where there
// is nothing.
func TestAWrongOrderIsRefused(t *testing.T) {
	for _, command := range []string{"ps", "ps nobody", "ps --from start", "threads", "threads nobody"} {
		args := append(strings.Fields(command), "--sort", "memry", "--archive", "testdata/mac.txt")
		_, errs, status := replayAt(testNow, args...)
		if status == 0 || !strings.Contains(errs, "--sort memry") || !strings.Contains(errs, "did you mean memory") {
			t.Errorf("%s: status %d, %s", command, status, errs)
		}
	}
}
