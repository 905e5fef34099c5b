package symbol

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// A Directory finds the files of images by their IDs. They may be anywhere below it: in a
// build's output, an unpacked package, a tree of .build-id, bundles of .dSYM.
type Directory struct {
	files  map[string][]string // by ID
	tables map[string]*Table   // the tables asked for so far; nil if none could be read
	bytes  int
}

// Limits of a Directory.
const (
	maxFiles    = 500_000
	maxDepth    = 40
	maxSameID   = 8       // most files that are read for one ID
	maxAllBytes = 1 << 30 // of the tables that it keeps
)

// OpenDirectory looks for images in all files below dir. It reads only their headers. It does
// not follow links, and leaves out what cannot be read. It returns an error if dir itself
// cannot be read, or holds too many files.
func OpenDirectory(dir string) (*Directory, error) {
	if target, err := filepath.EvalSymlinks(dir); err == nil {
		dir = target
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	d := &Directory{files: make(map[string][]string), tables: make(map[string]*Table)}
	seen := 0
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
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

// Find returns the table of the image with this ID; nil if no file below the directory has it.
// If several files do, such as a stripped program and its debug file, it returns the table with
// the most functions; if all are stripped, also with those of the debug file where debuggers look
// for it, which may be outside of the directory.
func (d *Directory) Find(id string) *Table {
	if t, known := d.tables[id]; known || id == "" {
		return t
	}
	var best *Table
	var at string
	for _, path := range d.files[id] {
		t, err := OpenImage(path, id)
		if err == nil && (best == nil || t.tells() > best.tells()) {
			best, at = t, path
		}
	}
	if best != nil {
		if more := best.debugTable(at, openRegular, maxAllBytes); more != nil {
			best = best.joined(more)
		}
		if d.bytes += best.Bytes(); d.bytes > maxAllBytes {
			clear(d.tables)
			d.bytes = best.Bytes()
		}
	}
	d.tables[id] = best
	return best
}

// tells returns how many functions the table names.
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
