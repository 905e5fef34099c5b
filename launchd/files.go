package launchd

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// File is a file that install writes.
type File struct {
	Path    string
	Mode    fs.FileMode
	Content []byte
	From    string // copied from here when Content is nil
	// Keep leaves alone a file that exists.
	Keep bool
}

// Dir is a directory that install makes.
type Dir struct {
	Path  string
	Mode  fs.FileMode
	Group string // empty: root's
	// Shared directories are not ours: they are made where they are missing
	// and neither changed nor removed.
	Shared bool
}

// place is where paths of the system are found, and whether they can be given
// to root.
type place struct {
	root string
	own  bool
}

func (p place) at(path string) string { return filepath.Join(p.root, path) }

// mkdir makes d and what is missing above it.
func (p place) mkdir(d Dir) error {
	path := p.at(d.Path)
	if err := os.MkdirAll(path, 0o755); err != nil {
		return fmt.Errorf("%s cannot be made: %w", path, cause(err))
	}
	if d.Shared {
		return nil
	}
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is not a directory: move it away and install again", path)
	}
	if err := p.give(path, d.Group); err != nil {
		return err
	}
	// Chmod last: giving a directory away may clear bits.
	return os.Chmod(path, d.Mode)
}

// write puts f in place as a whole: whoever starts it meanwhile finds the old
// file or the new one. It reports whether anything changed.
func (p place) write(f File) (changed bool, err error) {
	path := p.at(f.Path)
	info, err := os.Lstat(path)
	switch {
	case err == nil && f.Keep:
		return false, nil
	case err == nil && !info.Mode().IsRegular():
		return false, fmt.Errorf("%s is not a file: move it away and install again", path)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return false, err
	}
	content := f.Content
	if content == nil {
		if content, err = os.ReadFile(f.From); err != nil {
			return false, fmt.Errorf("%s cannot be read: %w", f.From, cause(err))
		}
	}
	if info != nil && info.Mode().Perm() == f.Mode && sameContent(path, content) {
		return false, p.give(path, "")
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return false, fmt.Errorf("%s cannot be made: %w", filepath.Dir(path), cause(err))
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return false, fmt.Errorf("%s cannot be written: %w", path, cause(err))
	}
	defer os.Remove(tmp.Name())
	_, err = io.Copy(tmp, bytes.NewReader(content))
	err = errors.Join(err, tmp.Chmod(f.Mode), tmp.Sync(), tmp.Close())
	if err == nil {
		err = p.give(tmp.Name(), "")
	}
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		return false, fmt.Errorf("%s cannot be written: %w", path, cause(err))
	}
	return true, nil
}

func sameContent(path string, content []byte) bool {
	old, err := os.ReadFile(path)
	return err == nil && bytes.Equal(old, content)
}

// give makes root the owner, and the named group (root's own if empty) the
// group.
func (p place) give(path, group string) error {
	if !p.own {
		return nil
	}
	gid := 0
	if group != "" {
		var err error
		if gid, err = groupID(group); err != nil {
			return err
		}
	}
	if err := os.Lchown(path, 0, gid); err != nil {
		return fmt.Errorf("%s cannot be given to root: %w", path, cause(err))
	}
	return nil
}

// onlyRoots checks that nobody but root can replace what is at path: every
// directory above it, up to the root of the system, must be root's alone.
func (p place) onlyRoots(path string) error {
	for dir := p.at(path); ; dir = filepath.Dir(dir) {
		info, err := os.Lstat(dir)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return err
		default:
			st, ok := info.Sys().(*syscall.Stat_t)
			if !ok || st.Uid != 0 {
				return fmt.Errorf("%s does not belong to root, so that its owner could replace the recorder: chown it to root and install again", dir)
			}
			if info.Mode()&fs.ModeSymlink == 0 && info.Mode().Perm()&0o022 != 0 && info.Mode()&fs.ModeSticky == 0 {
				return fmt.Errorf("others than root may write %s and could replace the recorder: chmod go-w it and install again", dir)
			}
		}
		if dir == filepath.Dir(dir) || dir == filepath.Clean(p.root) && p.root != "" {
			return nil
		}
	}
}

// cause is the system's part of a path error, whose path is told anyway.
func cause(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	var le *os.LinkError
	if errors.As(err, &le) {
		return le.Err
	}
	return err
}

func removeIfPresent(path string) (bool, error) {
	err := os.Remove(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
