package browsertest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// A Page is a tab.
type Page struct {
	b       *Browser
	session string
	// under b.mu:
	complaints []string
	requests   []string
	urls       map[string]string // of requests, by their ID
	received   int
}

// Open opens a page in a new tab and waits until it is loaded.
func (b *Browser) Open(url string) *Page {
	b.t.Helper()
	p := b.Tab()
	p.Go(url)
	return p
}

// Tab opens an empty tab.
func (b *Browser) Tab() *Page {
	b.t.Helper()
	var target struct{ TargetID string }
	b.call("", "Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct{ SessionID string }
	b.call("", "Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	p := &Page{b: b, session: attached.SessionID, urls: make(map[string]string)}
	b.mu.Lock()
	b.sessions[p.session] = p
	b.mu.Unlock()
	for _, domain := range []string{"Page", "Runtime", "Log", "Network"} {
		p.Call(domain+".enable", map[string]any{}, nil)
	}
	// The document gets an event for each violation of the policy; the log does not get all.
	p.Call("Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": `addEventListener("securitypolicyviolation",
		e => console.error("policy violated: " + e.violatedDirective + " by " + e.blockedURI + " " + e.sample))`}, nil)
	return p
}

// Call calls a method of the DevTools protocol on the page.
func (p *Page) Call(method string, params, result any) {
	p.b.t.Helper()
	p.b.call(p.session, method, params, result)
}

// Go navigates to a page and waits until it is loaded.
func (p *Page) Go(url string) {
	p.b.t.Helper()
	var gone struct{ ErrorText string }
	p.Call("Page.navigate", map[string]any{"url": url}, &gone)
	if gone.ErrorText != "" {
		p.b.t.Fatalf("%s: %s", url, gone.ErrorText)
	}
	p.Wait(`location.href != "about:blank" && document.readyState == "complete"`)
}

// take handles an event of the page; b.mu is held.
func (p *Page) take(m *message) {
	var e struct {
		Type             string
		Encoded          float64 `json:"encodedDataLength"`
		RequestID        string
		Request          struct{ URL string }
		ErrorText        string
		Canceled         bool
		Args             []struct{ Value, Description any }
		Entry            struct{ Level, Text, URL string }
		ExceptionDetails struct {
			Text      string
			Exception struct{ Description string }
		}
	}
	json.Unmarshal(m.Params, &e)
	switch m.Method {
	case "Runtime.consoleAPICalled":
		words := []string{"console." + e.Type + ":"}
		for _, a := range e.Args {
			if a.Value == nil {
				a.Value = a.Description
			}
			words = append(words, fmt.Sprint(a.Value))
		}
		p.complaints = append(p.complaints, strings.Join(words, " "))
	case "Runtime.exceptionThrown":
		p.complaints = append(p.complaints, "exception: "+e.ExceptionDetails.Text+" "+e.ExceptionDetails.Exception.Description)
	case "Log.entryAdded":
		p.complaints = append(p.complaints, "log "+e.Entry.Level+": "+e.Entry.Text+" "+e.Entry.URL)
	case "Network.requestWillBeSent":
		p.urls[e.RequestID] = e.Request.URL
		p.requests = append(p.requests, e.Request.URL)
	case "Network.loadingFinished":
		p.received += int(e.Encoded)
	case "Network.loadingFailed":
		if !e.Canceled {
			p.complaints = append(p.complaints, "request failed: "+p.urls[e.RequestID]+" "+e.ErrorText)
		}
	case "Page.javascriptDialogOpening":
		p.complaints = append(p.complaints, "a dialog was opened")
	}
}

// Complaints returns the page's complaints since the last call.
func (p *Page) Complaints() []string {
	p.Eval("0", nil) // its earlier messages have arrived once this is answered
	p.b.mu.Lock()
	defer p.b.mu.Unlock()
	c := p.complaints
	p.complaints = nil
	return c
}

// Requests returns the URLs that the page has requested, its own address first, without data:
// and blob: URLs.
func (p *Page) Requests() []string {
	p.b.mu.Lock()
	defer p.b.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(p.requests), func(url string) bool {
		return strings.HasPrefix(url, "data:") || strings.HasPrefix(url, "blob:")
	})
}

// Received returns how many bytes the page has received, including headers.
func (p *Page) Received() int {
	p.b.mu.Lock()
	defer p.b.mu.Unlock()
	return p.received
}

// Eval evaluates an expression in the page, and waits for it if it is a promise. It stores the
// value in result.
func (p *Page) Eval(expression string, result any) {
	p.b.t.Helper()
	var r struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails *struct {
			Text      string
			Exception struct{ Description string }
		}
	}
	p.Call("Runtime.evaluate", map[string]any{"expression": expression, "awaitPromise": true, "returnByValue": true}, &r)
	if e := r.ExceptionDetails; e != nil {
		p.b.t.Fatalf("%s\n%s %s", expression, e.Text, e.Exception.Description)
	}
	if result == nil {
		return
	}
	if len(r.Result.Value) == 0 {
		p.b.t.Fatalf("%s has no value", expression)
	}
	if err := json.Unmarshal(r.Result.Value, result); err != nil {
		p.b.t.Fatalf("%s is %s: %v", expression, r.Result.Value, err)
	}
}

