package tachograph

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// realSleeps are the files that sleep without importing testing/synctest, each with the reason.
var realSleeps = map[string]string{
	"cmd/replay/internal/serve/limits_test.go": "clients of a flood pause between attempts, and nothing depends on for how long",
	"sample/demand/world_test.go":              "a source that is slow; the tests that read it are in testing/synctest",
	"sample/darwin/alloc_darwin_test.go":       "the macOS kernel repeats its answers within a second of its own clock",
	"sample/proc/acting_linux_test.go":         "asks the kernel again until a process has stopped",
	"store/mac_test.go":                        "a child plays a recording back at its own speed while it is killed",
}

// TestSleepsAreNotReal wants tests to wait for conditions (testdata/patience) or to run
// in testing/synctest, where an hour takes milliseconds: a real sleep is too short on a
// busy machine and too long on an idle one.
func TestSleepsAreNotReal(t *testing.T) {
	files, slept := 0, make(map[string]bool)
	err := filepath.WalkDir(".", func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && len(e.Name()) > 1 && strings.ContainsAny(e.Name()[:1], "._"):
			return fs.SkipDir
		case e.IsDir() || !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		files++
		if imports(file, "testing/synctest") {
			return nil
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok && isSleep(call.Fun) {
				slept[filepath.ToSlash(path)] = true
			}
			return true
		})
		return nil
	})
	if err != nil || files < 300 {
		t.Fatalf("%d files of tests, %v", files, err)
	}
	for path := range slept {
		if realSleeps[path] == "" {
			t.Errorf("%s calls time.Sleep and does not import testing/synctest: wait for a condition with testdata/patience, or give the reason in realSleeps", path)
		}
	}
	for path := range realSleeps {
		if !slept[path] {
			t.Errorf("%s does not sleep: take it out of realSleeps", path)
		}
	}
}

func imports(file *ast.File, path string) bool {
	return slices.ContainsFunc(file.Imports, func(s *ast.ImportSpec) bool { return s.Path.Value == strconv.Quote(path) })
}

// isSleep reports whether fun is time.Sleep.
func isSleep(fun ast.Expr) bool {
	sel, ok := fun.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != "Sleep" {
		return false
	}
	from, ok := sel.X.(*ast.Ident)
	return ok && from.Name == "time"
}
