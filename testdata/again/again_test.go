package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMain: a copy of the test binary is what disturbs, as the program's is.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == burnArgument {
		burn(os.Args[2])
	}
	os.Exit(m.Run())
}

// A module with a test that fails in some orders only: again names it, with the
// seed of an order in which it does.
func TestOrderThatFails(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module m\n\ngo 1.26\n",
		"a_test.go": `package m
import "testing"
var first string
func TestA(t *testing.T) { if first == "" { first = "A" } }
func TestB(t *testing.T) { if first == "" { first = "B"; t.Fatal("B came first") } }
`,
		"b/b_test.go": "package b\nimport \"testing\"\nfunc TestGood(t *testing.T) {}\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	t.Setenv("TMPDIR", t.TempDir())
	var said strings.Builder
	failed, err := again(options{count: 12, busy: 1, hog: 1 << 20, parallel: 2, seed: 1, timeout: 600e9, packages: []string{"./..."}}, nil, &said)
	if err != nil || !failed {
		t.Fatalf("failed %v, %v\n%s", failed, err, said.String())
	}
	if out := said.String(); !strings.Contains(out, "24 runs of packages") || !strings.Contains(out, ": 1 tests failed") ||
		!strings.Contains(out, " m  TestB  -shuffle=") || strings.Contains(out, "12 of 12") {
		t.Errorf("this was printed:\n%s", out)
	}
}

func TestSizes(t *testing.T) {
	for text, want := range map[string]size{"500M": 500 << 20, "2G": 2 << 30, "7": 7, "64kB": 64 << 10} {
		var s size
		if err := s.Set(text); err != nil || s != want {
			t.Errorf("%s is %d, %v", text, s, err)
		}
	}
	for _, text := range []string{"", "G", "-1G", "2T"} {
		var s size
		if err := s.Set(text); err == nil {
			t.Errorf("%q is taken for %d", text, s)
		}
	}
}
