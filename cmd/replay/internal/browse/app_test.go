package browse

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tachograph/cmd/internal/visible"
	"tachograph/cmd/replay/internal/moment"
	"tachograph/store/storetest/proof"
)

// A key that is held down moves as far as it was pressed, with an answer or two
// however often that was.
func TestHeldKeyQueuesNothing(t *testing.T) {
	f := newFake(time.Hour)
	r := newRig(t, f, look{width: 80, height: 24})
	f.gate, f.entered = make(chan struct{}), make(chan struct{}, 1)
	before := f.count("At")
	r.press("Left")
	r.draw()
	<-f.entered // It is being answered.
	for range 99 {
		r.press("Left")
		r.draw()
	}
	close(f.gate)
	r.settle()
	if want := at(time.Hour - 100*time.Second); r.a.at != want {
		t.Errorf("100 steps back it is %s", r.a.clock(r.a.at))
	}
	if n := f.count("At") - before; n != 2 {
		t.Errorf("100 presses asked for %d moments, want 2", n)
	}
	// A move that is no step takes the place of those that are pending.
	f.gate, f.entered = make(chan struct{}), make(chan struct{}, 1)
	r.press("Left")
	r.draw()
	<-f.entered
	r.press("Left", "Left", ",")
	r.draw()
	close(f.gate)
	r.settle()
	if want := at(time.Hour - 160*time.Second); r.a.at != want {
		t.Errorf("a minute before that it is %s", r.a.clock(r.a.at))
	}
}

// While something is looked for the screen goes on, says so, and Esc gives up.
func TestSeekIsGivenUp(t *testing.T) {
	f := newFake(time.Hour)
	begun := make(chan struct{})
	f.holds = func(ctx context.Context) (int64, int64, bool, error) {
		close(begun)
		<-ctx.Done()
		return 0, 0, false, ctx.Err()
	}
	r := newRig(t, f, look{width: 80, height: 24})
	r.press("f", "'kernel.all.load > 8'", "Enter")
	r.draw()
	<-begun
	r.a.waited = soon
	r.draw()
	r.need("looking for kernel.all.load > 8 (Esc gives up)")
	f.mu.Lock()
	f.seen = 0.426
	f.mu.Unlock()
	r.a.longBegan = r.a.longBegan.Add(-3 * time.Second)
	r.draw()
	r.need("looking for kernel.all.load > 8, 42 % seen, 3 s so far (Esc gives up)")
	r.press("1")
	r.draw()
	if r.a.page != pageSystem {
		t.Error("the page does not change while something is looked for")
	}
	was := r.a.at
	r.press("Esc")
	r.settle()
	r.need("given up")
	if r.a.at != was {
		t.Error("what was given up moved the cursor")
	}
}

// Who moves does not wait for what is being looked for any more.
func TestMoveGivesUpSeeking(t *testing.T) {
	f := newFake(time.Hour)
	begun := make(chan struct{})
	f.holds = func(ctx context.Context) (int64, int64, bool, error) {
		close(begun)
		<-ctx.Done()
		return f.from, f.from, true, nil
	}
	r := newRig(t, f, look{width: 80, height: 24})
	r.press("f", "'x.y > 8'", "Enter")
	r.draw()
	<-begun
	r.press(",")
	r.settle()
	if want := at(59 * time.Minute); r.a.at != want {
		t.Errorf("a minute back it is %s", r.a.clock(r.a.at))
	}
}

func TestErrorsAreTold(t *testing.T) {
	f := newFake(time.Hour)
	r := newRig(t, f, look{width: 80, height: 24})
	f.fails = "Life"
	r.keys("Enter")
	r.need("Life cannot be answered")
	f.fails = "Holds"
	r.keys("f", "'x.y > 1'", "Enter")
	r.need("Holds cannot be answered")
	f.fails = "At"
	r.keys(",")
	r.need("At cannot be answered")
	f.fails = ""
	r.keys("~")
	r.need("nothing is bound to ~; ? shows all keys")
}

// A panic of the engine becomes one where the terminal is given back.
func TestEnginePanics(t *testing.T) {
	f := newFake(time.Hour)
	r := newRig(t, f, look{width: 80, height: 24})
	f.panics = "At"
	defer func() {
		if p := fmt.Sprint(recover()); !strings.Contains(p, "the engine of the test") || !strings.Contains(p, "fake_test.go") {
			t.Errorf("the panic says %s", p)
		}
	}()
	r.keys(",")
	t.Error("nothing panics")
}

