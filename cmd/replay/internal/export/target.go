package export

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"tachograph/cmd/internal/cli"
	"tachograph/store/disk"
)

// Target is where a format writes.
type Target struct {
	// Path is a file, a directory, or the beginning of several files' names, depending on the
	// format; "-" is Stdout.
	Path   string
	Stdout io.Writer
	// Force replaces existing files.
	Force bool
	// Sources are the files that are read. None of them is ever overwritten or replaced.
	Sources []string
}

// ErrNothing is the error of a format that found nothing to write. Then there is no new file,
// and an existing one stays.
var ErrNothing = errors.New("nothing was recorded then of what is asked for")

// pieceBytes is how much is written at once.
const pieceBytes = 256 << 10

// Stream writes the single file of a format, or standard output, and returns how many bytes it
// wrote. If write fails or the context ends, there is no file.
func (t Target) Stream(ctx context.Context, write func(io.Writer) error) (int64, error) {
	if t.Path == "-" {
		return (&counted{ctx: ctx, w: t.Stdout}).all(write)
	}
	if err := t.Spare(t.Path); err != nil {
		return 0, err
	}
	if info, err := os.Stat(t.Path); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		// Something other than a regular file, such as a pipe, is written to directly.
		f, err := os.OpenFile(t.Path, os.O_WRONLY, 0)
		if err != nil {
			return 0, t.wrong(err)
		}
		defer f.Close()
		return (&counted{ctx: ctx, w: f, wrong: t.wrong}).all(write)
	}
	var n int64
	err := t.Files(ctx, []string{""}, func(files []*os.File) (err error) {
		n, err = (&counted{ctx: ctx, w: files[0], wrong: t.wrong}).all(write)
		return err
	})
	return n, err
}

type counted struct {
	ctx   context.Context
	w     io.Writer
	wrong func(error) error // adds the file's name to an error; nil for standard output
	n     int64
}

// all writes in large pieces.
func (c *counted) all(write func(io.Writer) error) (int64, error) {
	b := bufio.NewWriterSize(c, pieceBytes)
	err := write(b)
	if err == nil || errors.Is(err, ErrNothing) {
		err = errors.Join(err, b.Flush()) // a pipe gets the head of an empty table, too
	}
	return c.n, err
}

func (c *counted) Write(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := c.w.Write(p)
	c.n += int64(n)
	if err != nil && c.wrong != nil {
		err = c.wrong(err)
	}
	return n, err
}

// Files writes several files, named Path plus a suffix each. write gets them under temporary
// names; when all are complete they get their own, in the given order. If write fails or the
// context ends, there are none.
func (t Target) Files(ctx context.Context, suffixes []string, write func([]*os.File) error) (err error) {
	if t.Path == "-" {
		return errors.New("several files do not go to standard output: name them with -o")
	}
	var files []*os.File
	defer func() {
		for _, f := range files {
			f.Close()
			if err != nil {
				os.Remove(f.Name())
			}
		}
	}()
	for _, s := range suffixes {
		t.clear(t.Path + s)
		if err := t.mayWrite(t.Path + s); err != nil {
			return err
		}
		f, err := disk.CreateScratch(disk.Scratch(t.Path + s))
		if err != nil {
			return t.wrong(err)
		}
		files = append(files, f)
	}
	if err := errors.Join(write(files), ctx.Err()); err != nil {
		return err
	}
	for _, f := range files {
		if err := f.Sync(); err != nil {
			return t.wrong(err)
		}
	}
	for i, f := range files {
		if err := t.rename(f.Name(), t.Path+suffixes[i]); err != nil {
			return err
		}
	}
	return nil
}

