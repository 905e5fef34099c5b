package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"tachograph/cmd/replay/internal/browsertest"
	"tachograph/store/storetest/proof"
	"tachograph/testdata/patience"
)

// shotsEnv names a directory into which TestPageLooks puts pictures of the page, to be
// looked at.
const shotsEnv = "TACHO_SHOTS"

// contrasts lists texts that stand out too little from what is behind them, and lines of
// plots, by the rules of WCAG 2.2 AA: 4.5 to 1, 3 to 1 for large texts and for lines.
const contrasts = `(() => {
	const parse = s => { const m = s.match(/[\d.]+/g).map(Number); return m.length < 4 ? [...m, 1] : m }
	const over = (a, b) => a.slice(0, 3).map((x, i) => x * a[3] + b[i] * (1 - a[3])).concat(1)
	const light = c => { const [r, g, b] = c.slice(0, 3).map(x => (x /= 255) <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b }
	const ratio = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05) }
	const behind = e => { let c = [0, 0, 0, 0]
		for (; e; e = e.parentElement) { const b = parse(getComputedStyle(e).backgroundColor); if (b[3] > 0) { c = c[3] ? over(c, b) : b; if (c[3] == 1) return c } }
		return over(c, [255, 255, 255, 1]) }
	const bad = new Map()
	const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
	for (let n; n = walk.nextNode();) {
		const e = n.parentElement
		if (!n.data.trim() || !e.checkVisibility() || e.closest(".hidden, .skip, script, style, noscript, button:disabled, option, #data")) continue
		const s = getComputedStyle(e), size = parseFloat(s.fontSize), ground = behind(e)
		const need = size >= 24 || size >= 18.66 && s.fontWeight >= 700 ? 3 : 4.5, r = ratio(over(parse(s.color), ground), ground)
		if (r < need) bad.set(s.color + " on " + ground, r.toFixed(2) + ": " + s.color + " on " + ground + ", " + n.data.trim().slice(0, 40))
	}
	const root = getComputedStyle(document.documentElement), probe = document.createElement("i")
	document.body.append(probe)
	const colour = name => { probe.style.color = root.getPropertyValue(name); return parse(getComputedStyle(probe).color) }
	for (const name of [0, 1, 2, 3, 4, 5, 6, 7, 8, 9].map(i => "--series" + i).concat("--grave", "--mark", "--accent")) {
		const r = ratio(colour(name), colour("--ground"))
		if (r < 3) bad.set(name, r.toFixed(2) + ": " + name)
	}
	probe.remove()
	return [...bad.values()] })()`

// misfits lists what does not fit: parts that are wider than the window, and texts that
// are cut or lie over each other.
const misfits = `(() => {
	const bad = [], seen = e => e.checkVisibility() && !e.closest(".hidden, .skip, .scroll, .legend, noscript, pre"), say = e => e.localName + "." + e.className + " " + e.textContent.trim().slice(0, 60)
	for (const e of document.querySelectorAll("#page *, #live *")) {
		if (!seen(e) || e.closest(".u-wrap")) continue
		const r = e.getBoundingClientRect()
		if (r.width && r.right > document.documentElement.clientWidth + 1) bad.push("beyond the window by " + (r.right - document.documentElement.clientWidth).toFixed() + ": " + say(e))
	}
	const leaves = [...document.querySelectorAll("h1, h2, h3, figcaption *, .bar button, .where, .facts div, p, li, #live input, #live button, #live select, .state")].filter(e => seen(e) && !e.closest("footer") && e.textContent.trim())
	for (let i = 0; i < leaves.length; i++) for (let k = i + 1; k < leaves.length; k++) {
		const a = leaves[i], b = leaves[k]
		if (a.contains(b) || b.contains(a) || a.closest(".bar") != b.closest(".bar")) continue
		const p = a.getBoundingClientRect(), q = b.getBoundingClientRect()
		if (Math.min(p.right, q.right) - Math.max(p.left, q.left) > 2 && Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top) > 2) bad.push(say(a) + " lies over " + say(b))
	}
	return bad.slice(0, 10) })()`

