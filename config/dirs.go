package config

import (
	"os"
	"path/filepath"
)

// DefaultArchiveDir is where this user's recorder keeps its archives by default. It is never a
// directory, such as Documents, for which macOS asks the user's permission.
func DefaultArchiveDir() string {
	if os.Geteuid() == 0 {
		return systemArchiveDir
	}
	return userArchiveDir()
}

// ReadArchiveDir is where a reader looks by default: in the archives of this user's own
// recorder if there are any, else in the machine's.
func ReadArchiveDir() string {
	if dir := DefaultArchiveDir(); dir == systemArchiveDir || isDir(dir) || !isDir(systemArchiveDir) {
		return dir
	}
	return systemArchiveDir
}

// PushDir is where this user's replay push keeps its progress by default.
func PushDir() string {
	if os.Geteuid() == 0 {
		return systemPushDir
	}
	return userPushDir()
}

// PushDirs are the directories in which replay push keeps its progress: the machine's, and this
// user's.
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

// DefaultFile is where this user's recorder looks for its configuration by default. The file
// need not exist.
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

// home is the user's home directory, or the root if there is none: then making the archive
// fails with a path that explains itself.
func home() string {
	if dir, err := os.UserHomeDir(); err == nil {
		return dir
	}
	return "/"
}
