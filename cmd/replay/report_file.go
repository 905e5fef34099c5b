package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"tachograph/cmd/internal/cause"
)

// writeWhole writes a file under another name and renames it when it is whole: where
// anything fails there is what was there before. What is no file, such as a pipe, is
// written to as it is. It returns how many bytes there are.
func writeWhole(dst string, write func(io.Writer) error) (n int64, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("cannot write %s: %w", dst, cause.Of(err))
		}
	}()
	if info, err := os.Stat(dst); err == nil && !info.Mode().IsRegular() {
		f, err := os.OpenFile(dst, os.O_WRONLY, 0)
		if err != nil {
			return 0, err
		}
		defer f.Close()
		return buffered(f, write)
	}
	tmp := filepath.Join(filepath.Dir(dst), "."+filepath.Base(dst)+"."+strconv.Itoa(os.Getpid()))
	f, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return 0, err
	}
	if n, err = buffered(f, write); err == nil {
		err = f.Sync()
	}
	if more := f.Close(); err == nil {
		err = more
	}
	if err == nil {
		err = os.Rename(tmp, dst)
	}
	if err != nil {
		os.Remove(tmp)
	}
	return n, err
}

// buffered writes in large pieces.
func buffered(f io.Writer, write func(io.Writer) error) (int64, error) {
	c := &counted{w: f}
	b := bufio.NewWriterSize(c, 1<<16)
	err := write(b)
	if err == nil {
		err = b.Flush()
	}
	return c.n, err
}

type counted struct {
	w io.Writer
	n int64
}

func (c *counted) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}
