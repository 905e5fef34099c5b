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

// TestBuildScriptGivesEveryFlag runs the build script with a stand-in for go that prints
// its environment and its arguments. They are the same in any directory and environment,
// and hold every flag that a reproducible build needs.
func TestBuildScriptGivesEveryFlag(t *testing.T) {
	script, err := filepath.Abs("../../launchd/packaging/build.sh")
	if err != nil {
		t.Fatal(err)
	}
	tools, copied := t.TempDir(), t.TempDir()
	const standIn = "#!/bin/sh\necho $CGO_ENABLED $GOOS/$GOARCH $GOAMD64 $GOARM64 \"flags=$GOFLAGS\" \"experiments=$GOEXPERIMENT\"\nfor w; do echo \"$w\"; done\n"
	if err := os.WriteFile(filepath.Join(tools, "go"), []byte(standIn), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(copied, "launchd", "packaging"), os.DirFS(filepath.Dir(script))); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{script, filepath.Join(copied, "launchd", "packaging", "build.sh")} {
		out := t.TempDir()
		cmd := exec.Command("sh", path, "darwin", "arm64", out)
		cmd.Env = append(os.Environ(), "PATH="+tools+string(os.PathListSeparator)+os.Getenv("PATH"), "GOFLAGS=-race", "GOEXPERIMENT=x", "CGO_ENABLED=1", "GOAMD64=v4")
		said, err := cmd.CombinedOutput()
		const want = "0 darwin/arm64 v1 v8.0 flags= experiments=\nbuild\n-trimpath\n-buildvcs=false\n-ldflags\n-s -w -buildid=\n-o\nOUT/\n./cmd/recorder\n./cmd/replay\n"
		if got := strings.ReplaceAll(string(said), out, "OUT"); err != nil || got != want {
			t.Errorf("%v: go was told\n%s\nwant\n%s", err, got, want)
		}
	}
}

// TestBuildsAreReproducible builds from two directories as the README says and
// compares every byte.
func TestBuildsAreReproducible(t *testing.T) {
	if os.Getenv("TACHO_LONG") == "" {
		t.Skip("a long test: TACHO_LONG=1") // it builds everything twice
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
		t.Skip("go is not installed")
	}
	return path
}
