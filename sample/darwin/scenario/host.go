package scenario

import (
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

// Host finds the simulated host, building it into dir if need be, and the
// folder of the scenarios that come with it. root is the module's. Where
// there is no such tool the error is fs.ErrNotExist.
func Host(root, dir string) (exe, shipped string, err error) {
	if exe = os.Getenv(HostVariable); exe != "" {
		return exe, filepath.Join(filepath.Dir(exe), "scenarios"), nil
	}
	source, err := filepath.Abs(filepath.Join(root, "..", "shared", "darwinhost"))
	if err != nil {
		return "", "", err
	}
	if _, err := os.Stat(source); err != nil {
		return "", "", fs.ErrNotExist
	}
	make := exec.Command("make", "-j2", "-C", source, "OUT="+dir)
	if out, err := make.CombinedOutput(); err != nil {
		if errors.Is(err, exec.ErrNotFound) {
			return "", "", fs.ErrNotExist
		}
		return "", "", fmt.Errorf("building the simulated host: %w\n%s", err, out)
	}
	return filepath.Join(dir, "darwinhost"), filepath.Join(dir, "scenarios"), nil
}
