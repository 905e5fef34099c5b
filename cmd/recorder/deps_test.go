package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// modules are all that the recorder is made of besides Go's own library. It
// runs as root: another one is a decision, not an accident.
var modules = []string{
	"github.com/BurntSushi/toml",
	"github.com/klauspost/compress",
	"github.com/robfig/cron/v3",
	"github.com/spf13/cobra",
	"github.com/spf13/pflag",
	"go.etcd.io/bbolt",
	"golang.org/x/sys",
}

func TestTheRecorderIsMadeOfLittle(t *testing.T) {
	for _, goos := range []string{"linux", "darwin"} {
		list := exec.Command(goTool(t), "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}}{{end}}{{end}}", ".")
		list.Env = append(os.Environ(), "GOOS="+goos, "CGO_ENABLED=0")
		out, err := list.Output()
		if err != nil {
			t.Fatalf("go list: %v", err)
		}
		got := strings.Fields(string(out))
		slices.Sort(got)
		got = slices.Compact(got)
		if !slices.Equal(got, modules) {
			t.Errorf("%s: the recorder is made of\n%s\nwant\n%s", goos, strings.Join(got, "\n"), strings.Join(modules, "\n"))
		}
	}
}

// TestBuildsAreReproducible builds from two directories as the README says and
// compares every byte.
func TestBuildsAreReproducible(t *testing.T) {
	if testing.Short() {
		t.Skip("building everything twice takes minutes on a busy machine")
	}
	source, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	build := func(dir string) map[string]string {
		out := t.TempDir()
		cmd := exec.Command("sh", filepath.Join(dir, "launchd/packaging/build.sh"), "linux", "amd64", out)
		cmd.Dir = "/"
		cmd.Env = append(os.Environ(), "GOFLAGS=")
		if text, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("build in %s: %v\n%s", dir, err, text)
		}
		built := make(map[string]string)
		for _, name := range []string{"recorder", "replay"} {
			text, err := os.ReadFile(filepath.Join(out, name))
			if err != nil {
				t.Fatal(err)
			}
			built[name] = string(text)
		}
		return built
	}
	copied := filepath.Join(t.TempDir(), "elsewhere", "tachograph")
	if err := os.CopyFS(copied, sources{os.DirFS(source)}); err != nil {
		t.Fatal(err)
	}
	here, there := build(source), build(copied)
	for name := range here {
		if here[name] != there[name] {
			t.Errorf("%s differs: %d bytes here, %d there", name, len(here[name]), len(there[name]))
		}
		if strings.Contains(here[name], source+"/") {
			t.Errorf("%s names the directory it was built in", name)
		}
	}
}

func goTool(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("go")
	if err != nil {
		t.Skip("there is no go here")
	}
	return path
}