func TestFollow(t *testing.T) {
	f := newFake(time.Hour)
	changed := make(chan struct{}, 1)
	r := newRig(t, f, look{width: 100, height: 24, changed: changed, refresh: func() error { return nil }})
	grow := func(d time.Duration) {
		f.grow(d)
		r.a.refresh()
		r.settle()
	}
	grow(10 * time.Second)
	if want := at(time.Hour + 10*time.Second); r.a.at != want {
		t.Errorf("the cursor stays at %s", r.a.clock(r.a.at))
	}
	r.keys(",")
	grow(5 * time.Second)
	r.need("1m 5s behind (F: now)")
	if want := at(time.Hour - 50*time.Second); r.a.at != want {
		t.Errorf("a cursor in the past went to %s", r.a.clock(r.a.at))
	}
	r.keys("F")
	grow(time.Second)
	if want := at(time.Hour + 16*time.Second); r.a.at != want {
		t.Errorf("after F it is %s", r.a.clock(r.a.at))
	}
	// The clock of the tests is hours later.
	r.need("nothing recorded for")
	// A part of the timeline moves as well.
	r.keys("z", "z", "$")
	span := r.a.to - r.a.from
	grow(time.Minute)
	if r.a.to != at(time.Hour+76*time.Second) || r.a.to-r.a.from != span {
		t.Errorf("the timeline shows %s", r.a.spanText(r.a.from, r.a.to))
	}
}

// Before there is anything the screen says what it waits for, and can be left.
func TestWaiting(t *testing.T) {
	open := make(chan struct{})
	r := waitingRig(t, func(ctx context.Context) (Opened, error) {
		select {
		case <-open:
			return Opened{Engine: newFake(time.Hour), Zone: time.UTC}, nil
		case <-ctx.Done():
			return Opened{}, ctx.Err()
		}
	}, look{width: 80, height: 24})
	r.a.Waiting = "waiting for the first sample in DIR"
	r.draw()
	r.need("waiting for the first sample in DIR")
	// No key does harm.
	for _, g := range bindings {
		for _, b := range g.bindings {
			for _, k := range b.keys {
				if a := actions[k]; a != nil && k != "q" && k != "Ctrl-C" {
					a(r.a)
					r.a.prompt, r.a.overlays = nil, nil
				}
			}
		}
	}
	r.draw()
	close(open)
	r.settle()
	r.keys("2")
	r.need("alpha")
	r.press("q")
	if !r.a.quit {
		t.Error("q does not quit")
	}
}

func TestOpensAPart(t *testing.T) {
	r := waitingRig(t, func(context.Context) (Opened, error) {
		return Opened{Engine: newFake(time.Hour), Zone: time.UTC, From: at(10 * time.Minute), To: at(20 * time.Minute), Note: "this is fake"}, nil
	}, look{width: 80, height: 24})
	r.settle()
	if r.a.from != at(10*time.Minute) || r.a.to != at(20*time.Minute) || r.a.at != r.a.to {
		t.Errorf("it shows %s at %s", r.a.spanText(r.a.from, r.a.to), r.a.clock(r.a.at))
	}
	r.need("this is fake")
}

func TestOpenFails(t *testing.T) {
	r := waitingRig(t, func(context.Context) (Opened, error) { return Opened{}, fmt.Errorf("no archive") }, look{width: 80, height: 24})
	r.settle()
	if !r.a.quit || r.a.quitErr == nil {
		t.Error("it goes on without an archive")
	}
}

// Whatever the size, nothing is drawn that acts, and nothing panics.
func TestAllSizes(t *testing.T) {
	proof.Unraced(t)
	e := linux(t)
	for _, ascii := range []bool{false, true} {
		r := newRig(t, e, look{width: 80, height: 24, at: at(3*time.Hour + 10*time.Minute), ascii: ascii, color: ascii})
		for _, page := range []string{"1", "2", "3", "4", "5", "6", "Enter", "?", "c"} {
			r.keys(page)
			for _, w := range []int{1, 2, 39, 40, 60, 132, 230, 400} {
				for _, h := range []int{1, 9, 10, 11, 24, 100} {
					r.s.SetSize(w, h)
					r.draw() // What it asks for comes later, if at all.
					cells, _, _ := r.s.GetContents()
					for _, c := range cells {
						if i := slices.IndexFunc(c.Runes, func(x rune) bool { return x != 0 && visible.Acts(x) || ascii && x > 0x7e }); i >= 0 {
							t.Fatalf("%dx%d, page %s: %q is drawn", w, h, page, c.Runes)
						}
					}
				}
			}
			r.resize(80, 24)
		}
	}
}

func TestHistory(t *testing.T) {
	r := newRig(t, linux(t), look{width: 80, height: 24})
	r.keys("b", "'01:00'", "Enter", "b", "'02:30'", "Enter", "u", "u")
	if r.a.at != r.a.end {
		t.Errorf("twice back it is %s", r.a.clock(r.a.at))
	}
	r.keys("u")
	r.need("nowhere to go back to")
	r.keys("U", "U")
	if r.a.at != at(150*time.Minute) {
		t.Errorf("twice forward it is %s", r.a.clock(r.a.at))
	}
	r.keys("U")
	r.need("nowhere to go forward to")
}

