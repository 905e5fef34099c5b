package browse

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gdamore/tcell/v2"

	"tachograph/cmd/replay/internal/moment"
)

func TestMouse(t *testing.T) {
	r := newRig(t, linux(t), look{width: 100, height: 30})
	lane := r.a.timelineRect
	// A click goes there, and one can come back.
	r.click(lane.x+lane.w/2, lane.y+1)
	if d := time.Duration(r.a.at - at(150*time.Minute)).Abs(); d > 3*time.Minute {
		t.Errorf("a click in the middle goes to %s", r.a.clock(r.a.at))
	}
	r.click(lane.x+lane.w-1, lane.y)
	if r.a.at != r.a.last {
		t.Errorf("a click at the end goes to %s", r.a.clock(r.a.at))
	}
	r.click(lane.x, lane.y)
	if r.a.at != r.a.first {
		t.Errorf("a click at the beginning goes to %s", r.a.clock(r.a.at))
	}
	r.keys("u", "u", "u")
	// What is dragged over is zoomed to, and looked into.
	r.mouse(lane.x+10, lane.y, tcell.ButtonPrimary)
	r.mouse(lane.x+20, lane.y+1, tcell.ButtonPrimary)
	r.draw()
	if row := r.looks()[lane.y]; !strings.Contains(row, "RRRRRRRRRR") {
		t.Errorf("what is selected looks like %q", row)
	}
	r.mouse(lane.x+20, lane.y+1, tcell.ButtonNone)
	r.settle()
	if span := time.Duration(r.a.to - r.a.from); r.a.whole || span < 30*time.Minute || span > 50*time.Minute {
		t.Errorf("ten columns zoom to %s", r.a.spanText(r.a.from, r.a.to))
	}
	if r.a.at < r.a.from || r.a.at > r.a.to {
		t.Error("the cursor is not on the timeline")
	}
	// The wheel zooms there, and scrolls elsewhere.
	span := r.a.to - r.a.from
	r.mouse(lane.x+5, lane.y, tcell.WheelUp)
	if r.a.to-r.a.from >= span {
		t.Error("the wheel does not zoom in")
	}
	for range 20 {
		r.mouse(lane.x+5, lane.y, tcell.WheelDown)
	}
	if !r.a.whole {
		t.Error("the wheel does not zoom out to all")
	}
	r.settle()
	_, heads := r.row(" PID ")
	r.mouse(3, heads+2, tcell.WheelDown)
	if r.a.lists[pageProcesses].chosen == "" {
		t.Error("the wheel does not scroll")
	}
	// The head of a column sorts by it, and again the other way round.
	head, _ := r.row(" PID ")
	x := strings.Index(head, "MEMORY")
	r.click(x, heads)
	r.click(x, heads)
	if r.a.sort != "memory" || !r.a.reverse {
		t.Errorf("two clicks sort by %s, reversed %v", r.a.sort, r.a.reverse)
	}
	// A row is chosen, and opened when it is clicked twice.
	row, y := r.row("systemd")
	r.click(5, y)
	if key := r.a.lists[pageProcesses].chosen; !strings.Contains(row, "systemd") || !strings.HasSuffix(key, "/1") {
		t.Errorf("a click chooses %q", key)
	}
	for range 2 {
		r.mouse(5, y, tcell.ButtonPrimary)
		r.mouse(5, y, tcell.ButtonNone)
	}
	r.settle()
	r.need("systemd  pid 1")
	// Behind a window only the timeline is clicked.
	r.click(5, y)
	if r.a.overlay() == nil {
		t.Error("a click beside it closed the window")
	}
	tabs, _ := r.row("1 system")
	r.click(strings.Index(tabs, "5 sensors"), 0)
	if r.a.page != pageSensors || r.a.overlay() != nil {
		t.Error("a click on its title does not show a page")
	}
	r.click(2, lane.y+lane.h-3)
	r.need("chosen: ")
	// The last line can be clicked, too.
	r.keys("2")
	r.need("? help")
	r.click(0, 29)
	r.need("through time")
}

// Every key of the help does something, none does two things, and every prompt and
// window can be left.
func TestBindings(t *testing.T) {
	seen := make(map[string]string)
	for _, g := range bindings {
		for _, b := range g.bindings {
			for _, k := range b.keys {
				if old := seen[k]; old != "" {
					t.Errorf("%s means %q and %q", k, old, b.help)
				}
				seen[k] = b.help
				if actions[k] == nil && k != "Ctrl-Z" {
					t.Errorf("%s does nothing", k)
				}
			}
		}
	}
	r := newRig(t, linux(t), look{width: 160, height: 70})
	r.keys("?")
	for _, g := range bindings {
		for _, b := range g.bindings {
			r.need(b.help)
		}
	}
	for _, h := range hints {
		if h[2] != "" && actions[h[2]] == nil {
			t.Errorf("the last line names %s, which does nothing", h[2])
		}
	}
}

