package store_test

import (
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// floors are the packages of the store as the picture in doc.go has them, the
// upper ones first. A package imports what stands on floors below its own.
var floors = [][]string{
	{"query", "recent"},
	{"derive"},
	{"reduce"},
	{"rewrite"},
	{".", "recording", "mend", "follow"},
	{"source"},
	{"archive"},
	{"layout", "gather"},
	{"digest", "journal"},
	{"chunk"},
	{"disk"},
	{"boltread"},
	{"fault", "varint"},
}

func TestImportsGoDown(t *testing.T) {
	floor := make(map[string]int)
	for i, rooms := range floors {
		for _, room := range rooms {
			floor[room] = len(floors) - i
		}
	}
	const root = "tachograph/store"
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	rooms := []string{"."}
	for _, e := range entries {
		if e.IsDir() && e.Name() != "testdata" && e.Name() != "storetest" {
			rooms = append(rooms, e.Name())
		}
	}
	for _, room := range rooms {
		t.Run(room, func(t *testing.T) {
			if floor[room] == 0 {
				t.Fatalf("%s has no place in the picture of doc.go", room)
			}
			p, err := build.ImportDir(filepath.FromSlash(room), 0)
			if err != nil {
				t.Fatal(err)
			}
			for _, path := range p.Imports {
				below, ours := strings.CutPrefix(path, root)
				switch below = strings.TrimPrefix(below, "/"); {
				case !ours:
					if strings.HasPrefix(path, "tachograph/") && path != "tachograph/sample/metric" {
						t.Errorf("it imports %s: the store knows sample/metric and itself", path)
					}
					continue
				case below == "":
					below = "."
				}
				if floor[below] >= floor[room] {
					t.Errorf("it imports %s, which does not stand below it", path)
				}
			}
		})
	}
}

// files are the files of package store itself, the upper ones first. A file uses what is declared
// in itself and in the files after it.
var files = strings.Fields(`
	doc format
	twin view questions
	cohorts lives events search values readings totals summarize_chunk summarize select domain
	reader
	emit sums steps filter plan keys presence column
	shown scope crew instances
	part read cohort alias
`)

// foreign gives a package for each path, with nothing in it.
type foreign map[string]*types.Package

func (f foreign) Import(name string) (*types.Package, error) {
	if f[name] == nil {
		f[name] = types.NewPackage(name, path.Base(name))
		f[name].MarkComplete()
	}
	return f[name], nil
}

func TestFilesLookDown(t *testing.T) {
	p, err := build.ImportDir(".", 0)
	if err != nil {
		t.Fatal(err)
	}
	set := token.NewFileSet()
	var list []*ast.File
	for _, name := range p.GoFiles {
		f, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, f)
	}
	place := func(at token.Pos) (name string, n int) {
		name = set.File(at).Name()
		if n = slices.Index(files, strings.TrimSuffix(name, ".go")); n < 0 {
			t.Fatalf("%s has no place in the list of this test", name)
		}
		return name, n
	}
	found := types.Info{Uses: make(map[*ast.Ident]types.Object)}
	conf := types.Config{Importer: make(foreign), Error: func(error) {}} // what other packages declare is unknown
	pkg, _ := conf.Check("store", set, list, &found)
	for id, of := range found.Uses {
		fn, _ := of.(*types.Func)
		if method := fn != nil && fn.Signature().Recv() != nil; of.Pkg() != pkg || !method && of.Parent() != pkg.Scope() {
			continue
		}
		name, here := place(id.Pos())
		if other, there := place(of.Pos()); there < here {
			t.Errorf("%s uses %s, which %s above it declares", name, id.Name, other)
		}
	}
}