func TestPins(t *testing.T) {
	r := newRig(t, linux(t), look{width: 100, height: 30, at: at(3*time.Hour + 5*time.Minute)})
	r.keys("/", "'backup'", "Enter", "Down", "p", "Esc", "r")
	row, _ := r.row("* backup")
	if !strings.Contains(row, "900") {
		t.Errorf("pinned is %q", row)
	}
	if rows := names(r.a.rows()); rows[0] != "backup" || rows[len(rows)-1] == "backup" && len(rows) == 1 {
		t.Errorf("rows are %q", rows)
	}
	// It is a lane as well, as long as it lived.
	lane, _ := r.row("backup        ")
	if !strings.HasPrefix(lane, "backup") || !strings.Contains(lane, "█") {
		t.Errorf("its lane is %q", lane)
	}
	// It is there once, and one can go on from it.
	r.keys("Esc", "g", "Down")
	if n := strings.Count(strings.Join(names(r.a.rows()), " "), "backup"); n != 1 || strings.HasSuffix(r.a.lists[pageProcesses].chosen, "/8") {
		t.Errorf("it is there %d times, and below it is %s", n, r.a.lists[pageProcesses].chosen)
	}
	r.keys("Up", "p")
	if len(r.a.pins) != 0 {
		t.Error("it stays pinned")
	}
}

// However much there is, what is listed is bounded, and what is sorted is kept.
func TestVeryMany(t *testing.T) {
	r := newRig(t, newFake(time.Hour), look{width: 100, height: 30, at: at(30 * time.Minute)})
	for i := range 60_000 {
		when := at(time.Duration(i) * time.Hour / 60_000)
		r.a.shownTimeline.Marks = append(r.a.shownTimeline.Marks, moment.Mark{From: when, To: when, Kind: moment.MarkEvent, Text: fmt.Sprint("event ", i)})
	}
	r.a.page = pageEvents
	r.draw()
	if n := len(r.a.lines(pageEvents, 100)); n > mostMarks+10 {
		t.Errorf("%d lines of events", n)
	}
	r.need("event 30000")
	r.keys("G")
	r.need("event 30499")
	many := *r.a.shownMoment
	many.Processes = nil
	for i := range 50_000 {
		many.Processes = append(many.Processes, process(i+1, fmt.Sprint("p", i), float64(i%7)))
	}
	r.a.shownMoment = &many
	r.a.page = pageProcesses
	r.draw()
	first := &r.a.rows()[0]
	r.keys("j", "G")
	if first != &r.a.rows()[0] {
		t.Error("the same rows are arranged anew")
	}
	r.keys("M")
	if first == &r.a.rows()[0] || r.a.rows()[0].p.PID != 50_000 {
		t.Error("rows are not arranged anew by another column")
	}
}

func TestStatusInBreaks(t *testing.T) {
	r := newRig(t, linux(t), look{width: 120, height: 30})
	for text, want := range map[string]string{
		"01:45": "asleep 01:30:05 to 02:00:00; last sample 01:30:00, next 02:00:00",
		"04:05": "off or starting 04:00:00 to 04:10:00; last sample 04:00:00, next 04:10:10",
	} {
		r.keys("b", "'"+text+"'", "Enter")
		r.need(want)
	}
}

func TestCommands(t *testing.T) {
	r := newRig(t, linux(t), look{width: 160, height: 50, at: at(time.Hour)})
	r.keys("1", "c")
	r.need("replay at 2026-11-20T01:00:00Z --archive A")
	r.keys("Esc", "2", "M", "c")
	r.need("replay ps --at 2026-11-20T01:00:00Z --sort memory --archive A")
	r.keys("Esc", "v", "c")
	r.need("--sort memory --tree --archive A")
	r.keys("Esc", "v", "Enter", "c")
	r.need("replay ps 300 --from 2026-11-20T00:00:00Z")
	r.keys("Esc", "Esc", "/", "'init'", "Enter", "c")
	r.need("replay ps *init* --at 2026-11-20T01:00:00Z --sort memory --archive A")
	r.keys("Esc", "m", ",", "m", "c")
	r.need("replay diff 2026-11-20T00:58:45Z..2026-11-20T00:59:14.999999999Z 2026-11-20T00:59:45Z..2026-11-20T01:00:14.999999999Z -n 0 --archive A")
}

// What replay ps cannot choose by is said.
func TestFilterAsPatterns(t *testing.T) {
	for text, want := range map[string]string{
		"":                "[] true",
		"Backup":          "[*Backup*] true",
		"back*":           "[back*] true",
		"/^a b$/":         "[/^a b$/] true",
		"612":             "[*612* 612] true",
		"pid=612":         "[612] true",
		"name = cc1":      "[cc1] true",
		"user=root":       "[] false",
		"pid>600":         "[] false",
		"backup cpu>50%":  "[*backup*] false",
		"!backup":         "[] false",
		"backup name=cc1": "[*backup*] false",
		"name=-x":         "[] false",
	} {
		f, err := parseFilter(text)
		if err != nil {
			t.Fatal(err)
		}
		list, all := f.patterns()
		if got := fmt.Sprint(list, all); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}
