package browsertest

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

const sample = `<!doctype html><html lang="en"><title>t</title><meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline'">
<h2>Heading</h2><button id="b">press</button><input id="i" aria-label="words">
<script>
var pressed = 0, keys = [], double = 0
b.onclick = () => pressed++
b.ondblclick = () => double++
addEventListener("keydown", e => keys.push(e.key))
function save() {
	const a = document.createElement("a")
	a.href = URL.createObjectURL(new Blob(["a,b\n"])); a.download = "x.csv"; a.click()
}
</script>`

// What a page complains of is collected, and nothing is where there is none;
// mouse, keys and downloads arrive.
func TestDrives(t *testing.T) {
	served := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		if r.URL.Path == "/favicon.ico" {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		w.Write([]byte(sample))
	}))
	defer served.Close()
	b := Start(t)
	p := b.Open(served.URL)
	p.ClickOn("#b")
	box := p.Box("#b")
	p.Click(box.X+2, box.Y+2, 2)
	var pressed, double int
	p.Eval("pressed", &pressed)
	p.Eval("double", &double)
	if pressed != 3 || double != 1 {
		t.Errorf("pressed %d times, twice at once %d times", pressed, double)
	}
	p.Key("Tab")
	p.Type("héllo")
	p.Key("x")
	if got := p.Text("document.activeElement.value"); got != "héllox" {
		t.Errorf("typed %q", got)
	}
	if got := p.Text("keys.join()"); got != "Tab,x" {
		t.Errorf("keys %s", got)
	}
	p.Eval("save()", nil)
	if name, content := b.Download(); name != "x.csv" || content != "a,b\n" {
		t.Errorf("saved %s: %q", name, content)
	}
	if first, loaded := p.Painted(); first <= 0 || loaded <= 0 {
		t.Errorf("painted after %v, loaded after %v", first, loaded)
	}
	nodes := p.Accessible()
	for _, want := range []Node{{Role: "heading", Name: "Heading", Level: 2}, {Role: "button", Name: "press", Focusable: true}} {
		if !slices.Contains(nodes, want) {
			t.Errorf("%+v is not in %+v", want, nodes)
		}
	}
	p.Viewport(390, 800, true)
	p.Looks("", map[string]string{"prefers-color-scheme": "dark"})
	var looks []bool
	p.Eval(`[innerWidth == 390 || innerWidth, matchMedia("(prefers-color-scheme: dark)").matches]`, &looks)
	if !slices.Equal(looks, []bool{true, true}) {
		t.Errorf("looks %v", looks)
	}
	if shot := p.Screenshot(true); !strings.HasPrefix(string(shot), "\x89PNG") {
		t.Errorf("a screenshot begins with %.8q", shot)
	}
	if pdf := p.PDF(); !strings.HasPrefix(string(pdf), "%PDF") {
		t.Errorf("a print begins with %.8q", pdf)
	}
	if c := p.Complaints(); len(c) != 0 {
		t.Errorf("complaints of a page that has none: %q", c)
	}
	if r := p.Requests(); !slices.Equal(r, []string{served.URL + "/"}) {
		t.Errorf("requests %q", r)
	}
}

func TestHearsComplaints(t *testing.T) {
	b := Start(t)
	for _, c := range []struct{ does, want string }{
		{`console.log("hello", 3)`, "console.log: hello 3"},
		{`setTimeout(() => { throw new Error("broken") })`, "broken"},
		{`fetch("http://tachograph.invalid/").catch(() => 0)`, "http://tachograph.invalid/"},
		{`document.body.append(Object.assign(new Image(), {src: "https://tachograph.invalid/x.png"}))`, "policy violated: img-src"},
		{`document.body.setAttribute("onclick", "1"); document.body.click(); Promise.reject(new Error("nobody cares"))`, "nobody cares"},
	} {
		p := b.Open("data:text/html," + `<meta http-equiv="Content-Security-Policy" content="default-src * 'unsafe-inline'; img-src 'none'">`)
		p.Eval(c.does+"; 0", nil)
		var heard []string
		for tries := 0; tries < 1000 && !strings.Contains(strings.Join(heard, "\n"), c.want); tries++ {
			heard = append(heard, p.Complaints()...)
			p.Eval(`new Promise(done => setTimeout(done, 10, 0))`, nil)
		}
		if !strings.Contains(strings.Join(heard, "\n"), c.want) {
			t.Errorf("%s: heard %q", c.does, heard)
		}
		p.Close()
	}
}
