package main

import (
	"debug/elf"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tachograph/cmd/replay/internal/stacks"
	"tachograph/cmd/replay/internal/stacks/stackstest"
	"tachograph/sample/stack"
	"tachograph/sample/stack/symbol"
)

// aFunction returns this program's path and ID, and where a function of it is.
func aFunction(t *testing.T) (self, id string, at uint64, name string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	f, err := elf.Open(self)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	table, err := symbol.OpenImage(self, "")
	if err != nil {
		t.Fatal(err)
	}
	at = f.Section(".text").Addr + 0x2000
	name, _, _, ok := table.Find(at)
	if !ok || name == "" || table.ID() == "" {
		t.Fatalf("of this program %q is called %q", table.ID(), name)
	}
	// With the race detector it may be one of C++.
	return self, table.ID(), at, stacks.Demangled(name)
}

// A program that the recorder could not name functions of is named later, by a copy of it
// somewhere: here of this test, by which nothing else is named.
func TestStacksBySymbols(t *testing.T) {
	t.Parallel()
	self, id, at, want := aFunction(t)
	own := &stack.Image{Path: "/opt/own", ID: id, Base: 0x10000}
	other := &stack.Image{Path: "/opt/other", ID: "00ff", Base: 0x10000}
	// What it called returned to the instruction behind the call.
	archive := stackstest.Write(t, []stack.Sample{{Thread: stack.Thread{PID: 1, Command: "own", TID: 1}, Count: 3,
		Frames: stackstest.Frames(stackstest.In(own, at+1, ""), stackstest.In(other, at, ""))}})
	ask := func(args ...string) string {
		t.Helper()
		out, errs, status := replayWith(openStore, testNow, append([]string{"stacks", "--archive", archive, "--format", "folded", "--by", "none"}, args...)...)
		if status != 0 {
			t.Fatal(errs)
		}
		return out
	}
	if out := ask(); strings.Contains(out, want) {
		t.Errorf("without symbols %s", out)
	}
	if out := ask("--symbols", filepath.Dir(self)); !strings.HasPrefix(out, strings.ReplaceAll(want, ";", ":")+";other+0x") {
		t.Errorf("with symbols %s, want %s", out, want)
	}
	if _, errs, status := replayWith(openStore, testNow, "stacks", "--archive", archive, "--symbols", "testdata/nosuch"); status == 0 || !strings.Contains(errs, "--symbols testdata/nosuch: ") {
		t.Errorf("of no directory: %d %s", status, errs)
	}
}

// A server is asked for the files of a program only if a flag names it.
func TestStacksByDebuginfod(t *testing.T) {
	self, id, at, want := aFunction(t)
	asked := make(chan string, 10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.URL.Path
		if r.URL.Path != "/buildid/"+id+"/debuginfo" {
			http.NotFound(w, r)
			return
		}
		http.ServeFile(w, r, self)
	}))
	defer server.Close()
	dir := t.TempDir()
	for name, value := range map[string]string{"HOME": dir, "XDG_CACHE_HOME": dir, "DEBUGINFOD_URLS": server.URL} {
		t.Setenv(name, value)
	}
	own := &stack.Image{Path: "/opt/own", ID: id, Base: 0x10000}
	other := &stack.Image{Path: "/opt/other", ID: "00ff00ff00ff00ff", Base: 0x10000}
	archive := stackstest.Write(t, []stack.Sample{{Thread: stack.Thread{PID: 1, Command: "own", TID: 1}, Count: 3,
		Frames: stackstest.Frames(stackstest.In(own, at+1, ""), stackstest.In(other, at, ""))}})
	for _, c := range []struct {
		args          []string
		named         bool
		asked, status int
		said          string
	}{
		{nil, false, 0, 0, ""},
		{[]string{"--symbols", filepath.Join(dir)}, false, 0, 0, ""},
		{[]string{"--debuginfod", server.URL}, true, 2, 0, "replay: --debuginfod " + server.URL + ": it has no debug files of other\n"},
		{[]string{"--debuginfod", server.URL}, true, 1, 0, "it has no debug files of other"}, // the other is kept
		{[]string{"--debuginfod", "file:///etc"}, false, 0, 2, "is no address: write http://"},
	} {
		out, errs, status := replayWith(openStore, testNow, append([]string{"stacks", "--archive", archive, "--format", "folded", "--by", "none"}, c.args...)...)
		named := strings.HasPrefix(out, strings.ReplaceAll(want, ";", ":")+";other+0x")
		if status != c.status || named != c.named || !strings.Contains(errs, c.said) {
			t.Errorf("%q: %d %q %q", c.args, status, out, errs)
		}
		if len(asked) != c.asked {
			t.Errorf("%q: the server was asked %d times, want %d", c.args, len(asked), c.asked)
		}
		for len(asked) > 0 {
			<-asked
		}
	}
}
