package browse

import (
	"context"
	"strings"

	"github.com/gdamore/tcell/v2"
	"github.com/rivo/uniseg"

	"tachograph/cmd/internal/visible"
	"tachograph/cmd/internal/when"
	"tachograph/cmd/replay/internal/human"
)

// question is what a prompt asks for.
type question struct {
	label, hint string
	// begin returns the initial text. take uses the answer: if it returns an error, the prompt
	// shows it and stays.
	begin func(*app) string
	take  func(*app, string) error
	// asks says that take is called where the engine is used, and that the prompt stays until it
	// returns.
	asks bool
}

// The questions of prompts. Using an answer may lead to another prompt.
var promptTime, promptFilter, promptCondition *question

func init() {
	promptTime = &question{
		label: "go to: ",
		hint:  when.Forms,
		begin: func(*app) string { return "" },
		take:  (*app).goToText,
		asks:  true,
	}
	promptFilter = &question{
		label: "show processes: ",
		hint:  filterForms,
		begin: func(a *app) string {
			if a.filter == nil {
				return ""
			}
			return a.filter.text
		},
		take: func(a *app, text string) error {
			f, err := parseFilter(text)
			if err != nil {
				return err
			}
			a.filter = f
			a.lists[pageProcesses].top = 0
			return nil
		},
	}
	promptCondition = &question{
		label: "find when: ",
		hint:  "a condition, such as kernel.all.load > 8 or mem.util.available < 1GB; a filter of processes, such as name=backup cpu>50%",
		begin: func(a *app) string { return a.condition },
		take: func(a *app, text string) error {
			a.condition = strings.TrimSpace(text)
			if a.condition != "" {
				a.holds(true)
			}
			return nil
		},
	}
}

// goToText goes to a time that the user typed.
func (a *app) goToText(text string) error {
	p, from := a.prompt, a.at
	if strings.TrimSpace(text) == "" || a.engine == nil {
		a.prompt = nil
		return nil
	}
	a.w.ask(askSeek, "", func(context.Context) func() {
		at, err := a.Parse(text, from)
		return func() {
			switch {
			case err != nil && a.prompt == p:
				p.wrong = err.Error()
				return
			case err != nil:
				return // It was cancelled.
			}
			if a.prompt == p {
				a.prompt = nil
			}
			a.jump(at)
			a.tellOutside(at)
		}
	})
	return nil
}

// tellOutside says so if the requested instant is outside the recording.
func (a *app) tellOutside(at int64) {
	switch {
	case at < a.first:
		a.tell(a.clock(at)+" is before the recording: this is its first sample", false)
	case at > a.last:
		a.tell(a.clock(at)+" is after the recording: this is its last sample", false)
	}
}

// A prompt is a line to type in.
type prompt struct {
	*question
	text   string
	cursor int // in bytes
	wrong  string
	recall int // index in the earlier answers of the one shown
	// offered says that the user has not typed or moved yet: the first typed letter replaces the
	// text, and a cursor key or Enter keeps it.
	offered bool
}

// ask opens a prompt.
func (a *app) ask(q *question) {
	text := q.begin(a)
	a.prompt = &prompt{question: q, text: text, cursor: len(text), recall: len(a.typed[q]), offered: text != ""}
}

// longestTyped is how much the user can type, in bytes.
const longestTyped = 1000

