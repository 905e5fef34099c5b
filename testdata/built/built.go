// Package built gives tests the two programs as users run them. They are linked once for all
// packages of a run, and kept for the next run.
//
// The go command itself decides whether a program is up to date with the sources; if so, nothing
// is linked. Tests of several packages may need a program at the same time: a file lock makes
// all but one wait.
package built

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"testing"
)

// A Target is the system that a program is built for.
type Target struct{ OS, Arch string }

// Here is the system that the tests run on.
var Here = Target{runtime.GOOS, runtime.GOARCH}

var (
	mu    sync.Mutex
	paths = make(map[string]func() (string, error))
)

// Programs returns the paths of recorder and replay, built for this system. It
// skips the test with -short.
func Programs(t testing.TB) (recorder, replay string) {
	t.Helper()
	return Program(t, "recorder"), Program(t, "replay")
}

// Program returns the path of recorder or replay, built for this system. It skips
// the test with -short.
func Program(t testing.TB, name string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("builds and runs whole programs")
	}
	path, err := Package(Here, "tachograph/cmd/"+name)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// Package returns the path of the program in a package, built without cgo. A pkg that ends in
// ".test" means the test binary of the package before it.
func Package(target Target, pkg string) (string, error) {
	mu.Lock()
	key := fmt.Sprint(target, pkg)
	once := paths[key]
	if once == nil {
		once = sync.OnceValues(func() (string, error) { return build(target, pkg) })
		paths[key] = once
	}
	mu.Unlock()
	return once()
}

func build(target Target, pkg string) (string, error) {
	root, err := moduleRoot()
	if err != nil {
		return "", err
	}
	dir, err := folder(root, target)
	if err != nil {
		return "", err
	}
	program := filepath.Join(dir, filepath.Base(pkg))
	unlock, err := Lock(program + ".lock")
	if err != nil {
		return "", err
	}
	defer unlock()
	args := []string{"build", "-buildvcs=false", "-o", program, pkg}
	if of, tests := cutTest(pkg); tests {
		args = []string{"test", "-c", "-buildvcs=false", "-o", program, of}
	}
	cmd := exec.Command("go", args...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+target.OS, "GOARCH="+target.Arch)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building %s for %s/%s: %w\n%s", pkg, target.OS, target.Arch, err, out)
	}
	return program, nil
}

func cutTest(pkg string) (string, bool) {
	if filepath.Ext(pkg) != ".test" {
		return pkg, false
	}
	return pkg[:len(pkg)-len(".test")], true
}

// moduleRoot returns the folder with go.mod, at or above that of the test.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, "go.mod")); err == nil {
			return at, nil
		}
		if at == filepath.Dir(at) {
			return "", fmt.Errorf("no go.mod at or above %s", dir)
		}
	}
}

// folder returns where the programs of a checkout are kept: in the user's cache, or among the
// temporary files if there is none.
func folder(root string, target Target) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil || os.MkdirAll(cache, 0o755) != nil {
		cache = os.TempDir()
	}
	name := fmt.Sprintf("%d-%x-%s-%s", os.Getuid(), sha256.Sum256([]byte(root)), target.OS, target.Arch)
	dir := filepath.Join(cache, "tachograph-tests", name[:24]+name[len(name)-len(target.OS)-len(target.Arch)-2:])
	return dir, os.MkdirAll(dir, 0o755)
}

// Lock locks a file, which it creates if necessary, and waits while another process has it
// locked.
func Lock(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	for {
		if err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != syscall.EINTR {
			break
		}
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return func() { f.Close() }, nil
}
