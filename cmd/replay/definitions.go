package main

import (
	"os"
	"path/filepath"
)

// ownDefinitions is the user's file of derived metrics, if there is one.
func ownDefinitions() string {
	dir, err := os.UserConfigDir()
	if err != nil {
		return ""
	}
	path := filepath.Join(dir, "tachograph", "derived")
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return path
}
