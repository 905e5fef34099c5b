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
	// Keep says not to change a file that exists.
	Keep bool
}

// Dir is a directory that install makes.
type Dir struct {
	Path  string
	Mode  fs.FileMode
	Group string // empty: root's
	// Shared directories are not ours: install makes them if they are missing, and neither
	// changes nor removes them.
	Shared bool
}

// fileRoot says below which root the paths of the system are, and whether files there can be given
// to root.
type fileRoot struct {
	root  string
	own   bool
	stage bool
	asker int // the user who became root
}

func (p fileRoot) at(path string) string { return filepath.Join(p.root, path) }

// safe checks that only trusted users can replace what is, or will be, at path: only root for
// the system's own files; for those below a root for packages, also the user who became root to
// make the packages. A link below that root would lead out of it.
func (p fileRoot) safe(path string) error {
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

// noLinks checks that no link is between the root for packages and path.
func (p fileRoot) noLinks(path string) error {
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

// mkdir makes d and the missing directories above it.
func (p fileRoot) mkdir(d Dir) error {
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

// mendable reports whether path itself is ours to correct: all above it is safe and it is no
// link.
func (p fileRoot) mendable(path string) bool {
	info, err := os.Lstat(p.at(path))
	return err == nil && info.Mode()&fs.ModeSymlink == 0 && p.safe(filepath.Dir(path)) == nil
}

// write puts f in place as a whole: a program started meanwhile is the old file or the new one.
// It reports whether anything changed.
func (p fileRoot) write(f File) (changed bool, err error) {
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

// maxFile limits what is read of any file: programs have some megabytes.
const maxFile = 512 << 20

// sameContent reports whether the file at path has that content. It does not follow a link.
func sameContent(path string, content []byte) bool {
	f, err := disk.OpenNoFollow(path, os.O_RDONLY, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	old, err := io.ReadAll(io.LimitReader(f, int64(len(content))+1))
	return err == nil && bytes.Equal(old, content)
}

// give makes root the owner, and the named group (root's own if empty) the group.
func (p fileRoot) give(path, group string) error {
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

// cause returns the system's part of a path error; callers add the path themselves.
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
