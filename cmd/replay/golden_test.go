package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"tachograph/store/query/querytest"
	"tachograph/store/storetest/proof"
)

var update = flag.Bool("update", false, "write the golden files anew")

// memory is a recording from a description, as a reader.
type memory struct{ *querytest.Archive }

func (memory) Refresh() error { return nil }
func (memory) Close() error   { return nil }

// loaded are the recordings that have been read, by the paths of their descriptions.
// Tests share what was recorded and only read it.
var (
	loadedMu sync.Mutex
	loaded   = make(map[string]*querytest.Archive)
)

// openText reads descriptions instead of archives.
func openText(paths ...string) (reader, error) {
	loadedMu.Lock()
	defer loadedMu.Unlock()
	key := strings.Join(paths, "\x00")
	if loaded[key] == nil {
		a, err := readText(paths...)
		if err != nil {
			return nil, err
		}
		loaded[key] = a
	}
	own := *loaded[key]
	return memory{&own}, nil
}

// readText reads descriptions that nobody else has: they may be changed.
func readText(paths ...string) (*querytest.Archive, error) {
	var parts []*querytest.Part
	for _, p := range paths {
		more, err := querytest.Load(p)
		if err != nil {
			return nil, err
		}
		parts = append(parts, more...)
	}
	return querytest.New(parts...), nil
}

// testNow is when the tests take place.
var testNow = time.Date(2026, 11, 20, 3, 30, 0, 0, time.UTC)

func testClock() time.Time { return testNow }

// replay runs one command line on descriptions in testdata.
func replay(open func(...string) (reader, error), args ...string) (stdout, stderr string, status int) {
	return replayWith(open, testNow, args...)
}

// replayAt does so on descriptions at another time.
func replayAt(now time.Time, args ...string) (stdout, stderr string, status int) {
	return replayWith(openText, now, args...)
}

func replayWith(open func(...string) (reader, error), now time.Time, args ...string) (stdout, stderr string, status int) {
	return replayOn(0, open, now, args...)
}

// replayOn does so on a terminal of so many columns; of none, without one.
func replayOn(width int, open func(...string) (reader, error), now time.Time, args ...string) (stdout, stderr string, status int) {
	var o, e bytes.Buffer
	a := newApp(&o, &e, func() time.Time { return now })
	a.Open, a.width = open, width
	status = a.run(args)
	return o.String(), e.String(), status
}

// TestGolden runs the commands in testdata/*.golden and compares what they
// print. A golden file is a transcript: lines that begin with "$ replay" are
// commands, in a shell's quotes, what follows is their output: without a terminal, or
// with COLUMNS=N before it on one that wide.
func TestGolden(t *testing.T) {
	proof.Unraced(t)
	t.Parallel()
	files, err := filepath.Glob("testdata/*.golden")
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	for _, f := range files {
		t.Run(strings.TrimSuffix(filepath.Base(f), ".golden"), func(t *testing.T) {
			want, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			got := transcript(string(want))
			if *update {
				if err := os.WriteFile(f, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got != string(want) {
				t.Errorf("%s differs (go test -update writes it anew):\n%s", f, firstDifference(string(want), got))
			}
		})
	}
}

func transcript(text string) string { return transcriptOf(openText, text) }

func transcriptOf(open func(...string) (reader, error), text string) string {
	var b strings.Builder
	for _, line := range strings.SplitAfter(text, "\n") {
		if strings.HasPrefix(line, "# ") && !strings.Contains(b.String(), "$ ") {
			b.WriteString(line)
			continue
		}
		columns, command, ok := strings.Cut(line, "replay")
		if !ok || !strings.HasPrefix(line, "$ replay") && !strings.HasPrefix(line, "$ COLUMNS=") {
			continue
		}
		width := 0
		fmt.Sscanf(columns, "$ COLUMNS=%d", &width)
		fmt.Fprintf(&b, "%s", line)
		out, errs, status := replayOn(width, open, testNow, append(words(command), "--utc")...)
		cwd, _ := os.Getwd()
		b.WriteString(strings.ReplaceAll(out, cwd, "DIR"))
		for _, l := range strings.SplitAfter(errs, "\n") {
			if l != "" {
				b.WriteString("! " + l)
			}
		}
		if status != 0 {
			fmt.Fprintf(&b, "! status %d\n", status)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// words splits as a shell does, as far as the golden files need it.
func words(s string) []string {
	var out []string
	var cur strings.Builder
	inWord, quoted := false, false
	for _, r := range s {
		switch {
		case r == '\'':
			quoted, inWord = !quoted, true
		case !quoted && (r == ' ' || r == '\n'):
			if inWord {
				out = append(out, cur.String())
			}
			cur.Reset()
			inWord = false
		default:
			cur.WriteRune(r)
			inWord = true
		}
	}
	if inWord {
		out = append(out, cur.String())
	}
	return out
}

func firstDifference(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range w {
		if i >= len(g) {
			return fmt.Sprintf("line %d: want %q, got the end", i+1, w[i])
		}
		if w[i] != g[i] {
			return fmt.Sprintf("line %d:\nwant %q\n got %q", i+1, w[i], g[i])
		}
	}
	return "more output than wanted"
}
