package scenario

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
)

// HostVariable names an environment variable that points to a simulated host
// that has been built already.
const HostVariable = "TACHO_DARWINHOST"

// Host finds the simulated host and the folder of the scenarios that come with
// it, building the host if need be. root is the module's. Where there is no
// such tool the error is fs.ErrNotExist.
//
// What was built stays among the temporary files, under a name made from its
// sources, for other packages' tests and for the next time.
func Host(root string) (exe, shipped string, err error) {
	if exe = os.Getenv(HostVariable); exe != "" {
		return exe, filepath.Join(filepath.Dir(exe), "scenarios"), nil
	}
	source, err := filepath.Abs(filepath.Join(root, "..", "shared", "darwinhost"))
	if err != nil {
		return "", "", err
	}
	id, err := fingerprint(filepath.Join(source, "src"))
	if err != nil {
		return "", "", fs.ErrNotExist
	}
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("tachograph-host-%d-%s", os.Getuid(), id))
	exe, shipped = filepath.Join(dir, "darwinhost"), filepath.Join(dir, "scenarios")
	if _, err := os.Stat(exe); err == nil {
		return exe, shipped, nil
	}
	// Built aside and moved into place whole: others may be building too.
	aside, err := os.MkdirTemp("", "tachograph-host-")
	if err != nil {
		return "", "", err
	}
	defer os.RemoveAll(aside)
	if out, err := exec.Command("make", "-j2", "-C", source, "OUT="+aside).CombinedOutput(); err != nil {
		if errors.Is(err, exec.ErrNotFound) {
			return "", "", fs.ErrNotExist
		}
		return "", "", fmt.Errorf("building the simulated host: %w\n%s", err, out)
	}
	if err := os.Rename(aside, dir); err != nil {
		if _, there := os.Stat(exe); there != nil {
			return "", "", err
		}
	}
	return exe, shipped, nil
}

// fingerprint is a name for the state of the files in dir.
func fingerprint(dir string) (string, error) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	fmt.Fprintln(h, dir)
	for _, f := range files {
		info, err := f.Info()
		if err != nil {
			return "", err
		}
		fmt.Fprintln(h, f.Name(), info.Size(), info.ModTime().UnixNano())
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:6]), nil
}
