// Package browsertest drives a headless Chromium in tests. It speaks the DevTools protocol
// over two pipes (JSON messages that end with a NUL, to file 3 and from file 4 of the
// browser), so that it needs neither a port nor a library.
//
// It collects every complaint of a page: console messages, exceptions, violations of the
// content security policy, failed requests. The browser resolves no names: a page that
// asks the network for something fails, and the request shows up in Requests.
package browsertest

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"tachograph/testdata/patience"
)

// chromiumEnv is the variable with the browser's name, if it is not one of the usual ones.
const chromiumEnv = "TACHO_CHROMIUM"

// longest is how long to wait for an answer of the browser, on an idle machine.
const longest = 2 * time.Minute

// A Browser is a running Chromium with a profile of its own.
type Browser struct {
	t         testing.TB
	to        io.Writer
	downloads string

	mu       sync.Mutex
	last     int
	waiting  map[int]chan answer
	sessions map[string]*Page
	ended    error
	saved    chan download
	names    map[string]string // of downloads that have begun
}

type answer struct {
	result json.RawMessage
	err    error
}

type download struct{ name, path string }

// message is a message in either direction.
type message struct {
	ID      int             `json:"id,omitempty"`
	Session string          `json:"sessionId,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *struct {
		Message string `json:"message"`
		Data    string `json:"data"`
	} `json:"error,omitempty"`
}

// Find returns the path of Chromium, "" if there is none.
func Find() string {
	if name := os.Getenv(chromiumEnv); name != "" {
		return name
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "/Applications/Chromium.app/Contents/MacOS/Chromium", "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// Start starts a browser, which ends with the test. It skips the test if there is none.
func Start(t testing.TB) *Browser {
	t.Helper()
	path := Find()
	if path == "" {
		t.Skipf("Chromium is not installed: Debian's package is chromium, and %s names another", chromiumEnv)
	}
	args := []string{"--headless", "--remote-debugging-pipe", "--user-data-dir=" + t.TempDir(),
		"--no-first-run", "--no-default-browser-check", "--disable-gpu", "--disable-dev-shm-usage", "--disable-extensions",
		"--disable-background-networking", "--disable-component-update", "--disable-default-apps", "--disable-sync",
		"--disable-lcd-text", "--force-color-profile=srgb", "--lang=en-GB", "--enable-precise-memory-info",
		"--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1", "about:blank"}
	if os.Getuid() == 0 {
		args = append([]string{"--no-sandbox"}, args...)
	}
	theirIn, ourOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	ourIn, theirOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, args...)
	cmd.ExtraFiles = []*os.File{theirIn, theirOut}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	theirIn.Close()
	theirOut.Close()
	b := &Browser{t: t, to: ourOut, downloads: t.TempDir(), waiting: make(map[int]chan answer), sessions: make(map[string]*Page),
		saved: make(chan download, 16), names: make(map[string]string)}
	read := make(chan struct{})
	go func() { defer close(read); b.read(ourIn) }()
	t.Cleanup(func() {
		// Without the pipe the browser ends by itself; processes of it that do not would keep
		// files in its profile open.
		ourOut.Close()
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		cmd.Wait()
		<-read
		ourIn.Close()
	})
	b.call("", "Browser.setDownloadBehavior", map[string]any{"behavior": "allowAndName", "downloadPath": b.downloads, "eventsEnabled": true}, nil)
	return b
}

// read reads the browser's messages until it ends.
func (b *Browser) read(from io.Reader) {
	r := bufio.NewReaderSize(from, 1<<16)
	for {
		line, err := r.ReadBytes(0)
		if err != nil {
			b.mu.Lock()
			b.ended = fmt.Errorf("the browser has ended: %w", err)
			for id, c := range b.waiting {
				delete(b.waiting, id)
				c <- answer{err: b.ended}
			}
			b.mu.Unlock()
			return
		}
		var m message
		if json.Unmarshal(line[:len(line)-1], &m) != nil {
			continue
		}
		b.mu.Lock()
		b.take(&m)
		b.mu.Unlock()
	}
}

// take passes on one message; b.mu is held.
func (b *Browser) take(m *message) {
	if c := b.waiting[m.ID]; m.ID != 0 && c != nil {
		delete(b.waiting, m.ID)
		a := answer{result: m.Result}
		if m.Error != nil {
			a.err = errors.New(strings.TrimSpace(m.Error.Message + " " + m.Error.Data))
		}
		c <- a
		return
	}
	switch m.Method {
	case "Browser.downloadWillBegin":
		var p struct{ Guid, SuggestedFilename string }
		json.Unmarshal(m.Params, &p)
		b.names[p.Guid] = p.SuggestedFilename
	case "Browser.downloadProgress":
		var p struct{ Guid, State string }
		json.Unmarshal(m.Params, &p)
		if p.State == "completed" {
			b.saved <- download{b.names[p.Guid], b.downloads + "/" + p.Guid}
		}
	default:
		if p := b.sessions[m.Session]; p != nil {
			p.take(m)
		}
	}
}

// call calls a method of the browser, or of one of its pages, and fails the test if that fails.
func (b *Browser) call(session, method string, params, result any) {
	b.t.Helper()
	if err := b.try(session, method, params, result); err != nil {
		b.t.Fatalf("%s: %v", method, err)
	}
}

func (b *Browser) try(session, method string, params, result any) error {
	raw, err := json.Marshal(params)
	if err != nil {
		return err
	}
	c := make(chan answer, 1)
	b.mu.Lock()
	if b.ended != nil {
		b.mu.Unlock()
		return b.ended
	}
	b.last++
	id := b.last
	b.waiting[id] = c
	line, err := json.Marshal(message{ID: id, Session: session, Method: method, Params: raw})
	if err == nil {
		_, err = b.to.Write(append(line, 0))
	}
	b.mu.Unlock()
	if err != nil {
		return err
	}
	select {
	case a := <-c:
		if a.err != nil || result == nil {
			return a.err
		}
		return json.Unmarshal(a.result, result)
	case <-b.hangs(longest):
		return fmt.Errorf("no answer of the browser within %v", longest)
	}
}

// hangs returns a channel that is ready after d on an idle machine, later on a busy one.
func (b *Browser) hangs(d time.Duration) <-chan time.Time { return time.After(patience.Stretch(d)) }

// Download waits for a file that a page saves, and returns its name and content.
func (b *Browser) Download() (name, content string) {
	b.t.Helper()
	select {
	case d := <-b.saved:
		text, err := os.ReadFile(d.path)
		if err != nil {
			b.t.Fatal(err)
		}
		return d.name, string(text)
	case <-b.hangs(longest):
		b.t.Fatalf("no file was saved within %v", longest)
	}
	return "", ""
}