// Dir writes a directory, which appears once it is complete. If write fails or the context ends,
// there is none.
func (t Target) Dir(ctx context.Context, write func(dir string) error) (err error) {
	if t.Path == "-" {
		return errors.New("a directory does not go to standard output: name it with -o")
	}
	t.clear(t.Path)
	if err := t.mayWriteDir(); err != nil {
		return err
	}
	tmp := disk.Scratch(t.Path)
	if err := os.Mkdir(tmp, 0o777); err != nil {
		return t.wrong(err)
	}
	defer func() {
		if err != nil {
			os.RemoveAll(tmp)
		}
	}()
	held, err := os.Open(tmp)
	if err != nil {
		return t.wrong(err)
	}
	defer held.Close()
	disk.Hold(held)
	// The file marks the directory as ours from the start, in case this program is killed.
	if err := os.WriteFile(filepath.Join(tmp, Made), nil, 0o666); err != nil {
		return t.wrong(err)
	}
	if err := errors.Join(write(tmp), ctx.Err()); err != nil {
		return err
	}
	old := tmp + oldSuffix
	if replaced, err := os.Open(t.Path); err == nil {
		defer replaced.Close()
		disk.HoldOther(replaced)
	}
	switch err := os.Rename(t.Path, old); {
	case err == nil:
		if err := os.Rename(tmp, t.Path); err != nil {
			os.Rename(old, t.Path)
			return t.wrong(err)
		}
		return os.RemoveAll(old)
	case !errors.Is(err, fs.ErrNotExist):
		return t.wrong(err)
	}
	return t.rename(tmp, t.Path)
}

// oldSuffix ends the name of a directory that is being replaced.
const oldSuffix = ".old"

// clear removes what killed exports have left in the directory of path, and restores a directory
// that was being replaced.
func (t Target) clear(path string) {
	disk.Clear(path)
	disk.Abandoned(path, func(left disk.Leftover) {
		if _, err := os.Lstat(filepath.Join(left.Path, Made)); err != nil || !left.IsDir {
			return
		}
		// If there is a new one that is not empty, it stays.
		if left.Rest != oldSuffix || os.Rename(left.Path, left.Final) != nil {
			_ = os.RemoveAll(left.Path)
		}
	})
}

// Spare refuses paths that are sources, by whatever name.
func (t Target) Spare(paths ...string) error {
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			continue
		}
		for _, source := range t.Sources {
			if of, err := os.Stat(source); err == nil && os.SameFile(of, info) {
				return fmt.Errorf("%s is read, and would be gone: -o names another file", same(path, source))
			}
		}
	}
	return nil
}

// spareIn refuses to replace a directory that has a source in it.
func (t Target) spareIn(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return nil
	}
	for _, source := range t.Sources {
		at, err := filepath.EvalSymlinks(source)
		if err == nil {
			at, err = filepath.Abs(at)
		}
		for err == nil && at != filepath.Dir(at) {
			at = filepath.Dir(at)
			if of, err := os.Stat(at); err == nil && os.SameFile(of, info) {
				return fmt.Errorf("%s is read, and would be gone with %s: -o names another directory", source, dir)
			}
		}
	}
	return nil
}

// same returns a path and, if it is another name of source, that name too.
func same(path, source string) string {
	if filepath.Clean(path) == filepath.Clean(source) {
		return path
	}
	return path + " is the same file as " + source + ", which"
}

// mayWrite refuses to overwrite a file, unless Force is set.
func (t Target) mayWrite(path string) error {
	if err := t.Spare(path); err != nil {
		return err
	}
	switch info, err := os.Lstat(path); {
	case err == nil && info.IsDir():
		return fmt.Errorf("%s is a directory: name a file in it", path)
	case err == nil && !t.Force:
		return fmt.Errorf("%s exists: --force overwrites it, -o names another", path)
	}
	return nil
}

// Made is the file in every directory that an export has made. The contents of such a directory
// may be replaced.
const Made = "export.json"

// mayWriteDir refuses to overwrite a directory, unless Force is set and an export has made it.
func (t Target) mayWriteDir() error {
	info, err := os.Lstat(t.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return t.wrong(err)
	}
	if !info.IsDir() {
		return fmt.Errorf("%s exists and is no directory: name a directory that is to be made with -o", t.Path)
	}
	if list, err := os.ReadDir(t.Path); err == nil && len(list) == 0 {
		return nil
	}
	if err := t.spareIn(t.Path); err != nil {
		return err
	}
	if !t.Force {
		return fmt.Errorf("%s exists: --force replaces what an export has left there, -o names another", t.Path)
	}
	if _, err := os.Lstat(filepath.Join(t.Path, Made)); err != nil {
		return fmt.Errorf("%s holds what no export has written there, which --force does not replace: -o names another", t.Path)
	}
	return nil
}

func (t Target) rename(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return t.wrong(err)
	}
	return nil
}

// wrong returns an error with the target's name instead of the temporary one.
func (t Target) wrong(err error) error {
	return fmt.Errorf("cannot write %s: %w", t.Path, cli.Cause(err))
}
