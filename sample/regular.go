package sample

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// ErrNotRegular is the reason for not opening what is in the place of a file: a pipe, a device or
// a directory.
var ErrNotRegular = errors.New("not a regular file")

// OpenRegular opens a file for reading whose place others may write to. It follows no link in the
// last part of the path, and a pipe in the place of the file does not make it wait.
func OpenRegular(path string) (*os.File, fs.FileInfo, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: path, Err: ErrNotRegular}
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}
