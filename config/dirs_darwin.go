package config

import "path/filepath"

const (
	systemArchiveDir = "/Library/Application Support/Tachograph/Archives"
	systemFile       = "/Library/Application Support/Tachograph/tachograph.toml"
	systemPushDir    = "/Library/Application Support/Tachograph/Push"
)

func userPushDir() string {
	return filepath.Join(home(), "Library", "Application Support", "Tachograph", "Push")
}

func userArchiveDir() string {
	return filepath.Join(home(), "Library", "Application Support", "Tachograph", "Archives")
}
