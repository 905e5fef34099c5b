package main

import (
	"io/fs"
	"strings"
)

// sources are the files of a checkout without those of its repository.
type sources struct{ fs.FS }

func (s sources) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := fs.ReadDir(s.FS, name)
	kept := entries[:0]
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") && (e.IsDir() || e.Type().IsRegular()) {
			kept = append(kept, e)
		}
	}
	return kept, err
}
