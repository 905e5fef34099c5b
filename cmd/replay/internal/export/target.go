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
	"strconv"
	"strings"

	"tachograph/cmd/internal/cause"
)

// Target is where a format writes to.
type Target struct {
	// Path is a file, a directory, or what the names of several files begin with, as the
	// format has it; "-" is Stdout.
	Path   string
	Stdout io.Writer
	// Force replaces what is there.
	Force bool
}

// pieceBytes is how much is written at once.
const pieceBytes = 256 << 10

// Stream writes the one file that a format consists of, or standard output, and returns how
// many bytes there are. Where write fails or the context ends there is no file.
func (t Target) Stream(ctx context.Context, write func(io.Writer) error) (int64, error) {
	if t.Path == "-" {
		return pieces(ctx, t.Stdout, write)
	}
	if info, err := os.Stat(t.Path); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		// What is no file, such as a pipe, is written to as it is.
		f, err := os.OpenFile(t.Path, os.O_WRONLY, 0)
		if err != nil {
			return 0, t.wrong(err)
		}
		defer f.Close()
		return pieces(ctx, f, write)
	}
	var n int64
	err := t.Files(ctx, []string{""}, func(files []*os.File) (err error) {
		n, err = pieces(ctx, files[0], write)
		return err
	})
	return n, err
}

// pieces writes in large pieces.
func pieces(ctx context.Context, w io.Writer, write func(io.Writer) error) (int64, error) {
	c := &counted{ctx: ctx, w: w}
	b := bufio.NewWriterSize(c, pieceBytes)
	err := write(b)
	if err == nil {
		err = b.Flush()
	}
	return c.n, err
}

type counted struct {
	ctx context.Context
	w   io.Writer
	n   int64
}

func (c *counted) Write(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

// Files writes several files, whose names are Path with a suffix each: under other names
// first, which write is given, and when all are whole under their own, in the order given.
// Where write fails or the context ends there are none.
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
		if err := t.mayWrite(t.Path + s); err != nil {
			return err
		}
		f, err := os.OpenFile(scratch(t.Path+s), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
		if err != nil {
			return t.wrong(err)
		}
		files = append(files, f)
	}
	if err := errors.Join(write(files), ctx.Err()); err != nil {
		return err
	}
	for _, f := range files {
		if err := errors.Join(f.Sync(), f.Close()); err != nil {
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

// Dir writes a directory, which is there when it is whole. Where write fails or the context
// ends there is none.
func (t Target) Dir(ctx context.Context, write func(dir string) error) (err error) {
	if t.Path == "-" {
		return errors.New("a directory does not go to standard output: name it with -o")
	}
	if err := t.mayWriteDir(); err != nil {
		return err
	}
	tmp := scratch(t.Path)
	if err := os.Mkdir(tmp, 0o777); err != nil {
		return t.wrong(err)
	}
	defer func() {
		if err != nil {
			os.RemoveAll(tmp)
		}
	}()
	if err := errors.Join(write(tmp), ctx.Err()); err != nil {
		return err
	}
	old := tmp + ".old"
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

// mayWrite refuses to overwrite a file.
func (t Target) mayWrite(path string) error {
	switch info, err := os.Lstat(path); {
	case err == nil && info.IsDir():
		return fmt.Errorf("%s is a directory: name a file in it", path)
	case err == nil && !t.Force:
		return fmt.Errorf("%s exists: --force overwrites it, -o names another", path)
	}
	return nil
}

// Made is the file that every directory has which an export has made: what it holds may be
// replaced.
const Made = "export.json"

// mayWriteDir refuses to overwrite a directory, and under all circumstances one that no
// export has made.
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

// wrong says what could not be written, without the name that was only for a while.
func (t Target) wrong(err error) error {
	return fmt.Errorf("cannot write %s: %w", t.Path, cause.Of(err))
}

// scratch is what a file is called until it is whole.
func scratch(path string) string {
	path = strings.TrimRight(path, string(filepath.Separator))
	return filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+"."+strconv.Itoa(os.Getpid()))
}
