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

// ArchVariable is the environment variable that chooses the processor of the simulated Mac:
// amd64, which is the default, or arm64, which is emulated and ten to twenty times slower.
const ArchVariable = "TACHO_MAC_ARCH"

// emulatedSpeed is the greatest --speed, as a multiple of real time, for an emulated Mac.
const emulatedSpeed = 2

// errNoMac says why there is no simulated Mac on this machine.
var errNoMac = errors.New("the macOS tests need linux/amd64 with make and a C compiler")

// Mac is the built simulated Mac of testdata/darwinhost.
type Mac struct {
	Host    string // the program that runs other programs
	Shipped string // the folder of its own scenarios
	Arch    string // of the programs that it runs
}

// FindMac builds the simulated Mac, if necessary. root is the module's directory. The build
// stays among the temporary files, under a name made from its sources, for other packages' tests
// and for the next time.
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
	// Another process may be building it.
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
	// Build aside and rename the result: the building process may be killed.
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

// Need skips the test where there can be no simulated Mac, and fails it where the build failed.
func Need(t testing.TB, err error) {
	t.Helper()
	switch {
	case errors.Is(err, errNoMac):
		t.Skip(err)
	case err != nil:
		t.Fatal(err)
	}
}

// Program returns the path of a package built as a program for the Mac, or of its tests if pkg
// ends in .test. It is built once for all packages of a run.
func (m Mac) Program(pkg string) (string, error) {
	return built.Package(built.Target{OS: "darwin", Arch: m.Arch}, pkg)
}

// Command makes the command that runs a program on the Mac; flags are the host's. It limits
// --speed to what an emulated processor can reach. On an emulated processor functions leave
// garbage wherever the calling convention allows it.
func (m Mac) Command(flags []string, program string, args ...string) *exec.Cmd {
	flags = m.bearable(flags)
	if m.Emulated() {
		flags = append(flags, "--poison")
	}
	return exec.Command(m.Host, append(append(flags, program), args...)...)
}

// Emulated reports whether the processor is emulated.
func (m Mac) Emulated() bool { return m.Arch != runtime.GOARCH }

// bearable limits --speed to what the processor can reach.
func (m Mac) bearable(flags []string) []string {
	flags = slices.Clone(flags)
	for i := 1; i < len(flags); i++ {
		if x, err := strconv.ParseFloat(flags[i], 64); flags[i-1] == "--speed" && err == nil && m.Emulated() {
			flags[i] = strconv.FormatFloat(min(x, emulatedSpeed), 'g', -1, 64)
		}
	}
	return flags
}

// fingerprint returns a name for the sources in a folder. It includes the folder's path, because
// the build refers to the scenarios in it.
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
