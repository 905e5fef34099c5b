package darwintest

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"testing"

	"tachograph/testdata/built"
)

// ArchVariable names an environment variable that chooses the processor of the
// simulated Mac: amd64, which is the default, or arm64, which is emulated and
// ten to twenty times slower.
const ArchVariable = "TACHO_MAC_ARCH"

// emulatedSpeed is how much faster than time an emulated Mac can live.
const emulatedSpeed = 2

// errNoMac is why there is no simulated Mac here.
var errNoMac = errors.New("the macOS tests need linux/amd64 with make and a C compiler")

// Mac is the simulated Mac in testdata/darwinhost, built.
type Mac struct {
	Host    string // the program that runs others
	Shipped string // the folder of the scenarios that come with it
	Arch    string // of the programs it runs
}

// FindMac builds the simulated Mac, if need be. root is the module's. What was
// built stays among the temporary files, under a name made from its sources,
// for other packages' tests and for the next time.
func FindMac(root string) (Mac, error) {
	m := Mac{Arch: os.Getenv(ArchVariable)}
	if m.Arch == "" {
		m.Arch = "amd64"
	}
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		return m, errNoMac
	}
	source, err := filepath.Abs(filepath.Join(root, "testdata", "darwinhost"))
	if err != nil {
		return m, err
	}
	id, err := fingerprint(source)
	if err != nil {
		return m, err
	}
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("tachograph-mac-%s-%d-%s", m.Arch, os.Getuid(), id))
	// Others may be building it.
	unlock, err := built.Lock(dir + ".lock")
	if err != nil {
		return m, err
	}
	defer unlock()
	name := "darwinhost"
	if m.Arch != "amd64" {
		name += "-" + m.Arch
	}
	m.Host, m.Shipped = filepath.Join(dir, name), filepath.Join(dir, "scenarios")
	if _, err := os.Stat(m.Host); err == nil {
		return m, nil
	}
	for _, tool := range []string{"make", "cc"} {
		if _, err := exec.LookPath(tool); err != nil {
			return m, errNoMac
		}
	}
	// Built aside and moved into place whole: who builds it may be ended.
	aside, err := os.MkdirTemp("", "tachograph-mac-")
	if err != nil {
		return m, err
	}
	defer os.RemoveAll(aside)
	if out, err := exec.Command("make", "-j2", "-C", source, "OUT="+aside, "ARCH="+m.Arch).CombinedOutput(); err != nil {
		return m, fmt.Errorf("building the simulated Mac: %w\n%s", err, out)
	}
	return m, os.Rename(aside, dir)
}

// Need skips the test where there can be no simulated Mac, and fails it where
// it could not be built.
func Need(t testing.TB, err error) {
	t.Helper()
	switch {
	case errors.Is(err, errNoMac):
		t.Skip(err)
	case err != nil:
		t.Fatal(err)
	}
}

// Program returns the path of a package as a program for the Mac, or, with .test
// after it, of its tests. It is built once for all packages of a run.
func (m Mac) Program(pkg string) (string, error) {
	return built.Package(built.Target{OS: "darwin", Arch: m.Arch}, pkg)
}

// Command makes the command that runs a program on the Mac; flags are the
// host's. An emulated processor lives as much faster than time as it can; on it
// functions leave garbage wherever the calling convention lets them.
func (m Mac) Command(flags []string, program string, args ...string) *exec.Cmd {
	flags = m.bearable(flags)
	if m.Emulated() {
		flags = append(flags, "--poison")
	}
	return exec.Command(m.Host, append(append(flags, program), args...)...)
}

// Emulated reports whether the processor is an emulated one.
func (m Mac) Emulated() bool { return m.Arch != runtime.GOARCH }

// bearable lowers what --speed asks for to what the processor can do.
func (m Mac) bearable(flags []string) []string {
	flags = slices.Clone(flags)
	for i := 1; i < len(flags); i++ {
		if x, err := strconv.ParseFloat(flags[i], 64); flags[i-1] == "--speed" && err == nil && m.Emulated() {
			flags[i] = strconv.FormatFloat(min(x, emulatedSpeed), 'g', -1, 64)
		}
	}
	return flags
}

// fingerprint is a name for the sources in a folder. The folder counts, since
// what is built refers to the scenarios in it.
func fingerprint(folder string) (string, error) {
	files, err := filepath.Glob(filepath.Join(folder, "src", "*"))
	if err != nil {
		return "", err
	}
	h := sha256.New()
	fmt.Fprintln(h, folder)
	for _, path := range append(files, filepath.Join(folder, "Makefile")) {
		f, err := os.Open(path)
		if err != nil {
			return "", err
		}
		fmt.Fprintln(h, path)
		_, err = io.Copy(h, f)
		f.Close()
		if err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:6]), nil
}
