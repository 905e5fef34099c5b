package tachograph

import (
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// layered are the packages whose files are in layers: a file uses names of files below it, and
// none of these uses its own. Elsewhere Go allows circles of files, and a small package may have
// them; in a package of thirty files they make every file part of every other.
var layered = []string{"cmd/recorder", "cmd/replay", "store"}

func TestFilesGoDown(t *testing.T) {
	for _, dir := range layered {
		t.Run(dir, func(t *testing.T) {
			uses, err := usesOf(filepath.FromSlash(dir))
			if err != nil {
				t.Fatal(err)
			}
			// What uses nothing that is left is at the bottom, and is taken away.
			for {
				bottom := slices.DeleteFunc(slices.Collect(maps.Keys(uses)), func(file string) bool { return len(uses[file]) > 0 })
				if len(bottom) == 0 {
					break
				}
				for _, file := range bottom {
					delete(uses, file)
					for _, of := range uses {
						delete(of, file)
					}
				}
			}
			for _, file := range slices.Sorted(maps.Keys(uses)) {
				for _, of := range slices.Sorted(maps.Keys(uses[file])) {
					t.Errorf("%s uses %s of %s, which is not below it", file, uses[file][of], of)
				}
			}
		})
	}
}

// usesOf returns, for each file of the package in dir, the files whose names it uses, and one of
// these names.
func usesOf(dir string) (map[string]map[string]string, error) {
	p, err := build.ImportDir(dir, 0)
	if err != nil {
		return nil, err
	}
	set := token.NewFileSet()
	var files []*ast.File
	uses := make(map[string]map[string]string)
	for _, name := range p.GoFiles {
		f, err := parser.ParseFile(set, filepath.Join(dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
		uses[name] = make(map[string]string)
	}
	info := &types.Info{Uses: make(map[*ast.Ident]types.Object)}
	// Only names of the package itself matter: what it imports is left empty, and what cannot be
	// known therefore is no error.
	config := types.Config{Importer: empty{}, Error: func(error) {}}
	pkg, _ := config.Check(dir, set, files, info)
	for id, o := range info.Uses {
		if v, ok := o.(*types.Var); ok && v.IsField() || o.Pkg() != pkg || !o.Pos().IsValid() {
			continue
		}
		from, of := set.Position(id.Pos()).Filename, set.Position(o.Pos()).Filename
		if from != of {
			uses[filepath.Base(from)][filepath.Base(of)] = id.Name
		}
	}
	return uses, nil
}

// empty imports packages that have nothing in them.
type empty struct{}

func (empty) Import(path string) (*types.Package, error) {
	p := types.NewPackage(path, path[strings.LastIndexByte(path, '/')+1:])
	p.MarkComplete()
	return p, nil
}
