package launchd

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"tachograph/config/trust"
	"tachograph/store/disk"
)

// File is a file that install writes.
type File struct {
	Path    string
	Mode    fs.FileMode
	Content []byte
	Group   string // empty: root's
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
	root  string
	own   bool
	stage bool
	asker int // the user who became root
}

func (p place) at(path string) string { return filepath.Join(p.root, path) }

// safe checks that nobody but those who count can exchange what is at path, or
// what is to come there: the system's own files are root's alone, those below a
// root for packages also of whoever became root to make them. A link below that
// root would lead out of it.
func (p place) safe(path string) error {
	full := p.at(path)
	if p.stage {
		if err := p.noLinks(path); err != nil {
			return err
		}
	}
	if !p.own {
		return nil
	}
	owners := trust.Root()
	if p.stage {
		owners = trust.RootAndAsker(p.asker)
	}
	_, err := owners.Resolve(full)
	return err
}

// noLinks checks that no link lies between the root for packages and path.
func (p place) noLinks(path string) error {
	at := p.root
	for name := range strings.SplitSeq(strings.Trim(filepath.Clean(path), "/"), "/") {
		at = filepath.Join(at, name)
		info, err := os.Lstat(at)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			return fmt.Errorf("%s is a symbolic link, which would lead out of %s: remove it", at, p.root)
		}
	}
	return nil
}

// mkdir makes d and what is missing above it.
func (p place) mkdir(d Dir) error {
	path := p.at(d.Path)
	if err := p.safe(d.Path); err != nil && (d.Shared || !p.mendable(d.Path)) {
		return err
	}
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

// mendable reports whether path itself is ours to mend, since all above it is
// safe and it is no link.
func (p place) mendable(path string) bool {
	info, err := os.Lstat(p.at(path))
	return err == nil && info.Mode()&fs.ModeSymlink == 0 && p.safe(filepath.Dir(path)) == nil
}

// write puts f in place as a whole: whoever starts it meanwhile finds the old
// file or the new one. It reports whether anything changed.
func (p place) write(f File) (changed bool, err error) {
	path := p.at(f.Path)
	if err := p.safe(filepath.Dir(f.Path)); err != nil {
		return false, err
	}
	info, err := os.Lstat(path)
	switch {
	case err == nil && !info.Mode().IsRegular():
		return false, fmt.Errorf("%s is not a file: move it away and install again", path)
	case err == nil && f.Keep:
		return false, p.safe(f.Path)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return false, err
	}
	if info != nil && info.Mode().Perm() == f.Mode && sameContent(path, f.Content) {
		return false, p.give(path, f.Group)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return false, fmt.Errorf("%s cannot be made: %w", filepath.Dir(path), cause(err))
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return false, fmt.Errorf("%s cannot be written: %w", path, cause(err))
	}
	defer os.Remove(tmp.Name())
	_, err = io.Copy(tmp, bytes.NewReader(f.Content))
	err = errors.Join(err, tmp.Chmod(f.Mode), tmp.Sync(), tmp.Close())
	if err == nil {
		err = p.give(tmp.Name(), f.Group)
	}
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		return false, fmt.Errorf("%s cannot be written: %w", path, cause(err))
	}
	return true, nil
}

// maxFile bounds what is read of any file: programs are some megabytes.
const maxFile = 512 << 20

// sameContent reports whether the file at path, which is followed nowhere, has
// that content.
func sameContent(path string, content []byte) bool {
	f, err := disk.OpenNoFollow(path, os.O_RDONLY, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	old, err := io.ReadAll(io.LimitReader(f, int64(len(content))+1))
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
