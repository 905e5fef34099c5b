package config

import "path/filepath"

const (
	systemArchiveDir = "/Library/Application Support/Tachograph/Archives"
	systemFile       = "/Library/Application Support/Tachograph/tachograph.toml"
)

func userArchiveDir() string {
	return filepath.Join(home(), "Library", "Application Support", "Tachograph", "Archives")
}