// looks checks how a page looks, and takes its picture.
func looks(t *testing.T, p *browsertest.Page, name string) {
	t.Helper()
	p.Eval(frames, nil)
	for what, expression := range map[string]string{"contrast": contrasts, "fit": misfits} {
		var bad []string
		p.Eval(expression, &bad)
		for _, b := range bad {
			t.Errorf("%s: %s: %s", name, what, b)
		}
	}
	keepShot(t, name+".png", func() []byte { return p.Screenshot(true) })
}

func keepShot(t *testing.T, name string, shot func() []byte) {
	t.Helper()
	if dir := os.Getenv(shotsEnv); dir != "" {
		if err := os.WriteFile(filepath.Join(dir, name), shot(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// The page can be read on a wide screen and on a phone, light and dark, and printed:
// nothing is cut, lies over something else or has too little contrast.
func TestPageLooks(t *testing.T) {
	t.Parallel()
	_, p := openReport(t, openText, "testdata/mac.txt")
	for _, size := range []struct {
		name          string
		width, height int
		phone         bool
	}{{"wide", 1400, 1000, false}, {"half", 800, 900, false}, {"phone", 390, 844, true}} {
		for _, scheme := range []string{"light", "dark"} {
			p.Viewport(size.width, size.height, size.phone)
			p.Looks("", map[string]string{"prefers-color-scheme": scheme})
			looks(t, p, size.name+"-"+scheme)
		}
	}
	p.Viewport(1400, 1000, false)
	p.Looks("", map[string]string{"prefers-color-scheme": "dark"})
	keepShot(t, "print.pdf", p.PDF)
	if ground := p.Text(`getComputedStyle(document.body).backgroundColor`); ground != "rgb(20, 23, 27)" {
		t.Errorf("after printing the page is %s", ground)
	}
	complains(t, p)
}

// Where columns of a table are cut on a phone, something shows that there are more, until
// one has moved to them.
func TestCutColumnsAreHinted(t *testing.T) {
	t.Parallel()
	_, p := openReport(t, openText, "testdata/mac.txt")
	p.Viewport(390, 844, true)
	var cut, bare int
	p.Eval(`cut = Array.from(document.body.querySelectorAll("*")).filter(function (e) {
	  return e.clientWidth && e.scrollWidth > e.clientWidth + 1 && /auto|scroll/.test(getComputedStyle(e).overflowX);
	}), cut.length`, &cut)
	p.Eval(`cut.filter(function (e) {
	  var s = getComputedStyle(e);
	  return !/linear-gradient/.test(s.backgroundImage) || !/local/.test(s.backgroundAttachment) || !/scroll/.test(s.backgroundAttachment);
	}).length`, &bare)
	if cut == 0 || bare > 0 {
		t.Errorf("of %d that are cut %d show nothing of it", cut, bare)
	}
	complains(t, p)
}

// A report of a day is below 3 MB, as one of two hours is, and shows itself in less
// than a second.
func TestPageOfADay(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("makes a recording of hours")
	}
	recording := fortyMinutes
	if proof.Long() {
		recording = aDay
	}
	file := reportFile(t, openStore, needDay(t, recording))
	st, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if st.Size() > 3<<20 {
		t.Errorf("the report has %d bytes", st.Size())
	}
	if !proof.Long() {
		return
	}
	b := browsertest.Start(t)
	// A machine that is busy with something else paints late: the best of some tries
	// tells of the page.
	least := time.Hour
	for range 5 {
		p := b.Tab()
		p.Viewport(1400, 1000, false)
		p.Go("file://" + file)
		p.Wait(ready)
		var shown float64
		p.Eval(`performance.now()`, &shown)
		first, loaded := p.Painted()
		p.Eval(frames, nil)
		least = min(least, max(first, loaded))
		t.Logf("%d bytes; something after %v, loaded after %v; everything after %.0f ms at most", st.Size(), first, loaded, shown)
		complains(t, p)
		p.Close()
	}
	if least > patience.Stretch(time.Second) {
		t.Errorf("it shows itself after %v", least)
	}
}
