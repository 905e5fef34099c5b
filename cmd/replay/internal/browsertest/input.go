package browsertest

import "strings"

// Move moves the mouse.
func (p *Page) Move(x, y float64) {
	p.b.t.Helper()
	p.mouse("mouseMoved", x, y, 0, 0)
}

// Click clicks, the given number of times.
func (p *Page) Click(x, y float64, times int) {
	p.b.t.Helper()
	p.mouse("mouseMoved", x, y, 0, 0)
	for i := range times {
		p.mouse("mousePressed", x, y, 1, i+1)
		p.mouse("mouseReleased", x, y, 0, i+1)
	}
}

// Drag drags from one place to another.
func (p *Page) Drag(x0, y0, x1, y1 float64) {
	p.b.t.Helper()
	p.mouse("mouseMoved", x0, y0, 0, 0)
	p.mouse("mousePressed", x0, y0, 1, 1)
	for i := 1.0; i <= 8; i++ {
		p.mouse("mouseMoved", x0+float64((x1-x0)*(i/8)), y0+float64((y1-y0)*(i/8)), 1, 0)
	}
	p.mouse("mouseReleased", x1, y1, 0, 1)
}

func (p *Page) mouse(kind string, x, y float64, buttons, clicks int) {
	p.b.t.Helper()
	button := "none"
	if buttons != 0 || kind == "mouseReleased" {
		button = "left"
	}
	p.Call("Input.dispatchMouseEvent", map[string]any{"type": kind, "x": x, "y": y, "button": button, "buttons": buttons, "clickCount": clicks}, nil)
}

// A Box is the position and size of an element in the window.
type Box struct{ X, Y, Width, Height float64 }

// Box scrolls to the element of a CSS selector, and returns where it is.
func (p *Page) Box(selector string) Box {
	p.b.t.Helper()
	var b Box
	p.Eval(`(() => { const e = document.querySelector(`+Quote(selector)+`)
		if (!e) throw new Error("the page has no " + `+Quote(selector)+`)
		e.scrollIntoView({block: "center", behavior: "instant"})
		const r = e.getBoundingClientRect()
		return {x: r.x, y: r.y, width: r.width, height: r.height} })()`, &b)
	return b
}

// ClickOn clicks in the middle of an element.
func (p *Page) ClickOn(selector string) {
	p.b.t.Helper()
	b := p.Box(selector)
	p.Click(b.X+float64(b.Width/2), b.Y+float64(b.Height/2), 1)
}

// codes are the virtual key codes of keys that produce no text.
var codes = map[string]int{"Tab": 9, "Enter": 13, "Escape": 27, " ": 32, "PageUp": 33, "PageDown": 34, "End": 35, "Home": 36,
	"ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "Backspace": 8, "Delete": 46}

// Key presses a key, with the name that KeyboardEvent.key has for it. "Shift+" and "Control+"
// before it hold these keys.
func (p *Page) Key(key string) {
	p.b.t.Helper()
	modifiers := 0
	if rest, ok := strings.CutPrefix(key, "Control+"); ok {
		key, modifiers = rest, modifiers|2
	}
	if rest, ok := strings.CutPrefix(key, "Shift+"); ok {
		key, modifiers = rest, modifiers|8
	}
	event := map[string]any{"type": "keyDown", "key": key, "modifiers": modifiers}
	if code := codes[key]; code != 0 {
		event["windowsVirtualKeyCode"], event["code"] = code, key
	}
	switch {
	case key == "Enter":
		event["text"] = "\r"
	case len([]rune(key)) == 1 && modifiers&2 == 0:
		event["text"] = key
	}
	p.Call("Input.dispatchKeyEvent", event, nil)
	event["type"] = "keyUp"
	delete(event, "text")
	p.Call("Input.dispatchKeyEvent", event, nil)
}

// Type types a text.
func (p *Page) Type(text string) {
	p.b.t.Helper()
	p.Call("Input.insertText", map[string]any{"text": text}, nil)
}

// Quote returns a text as a JavaScript literal.
func Quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