func TestKeyNames(t *testing.T) {
	for _, c := range []struct {
		e    *tcell.EventKey
		want string
	}{
		{tcell.NewEventKey(tcell.KeyRune, 'x', 0), "x"},
		{tcell.NewEventKey(tcell.KeyRune, ' ', 0), "Space"},
		{tcell.NewEventKey(tcell.KeyRune, 'e', tcell.ModAlt), "Alt-e"},
		{tcell.NewEventKey(tcell.KeyLeft, 0, tcell.ModShift), "Shift-Left"},
		{tcell.NewEventKey(tcell.KeyRight, 0, tcell.ModCtrl), "Ctrl-Right"},
		{tcell.NewEventKey(tcell.KeyLeft, 0, tcell.ModAlt), "Alt-Left"},
		{tcell.NewEventKey(tcell.KeyCtrlO, 0, tcell.ModCtrl), "Ctrl-O"},
		{tcell.NewEventKey(tcell.KeyBackspace, 0, tcell.ModCtrl), "Backspace"},
		{tcell.NewEventKey(tcell.KeyBackspace2, 0, 0), "Backspace"},
		{tcell.NewEventKey(tcell.KeyTab, 0, tcell.ModCtrl), "Tab"},
		{tcell.NewEventKey(tcell.KeyBacktab, 0, tcell.ModShift), "Shift-Tab"},
		{tcell.NewEventKey(tcell.KeyEsc, 0, tcell.ModCtrl), "Esc"},
	} {
		if got := keyName(c.e); got != c.want {
			t.Errorf("%s is called %q, want %q", c.e.Name(), got, c.want)
		}
	}
	// Esc and a key that follow each other quickly come as one.
	r := newRig(t, newFake(time.Hour), look{width: 80, height: 24})
	r.keys("?")
	r.send(tcell.NewEventKey(tcell.KeyRune, '1', tcell.ModAlt))
	if r.a.overlay() != nil || r.a.page != pageSystem {
		t.Error("Alt-1 is not Esc and 1")
	}
}

func TestPromptEdits(t *testing.T) {
	r := newRig(t, newFake(time.Hour), look{width: 80, height: 24})
	r.keys("/", "'ab cd cafe\u0301'", "Backspace")
	if got := r.a.prompt.text; got != "ab cd caf" {
		t.Errorf("a letter of two runes leaves %q", got)
	}
	r.keys("Ctrl-W", "'x'", "Home", "Delete", "Right", "'y'")
	if got := r.a.prompt.text; got != "by cd x" {
		t.Errorf("edited it is %q", got)
	}
	r.keys("Ctrl-K", "Ctrl-U", "'alp'", "Enter")
	if rows := names(r.a.rows()); !slices.Equal(rows, []string{"alpha"}) {
		t.Errorf("the filter leaves %q", rows)
	}
	// What was typed before comes back; an error stays to be mended.
	r.keys("/", "Ctrl-U", "'cpu>'", "Enter")
	r.need("a comparison is written as in cpu>50%")
	r.keys("Up")
	if got := r.a.prompt.text; got != "alp" {
		t.Errorf("Up brings back %q", got)
	}
	r.keys("Esc", "Esc")
	if len(names(r.a.rows())) != 3 {
		t.Error("Esc does not take the filter away")
	}
	// A long line shows the part that is being typed.
	r.keys("b", "'"+strings.Repeat("long ", 40)+"end'")
	r.need("long end")
	r.keys("Enter")
	r.need("is not a time")
}

