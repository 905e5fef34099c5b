package symbol

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// A Directory finds the files that have the names of images, by their IDs. They
// may lie anywhere below it: a build's output, an unpacked package, a tree of
// .build-id, bundles of .dSYM.
type Directory struct {
	files  map[string][]string // by ID
	tables map[string]*Table   // those that were asked for; nil where none could be read
	bytes  int
}

// Limits of a Directory.
const (
	maxFiles    = 500_000
	maxDepth    = 40
	maxSameID   = 8       // files that are looked into for one ID
	maxAllBytes = 1 << 30 // of the tables that it holds
)

// OpenDirectory looks through all files below dir for images. It reads their
// headers only. Links are not followed, and what cannot be read is left out; an
// error is that dir itself cannot be, or holds more than can be looked at.
func OpenDirectory(dir string) (*Directory, error) {
	if target, err := filepath.EvalSymlinks(dir); err == nil {
		dir = target
	}
	d := &Directory{files: make(map[string][]string), tables: make(map[string]*Table)}
	seen := 0
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil && path == dir:
			return err
		case err != nil:
			return nil
		case e.IsDir() && strings.Count(path[len(dir):], string(os.PathSeparator)) > maxDepth:
			return fs.SkipDir
		case !e.Type().IsRegular():
			return nil
		}
		if seen++; seen > maxFiles {
			return fmt.Errorf("%s holds more than %d files: name the directory in it that has the symbols", dir, maxFiles)
		}
		for _, id := range identify(path) {
			if id != "" && len(d.files[id]) < maxSameID {
				d.files[id] = append(d.files[id], path)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return d, nil
}

func identify(path string) []string {
	f, size, err := regular(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	ids, err := Identify(f, size)
	if err != nil {
		return nil
	}
	return ids
}

// Find is the table of the image that has id; nil if no file below the directory
// has it. Of several files with it, a stripped program and its debug file, it is
// the one that tells most.
func (d *Directory) Find(id string) *Table {
	if t, known := d.tables[id]; known || id == "" {
		return t
	}
	var best *Table
	for _, path := range d.files[id] {
		t, err := OpenImage(path, id)
		if err == nil && (best == nil || t.tells() > best.tells()) {
			best = t
		}
	}
	if best != nil {
		if d.bytes += best.Bytes(); d.bytes > maxAllBytes {
			clear(d.tables)
			d.bytes = best.Bytes()
		}
	}
	d.tables[id] = best
	return best
}

// tells is how many functions it knows by name.
func (t *Table) tells() int {
	n := 0
	for _, f := range t.functions {
		if f.name != 0 {
			n++
		}
	}
	if t.lines != nil {
		n += t.lines.functions
	}
	return n
}
