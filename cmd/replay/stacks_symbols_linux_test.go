package main

import (
	"debug/elf"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tachograph/cmd/replay/internal/stacks"
	"tachograph/cmd/replay/internal/stacks/stackstest"
	"tachograph/sample/stack"
	"tachograph/sample/stack/symbol"
)

// A program that the recorder could not name functions of is named later, by a copy of it
// somewhere: here of this test, by which nothing else is named.
func TestStacksBySymbols(t *testing.T) {
	t.Parallel()
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
	at := f.Section(".text").Addr + 0x2000
	want, _, _, ok := table.Find(at)
	if !ok || want == "" || table.ID() == "" {
		t.Fatalf("of this program %q is called %q", table.ID(), want)
	}
	want = stacks.Demangled(want) // with the race detector it may be one of C++
	own := &stack.Image{Path: "/opt/own", ID: table.ID(), Base: 0x10000}
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
