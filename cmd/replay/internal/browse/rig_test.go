package browse

import (
	"context"
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gdamore/tcell/v2"

	"tachograph/cmd/internal/when"
	"tachograph/cmd/replay/internal/human"
	"tachograph/cmd/replay/internal/moment"
	"tachograph/store/query"
	"tachograph/store/query/querytest"
)

var update = flag.Bool("update", false, "write the golden files anew")

// rig is the program on a simulated screen.
type rig struct {
	t testing.TB
	a *app
	s tcell.SimulationScreen
}

// look says how a test looks at something.
type look struct {
	width, height int
	color, ascii  bool
	at            int64
	changed       chan struct{}
	refresh       func() error
}

// recordingOf opens a description of an archive.
func recordingOf(t testing.TB, path string) Engine {
	t.Helper()
	parts, err := querytest.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	r, err := moment.Open(querytest.New(parts...), "", nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// newRig begins to look at what an engine tells, and waits until it is shown.
func newRig(t testing.TB, e Engine, l look) *rig {
	t.Helper()
	r := waitingRig(t, func(context.Context) (Opened, error) { return Opened{Engine: e, Zone: time.UTC, At: l.at}, nil }, l)
	r.settle()
	return r
}

// waitingRig begins to look at what is still to be opened.
func waitingRig(t testing.TB, open func(context.Context) (Opened, error), l look) *rig {
	t.Helper()
	s := tcell.NewSimulationScreen("UTF-8")
	if err := s.Init(); err != nil {
		t.Fatal(err)
	}
	s.SetSize(l.width, l.height)
	opt := Options{
		Open: open, ASCII: l.ascii, Color: l.color,
		Now: func() time.Time { return time.Date(2026, 11, 20, 4, 0, 0, 0, time.UTC) },
		Parse: func(text string, at int64) (int64, error) {
			ref := when.Reference{Now: dawn.Add(48 * time.Hour), Zone: time.UTC, Start: dawn, End: dawn.Add(5 * time.Hour)}
			t, err := ref.Beside(text, time.Unix(0, at))
			return t.UnixNano(), err
		},
		Sentence: func(c *query.Change) string {
			return fmt.Sprintf("%s %s: %s, then %s", c.Kind, c.Subject, human.Figures(c.Before), human.Figures(c.After))
		},
		Command: func(args ...string) string { return "replay " + strings.Join(args, " ") + " --archive A" },
		Refresh: l.refresh,
	}
	if l.changed != nil {
		opt.Changed = l.changed
	}
	a := newApp(opt, &canvas{Screen: s, ascii: l.ascii, theme: newTheme(l.color)})
	r := &rig{t, a, s}
	t.Cleanup(func() { a.w.close(time.Minute); s.Fini() })
	return r
}

// settle draws until there is nothing left to be asked.
func (r *rig) settle() {
	r.t.Helper()
	for {
		r.a.draw()
		r.a.want()
		if _, busy := r.a.w.busy(); !busy {
			break
		}
		(<-r.a.w.answers)()
	}
	r.a.c.Show()
}

// draw draws what there is now, whatever is still being asked.
func (r *rig) draw() {
	r.a.draw()
	r.a.want()
	r.a.c.Show()
}

var namedKeys = map[string]tcell.Key{
	"Right": tcell.KeyRight, "Left": tcell.KeyLeft, "Up": tcell.KeyUp, "Down": tcell.KeyDown, "Home": tcell.KeyHome, "End": tcell.KeyEnd,
	"PgUp": tcell.KeyPgUp, "PgDn": tcell.KeyPgDn, "Enter": tcell.KeyEnter, "Esc": tcell.KeyEsc, "Tab": tcell.KeyTab, "Shift-Tab": tcell.KeyBacktab,
	"Backspace": tcell.KeyBackspace2, "Delete": tcell.KeyDelete, "F1": tcell.KeyF1, "F5": tcell.KeyF5,
	"Ctrl-C": tcell.KeyCtrlC, "Ctrl-O": tcell.KeyCtrlO, "Ctrl-R": tcell.KeyCtrlR, "Ctrl-U": tcell.KeyCtrlU, "Ctrl-W": tcell.KeyCtrlW, "Ctrl-L": tcell.KeyCtrlL,
	"Ctrl-D": tcell.KeyCtrlD, "Ctrl-A": tcell.KeyCtrlA, "Ctrl-E": tcell.KeyCtrlE, "Ctrl-K": tcell.KeyCtrlK,
}

// press presses keys, by their names, without waiting for anything; 'text' types it.
func (r *rig) press(keys ...string) {
	r.t.Helper()
	for _, k := range keys {
		if text, ok := strings.CutPrefix(k, "'"); ok {
			for _, c := range strings.TrimSuffix(text, "'") {
				r.send(tcell.NewEventKey(tcell.KeyRune, c, 0))
			}
			continue
		}
		var mods tcell.ModMask
		name := k
		for prefix, mod := range map[string]tcell.ModMask{"Shift-": tcell.ModShift, "Ctrl-": tcell.ModCtrl, "Alt-": tcell.ModAlt} {
			if bare, ok := strings.CutPrefix(name, prefix); ok && namedKeys[name] == 0 && namedKeys[bare] != 0 {
				name, mods = bare, mod
			}
		}
		switch key, named := namedKeys[name]; {
		case named:
			r.send(tcell.NewEventKey(key, 0, mods))
		case len([]rune(k)) == 1:
			r.send(tcell.NewEventKey(tcell.KeyRune, []rune(k)[0], 0))
		default:
			r.t.Fatalf("there is no key %q", k)
		}
	}
}

// keys presses keys, waiting after each until all is shown.
func (r *rig) keys(keys ...string) {
	r.t.Helper()
	for _, k := range keys {
		r.press(k)
		r.settle()
	}
}

func (r *rig) send(e tcell.Event) {
	r.t.Helper()
	if err := r.a.event(e); err != nil {
		r.t.Fatal(err)
	}
}

// mouse moves and presses the mouse.
func (r *rig) mouse(x, y int, buttons tcell.ButtonMask) {
	r.t.Helper()
	r.send(tcell.NewEventMouse(x, y, buttons, 0))
}

// click clicks once.
func (r *rig) click(x, y int) {
	r.t.Helper()
	r.a.lastClick = click{}
	r.mouse(x, y, tcell.ButtonPrimary)
	r.mouse(x, y, tcell.ButtonNone)
	r.settle()
}

// resize makes the screen another size.
func (r *rig) resize(width, height int) {
	r.s.SetSize(width, height)
	r.send(tcell.NewEventResize(width, height))
	r.settle()
}

// rows are what stands on the screen.
func (r *rig) rows() []string {
	cells, w, h := r.s.GetContents()
	var out []string
	for y := range h {
		var b strings.Builder
		for x := 0; x < w; {
			c := cells[y*w+x]
			text := string(c.Runes)
			if text == "" || text == "\x00" {
				text = " "
			}
			b.WriteString(text)
			x += max(human.Width(text), 1)
		}
		out = append(out, strings.TrimRight(b.String(), " "))
	}
	return out
}

// row is the line of the screen that holds a text, and its number.
func (r *rig) row(text string) (string, int) {
	r.t.Helper()
	for i, s := range r.rows() {
		if strings.Contains(s, text) {
			return s, i
		}
	}
	r.t.Fatalf("nowhere on the screen stands %q:\n%s", text, strings.Join(r.rows(), "\n"))
	return "", 0
}

// need fails unless a text stands on the screen.
func (r *rig) need(texts ...string) {
	r.t.Helper()
	for _, s := range texts {
		r.row(s)
	}
}

// looks are how the screen looks, cell by cell, a letter for each style: bold,
// faint, underlined, reversed as a capital; a digit for a colour.
func (r *rig) looks() []string {
	cells, w, h := r.s.GetContents()
	var out []string
	for y := range h {
		line := make([]byte, w)
		for x := range w {
			fg, _, attr := cells[y*w+x].Style.Decompose()
			c := byte('.')
			switch {
			case fg != tcell.ColorDefault:
				c = byte('0' + (fg - tcell.ColorBlack))
			case attr&tcell.AttrBold != 0:
				c = 'b'
			case attr&tcell.AttrDim != 0:
				c = 'f'
			}
			if attr&tcell.AttrReverse != 0 {
				c = map[byte]byte{'.': 'R', 'b': 'B', 'f': 'F'}[c]
				if c == 0 {
					c = 'C'
				}
			}
			line[x] = c
		}
		out = append(out, strings.TrimRight(string(line), "."))
	}
	return out
}
