package redact

import (
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

var update = flag.Bool("update", false, "write vocabulary.txt anew")

// writers are the packages whose sentences are recorded.
var writers = []string{"sample/engine", "sample/notice", "sample/platform", "sample/proc", "sample/stack", "sample/linux", "sample/darwin", "sample",
	"store/recording", "store/layout", "store/journal", "store/mend", "store/disk", "store/fault", "cmd/recorder/service", "config"}

var wordShape = regexp.MustCompile(`^[A-Za-z][A-Za-z'-]*$`)

// Words that errors of the system and of Go's library are made of, which stand in
// no source of ours.
const systemWords = `open read write close stat lstat readlink ioctl sysctl exec fork start wait signal killed terminated exit status exited no such file or directory
permission denied operation not permitted context deadline exceeded canceled i/o timeout file does exist already closed connection refused reset by peer
broken pipe end of unexpected EOF invalid argument too many files device resource temporarily unavailable busy is a an space left on read-only system
bad descriptor address input output error executable found in path host name interface network unreachable level disk memory cpu archive recorder process
user initiated shutdown restart software update wake sleep lid open power button battery low watchdog thermal`

func wordsOfSources(t *testing.T) []string {
	set := make(map[string]bool)
	add := func(text string) {
		for _, w := range strings.FieldsFunc(text, func(r rune) bool {
			return r == ' ' || r == '\n' || r == '\t' || strings.ContainsRune(separators+".!?%\\`", r)
		}) {
			if w = strings.Trim(w, "-'"); len(w) < 25 && wordShape.MatchString(w) {
				set[strings.ToLower(w)] = true
			}
		}
	}
	for _, dir := range writers {
		err := filepath.WalkDir(filepath.Join("../../../..", dir), func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && path != filepath.Join("../../../..", dir) && (d.Name() == "testdata" || d.Name() == "cmdline" || strings.HasSuffix(d.Name(), "test") || dir == "sample"):
				return fs.SkipDir
			case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
				return nil
			}
			f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(f, func(n ast.Node) bool {
				if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
					if s, err := strconv.Unquote(l.Value); err == nil {
						add(s)
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	add(systemWords)
	for _, name := range []string{"default.toml"} {
		text, err := os.ReadFile("../../../../config/" + name)
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range strings.FieldsFunc(string(text), func(r rune) bool { return !(r >= 'a' && r <= 'z') }) {
			add(w)
		}
	}
	if *update {
		for n := syscall.Errno(1); n < 134; n++ {
			add(n.Error())
		}
	}
	words := make([]string, 0, len(set))
	for w := range set {
		words = append(words, w)
	}
	slices.Sort(words)
	return words
}

// What the recorder writes stays readable: its words are in the vocabulary.
func TestVocabulary(t *testing.T) {
	words := wordsOfSources(t)
	if *update {
		if err := os.WriteFile("vocabulary.txt", []byte(strings.Join(words, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	var lacks []string
	for _, w := range words {
		if !vocabulary()[w] {
			lacks = append(lacks, w)
		}
	}
	// A word that is new is hidden, which is safe; a few of them make no sentence
	// hard to read.
	if len(lacks) > len(words)/10 {
		t.Errorf("the recorder writes %d words that redaction would hide: %q; look at them, and then: go test ./cmd/replay/internal/redact -run Vocabulary -update", len(lacks), lacks)
	}
}