func TestFilters(t *testing.T) {
	list := []*moment.Process{process(10, "backup", 0.9), process(20, "postgres: writer", 0.2), process(301, "Safari", 0)}
	list[1].User, list[1].Command = "pg", "/usr/lib/postgres -D /srv"
	for text, want := range map[string]string{
		"":                      "backup,postgres: writer,Safari",
		"saf":                   "Safari",
		"SRV":                   "postgres: writer",
		"back*":                 "backup",
		"/^[bS]/":               "backup,Safari",
		"!/^[bS]/":              "postgres: writer",
		"user=pg":               "postgres: writer",
		"user!=pg":              "backup,Safari",
		"user:root cpu>50%":     "backup",
		"cpu >= 20%":            "backup,postgres: writer",
		"cpu> 20":               "backup",
		"memory >10MB":          "postgres: writer,Safari",
		"memory=10MB":           "backup",
		"! memory<20MB cpu<=20": "postgres: writer,Safari",
		"pid=20":                "postgres: writer",
		"301":                   "Safari",
		"name=Safari":           "Safari",
		"read>0":                "", // What is not known is not more.
		"/writer$/ cpu<50%":     "postgres: writer",
	} {
		f, err := parseFilter(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		var got []string
		for _, p := range list {
			if f.accepts(p) {
				got = append(got, p.Name)
			}
		}
		if strings.Join(got, ",") != want {
			t.Errorf("%q accepts %q, want %s", text, got, want)
		}
	}
	for text, want := range map[string]string{
		"cpu>x":      `cpu: "x" is not a value of it (write 50%)`,
		"cpu>":       "cpu>: a comparison is written as in cpu>50%",
		"cpoo>1":     "cpoo is no field of a process; did you mean cpu?",
		"/abc":       `"/abc": a regular expression ends with a slash`,
		"user>root":  "user>root: user is compared with = and !=",
		"threads>1k": `threads: "1k" is not a value of it (write 100)`,
		"age>old":    `age: "old" is not a value of it (write 10m)`,
		"!":          "! stands before a word",
	} {
		if _, err := parseFilter(text); err == nil || !strings.HasPrefix(err.Error(), strings.TrimSuffix(want, "; did you mean cpu?")) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func TestConditions(t *testing.T) {
	for text, want := range map[string]string{
		"backup":              "proc.memory.rss[*backup*] >= 0B",
		"/^pg/ cpu>50%":       "rate(proc.psinfo.utime[/^pg/]) + rate(proc.psinfo.stime[/^pg/]) > 0.5",
		"name=gzip write>1MB": "rate(proc.io.write_bytes[gzip]) > 1.048576e+06B/s",
		"threads >= 10":       "proc.psinfo.threads >= 10",
		"gzip faults>100":     "rate(proc.psinfo.minflt[*gzip*]) > 100",
	} {
		if got, err := conditionOf(text, "linux"); err != nil || got != want {
			t.Errorf("%q becomes %q (%v), want %q", text, got, err, want)
		}
	}
	if got, err := conditionOf("memory>1GB", "macos"); err != nil || !strings.HasPrefix(got, "proc.memory.footprint > ") {
		t.Errorf("on a Mac it is %q (%v)", got, err)
	}
	for _, text := range []string{"", "!x", "a b", "user=root", "a[b]", "cpu>x", "/x"} {
		if got, err := conditionOf(text, "linux"); err == nil {
			t.Errorf("%q becomes %q", text, got)
		}
	}
}

func FuzzFilter(f *testing.F) {
	for _, s := range []string{"cpu>50% user=root", "/a b/ !x", "memory >= 1GB", "! /x/", "=", "a!=b", "age<1m"} {
		f.Add(s)
	}
	p := process(10, "backup", 0.9)
	f.Fuzz(func(t *testing.T, s string) {
		if len(s) > 1000 {
			return
		}
		if flt, err := parseFilter(s); err == nil {
			_ = flt.accepts(p)
		}
		_, _ = conditionOf(s, "linux")
	})
}

func TestTicks(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		from, to string
		columns  int
		zone     *time.Location
		want     string
	}{
		{"2026-11-20T03:00:07Z", "2026-11-20T03:01:00Z", 60, time.UTC, "03:00:15 03:00:30 03:00:45 03:01:00"},
		{"2026-11-20T00:00:00Z", "2026-11-21T00:00:00Z", 56, time.UTC, "Nov 20 06:00 12:00 18:00 Nov 21"},
		{"2026-11-01T00:00:00Z", "2026-12-01T00:00:00Z", 60, time.UTC, "Nov 1 Nov 6 Nov 11 Nov 16 Nov 21 Nov 26 Dec 1"},
		// The night in which the clock goes back, and the one in which it goes on.
		{"2026-10-24T22:00:00Z", "2026-10-25T06:00:00Z", 80, berlin, "Oct 25 01:00 02:00 02:00 03:00 04:00 05:00 06:00 07:00"},
		{"2026-03-28T23:00:00Z", "2026-03-29T05:00:00Z", 80, berlin, "Mar 29 01:00 03:00 04:00 05:00 06:00 07:00"},
	} {
		from, _ := time.Parse(time.RFC3339, c.from)
		to, _ := time.Parse(time.RFC3339, c.to)
		var got []string
		for _, k := range ticks(from.UnixNano(), to.UnixNano(), c.columns, c.zone) {
			got = append(got, k.label)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("from %s to %s: %q, want %s", c.from, c.to, got, c.want)
		}
	}
	if got := ticks(0, math.MaxInt64, 80, time.UTC); len(got) > 80 {
		t.Errorf("%d ticks on 80 columns", len(got))
	}
}
