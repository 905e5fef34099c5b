package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tachograph/cmd/internal/cli"
	"tachograph/cmd/replay/internal/human"
	"tachograph/store/storetest/proof"
)

// What is shown on a terminal fits it, and has no letters that its locale does
// not.
func TestScreensFit(t *testing.T) {
	proof.Unraced(t)
	t.Parallel()
	for _, line := range []string{
		"testdata/mac.txt", "at 03:12 --archive testdata/mac.txt", "diff 03:00..03:10 03:10..03:20 --archive testdata/mac.txt",
		"ps --at 03:12 --archive testdata/mac.txt", "ps burner --from 03:10 --archive testdata/mac.txt", "top --archive testdata/mac.txt",
		"plot mem.util.used --archive testdata/mac.txt", "ranges mem --archive testdata/mac.txt", "explain mem.util.used --archive testdata/mac.txt",
		"metrics --archive testdata/mac.txt", "summary testdata/fleet.txt", "info testdata/mac.txt",
		"events testdata/mac.txt", "events --group testdata/mac.txt", "find kernel.all.load>0.1 --archive testdata/mac.txt",
	} {
		for _, width := range []int{40, 80, 200} {
			t.Run(fmt.Sprint(line, " in ", width), func(t *testing.T) {
				out := onScreen(width, 24, line)
				for l := range strings.Lines(out) {
					l = strings.TrimSuffix(l, "\n")
					// Command lines are for copying: they are one line.
					if w := human.Width(l); w > width && !strings.HasPrefix(l, "# ") {
						t.Errorf("%d columns: %s", w, l)
					}
					for _, r := range l {
						if r >= 0x80 {
							t.Errorf("%q in %s", r, l)
							break
						}
					}
				}
			})
		}
	}
}

func onScreen(width, height int, line string) string {
	var o, e strings.Builder
	a := newApp(&o, &e, func() time.Time { return testNow })
	a.Open, a.width, a.height, a.ascii = openText, width, height, true
	a.run(append(words(line), "--utc"))
	return o.String()
}

func TestOverviewFitsTheHeight(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{80, 24}, {80, 34}, {200, 24}, {200, 60}, {40, 40}} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			out, n := onScreen(size[0], size[1], "testdata/mac.txt"), 0
			for l := range strings.Lines(out) {
				n += max(1, (human.Width(strings.TrimSuffix(l, "\n"))+size[0]-1)/size[0])
			}
			// The last line is the prompt's.
			if n >= size[1] {
				t.Errorf("%d lines in a terminal of %d:\n%s", n, size[1], out)
			}
			if !strings.Contains(out, "top by cpu") || !strings.Contains(out, "burner") {
				t.Errorf("nobody is named:\n%s", out)
			}
		})
	}
}

// A terminal is as wide as somebody says, else as it is, else as most are.
func TestSizeOfScreen(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		columns, lines int
		env            map[string]string
		width, height  int
	}{
		{132, 50, nil, 132, 50},
		{0, 0, nil, 80, 24},
		{132, 50, map[string]string{"COLUMNS": "100"}, 100, 50},
		{132, 50, map[string]string{"COLUMNS": "100", "LINES": "30"}, 100, 30},
		{132, 50, map[string]string{"COLUMNS": "wide", "LINES": "-1"}, 132, 50},
		{132, 50, map[string]string{"COLUMNS": "0", "LINES": "99999999999999999999"}, 132, 50},
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			if w, h := sizeOfScreen(c.columns, c.lines, func(name string) string { return c.env[name] }); w != c.width || h != c.height {
				t.Errorf("%d by %d", w, h)
			}
		})
	}
}

// An archive that stands where the command takes something else is what the
// error names.
func TestErrorNamesTheArchiveThatWasMeant(t *testing.T) {
	t.Parallel()
	var o, e strings.Builder
	a := newApp(&o, &e, func() time.Time { return testNow })
	if status := a.run([]string{"diff", "gone/mac.tacho", "--before", "10m"}); status != cli.Failed || !strings.Contains(e.String(), "--archive gone/mac.tacho") {
		t.Errorf("status %d: %s", status, e.String())
	}
}

func TestDefinitionsThatAreMissingAreAnError(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"testdata/mac.txt --derived gone", "events testdata/mac.txt --derived gone"} {
		t.Run(line, func(t *testing.T) {
			var o, e strings.Builder
			a := newApp(&o, &e, func() time.Time { return testNow })
			a.Open = openText
			if status := a.run(words(line)); status != cli.Failed || !strings.Contains(e.String(), "gone") {
				t.Errorf("%s: status %d: %s", line, status, e.String())
			}
		})
	}
}
