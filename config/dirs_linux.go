package config

import (
	"os"
	"path/filepath"
)

const (
	systemArchiveDir = "/var/lib/tachograph"
	systemFile       = "/etc/tachograph/tachograph.toml"
	systemPushDir    = "/var/lib/tachograph-push"
)

func userPushDir() string { return userArchiveDir() + "-push" }

func userArchiveDir() string {
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "tachograph")
	}
	return filepath.Join(home(), ".local", "state", "tachograph")
}
