package cli

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestGuideHasTheTable(t *testing.T) {
	text, err := os.ReadFile("../../../docs/ASK.md")
	if err != nil || !strings.Contains(string(text), markdown()) {
		t.Errorf("docs/ASK.md (%v) lacks the table:\n%s", err, markdown())
	}
}

// markdown is the table as the guide has it.
func markdown() string {
	var b strings.Builder
	b.WriteString("| status | means | said by |\n|---|---|---|\n")
	for _, s := range Statuses {
		fmt.Fprintf(&b, "| %d | %s | %s |\n", s.Code, s.Meaning, s.Of)
	}
	return b.String()
}

// TestOnlyStatusesOfTheTable looks at the sources of both programs: they end in
// one place each, and the function that gives the status there returns nothing
// but names of this package.
func TestOnlyStatusesOfTheTable(t *testing.T) {
	for _, program := range []string{"recorder", "replay"} {
		files, err := filepath.Glob("../../" + program + "/*.go")
		if err != nil || len(files) == 0 {
			t.Fatalf("%s has no sources: %v", program, err)
		}
		exits, returns := 0, 0
		for _, path := range files {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if call, ok := n.(*ast.CallExpr); ok && isName(call.Fun, "os", "Exit") {
					exits++
				}
				if f, ok := n.(*ast.FuncDecl); ok && f.Name.Name == "run" && isApp(f.Recv) {
					ast.Inspect(f.Body, func(n ast.Node) bool {
						ret, ok := n.(*ast.ReturnStmt)
						if !ok {
							return true
						}
						returns++
						if len(ret.Results) != 1 || !slices.ContainsFunc([]string{"Yes", "No", "Failed"}, func(name string) bool { return isName(ret.Results[0], "cli", name) }) {
							t.Errorf("%s: a status that is not in the table", path)
						}
						return true
					})
				}
				return true
			})
		}
		if exits != 1 || returns == 0 {
			t.Errorf("%s ends in %d places with %d statuses", program, exits, returns)
		}
	}
}

func isName(e ast.Expr, pkg, name string) bool {
	s, ok := e.(*ast.SelectorExpr)
	if !ok || s.Sel.Name != name {
		return false
	}
	x, ok := s.X.(*ast.Ident)
	return ok && x.Name == pkg
}

// isApp reports whether a method is one of *app.
func isApp(receiver *ast.FieldList) bool {
	if receiver == nil {
		return false
	}
	star, ok := receiver.List[0].Type.(*ast.StarExpr)
	if !ok {
		return false
	}
	name, ok := star.X.(*ast.Ident)
	return ok && name.Name == "app"
}
