// Package tachograph is the module's root. It holds nothing but tests of the
// module as a whole: of what has no better place than all packages together.
package tachograph

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// packages are the directories of all packages, for whatever system, with the
// comments above their package clauses put together.
func packages(t *testing.T) map[string]string {
	t.Helper()
	all := make(map[string]string)
	err := filepath.WalkDir(".", func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && (e.Name() == "testdata" || len(e.Name()) > 1 && strings.ContainsAny(e.Name()[:1], "._")):
			return fs.SkipDir
		case e.IsDir() || filepath.Ext(path) != ".go":
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.PackageClauseOnly|parser.ParseComments)
		if err != nil {
			return err
		}
		all[filepath.ToSlash(filepath.Dir(path))] += file.Doc.Text()
		return nil
	})
	if err != nil || len(all) < 20 {
		t.Fatalf("%d packages, %v", len(all), err)
	}
	return all
}

// TestEveryPackageHasAComment wants from every package what a stranger needs
// before the first line of its code.
func TestEveryPackageHasAComment(t *testing.T) {
	for dir, text := range packages(t) {
		if first, _, _ := strings.Cut(text, " "); first != "Package" && first != "Command" {
			t.Errorf("%s has no package comment: write in %[1]s/doc.go, above the package clause, \"Package %s ...\": "+
				"what it is for in one sentence, then what its callers may rely on and what it must not know (a program: \"Command %[2]s ...\")",
				dir, filepath.Base(dir))
		}
	}
}

// TestEveryPackageIsOnTheMap keeps ARCHITECTURE.md complete.
func TestEveryPackageIsOnTheMap(t *testing.T) {
	page, err := os.ReadFile("ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	for dir := range packages(t) {
		if dir != "." && !strings.Contains(string(page), "`"+dir+"`") {
			t.Errorf("ARCHITECTURE.md does not name `%s`: say there in a sentence what it is", dir)
		}
	}
}
