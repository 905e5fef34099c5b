package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"math"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"tachograph/cmd/replay/internal/browsertest"
	"tachograph/testdata/built"
)

// ready is what a page says when it shows everything.
const ready = `document.documentElement.dataset.ready == "yes"`

const frames = `new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(0))))`

// A pageServer is replay serve as users run it, beside a recorder that records this
// machine.
type pageServer struct {
	t                      *testing.T
	dir, program, recorder string
	token, address         string
	cmd                    *exec.Cmd
}

const pageToken = "0123456789abcdef0123456789abcdef"

func newPageServer(t *testing.T) *pageServer {
	t.Helper()
	s := &pageServer{t: t, dir: t.TempDir(), token: filepath.Join(t.TempDir(), "token")}
	s.recorder, s.program = built.Programs(t)
	if err := os.WriteFile(s.token, []byte(pageToken), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.address = l.Addr().String()
	l.Close()
	return s
}

// record records until the test ends.
func (s *pageServer) record() {
	s.t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, s.recorder, "run", "--archive", s.dir)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { stop(); cmd.Wait() })
	until(s.t, "something is recorded", func() bool {
		_, _, status := replayWith(openStore, time.Now(), "rates", "kernel.all.cpu.user", "--archive", s.dir)
		return status == 0
	})
}

func (s *pageServer) start() {
	s.t.Helper()
	s.cmd = exec.Command(s.program, "serve", s.dir, "--listen", "tcp:"+s.address, "--token-file", s.token)
	if os.Geteuid() == 0 {
		s.cmd.Args = append(s.cmd.Args, "--user", "root") // the archives of tests are root's
	}
	var errs bytes.Buffer
	s.cmd.Stderr = &errs
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || !strings.Contains(line, s.address) {
		s.t.Fatalf("%q %v %s", line, err, errs.String())
	}
	s.t.Cleanup(s.end)
}

func (s *pageServer) end() {
	if s.cmd.ProcessState == nil {
		s.cmd.Process.Kill()
		s.cmd.Wait()
	}
}

// state waits until the bar of a page says something. Its dot is green while the page is
// live, and only then.
func state(p *browsertest.Page, text string) {
	p.Wait(`(bar => { const says = bar.querySelector(".state").textContent
		return says.includes(` + browsertest.Quote(text) + `) && bar.classList.contains("running") == says.startsWith("live") })(document.querySelector("#live"))`)
}

// watching knows what a page is about to do: its timers, and what it fetches.
const watching = `(() => {
	const set = setTimeout, unset = clearTimeout, get = fetch
	window.timers = new Map()
	window.fetching = 0
	window.setTimeout = (f, ms, ...rest) => {
		const id = set((...given) => { timers.delete(id); f(...given) }, ms, ...rest)
		if (ms >= 100) timers.set(id, String(f))
		return id
	}
	window.clearTimeout = id => { timers.delete(id); unset(id) }
	window.fetch = (...given) => { fetching++; return get(...given).finally(() => set(() => fetching--, 50)) }
})()`

