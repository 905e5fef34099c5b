package config

import (
	"os"
	"path/filepath"
)

const (
	systemArchiveDir = "/var/lib/tachograph"
	systemFile       = "/etc/tachograph/tachograph.toml"
)

func userArchiveDir() string {
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "tachograph")
	}
	return filepath.Join(home(), ".local", "state", "tachograph")
}
