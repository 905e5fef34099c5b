package debuginfod

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tachograph/sample/stack"
	"tachograph/sample/stack/symbol"
)

// program makes a program with a function that only its debug file names, and returns where both
// are, the image and the function's offset.
func program(t *testing.T) (debug []byte, m *stack.Image, offset uint64) {
	t.Helper()
	for _, tool := range []string{"gcc", "objcopy"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(tool + " is not installed")
		}
	}
	dir := t.TempDir()
	source := "int x; __attribute__((noinline)) static int hidden(int n) { return x += n; }\nint main(void) { return hidden(2) - 2; }\n"
	if err := os.WriteFile(filepath.Join(dir, "p.c"), []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"gcc -g -O1 -Wl,--build-id=sha1 -o p p.c", "objcopy --only-keep-debug p p.debug"} {
		words := strings.Fields(line)
		cmd := exec.Command(words[0], words[1:]...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", line, err, out)
		}
	}
	debug, err := os.ReadFile(filepath.Join(dir, "p.debug"))
	if err != nil {
		t.Fatal(err)
	}
	table, err := symbol.OpenImage(filepath.Join(dir, "p.debug"), "")
	if err != nil {
		t.Fatal(err)
	}
	for at := uint64(0); at < 1<<16; at++ {
		if name, _, _, _ := table.Find(at); name == "hidden" {
			return debug, &stack.Image{Path: "/opt/p", ID: table.ID()}, at
		}
	}
	t.Fatal("the function is not in the debug file")
	return nil, nil, 0
}

func client(t *testing.T, url, dir string, limits Limits) *Client {
	t.Helper()
	c, err := New(t.Context(), url, dir, limits)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A function is named by the file that a server has; the file is kept, and the server is not asked
// again, by another client neither.
func TestFetch(t *testing.T) {
	debug, m, offset := program(t)
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Method+" "+r.URL.Path+" "+r.Header.Get("Accept-Encoding"))
		if r.URL.Path == "/under/buildid/"+m.ID+"/debuginfo" {
			w.Write(debug)
			return
		}
		http.NotFound(w, r)
	}))
	defer server.Close()
	dir := filepath.Join(t.TempDir(), "kept")
	for range 2 {
		c := client(t, server.URL+"/under/", dir, DefaultLimits)
		d, err := symbol.OpenDirectory("")
		if err != nil {
			t.Fatal(err)
		}
		d.Ask = c.Fetch
		for range 2 {
			if name, _, _, ok := d.Function(m, offset); name != "hidden" || !ok {
				t.Errorf("it is called %q; %q", name, c.Said())
			}
			d.Function(m, 1<<40)
		}
		if said := c.Said(); len(said) != 0 {
			t.Errorf("%q", said)
		}
	}
	if want := []string{"GET /under/buildid/" + m.ID + "/debuginfo "}; !slices.Equal(asked, want) {
		t.Errorf("asked %q, want %q", asked, want)
	}
	c := client(t, server.URL, dir, DefaultLimits)
	for _, id := range []string{"", "../../etc/passwd", "DEADBEEFDEADBEEF", "00112233-4455-6677-8899-AABBCCDDEEFF", "ab", strings.Repeat("ab", 65)} {
		if path := c.Fetch(&stack.Image{Path: "/x", ID: id}); path != "" {
			t.Errorf("of %q it got %s", id, path)
		}
	}
	if c.Fetch(&stack.Image{Path: "kernel", ID: "0011223344556677"}); len(asked) != 1 {
		t.Errorf("asked %q", asked)
	}
	if path := c.Fetch(&stack.Image{Path: "/opt/na\x1bme", ID: "0011223344556677"}); path != "" || len(c.Said()) != 1 || !strings.HasSuffix(c.Said()[0], `it has no debug files of na\x1bme`) {
		t.Errorf("%s: %q", path, c.Said())
	}
}

