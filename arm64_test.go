package tachograph

import (
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// fusedOp is an instruction that rounds a product and a sum at once.
var fusedOp = regexp.MustCompile(`\bFN?M(ADD|SUB)[SD]\b`)

// Nothing in this module lets the compiler round a product and a sum at once,
// as it does for arm64 and not for amd64: whatever is recorded, stored or shown
// is the same number on every machine. The remedy is float64(x*y) around the
// product.
func TestNoFusedArithmetic(t *testing.T) {
	if testing.Short() {
		t.Skip("builds everything for arm64")
	}
	if found := fusedIn(t, compiled(t, "package p\n\nfunc F(a, b, c float64) float64 { return a*b + c }\n")); len(found) != 1 {
		t.Fatalf("of one fused operation this finds %q", found)
	}
	done := make(map[string]bool) // packages, with their files: most are the same everywhere
	looked := 0
	for _, system := range []string{"linux", "darwin"} {
		list := exec.Command("go", "list", "-export", "-deps", "-f", "{{if not .Standard}}{{.Export}} {{.ImportPath}} {{.GoFiles}}{{end}}",
			"tachograph/cmd/recorder", "tachograph/cmd/replay")
		list.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH=arm64")
		out, err := list.Output()
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range strings.Split(strings.TrimSpace(string(out)), "\n") {
			object, files, ok := strings.Cut(l, " ")
			path, _, _ := strings.Cut(files, " ")
			if !ok || done[files] || path != "tachograph" && !strings.HasPrefix(path, "tachograph/") {
				continue
			}
			done[files] = true
			looked++
			for _, where := range fusedIn(t, object) {
				t.Errorf("%s on %s: a fused operation at %s", path, system, where)
			}
		}
	}
	if looked < 50 {
		t.Errorf("looked at %d packages only", looked)
	}
}

// fusedIn lists where a compiled package has fused operations.
func fusedIn(t *testing.T, object string) []string {
	code, err := exec.Command("go", "tool", "objdump", object).Output()
	if err != nil {
		t.Fatalf("%s: %v", object, err)
	}
	var found []string
	function := ""
	for _, l := range bytes.Split(code, []byte("\n")) {
		if name, ok := bytes.CutPrefix(l, []byte("TEXT ")); ok {
			function = string(name)
		} else if fusedOp.Match(l) {
			found = append(found, strings.Fields(string(l))[0]+" in "+function)
		}
	}
	return found
}

// compiled compiles a source for arm64.
func compiled(t *testing.T, source string) string {
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/p.go", []byte(source), 0o666); err != nil {
		t.Fatal(err)
	}
	c := exec.Command("go", "tool", "compile", "-p", "p", "-o", dir+"/p.o", dir+"/p.go")
	c.Env = append(os.Environ(), "GOOS=linux", "GOARCH=arm64")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return dir + "/p.o"
}

// The same questions get the same answers, and the same ticks the same bytes,
// on arm64: the tests that compare them with what was written down pass there.
func TestSameOnArm64(t *testing.T) {
	if testing.Short() {
		t.Skip("emulates another processor")
	}
	emulator, err := exec.LookPath("qemu-aarch64")
	if err != nil {
		t.Skip("qemu-aarch64 is not installed")
	}
	for _, c := range []struct{ dir, tests string }{
		{"store/chunk", "^TestSameBytesEverywhere$"},
		{"store", "^TestGolden$"},
		{"store/query", "Oracle$|^TestOperands|^TestDiff"},
		{"cmd/replay", "^TestGolden$"},
	} {
		t.Run(c.dir, func(t *testing.T) {
			cmd := exec.Command("go", "test", "-count=1", "-exec", emulator, "-run", c.tests, ".")
			cmd.Dir = c.dir
			cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=arm64")
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s", c.dir, err, out)
			}
		})
	}
}
