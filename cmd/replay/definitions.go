package main

import (
	"os"
	"path/filepath"
)

// ownDefinitions returns the path of the user's file of derived metrics, or "" if there is none.
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
