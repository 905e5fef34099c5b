package symbol

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"tachograph/sample/stack"
)

// A Directory finds the files of images by their IDs. They may be anywhere below it: in a
// build's output, an unpacked package, a tree of .build-id, bundles of .dSYM. Images of macOS's
// shared cache are also found in the cache's own files.
type Directory struct {
	// Ask, if it is set, returns the path of a file with an image's ID that is elsewhere, "" if it
	// finds none. It is called once for each ID, and only if a function has no name without it.
	Ask func(m *stack.Image) (path string)

	files  map[string][]string // by ID
	caches map[string]string   // the first files of shared caches, by UUID
	opened map[string]*cache   // those asked for so far; nil if they could not be read
	tables map[string]*Table   // the tables asked for so far; nil if none could be read
	asked  map[string]bool     // the IDs that Ask was called with
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
// cannot be read, or holds too many files. If dir is "", the Directory has no files.
func OpenDirectory(dir string) (*Directory, error) {
	d := &Directory{files: make(map[string][]string), tables: make(map[string]*Table), caches: make(map[string]string), opened: make(map[string]*cache), asked: make(map[string]bool)}
	if dir == "" {
		return d, nil
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if target, err := filepath.EvalSymlinks(dir); err == nil {
		dir = target
	}
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
		d.identify(path)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return d, nil
}

func (d *Directory) identify(path string) {
	f, size, err := regular(path)
	if err != nil {
		return
	}
	defer f.Close()
	ids, err := Identify(f, size)
	if err != nil {
		if id := identifyCache(f); id != "" && d.caches[id] == "" {
			d.caches[id] = path
		}
		return
	}
	for _, id := range ids {
		if id != "" && len(d.files[id]) < maxSameID {
			d.files[id] = append(d.files[id], path)
		}
	}
}

// Function returns the function at an offset of an image, as Table's Find does. It looks in files
// with the image's own ID first, then in those of the shared cache that the image is a part of,
// and then asks for another file.
func (d *Directory) Function(m *stack.Image, offset uint64) (name, file string, line int, ok bool) {
	if t := d.Find(m.ID); t != nil {
		if name, file, line, ok = t.Find(offset); ok {
			return name, file, line, true
		}
	}
	if c := d.cache(m.CacheID); c != nil {
		if name = c.function(m.Base + offset - m.CacheSlide); name != "" {
			return name, "", 0, true
		}
	}
	if t := d.ask(m); t != nil {
		return t.Find(offset)
	}
	return "", "", 0, false
}

func (d *Directory) cache(id string) *cache {
	c, known := d.opened[id]
	if path := d.caches[id]; !known && path != "" {
		c = openCache(path)
		d.opened[id] = c
	}
	return c
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
	}
	d.keep(id, best)
	return best
}

// keep remembers the table of an ID. If all tables together become too large, it forgets the
// others.
func (d *Directory) keep(id string, t *Table) {
	if t != nil {
		if d.bytes += t.Bytes(); d.bytes > maxAllBytes {
			clear(d.tables)
			clear(d.asked)
			d.bytes = t.Bytes()
		}
	}
	d.tables[id] = t
}

// ask returns the table of an image together with what Ask finds for it; nil if it finds nothing.
func (d *Directory) ask(m *stack.Image) *Table {
	if d.Ask == nil || m.ID == "" || d.asked[m.ID] {
		return nil
	}
	d.asked[m.ID] = true
	path := d.Ask(m)
	if path == "" {
		return nil
	}
	t, err := OpenImage(path, m.ID)
	if err != nil {
		return nil
	}
	if own := d.tables[m.ID]; own != nil {
		t = own.joined(t)
	}
	d.keep(m.ID, t)
	return t
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