// key handles a key press.
func (p *prompt) key(a *app, name string, e *tcell.EventKey) {
	p.wrong = ""
	typed := e.Key() == tcell.KeyRune && e.Modifiers()&(tcell.ModAlt|tcell.ModCtrl) == 0
	if p.offered && (typed || name == "Backspace" || name == "Delete") {
		p.text, p.cursor = "", 0
	}
	p.offered = false
	switch name {
	case "Esc":
		a.prompt = nil
	case "Enter":
		if err := p.take(a, p.text); err != nil {
			p.wrong = err.Error()
			return
		}
		if list := a.typed[p.question]; p.text != "" && (len(list) == 0 || list[len(list)-1] != p.text) {
			if a.typed == nil {
				a.typed = make(map[*question][]string)
			}
			a.typed[p.question] = append(list, p.text)
		}
		if a.prompt == p && !p.asks {
			a.prompt = nil
		}
	case "Backspace":
		n := lastLetter(p.text[:p.cursor])
		p.text, p.cursor = p.text[:p.cursor-n]+p.text[p.cursor:], p.cursor-n
	case "Delete", "Ctrl-D":
		n := firstLetter(p.text[p.cursor:])
		p.text = p.text[:p.cursor] + p.text[p.cursor+n:]
	case "Left", "Ctrl-B":
		p.cursor -= lastLetter(p.text[:p.cursor])
	case "Right", "Ctrl-F":
		p.cursor += firstLetter(p.text[p.cursor:])
	case "Home", "Ctrl-A":
		p.cursor = 0
	case "End", "Ctrl-E":
		p.cursor = len(p.text)
	case "Ctrl-U":
		p.text, p.cursor = p.text[p.cursor:], 0
	case "Ctrl-K":
		p.text = p.text[:p.cursor]
	case "Ctrl-W":
		head := strings.TrimRight(p.text[:p.cursor], " ")
		head = head[:strings.LastIndex(head, " ")+1]
		p.text, p.cursor = head+p.text[p.cursor:], len(head)
	case "Up", "Ctrl-P":
		p.again(a, -1)
	case "Down", "Ctrl-N":
		p.again(a, 1)
	default:
		if typed && len(p.text) < longestTyped {
			s := string(e.Rune())
			p.text, p.cursor = p.text[:p.cursor]+s+p.text[p.cursor:], p.cursor+len(s)
		}
	}
}

// again brings back an earlier answer.
func (p *prompt) again(a *app, by int) {
	list := a.typed[p.question]
	if p.recall += by; p.recall < 0 {
		p.recall = 0
	}
	if p.recall >= len(list) {
		p.recall, p.text = len(list), ""
	} else {
		p.text = list[p.recall]
	}
	p.cursor = len(p.text)
}

// firstLetter returns how many bytes the first letter of s takes.
func firstLetter(s string) int {
	letter, _, _, _ := uniseg.FirstGraphemeClusterInString(s, -1)
	return len(letter)
}

// lastLetter returns how many bytes the last letter of s takes.
func lastLetter(s string) int {
	n, state := 0, -1
	for s != "" {
		var letter string
		letter, s, _, state = uniseg.FirstGraphemeClusterInString(s, state)
		n = len(letter)
	}
	return n
}

// draw draws the prompt and, above it, the hint or the error.
func (p *prompt) draw(a *app, line rect) {
	c := a.c
	c.fill(line, c.theme.plain)
	n := c.text(line.x, line.y, line.w, p.label, c.theme.head)
	room := max(line.w-n-1, 1)
	before := visible.Text(p.text[:p.cursor])
	// If the text is too long, the part before the cursor is shown.
	for human.Width(before) > room {
		before = before[firstLetter(before):]
	}
	shown := before + visible.Text(p.text[p.cursor:])
	st := c.theme.plain
	if p.offered {
		st = c.theme.chosen
	}
	c.text(line.x+n, line.y, room, shown, st)
	c.ShowCursor(line.x+n+human.Width(before), line.y)
	hint := p.hint
	st = c.theme.faint
	if p.wrong != "" {
		hint, st = p.wrong, c.theme.alarm
	}
	lines := human.Wrap(visible.Text(strings.ReplaceAll(hint, "\n", " ")), max(line.w, 10))
	lines = lines[:min(len(lines), 3)]
	for i, text := range lines {
		y := line.y - len(lines) + i
		if y < 0 {
			continue
		}
		c.padded(line.x, y, line.w, text, false, st)
	}
}