// Whatever a server does, it ends, keeps nothing that was not asked for, and says why.
func TestHostileServers(t *testing.T) {
	debug, m, _ := program(t)
	stop := make(chan struct{})
	t.Cleanup(func() { close(stop) })
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	z.Write(make([]byte, 8<<20))
	z.Close()
	limits := Limits{File: 1 << 20, Kept: 2 << 20, One: time.Minute, All: time.Minute, Files: 3}
	for name, c := range map[string]struct {
		answer func(w http.ResponseWriter, r *http.Request)
		said   string
		more   bool // it is asked for other files as well
		limit  func(*Limits)
	}{
		"endless": {func(w http.ResponseWriter, r *http.Request) {
			for b := make([]byte, 64<<10); r.Context().Err() == nil; {
				if _, err := w.Write(b); err != nil {
					return
				}
			}
		}, "its file of p is not used: it has more than 1 MB", true, nil},
		"larger than allowed": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "99999999999")
			w.Write(debug)
		}, "its file of p is not used: it has more than 1 MB", true, nil},
		"another file":  {func(w http.ResponseWriter, r *http.Request) { w.Write([]byte("<html>hello</html>")) }, "it does not have the build ID that was asked for", true, nil},
		"another build": {func(w http.ResponseWriter, r *http.Request) { w.Write(other(debug, m.ID)) }, "it does not have the build ID that was asked for", true, nil},
		"cut off": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", fmt.Sprint(len(debug)))
			w.Write(debug[:100])
		}, "unexpected EOF", false, nil},
		"compressed": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			w.Write(bomb.Bytes())
		}, "it came compressed, which was not asked for", true, nil},
		"redirect to a file": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", "file:///etc/passwd")
			w.WriteHeader(http.StatusFound)
		}, "it points to file:///etc/passwd", false, nil},
		"redirect to another": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://169.254.169.254/secret", http.StatusMovedPermanently)
		}, "it points to http://169.254.169.254/secret: give --debuginfod that address", false, nil},
		"an error": {func(w http.ResponseWriter, r *http.Request) {
			http.Error(w, "no disk\x1b]0;x\x07\nmore", http.StatusInternalServerError)
		}, "500 Internal Server Error: no disk\\x1b]0;x\\x07", false, nil},
		"silent": {func(w http.ResponseWriter, r *http.Request) { <-stop }, "no whole answer within 50ms", false, func(l *Limits) { l.One = 50 * time.Millisecond }},
		"slow": {func(w http.ResponseWriter, r *http.Request) {
			w.Write(debug[:100])
			w.(http.Flusher).Flush()
			<-stop
		}, "no whole answer within 50ms", false, func(l *Limits) { l.One = 50 * time.Millisecond }},
		"more than enough": {func(w http.ResponseWriter, r *http.Request) { w.Write([]byte("x")) }, "no more are asked for at once", false, func(l *Limits) { l.Files = 0 }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if asked++; asked == 1 {
					c.answer(w, r)
					return
				}
				http.NotFound(w, r)
			}))
			t.Cleanup(server.CloseClientConnections) // and its handlers end when the test does
			dir, limits := t.TempDir(), limits
			if c.limit != nil {
				c.limit(&limits)
			}
			to := client(t, server.URL, dir, limits)
			if path := to.Fetch(m); path != "" {
				t.Fatalf("got %s", path)
			}
			said := strings.Join(to.Said(), "\n")
			if !strings.Contains(said, c.said) || !strings.HasPrefix(said, "--debuginfod "+server.URL+": ") || strings.Contains(said, "\x1b") {
				t.Errorf("said %q, want %q", said, c.said)
			}
			to.Fetch(&stack.Image{Path: "/opt/q", ID: "0011223344556677"})
			if got := strings.Contains(strings.Join(to.Said(), "\n"), "of q"); got != c.more {
				t.Errorf("then it said %q", to.Said())
			}
			if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
				t.Errorf("%v are kept, %v", entries, err)
			}
		})
	}
}

// other is a debug file with another build ID.
func other(debug []byte, id string) []byte {
	var raw []byte
	fmt.Sscanf(id, "%x", &raw)
	changed := bytes.Clone(raw)
	changed[0]++
	return bytes.ReplaceAll(debug, raw, changed)
}

// The files that were not used for longest make room, and nothing else in the directory does.
func TestKept(t *testing.T) {
	debug, m, _ := program(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.Write(debug) }))
	defer server.Close()
	dir := t.TempDir()
	then := time.Now().Add(-time.Hour)
	for i, name := range []string{"1111111111111111.debug", "2222222222222222.debug", "notes.txt"} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, make([]byte, 1000), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, then, then.Add(-time.Duration(i)*time.Minute)); err != nil {
			t.Fatal(err)
		}
	}
	limits := DefaultLimits
	limits.Kept = int64(len(debug)) + 1500
	if client(t, server.URL, dir, limits).Fetch(m) == "" {
		t.Fatal("not fetched")
	}
	var left []string
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		left = append(left, e.Name())
	}
	slices.Sort(left)
	want := []string{"1111111111111111.debug", m.ID + ".debug", "notes.txt"}
	slices.Sort(want)
	if !slices.Equal(left, want) {
		t.Errorf("%q are left, want %q", left, want)
	}
}

func TestAddresses(t *testing.T) {
	for _, address := range []string{"", "file:///etc", "ftp://x/", "debuginfod.example.org", "http://me:secret@example.org", "http://example.org/?a=b", "http://example.org/#x"} {
		if _, err := New(t.Context(), address, t.TempDir(), DefaultLimits); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", address, err)
		}
	}
	ended, end := context.WithCancel(t.Context())
	end()
	c, err := New(ended, "http://192.0.2.1", t.TempDir(), DefaultLimits)
	if err != nil {
		t.Fatal(err)
	}
	if c.Fetch(&stack.Image{Path: "/x", ID: "0011223344556677"}) != "" || len(c.Said()) != 0 {
		t.Errorf("%q", c.Said())
	}
}
