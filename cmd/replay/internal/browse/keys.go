package browse

import (
	"strings"
	"time"

	"github.com/gdamore/tcell/v2"
)

// binding says what keys do. The help shows the table of all bindings.
type binding struct {
	keys []string
	help string
	do   func(*app)
}

// group is a group of bindings in the help.
type group struct {
	title    string
	bindings []binding
}

// bindings are all keys except those of prompts and windows.
var bindings []group

func init() {
	bindings = []group{
		{"through time", []binding{
			{[]string{"Right", "l", "t"}, "next sample", func(a *app) { a.step(1) }},
			{[]string{"Left", "h", "T"}, "sample before", func(a *app) { a.step(-1) }},
			{[]string{".", "Shift-Right"}, "a minute on", func(a *app) { a.by(time.Minute) }},
			{[]string{",", "Shift-Left"}, "a minute back", func(a *app) { a.by(-time.Minute) }},
			{[]string{">", "Ctrl-Right"}, "an hour on", func(a *app) { a.by(time.Hour) }},
			{[]string{"<", "Ctrl-Left"}, "an hour back", func(a *app) { a.by(-time.Hour) }},
			{[]string{"}", "Alt-Right"}, "a day on", func(a *app) { a.by(day) }},
			{[]string{"{", "Alt-Left"}, "a day back", func(a *app) { a.by(-day) }},
			{[]string{"0", "Ctrl-Home"}, "first sample", func(a *app) { a.jump(a.first) }},
			{[]string{"$", "Ctrl-End"}, "last sample", func(a *app) { a.jump(a.end) }},
			{[]string{"F"}, "now, and stay with it (--follow)", (*app).now},
			{[]string{"b", "@"}, "type a time", func(a *app) { a.ask(promptTime) }},
		}},
		{"to what matters", []binding{
			{[]string{"e", "]"}, "next event or break", func(a *app) { a.nextMark(true) }},
			{[]string{"E", "["}, "event or break before", func(a *app) { a.nextMark(false) }},
			{[]string{"x"}, "peak of the chosen lane", (*app).peak},
			{[]string{"L"}, "choose the next lane", (*app).nextLane},
			{[]string{"f"}, "find: type a condition", func(a *app) { a.ask(promptCondition) }},
			{[]string{"n"}, "next moment at which it holds", func(a *app) { a.holds(true) }},
			{[]string{"N"}, "the one before", func(a *app) { a.holds(false) }},
			{[]string{"m"}, "mark; at the second, see what differs", (*app).mark},
			{[]string{"u", "Backspace", "Ctrl-O"}, "back to where one was", (*app).goBack},
			{[]string{"U", "Ctrl-R"}, "forward again", (*app).goForward},
		}},
		{"the timeline", []binding{
			{[]string{"z", "+", "="}, "zoom in", func(a *app) { a.zoom(0.5) }},
			{[]string{"Z", "-"}, "zoom out", func(a *app) { a.zoom(2) }},
			{[]string{"w"}, "the whole recording", (*app).wholeTimeline},
		}},
		{"pages", []binding{
			{[]string{"1", "2", "3", "4", "5", "6"}, "system, processes, disks, network, sensors, events", nil},
			{[]string{"Tab"}, "next page", func(a *app) { a.turn(1) }},
			{[]string{"Shift-Tab"}, "page before", func(a *app) { a.turn(-1) }},
			{[]string{"Down", "j"}, "line down", func(a *app) { a.scroll(1) }},
			{[]string{"Up", "k"}, "line up", func(a *app) { a.scroll(-1) }},
			{[]string{"PgDn", "Space", "Ctrl-D"}, "page down", func(a *app) { a.scroll(max(a.tableRows-1, 1)) }},
			{[]string{"PgUp", "Ctrl-U"}, "page up", func(a *app) { a.scroll(-max(a.tableRows-1, 1)) }},
			{[]string{"g", "Home"}, "first line", func(a *app) { a.scroll(-1 << 20) }},
			{[]string{"G", "End"}, "last line", func(a *app) { a.scroll(1 << 20) }},
			{[]string{"Enter"}, "life of the process; its connections; the event", (*app).enter},
			{[]string{"i"}, "connections; on processes: of the chosen one", (*app).chosenConnections},
			{[]string{"P"}, "ports that programs listen on", (*app).showPorts},
			{[]string{"K"}, "stacks: what threads were doing then", (*app).showStacks},
		}},
		{"processes", []binding{
			{[]string{"/"}, "filter: name, user=, app=, cpu>50%", func(a *app) { a.ask(promptFilter) }},
			{[]string{"s"}, "sort by the next column", func(a *app) { a.sortNext(1) }},
			{[]string{"S"}, "sort by the column before", func(a *app) { a.sortNext(-1) }},
			{[]string{"r"}, "the other way round", func(a *app) { a.reverse = !a.reverse }},
			{[]string{"C"}, "sort by cpu", func(a *app) { a.sortBy("cpu") }},
			{[]string{"M"}, "sort by memory", func(a *app) { a.sortBy("memory") }},
			{[]string{"I"}, "sort by what is read", func(a *app) { a.sortBy("read") }},
			{[]string{"O"}, "sort by what is written", func(a *app) { a.sortBy("write") }},
			{[]string{"o"}, "by owner: app, service, container; Enter opens one", (*app).byOwner},
			{[]string{"v", "F5"}, "tree", (*app).asTree},
			{[]string{"p"}, "pin: stays on top, becomes a lane", (*app).pin},
		}},
		{"otherwise", []binding{
			{[]string{"c"}, "the replay command that prints this", (*app).showCommand},
			{[]string{"?", "F1"}, "this help", (*app).showHelp},
			{[]string{"Esc"}, "give up: what is asked, a window, the filter", (*app).escape},
			{[]string{"Ctrl-L"}, "draw anew", func(a *app) { a.needsSync = true }},
			{[]string{"Ctrl-Z"}, "put aside (fg comes back)", nil},
			{[]string{"q", "Ctrl-C"}, "quit", func(a *app) { a.quit = true }},
		}},
	}
	actions = make(map[string]func(*app))
	for _, g := range bindings {
		for _, b := range g.bindings {
			for _, k := range b.keys {
				if b.do != nil {
					actions[k] = b.do
				}
			}
		}
	}
	for i := range pages {
		actions[string(rune('1'+i))] = func(a *app) { a.turnTo(page(i)) }
	}
}

