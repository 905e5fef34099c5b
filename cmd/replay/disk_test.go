package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/query/querytest"
	"tachograph/store/recording"
	"tachograph/store/storetest/proof"
)

// writeParts records a description as real archives, each part in a directory
// of its own, and returns the directories.
func writeParts(t testing.TB, parts []*querytest.Part, dir string) []string {
	t.Helper()
	var dirs []string
	for i, p := range parts {
		sub := filepath.Join(dir, fmt.Sprintf("part%d", i+1))
		if err := os.Mkdir(sub, 0o750); err != nil {
			t.Fatal(err)
		}
		writePart(t, p, sub)
		dirs = append(dirs, sub)
	}
	return dirs
}

func writePart(t testing.TB, p *querytest.Part, dir string) {
	t.Helper()
	if err := beginPart(t, p, dir).Close(); err != nil {
		t.Fatal(err)
	}
}

// beginPart records all of a part and leaves the archive being written.
func beginPart(t testing.TB, p *querytest.Part, dir string) *recording.Writer {
	t.Helper()
	type step struct {
		at    int64
		tick  *metric.Tick
		event *metric.Event
	}
	var steps []step
	for _, tick := range p.Ticks {
		steps = append(steps, step{at: tick.At.Cont, tick: tick})
	}
	for i := range p.Events {
		steps = append(steps, step{at: p.Events[i].At.Cont, event: &p.Events[i]})
	}
	slices.SortStableFunc(steps, func(x, y step) int { return cmp.Compare(x.at, y.at) })
	clock := proof.NewClock(p.Ticks[0].At)
	w, err := recording.Create(recording.Options{Dir: dir, Host: p.Info.Host, BootID: p.Info.BootID, TimeZone: p.Info.TimeZone,
		Recorder: p.Info.Recorder, Catalog: p.Catalog, Intervals: p.Info.Intervals, Now: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range steps {
		if s.tick != nil {
			clock.Set(s.tick.At)
			err = w.Append(s.tick)
		} else {
			err = w.Event(*s.event)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// differs are what a real archive has of its own: identity, place and size.
var differs = []*regexp.Regexp{
	regexp.MustCompile(`# read from archive .*`), regexp.MustCompile(`--archive \S+`),
	regexp.MustCompile(`"(id|path|bytes)":[^,}]*`), regexp.MustCompile(`\d archives?, [^,\n]*, fast`), regexp.MustCompile(`\d archives?, fast`),
}

// longFraction are the digits that depend on the order of a sum.
var longFraction = regexp.MustCompile(`(\.\d{6})\d+`)

// sameButIdentity leaves out what may differ: the order of rows as well where
// several hosts' archives lie between each other.
func sameButIdentity(s string, several bool) string {
	for _, re := range differs {
		s = re.ReplaceAllString(s, "…")
	}
	s = longFraction.ReplaceAllString(s, "$1")
	if several {
		lines := strings.Split(s, "\n")
		slices.Sort(lines)
		s = strings.Join(lines, "\n")
	}
	return s
}

// TestOnDisk puts the questions of the golden files to real archives made from
// the same descriptions: the answers must be the same.
func TestOnDisk(t *testing.T) {
	proof.Unraced(t)
	t.Parallel()
	dirs := make(map[string][]string)
	open := func(paths ...string) (reader, error) {
		var all []string
		for _, p := range paths {
			if _, err := os.Stat(p); err != nil {
				return nil, err
			}
			all = append(all, dirs[p]...)
		}
		return store.Open(all...)
	}
	texts, err := filepath.Glob("testdata/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range texts {
		parts, err := querytest.Load(f)
		if err != nil {
			continue // Not a recording.
		}
		dirs[f] = writeParts(t, parts, t.TempDir())
	}
	goldens, _ := filepath.Glob("testdata/*.golden")
	asked := 0
	for _, g := range goldens {
		text, err := os.ReadFile(g)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			command, ok := strings.CutPrefix(line, "$ replay")
			if !ok || strings.Contains(command, "summary") || strings.Contains(command, "info ") || strings.Contains(command, "nosuch") {
				continue
			}
			asked++
			t.Run("replay"+strings.TrimSuffix(command, "\n"), func(t *testing.T) {
				args := append(words(command), "--utc")
				want, wantErr, wantStatus := replay(openText, args...)
				got, gotErr, gotStatus := replay(open, args...)
				several := strings.Contains(command, "fleet")
				got, want = sameButIdentity(got, several), sameButIdentity(want, several)
				if got != want || gotErr != wantErr || gotStatus != wantStatus {
					t.Errorf("replay%sdiffers on a real archive: %s\nstderr %q, want %q; status %d, want %d", command,
						firstDifference(want, got), gotErr, wantErr, gotStatus, wantStatus)
				}
			})
		}
	}
	if asked < 50 {
		t.Errorf("only %d questions", asked)
	}
}
