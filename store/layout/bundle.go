package layout

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"

	"tachograph/store/disk"
	"tachograph/store/fault"
)

// A bundle is several finished archives in one file: an uncompressed tar, whose members are read
// in place, as if the tar were a directory: the archive NAME in the bundle at PATH is at
// PATH/NAME. Bundles can hold what no single archive does: several boots or hosts.

// MaxMembers limits how many archives of a bundle are read. maxEntries limits how many tar
// entries are looked at to find them, since there may be others between them.
const (
	MaxMembers = 1 << 12
	maxEntries = 1 << 14
)

// A Member is an archive in a bundle: its bytes begin at Offset.
type Member struct {
	Name         string
	Offset, Size int64
}

// tarMagic is at tarMagicAt in the header of each member of a tar.
const (
	tarMagic   = "ustar"
	tarMagicAt = 257
)

// IsBundle reports whether src begins as a bundle does.
func IsBundle(src io.ReaderAt) bool {
	var b [len(tarMagic)]byte
	_, err := src.ReadAt(b[:], tarMagicAt)
	return err == nil && string(b[:]) == tarMagic
}

// Members lists the archives in the bundle of size bytes in src. If the bundle is damaged or cut
// short, it returns those before that and an error.
func Members(src io.ReaderAt, size int64) (members []Member, err error) {
	in := io.NewSectionReader(src, 0, size)
	t := tar.NewReader(in)
	called := make(map[string]bool)
	for n := 0; ; n++ {
		h, err := t.Next()
		switch {
		case errors.Is(err, io.EOF):
			if len(members) == 0 {
				return nil, errors.New("it is a tar file without archives")
			}
			return members, nil
		case err != nil:
			return members, fmt.Errorf("the bundle is damaged or cut short behind the first %d of its archives: %w", len(members), err)
		case n == maxEntries, len(members) == MaxMembers:
			return members, fmt.Errorf("it holds more than %d archives, or much else: unpack it with tar", MaxMembers)
		}
		name := path.Base(h.Name)
		if h.Typeflag != tar.TypeReg || !strings.HasSuffix(name, FinishedSuffix) {
			continue
		}
		at, err := in.Seek(0, io.SeekCurrent)
		if err != nil {
			return members, err
		}
		switch {
		case h.Size < 0 || at > size-h.Size:
			return members, fmt.Errorf("the bundle is cut short: %q, number %d in it, is not whole", name, len(members)+1)
		case called[name]:
			return members, fmt.Errorf("two archives in the bundle are called %q: unpack it with tar", name)
		case sparse(h):
			return members, fmt.Errorf("%q does not stand in the bundle as it is (sparse): unpack it with tar", name)
		}
		called[name] = true
		members = append(members, Member{Name: name, Offset: at, Size: h.Size})
	}
}

// sparse reports whether a member's bytes in the tar differ from the file's.
func sparse(h *tar.Header) bool {
	for k := range h.PAXRecords {
		if strings.HasPrefix(k, "GNU.sparse.") {
			return true
		}
	}
	return false
}

// BundleAt lists the archives of the bundle at path; isBundle reports whether it is one. If the
// bundle is damaged, paths are the archives before the damage.
func BundleAt(path string) (paths []string, isBundle bool, err error) {
	if !strings.HasSuffix(path, FinishedSuffix) {
		return nil, false, nil
	}
	f, err := disk.OpenNoFollow(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, false, nil // opening it reports the error
	}
	defer f.Close()
	if !IsBundle(f) {
		return nil, false, nil
	}
	c, err := contentsOf(f)
	if err != nil {
		return nil, true, err
	}
	for _, m := range c.members {
		paths = append(paths, filepath.Join(path, m.Name))
	}
	return paths, true, c.err
}

// A contents lists what a bundle holds, as far as it could be read.
type contents struct {
	file    fs.FileInfo // as it was then
	members []Member
	places  map[string]int // in members, by name
	err     error
}

// latest is the contents of the bundle that was looked at last, so that opening its archives one
// after the other does not read the whole tar for each.
var latest atomic.Pointer[contents]

func contentsOf(f *os.File) (*contents, error) {
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if c := latest.Load(); c != nil && os.SameFile(c.file, st) && c.file.Size() == st.Size() && c.file.ModTime().Equal(st.ModTime()) {
		return c, nil
	}
	c := &contents{file: st, places: make(map[string]int)}
	if c.members, c.err = Members(f, st.Size()); c.err != nil {
		c.err = &fault.Error{Path: f.Name(), Kind: fault.Damaged, Err: c.err}
	}
	for i, m := range c.members {
		c.places[m.Name] = i
	}
	latest.Store(c)
	return c, nil
}

// A File is an archive's file, or a member of a bundle, open for reading.
type File struct {
	path   string
	file   *os.File
	member *io.SectionReader // nil for a file
}

// Open opens the archive or journal at path, which may be a member of a bundle.
func Open(path string) (*File, error) {
	f, err := disk.OpenNoFollow(path, os.O_RDONLY, 0)
	if err == nil {
		return &File{path: path, file: f}, nil
	}
	if !errors.Is(err, syscall.ENOTDIR) {
		return nil, err
	}
	bundle, err := disk.OpenNoFollow(filepath.Dir(path), os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	c, err := contentsOf(bundle)
	if err != nil {
		bundle.Close()
		return nil, err
	}
	i, ok := c.places[filepath.Base(path)]
	if !ok {
		bundle.Close()
		if c.err != nil {
			return nil, c.err
		}
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	}
	return &File{path: path, file: bundle, member: io.NewSectionReader(bundle, c.members[i].Offset, c.members[i].Size)}, nil
}

// Name returns the path.
func (f *File) Name() string { return f.path }

// InBundle reports whether f is a member of a bundle.
func (f *File) InBundle() bool { return f.member != nil }

// ReadAt implements io.ReaderAt.
func (f *File) ReadAt(p []byte, off int64) (int, error) {
	if f.member != nil {
		return f.member.ReadAt(p, off)
	}
	return f.file.ReadAt(p, off)
}

// Size returns the length in bytes.
func (f *File) Size() (int64, error) {
	if f.member != nil {
		return f.member.Size(), nil
	}
	st, err := f.file.Stat()
	if err != nil {
		return 0, err
	}
	return st.Size(), nil
}

// Stat describes the file, or the bundle that f is a member of.
func (f *File) Stat() (fs.FileInfo, error) { return f.file.Stat() }

// Close closes the file.
func (f *File) Close() error { return f.file.Close() }

// Stat is os.Lstat of the file at path, or of the bundle that it is a member of.
func Stat(path string) (fs.FileInfo, error) {
	st, err := os.Lstat(path)
	if errors.Is(err, syscall.ENOTDIR) {
		return os.Lstat(filepath.Dir(path))
	}
	return st, err
}

// WriteBundle writes the archives at paths, in that order and under the given names, to out as a
// bundle.
func WriteBundle(out io.Writer, paths, names []string) error {
	t := tar.NewWriter(out)
	for i, p := range paths {
		if err := addMember(t, p, names[i]); err != nil {
			return err
		}
	}
	return t.Close()
}

func addMember(t *tar.Writer, path, name string) error {
	f, err := disk.OpenNoFollow(path, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return err
	}
	if err := t.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o640, Size: st.Size(), ModTime: st.ModTime(), Format: tar.FormatUSTAR}); err != nil {
		return fmt.Errorf("%s does not fit into a bundle: %w", name, err)
	}
	_, err = io.Copy(t, f)
	return err
}