// actions maps the names of keys to what they do.
var actions map[string]func(*app)

// keyNames are the names of keys that are not letters.
var keyNames = map[tcell.Key]string{
	tcell.KeyRight: "Right", tcell.KeyLeft: "Left", tcell.KeyUp: "Up", tcell.KeyDown: "Down",
	tcell.KeyHome: "Home", tcell.KeyEnd: "End", tcell.KeyPgUp: "PgUp", tcell.KeyPgDn: "PgDn",
	tcell.KeyEnter: "Enter", tcell.KeyEsc: "Esc", tcell.KeyTab: "Tab", tcell.KeyBacktab: "Shift-Tab",
	tcell.KeyBackspace: "Backspace", tcell.KeyBackspace2: "Backspace", tcell.KeyDelete: "Delete",
	tcell.KeyF1: "F1", tcell.KeyF5: "F5", tcell.KeyCtrlSpace: "Space",
}

// keyName returns the name of a key in the table.
func keyName(e *tcell.EventKey) string {
	mods := ""
	if e.Modifiers()&tcell.ModAlt != 0 {
		mods += "Alt-"
	}
	if e.Key() == tcell.KeyRune {
		if e.Rune() == ' ' {
			return mods + "Space"
		}
		return mods + string(e.Rune())
	}
	if name, ok := keyNames[e.Key()]; ok {
		if e.Modifiers()&tcell.ModCtrl != 0 && e.Key() != tcell.KeyBackspace && e.Key() != tcell.KeyTab && e.Key() != tcell.KeyEnter && e.Key() != tcell.KeyEsc {
			mods += "Ctrl-"
		}
		if e.Modifiers()&tcell.ModShift != 0 && name != "Shift-Tab" {
			mods += "Shift-"
		}
		return mods + name
	}
	if e.Key() >= tcell.KeyCtrlA && e.Key() <= tcell.KeyCtrlZ {
		return "Ctrl-" + string(rune('A'+e.Key()-tcell.KeyCtrlA))
	}
	return strings.ReplaceAll(e.Name(), "+", "-")
}

// key passes a key press to the prompt, the window on top, or the program.
func (a *app) key(e *tcell.EventKey) {
	name := keyName(e)
	a.said = ""
	switch {
	case name == "Ctrl-C":
		a.quit = true
	case a.prompt != nil:
		a.prompt.key(a, name, e)
	default:
		a.press(name)
	}
}

// press passes a key to the window on top, or to the program.
func (a *app) press(name string) {
	if len(a.overlays) > 0 {
		a.overlayKey(name)
		return
	}
	a.do(name)
}

// do performs the action of a key.
func (a *app) do(name string) {
	if act := actions[name]; act != nil {
		act(a)
		return
	}
	if bare, ok := strings.CutPrefix(name, "Alt-"); ok && actions[bare] != nil {
		// A terminal sends Esc and a key that quickly follows as one.
		a.press("Esc")
		a.press(bare)
		return
	}
	a.tell("nothing is bound to "+name+"; ? shows all keys", false)
}

// escape cancels one thing: the current question, else a filter, else the marks.
func (a *app) escape() {
	switch {
	case a.w.askingLong():
		a.giveUp()
		a.tell("given up", false)
	case a.filter != nil:
		a.filter = nil
	case len(a.marks) > 0:
		a.marks = nil
	default:
		a.tell("q quits", false)
	}
}

// now goes to the end and stays there.
func (a *app) now() {
	if a.engine == nil {
		return
	}
	a.jump(a.end)
	if a.Changed == nil {
		a.tell("this is the end of the recording; with --follow it moves on", false)
	}
}

func (a *app) wholeTimeline() {
	if a.engine != nil {
		a.fit()
	}
}
