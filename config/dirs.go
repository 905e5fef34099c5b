package config

import (
	"os"
	"path/filepath"
)

// DefaultArchiveDir is where the recorder of this user keeps its archives when
// nothing else is said. It is never a place that macOS guards with a question
// to the user, such as Documents.
func DefaultArchiveDir() string {
	if os.Geteuid() == 0 {
		return systemArchiveDir
	}
	return userArchiveDir()
}

// ReadArchiveDir is where a reader looks when nothing else is said: the
// archives of this user's own recorder if there are any, else those of the
// machine's.
func ReadArchiveDir() string {
	if dir := DefaultArchiveDir(); dir == systemArchiveDir || isDir(dir) || !isDir(systemArchiveDir) {
		return dir
	}
	return systemArchiveDir
}

// PushDir is where replay push of this user keeps how far it has come when nothing
// else is said.
func PushDir() string {
	if os.Geteuid() == 0 {
		return systemPushDir
	}
	return userPushDir()
}

// PushDirs are the directories in which replay push keeps how far it has come: that of
// the machine's, and that of this user's.
func PushDirs() []string {
	if dir := PushDir(); dir != systemPushDir {
		return []string{systemPushDir, dir}
	}
	return []string{systemPushDir}
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// DefaultFile is where the recorder of this user looks for its configuration
// when nothing else is said. It need not exist.
func DefaultFile() string {
	if os.Geteuid() == 0 {
		return systemFile
	}
	dir, err := os.UserConfigDir()
	if err != nil {
		return systemFile
	}
	return filepath.Join(dir, "tachograph", "tachograph.toml")
}

// home is the user's directory, or the root where there is none: then making
// the archive fails with a path that explains itself.
func home() string {
	if dir, err := os.UserHomeDir(); err == nil {
		return dir
	}
	return "/"
}
