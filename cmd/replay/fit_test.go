package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"tachograph/cmd/replay/internal/human"
	"tachograph/store/storetest/proof"
)

// everyScreen are the questions whose answers people read, about descriptions of a
// Mac, of machines that slept and were restarted, and of one with long names.
var everyScreen = []string{
	"testdata/mac.txt", "testdata/fleet.txt", "testdata/long.txt", "testdata/asleep.txt",
	"at 03:12 --archive testdata/mac.txt", "at 03:37:30 --archive testdata/fleet.txt", "at end --archive testdata/long.txt", "at 03:30 --archive testdata/asleep.txt",
	"ps --at 03:12 --archive testdata/mac.txt", "ps --archive testdata/commands.txt", "ps --tree --archive testdata/commands.txt", "ps --archive testdata/long.txt", "ps --tree --archive testdata/long.txt", "ps --sort memory -n 3 --archive testdata/mac.txt",
	"ps burner --from 03:10 --archive testdata/mac.txt", "ps java --from start --archive testdata/long.txt",
	"top --archive testdata/mac.txt", "top --archive testdata/long.txt", "top --by memory --group parent --archive testdata/long.txt", "top --group user --archive testdata/mac.txt",
	"top --group name --by write -n 0 --archive testdata/mac.txt", "threads --archive testdata/long.txt",
	"values kernel.all.load --from end-1m --archive testdata/mac.txt", "values filesys.full --step 5m --archive testdata/mac.txt", "values filesys.free --archive testdata/long.txt",
	"rates kernel.all.cpu --step 5m --archive testdata/mac.txt", "rates proc.io.write_bytes --step 5m --archive testdata/long.txt", "rates proc.io.write_bytes --explain --step 5m --archive testdata/mac.txt",
	"rates mem.util.used/mem.physmem --step 2m --archive testdata/mac.txt", "rates mem.util.used --step 1m --archive testdata/fleet.txt",
	"ranges kernel proc.memory filesys --archive testdata/mac.txt", "ranges mem.util --step 5m --archive testdata/mac.txt", "ranges filesys proc --archive testdata/long.txt",
	"plot kernel.all.load filesys.full --archive testdata/mac.txt", "plot mem.util.used --archive testdata/fleet.txt", "plot filesys.free --archive testdata/long.txt",
	"find kernel.all.load>0.1 --archive testdata/mac.txt", "find filesys.free>1 --archive testdata/long.txt", "find proc.memory.rss>1MB --for 1s --archive testdata/mac.txt",
	"events testdata/mac.txt", "events --group testdata/mac.txt", "events --kind * testdata/long.txt", "events testdata/fleet.txt",
	"diff 03:00..03:10 03:10..03:20 --archive testdata/mac.txt", "diff start..start+8m end-8m..end --all -n 0 --archive testdata/mac.txt", "diff --before 10m --archive testdata/long.txt",
	"explain kernel.all.load filesys.full thermal.fan.speed --archive testdata/mac.txt", "explain filesys.free --archive testdata/long.txt",
	"summary testdata/fleet.txt", "summary testdata/long.txt", "info testdata/mac.txt", "info testdata/long.txt", "metrics --all --archive testdata/mac.txt", "metrics proc --archive testdata/long.txt",
	"why --at 03:12 --archive testdata/mac.txt", "why --archive testdata/fleet.txt", "why --archive testdata/long.txt",
	"version", "ps nosuch --from start --archive testdata/mac.txt", "at 09:10 --archive testdata/fleet.txt",
}

// On a terminal no line is longer than it is wide, whatever that is, and no number is
// cut: those that stand there stand in the answer that has all room, too.
func TestEveryScreenFits(t *testing.T) {
	proof.Unraced(t)
	t.Parallel()
	widths := []int{40, 50, 66, 79, 80, 120, 200}
	if proof.Long() {
		widths = []int{40, 45, 50, 55, 60, 66, 72, 79, 80, 81, 90, 100, 110, 120, 132, 160, 200, 250}
	}
	for _, question := range everyScreen {
		t.Run(question, func(t *testing.T) {
			all := append(numbersOf(screenOf(0, 0, question)), numbersOf(screenOf(1000, 0, question))...)
			for _, width := range widths {
				out := screenOf(width, 200, question)
				for l := range strings.Lines(out) {
					l = strings.TrimSuffix(l, "\n")
					// Command lines are for copying: they are one line.
					if w := human.Width(l); w > width && !strings.HasPrefix(l, "# ") && !strings.HasPrefix(l, "    replay ") {
						t.Errorf("in %d columns %d: %s", width, w, l)
						break
					}
				}
				if fitsItself(question) {
					continue
				}
				for _, n := range numbersOf(out) {
					if !slices.Contains(all, n) {
						t.Errorf("in %d columns there is %s, which is no number of the answer", width, n)
						break
					}
				}
			}
		})
	}
}

// fitsItself reports whether what is computed depends on the width.
func fitsItself(question string) bool { return strings.HasPrefix(question, "plot ") }

var aNumber = regexp.MustCompile(`^[-+]?[0-9][0-9.:,]*(…|~)?$`)

// numbersOf are the words of a text that are numbers, or what was left of them.
func numbersOf(text string) []string {
	var list []string
	for _, w := range strings.Fields(text) {
		if w = strings.Trim(w, "(),;"); aNumber.MatchString(w) {
			// Of an instance the number may be all that is left: then it is whole.
			list = append(list, strings.TrimRight(w, "…~"))
		}
	}
	return list
}

func screenOf(width, height int, line string) string {
	var o, e strings.Builder
	a := newApp(&o, &e, func() time.Time { return testNow })
	a.Open, a.width, a.height = openText, width, height
	if status := a.run(append(words(line), "--utc")); status != 0 && o.Len() == 0 {
		return fmt.Sprint(o.String())
	}
	return o.String()
}

// TestCommandLinesWhereThereIsRoom: ps shows them on wide terminals, cut at their end,
// and what strangers wrote into them does nothing.
func TestCommandLinesWhereThereIsRoom(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		width int
		want  []string
	}{
		{0, nil}, {80, nil}, {109, nil},
		{110, []string{"COMMAND", "java -Xmx512g -XX:+UseG1GC", "…", "/usr/lib/systemd/systemd", `evil \x1b]52;c;ZXZpbA==\x07\n\u202eexe`}},
		{300, []string{"--listen 0.0.0.0:8443 --config /etc/accounting/server.yaml"}},
	} {
		for _, question := range []string{"ps --archive testdata/commands.txt", "ps --tree --at 03:01 --archive testdata/commands.txt"} {
			t.Run(fmt.Sprint(question, " in ", c.width), func(t *testing.T) {
				out := screenOf(c.width, 50, question)
				for _, text := range c.want {
					if !strings.Contains(out, text) {
						t.Errorf("there is no %s in\n%s", text, out)
					}
				}
				if c.want == nil && strings.Contains(out, "COMMAND") || !strings.Contains(out, "kworker") {
					t.Errorf("it shows\n%s", out)
				}
				if strings.ContainsAny(out, "\x1b\x07\u202e") {
					t.Errorf("%q", out)
				}
			})
		}
	}
	for _, question := range []string{"ps --archive testdata/long.txt", "ps --archive testdata/mac.txt"} {
		if out := screenOf(160, 50, question); strings.Contains(out, "COMMAND") != strings.Contains(question, "long") {
			t.Errorf("%s:\n%s", question, out)
		}
	}
}