// The page as it is served, beside a recorder: it asks for the token, goes on with what
// is recorded, shows what replay says, stops while nobody looks, goes on when the server
// has come back, and shows the past.
func TestLivePage(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("records this machine for half a minute")
	}
	b := browsertest.Start(t)
	s := newPageServer(t)
	s.record()
	s.start()
	p := b.Tab()
	p.Viewport(1400, 900, false)
	p.Call("Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": watching}, nil)
	p.Go("http://" + s.address + "/")
	fill := func(token string) {
		p.Wait(`document.activeElement.id == "token"`)
		p.Type(token)
		p.Key("Enter")
	}
	p.Wait(`document.querySelector("form.token")`)
	if text := p.Text(`document.querySelector("#page").innerText`); !strings.Contains(text, "wants a token") {
		t.Errorf("without a token the page says %q", text)
	}
	fill("wrong")
	p.Wait(`document.querySelector("#page").innerText.includes("not the token")`)
	fill(pageToken)
	p.Wait(ready)
	for _, c := range p.Complaints() {
		if !strings.Contains(c, "401") { // The log tells of the answers that ask for a token.
			t.Error(c)
		}
	}

	// It goes on, and shows what replay says.
	last := `document.querySelector("#live .state").textContent`
	began := time.Now()
	for n := 0; n < 3 || time.Since(began) < 12*time.Second; n++ {
		before := p.Text(last)
		p.Wait(last + ` != ` + browsertest.Quote(before))
	}
	p.Eval(`document.querySelector("#live button[aria-pressed]").click()`, nil)
	state(p, "paused")
	p.ClickOn("#plot-memory .csv")
	_, text := b.Download()
	rows := strings.Split(strings.TrimSpace(text), "\r\n")
	from, to := strings.Split(rows[1], ",")[0], strings.Split(rows[len(rows)-2], ",")[0]
	free := -1
	for i, name := range strings.Split(rows[0], ",") {
		if name == "free" {
			free = i
		}
	}
	got, shown := make(map[string]string), 0
	for _, r := range rows[1:] {
		cells := strings.Split(r, ",")
		got[cells[0]] = cells[free]
		if cells[free] != "" {
			shown++
		}
	}
	if shown < 8 {
		t.Errorf("the page has %d columns, %d with a value", len(got), shown)
	}
	out, errs, status := replayWith(openStore, time.Now(), "values", "mem.util.free", "--archive", s.dir, "--step", "1s", "--format", "csv", "--utc", "--from", from, "--to", to)
	if status != 0 {
		t.Fatal(errs)
	}
	kb := make(map[time.Time]float64)
	for _, line := range strings.Split(strings.TrimSpace(out), "\n")[1:] {
		cells := strings.Split(line, ",")
		at, err := time.Parse(time.RFC3339Nano, cells[0])
		if err != nil {
			t.Fatal(err)
		}
		var x float64
		fmt.Sscan(cells[len(cells)-1], &x)
		if text, column := got[at.UTC().Format(time.RFC3339)]; column && text == "" && x > 0 { // A second that the recorder missed is nowhere.
			t.Errorf("%v: the page has nothing, replay %v KB", at, x)
		}
		kb[at.UTC()] = x
	}
	same := 0
	for at := range kb {
		var bytes float64
		fmt.Sscan(got[at.Format(time.RFC3339)], &bytes)
		// A reading at the edge of a second may stand in the column beside.
		for _, other := range []time.Duration{0, -time.Second, time.Second} {
			if x := kb[at.Add(other)]; bytes > 0 && x > 0 && math.Abs(bytes/x/1024-1) < 1e-6 {
				same++
				break
			}
		}
	}
	if same < shown*9/10-2 {
		t.Errorf("of %d columns %d are what replay says", shown, same)
	}

	// A tab that nobody sees asks for nothing, and asks at once when it is seen again.
	p.Eval(`document.querySelector("#live button[aria-pressed]").click()`, nil)
	state(p, "live")
	show := func(how string) {
		p.Eval(`Object.defineProperty(document, "visibilityState", {value: "`+how+`", configurable: true}); document.dispatchEvent(new Event("visibilitychange")); 0`, nil)
	}
	show("hidden")
	p.Wait(`fetching == 0`) // what was under way has come
	var pending []string
	p.Eval(frames, nil)
	p.Eval(`[...timers.values()].filter(f => !f.includes("revokeObjectURL"))`, &pending)
	if len(pending) > 0 {
		t.Errorf("nobody looks, and it is about to do %q", pending)
	}
	show("visible")
	p.Wait(last + ` != ` + browsertest.Quote(p.Text(last)))

	// The server goes, and comes back.
	s.end()
	p.Wait(`document.querySelector("#live .trouble").textContent.startsWith("No answer from replay serve since ")`)
	p.Complaints()
	s.start()
	p.Wait(`document.querySelector("#live .trouble").textContent == ""`)
	state(p, "live")
	for _, c := range p.Complaints() {
		if !strings.Contains(c, "ERR_CONNECTION_REFUSED") {
			t.Error(c)
		}
	}

	// Nothing comes any more, as when the recorder has ended.
	const twice = `document.querySelector("#live button[aria-pressed]").click(); document.querySelector("#live button[aria-pressed]").click()`
	p.Eval(`(now => { Date.now = () => now() + 120000; window.right = () => { Date.now = now } })(Date.now); `+twice, nil)
	state(p, "nothing recorded since")
	p.Eval(`right(); `+twice, nil)
	state(p, "live")

	// The past, by the form, by the address, and back.
	p.Eval(`(() => { const [a, b] = document.querySelectorAll("#live input"); a.value = "start"; b.value = "start+10s"; a.form.requestSubmit() })()`, nil)
	state(p, "what was recorded")
	if at := p.Text(`location.search`); at != "?from=start&to=start%2B10s" {
		t.Errorf("the address is %s", at)
	}
	p.Eval(`document.querySelector("#live button[aria-pressed]").click()`, nil)
	state(p, "live")
	p.Go("http://" + s.address + "/?at=start")
	p.Wait(ready)
	state(p, "what was recorded")
	p.Eval(`(() => { const [a] = document.querySelectorAll("#live input"); a.value = "yesteryear"; a.form.requestSubmit() })()`, nil)
	p.Wait(`document.querySelector("#live .trouble").textContent.includes("yesteryear")`)
	for _, url := range p.Requests() {
		if !strings.HasPrefix(url, "http://"+s.address+"/") || strings.Contains(url, pageToken) {
			t.Errorf("it asks for %s", url)
		}
	}
}
