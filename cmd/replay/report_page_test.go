package main

import (
	"encoding/csv"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"tachograph/cmd/replay/internal/browsertest"
	"tachograph/cmd/replay/internal/human"
	"tachograph/sample/metric"
	"tachograph/store/query/querytest"
)

// reportFile makes a report, and returns where it is.
func reportFile(t *testing.T, open func(...string) (reader, error), args ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "report.html")
	_, errs, status := replay(open, append([]string{"report", "-o", file, "--utc"}, args...)...)
	if status != 0 {
		t.Fatalf("status %d: %s", status, errs)
	}
	return file
}

// openReport makes a report and opens it.
func openReport(t *testing.T, open func(...string) (reader, error), args ...string) (*browsertest.Browser, *browsertest.Page) {
	t.Helper()
	if testing.Short() {
		t.Skip("drives a browser")
	}
	b := browsertest.Start(t)
	p := b.Tab()
	p.Viewport(1400, 900, false)
	p.Go("file://" + reportFile(t, open, args...))
	p.Wait(ready)
	return b, p
}

// complains fails the test if a page has complained of anything, or asked for anything
// but itself.
func complains(t *testing.T, p *browsertest.Page) {
	t.Helper()
	for _, c := range p.Complaints() {
		t.Error(c)
	}
	if list := p.Requests(); len(list) > 1 {
		t.Errorf("it asks for %q", list[1:])
	}
}

// pageTime is the form in which pages and replay write an instant.
const pageTime = "2006-01-02 15:04:05 MST"