// Text evaluates an expression whose value is a string.
func (p *Page) Text(expression string) string {
	p.b.t.Helper()
	var s string
	p.Eval(expression, &s)
	return s
}

// Wait waits until an expression holds in the page.
func (p *Page) Wait(expression string) {
	p.b.t.Helper()
	hangs := p.b.hangs(longest)
	for {
		// Evaluated again each time: a page that navigates loses its promises.
		var r struct{ Result struct{ Value any } }
		err := p.b.try(p.session, "Runtime.evaluate", map[string]any{"awaitPromise": true, "returnByValue": true, "expression": `new Promise(done => {
			const until = performance.now() + 2000
			const look = () => { const holds = Boolean(` + expression + `)
				if (holds || performance.now() > until) done(holds); else setTimeout(look, 10) }
			look() })`}, &r)
		if err == nil && r.Result.Value == true {
			return
		}
		select {
		default:
		case <-hangs:
			p.b.mu.Lock()
			complaints := strings.Join(p.complaints, "\n")
			p.b.mu.Unlock()
			p.b.t.Fatalf("%s does not become true (%v)\n%s", expression, err, complaints)
		}
	}
}

// Close closes the tab.
func (p *Page) Close() {
	p.b.try(p.session, "Page.close", map[string]any{}, nil)
}

// Viewport sets the size of the page in pixels; a phone has a touch screen with double
// resolution.
func (p *Page) Viewport(width, height int, phone bool) {
	scale := 1
	if phone {
		scale = 2
	}
	p.Call("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": scale, "mobile": phone}, nil)
}

// Looks emulates preferences and the medium: "prefers-color-scheme" is "light" or
// "dark", medium is "", "screen" or "print".
func (p *Page) Looks(medium string, features map[string]string) {
	list := []map[string]string{}
	for name, value := range features {
		list = append(list, map[string]string{"name": name, "value": value})
	}
	p.Call("Emulation.setEmulatedMedia", map[string]any{"media": medium, "features": list}, nil)
}

// Screenshot returns the page as a PNG: the visible part, or all of it.
func (p *Page) Screenshot(all bool) []byte {
	p.b.t.Helper()
	return p.file("Page.captureScreenshot", map[string]any{"format": "png", "captureBeyondViewport": all})
}

// PDF returns the page as printed on A4.
func (p *Page) PDF() []byte {
	p.b.t.Helper()
	return p.file("Page.printToPDF", map[string]any{"paperWidth": 8.27, "paperHeight": 11.69, "printBackground": false})
}

func (p *Page) file(method string, params map[string]any) []byte {
	p.b.t.Helper()
	var r struct{ Data string }
	p.Call(method, params, &r)
	data, err := base64.StdEncoding.DecodeString(r.Data)
	if err != nil {
		p.b.t.Fatal(err)
	}
	return data
}

// Painted returns when the page first showed something and when it was loaded, both since the
// navigation.
func (p *Page) Painted() (first, loaded time.Duration) {
	p.b.t.Helper()
	p.Wait(`performance.getEntriesByName("first-contentful-paint").length > 0 && performance.getEntriesByType("navigation")[0].loadEventEnd > 0`)
	var ms [2]float64
	p.Eval(`[performance.getEntriesByName("first-contentful-paint")[0].startTime, performance.getEntriesByType("navigation")[0].loadEventEnd]`, &ms)
	return time.Duration(ms[0] * 1e6), time.Duration(ms[1] * 1e6)
}

// Heap returns how many bytes of objects the page's scripts hold after a garbage collection.
func (p *Page) Heap() int {
	p.b.t.Helper()
	p.Call("HeapProfiler.collectGarbage", map[string]any{}, nil)
	var used struct{ UsedSize float64 }
	p.Call("Runtime.getHeapUsage", map[string]any{}, &used)
	return int(used.UsedSize)
}

// A Node is a part of the page as a screen reader gets it.
type Node struct {
	Role, Name, Value, Description string
	Focusable                      bool
	Level                          int // of a heading
}

// Accessible returns the page as a screen reader gets it, in order.
func (p *Page) Accessible() []Node {
	p.b.t.Helper()
	type value struct{ Value any }
	var tree struct {
		Nodes []struct {
			Ignored                        bool
			Role, Name, Value, Description value
			Properties                     []struct {
				Name  string
				Value value
			}
		}
	}
	p.Call("Accessibility.enable", map[string]any{}, nil)
	p.Call("Accessibility.getFullAXTree", map[string]any{}, &tree)
	p.Call("Accessibility.disable", map[string]any{}, nil)
	text := func(v value) string {
		if v.Value == nil {
			return ""
		}
		return fmt.Sprint(v.Value)
	}
	var nodes []Node
	for _, n := range tree.Nodes {
		if n.Ignored {
			continue
		}
		node := Node{Role: text(n.Role), Name: text(n.Name), Value: text(n.Value), Description: text(n.Description)}
		for _, q := range n.Properties {
			switch v := q.Value.Value.(type) {
			case bool:
				node.Focusable = node.Focusable || q.Name == "focusable" && v
			case float64:
				if q.Name == "level" {
					node.Level = int(v)
				}
			}
		}
		nodes = append(nodes, node)
	}
	return nodes
}
