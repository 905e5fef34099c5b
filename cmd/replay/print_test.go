package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Printf and Println of the outputs make one line of each argument; fmt's do
// not.
func TestPrintingGoesThroughTheWriters(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	direct := regexp.MustCompile(`fmt\.Fprint(f|ln)\((a|b\.app)\.std(out|err),.*|os\.Std(out|err)\.Write.*`)
	for _, f := range files {
		if strings.HasSuffix(f, "_test.go") {
			continue
		}
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if found := direct.Find(b); found != nil {
			t.Errorf("%s: %s: print with a.stdout.Printf", f, found)
		}
	}
}