// cursor is the instant at which a page has its cursor.
func cursor(t *testing.T, p *browsertest.Page) time.Time {
	t.Helper()
	p.Eval(frames, nil)
	text := p.Text(`document.querySelector(".where").textContent`)
	at, err := time.Parse(pageTime, text[:min(len(text), len("2006-01-02 15:04:05 UTC"))])
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// legend is what stands beside a plot: name, then the value at the cursor.
func legend(p *browsertest.Page, id string) map[string]string {
	var rows [][2]string
	p.Eval(`[...document.querySelectorAll("#plot-`+id+` .legend tbody tr")].map(r => [r.cells[0].textContent, r.cells[1].textContent])`, &rows)
	out := make(map[string]string)
	for _, r := range rows {
		out[r[0]] = r[1]
	}
	return out
}

// series is what replay's csv says: by instant and instance.
func series(t *testing.T, args ...string) map[string]map[string]float64 {
	t.Helper()
	stdout, errs, status := replay(openText, append(args, "--format", "csv", "--utc", "--archive", "testdata/mac.txt")...)
	if status != 0 {
		t.Fatalf("%q: %s", args, errs)
	}
	rows, err := csv.NewReader(strings.NewReader(stdout)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	at, in, value := slices.Index(rows[0], "time"), slices.Index(rows[0], "instance"), max(slices.Index(rows[0], "value"), slices.Index(rows[0], "rate"))
	if at < 0 || in < 0 || value < 0 {
		t.Fatalf("%q: columns %q", args, rows[0])
	}
	out := make(map[string]map[string]float64)
	for _, r := range rows[1:] {
		x, err := strconv.ParseFloat(r[value], 64)
		if err != nil {
			continue
		}
		when, err := time.Parse(time.RFC3339Nano, r[at])
		if err != nil {
			t.Fatal(err)
		}
		key := when.UTC().Format(time.RFC3339)
		if out[key] == nil {
			out[key] = make(map[string]float64)
		}
		out[key][r[in]] = x
	}
	return out
}

var bytesPerSecond = metric.Units{Space: 1, Time: -1, TimeScale: metric.Sec}

// shownSeries are series of the page, how replay is asked about them, and how people read
// their values.
var shownSeries = []struct {
	plot, name, instance string
	args                 []string
	factor               float64
	units                metric.Units
	rate                 bool
}{
	{"cpu", "user", "", []string{"rates", "kernel.all.cpu.user"}, 1. / 8, metric.NoUnits, true},
	{"cpu", "system", "", []string{"rates", "kernel.all.cpu.sys"}, 1. / 8, metric.NoUnits, true},
	{"load", "load", "1 minute", []string{"values", "kernel.all.load"}, 1, metric.NoUnits, false},
	{"memory-all", "compressed", "", []string{"values", "mem.util.compressed"}, 1024, metric.Bytes, false},
	{"disk-all", "written", "", []string{"rates", "disk.all.write_bytes"}, 1024, bytesPerSecond, true},
	{"network-all", "in", "", []string{"rates", "network.all.in.bytes"}, 1, bytesPerSecond, true},
}

// What stands beside a plot while the mouse is over it is what replay says of that
// instant, to the digit.
func TestPageHover(t *testing.T) {
	t.Parallel()
	_, p := openReport(t, openText, "testdata/mac.txt")
	for _, s := range shownSeries {
		want := series(t, s.args...)
		box := p.Box("#plot-" + s.plot + " .u-over")
		for i := 1; i < 9; i++ {
			p.Move(box.X+box.Width*float64(i)/9, box.Y+box.Height/2)
			at := cursor(t, p)
			x, ok := want[at.Format(time.RFC3339)][s.instance]
			if !ok {
				t.Fatalf("replay %q says nothing of %v", s.args, at)
			}
			if got, want := legend(p, s.plot)[s.name], human.Value(x*s.factor, s.units, s.rate); got != want {
				t.Errorf("%s of %s at %v: the page says %q, replay %q", s.name, s.plot, at, got, want)
			}
		}
	}
	p.Move(1, 1)
	p.Eval(frames, nil)
	if where := p.Text(`document.querySelector(".where").textContent`); !strings.HasPrefix(where, "No cursor") {
		t.Errorf("without the mouse: %s", where)
	}
	complains(t, p)
}

// span is what the first plot shows, as it says at its ends.
func span(t *testing.T, p *browsertest.Page, id string) (from, to time.Time) {
	t.Helper()
	box := p.Box("#plot-" + id + " .u-over")
	p.Move(box.X+1, box.Y+box.Height/2)
	from = cursor(t, p)
	p.Move(box.X+box.Width-1, box.Y+box.Height/2)
	to = cursor(t, p)
	p.Move(1, 1)
	return from, to
}

// Dragging over one plot zooms all of them; a double click shows everything again, and
// Escape what was shown before.
func TestPageZoom(t *testing.T) {
	t.Parallel()
	_, p := openReport(t, openText, "testdata/mac.txt")
	from, to := span(t, p, "cpu")
	whole := to.Sub(from)
	if whole < 19*time.Minute {
		t.Fatalf("it shows %v", whole)
	}
	drag := func(id string) {
		box := p.Box("#plot-" + id + " .u-over")
		p.Drag(box.X+box.Width/4, box.Y+20, box.X+box.Width/2, box.Y+20)
		p.Eval(frames, nil)
	}
	all := func(length time.Duration, what string) {
		t.Helper()
		for _, id := range []string{"cpu", "memory-all", "disk-all", "network-all"} {
			if from, to := span(t, p, id); (to.Sub(from) - length).Abs() > length/50+2*time.Second {
				t.Errorf("%s: %s shows %v, and not %v", what, id, to.Sub(from), length)
			}
		}
	}
	drag("memory-all")
	all(whole/4, "after dragging over a quarter")
	drag("network-all")
	all(whole/16, "after dragging again")
	p.ClickOn("#plot-cpu .stage")
	p.Key("Escape")
	p.Eval(frames, nil)
	all(whole/4, "after Escape")
	box := p.Box("#plot-disk-all .u-over")
	p.Click(box.X+50, box.Y+20, 2)
	p.Eval(frames, nil)
	all(whole, "after a double click")
	complains(t, p)
}

// A plot's data is saved as CSV, with the values that replay tells of these instants.
func TestPageCSV(t *testing.T) {
	t.Parallel()
	b, p := openReport(t, openText, "testdata/mac.txt")
	files := make(map[string]map[string]map[string]float64)
	for _, s := range shownSeries {
		if files[s.plot] == nil {
			p.ClickOn("#plot-" + s.plot + " .csv")
			name, text := b.Download()
			if name != "mbp-anna-"+s.plot+".csv" {
				t.Errorf("it is called %s", name)
			}
			rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
			if err != nil {
				t.Fatal(err)
			}
			file := make(map[string]map[string]float64)
			for _, r := range rows[1:] {
				at, err := time.Parse(time.RFC3339, r[0])
				if err != nil {
					t.Fatal(err)
				}
				values := make(map[string]float64)
				for i, text := range r[1:] {
					if text != "" {
						if values[rows[0][i+1]], err = strconv.ParseFloat(text, 64); err != nil {
							t.Fatal(err)
						}
					}
				}
				file[at.UTC().Format(time.RFC3339)] = values
			}
			files[s.plot] = file
		}
		n := 0
		for at, row := range series(t, s.args...) {
			want, ok := row[s.instance]
			if !ok {
				continue
			}
			got, ok := files[s.plot][at][s.name]
			if want *= s.factor; !ok || math.Abs(got-want) > math.Abs(want)*1.2e-7 {
				t.Errorf("%s of %s at %s: the file has %v, replay %v", s.name, s.plot, at, got, want)
			}
			if n++; t.Failed() {
				return
			}
		}
		if n < 1000 {
			t.Errorf("%s of %s was compared at %d instants", s.name, s.plot, n)
		}
	}
	complains(t, p)
}

// Whatever can be done with the mouse can be done with the keyboard: Tab goes through
// every control, and one sees where it is.
func TestPageKeyboard(t *testing.T) {
	t.Parallel()
	_, p := openReport(t, openText, "testdata/mac.txt")
	p.Eval(`document.activeElement.blur(); scrollTo(0, 0)`, nil)
	var controls int
	p.Eval(`(window.controls = [...document.querySelectorAll("a[href], button, input, select, summary, [tabindex]")]
		.filter(e => e.tabIndex >= 0 && !e.disabled && e.checkVisibility())).length`, &controls)
	if controls < 20 {
		t.Fatalf("there are %d controls", controls)
	}
	unseen := 0
	for range controls {
		p.Key("Tab")
		var now struct {
			What            string
			Known, Outlined bool
			In              bool // the window
		}
		p.Eval(`(() => { const e = document.activeElement, s = getComputedStyle(e), r = e.getBoundingClientRect(), k = controls.indexOf(e)
			if (k >= 0) controls.splice(k, 1)
			return {what: e.outerHTML.slice(0, 120), known: k >= 0, outlined: s.outlineStyle != "none" && parseFloat(s.outlineWidth) >= 2,
				in: r.width > 0 && r.bottom > 0 && r.top < innerHeight}})()`, &now)
		if !now.Known || !now.Outlined || !now.In {
			t.Errorf("%+v", now)
			if unseen++; unseen > 5 {
				return
			}
		}
	}
	var left []string
	p.Eval(`controls.map(e => e.outerHTML.slice(0, 120))`, &left)
	if len(left) > 0 {
		t.Errorf("Tab does not come to %q", left)
	}
	// The cursor goes by columns, which are a second long here.
	p.Eval(`document.querySelector("#plot-cpu .stage").focus()`, nil)
	p.Key("Home")
	p.Key("ArrowRight")
	at := cursor(t, p)
	for _, c := range []struct {
		key string
		by  time.Duration
	}{{"ArrowRight", time.Second}, {"ArrowRight", time.Second}, {"ArrowLeft", -time.Second}, {"Shift+ArrowRight", 10 * time.Second}, {"Shift+ArrowLeft", -10 * time.Second}} {
		p.Key(c.key)
		now := cursor(t, p)
		if now.Sub(at) != c.by {
			t.Errorf("%s moves the cursor by %v", c.key, now.Sub(at))
		}
		at = now
	}
	if text := p.Text(`document.querySelector(".where").textContent`); !strings.Contains(text, "user ") {
		t.Errorf("a screen reader is told: %s", text)
	}
	complains(t, p)
}

// A screen reader is told what there is: headings in order, a name for every control
// and plot, heads for every column.
func TestPageAccessible(t *testing.T) {
	t.Parallel()
	_, p := openReport(t, openText, "testdata/mac.txt")
	nodes := p.Accessible()
	level, headings := 0, 0
	for _, n := range nodes {
		switch n.Role {
		case "heading":
			if headings++; n.Level > level+1 || n.Name == "" {
				t.Errorf("heading %q is of level %d, after one of %d", n.Name, n.Level, level)
			}
			level = n.Level
		case "button", "link", "textbox", "combobox", "checkbox", "application", "figure", "img", "region", "toolbar", "table", "columnheader", "rowheader", "group":
			if n.Name == "" {
				t.Errorf("a %s has no name: %+v", n.Role, n)
			}
		case "generic", "RootWebArea", "StaticText", "InlineTextBox":
		default:
			if n.Focusable && n.Name == "" {
				t.Errorf("one gets to a %s without a name: %+v", n.Role, n)
			}
		}
	}
	for _, want := range []browsertest.Node{{Role: "heading", Name: "mbp-anna", Level: 1}, {Role: "button", Name: "CPU by mode as CSV", Focusable: true}} {
		if !slices.Contains(nodes, want) {
			t.Errorf("there is no %+v", want)
		}
	}
	if headings < 10 {
		t.Errorf("there are %d headings", headings)
	}
	var bad []string
	p.Eval(`[...document.querySelectorAll("table")].filter(t => !t.querySelector("thead th[scope=col]") || !t.caption && !t.closest("[aria-label]")).map(t => t.outerHTML.slice(0, 150))`, &bad)
	if len(bad) > 0 {
		t.Errorf("tables without heads or captions: %q", bad)
	}
	if lang := p.Text(`document.documentElement.lang`); lang != "en" {
		t.Errorf("the page is in %q", lang)
	}
}

// markup is what somebody might call a process, a disk or a machine who wants a page
// to do something.
const markup = `</div></script><script>document.title="attacked"</script><img src=x onerror=document.title="attacked"><svg onload=document.title="attacked">{{.}}${1}&lt;b&gt;"'--><!--` +
	"\u2028\u2029\u202e\x00\x1b[31m"

// Whatever an archive calls things, the page shows it as text: nothing of it is markup,
// runs, or asks for anything.
func TestPageHostile(t *testing.T) {
	t.Parallel()
	for name, attack := range map[string]string{"for terminals": attack, "for pages": markup} {
		t.Run(name, func(t *testing.T) {
			parts := hostileWith(t, attack)
			open := func(...string) (reader, error) { return memory{querytest.New(parts...)}, nil }
			_, p := openReport(t, open, "testdata/mac.txt")
			_, calm := openReport(t, openText, "testdata/mac.txt")
			count := `JSON.stringify([...document.querySelectorAll("body *")].reduce((n, e) => {
				for (const a of e.attributes) if (a.name.startsWith("on")) n["@" + a.name] = 1
				n[e.localName] = 1; return n }, {}), (k, v) => v, 0).split(",").sort().join()`
			if got, want := p.Text(count), calm.Text(count); got != want {
				t.Errorf("elements of the page: %s, and without the attack: %s", got, want)
			}
			if title := p.Text(`document.title`); title == "attacked" {
				t.Error("a name was run")
			}
			if text := p.Text(`document.body.innerText`); name == "for pages" && strings.Count(text, "onerror=") < 20 {
				t.Error("names are not shown")
			}
			for _, selector := range []string{".csv", ".legend button", ".processes button", ".events button"} {
				p.Eval(`document.querySelectorAll("`+selector+`").forEach(b => b.click())`, nil)
			}
			box := p.Box("#plot-cpu .u-over")
			p.Move(box.X+50, box.Y+10)
			p.Eval(frames, nil)
			var wide []string
			p.Eval(misfits, &wide)
			for _, w := range wide {
				t.Error(w)
			}
			complains(t, p)
		})
	}
}
