package linux

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"
	"syscall"

	"tachograph/sample/metric"
)

// file is a file of /proc or /sys that is read repeatedly from its start, through one descriptor
// and into one buffer.
type file struct {
	path string
	f    *os.File
	buf  []byte
}

func newFile(path string) *file { return &file{path: path} }

// kept counts the descriptors that stay open; mostKept limits them, because there may be
// thousands of network interfaces with half a dozen files each. Above the limit a file is opened
// for each reading.
var (
	kept     atomic.Int64
	mostKept = sync.OnceValue(func() int64 {
		var limit syscall.Rlimit
		if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil {
			return 256
		}
		return int64(min(limit.Cur/4, 2048))
	})
)

// read returns the whole content, valid until the next read. If the descriptor's object is gone
// (an interface that was removed and came back), it opens the file once more.
func (f *file) read() ([]byte, error) {
	was := f.f != nil
	data, err := f.readOnce()
	if f.f != nil && !was && kept.Load() > mostKept() {
		f.close()
	}
	if was && (errors.Is(err, syscall.ENODEV) || errors.Is(err, syscall.ENXIO) || errors.Is(err, syscall.ESTALE)) {
		f.close()
		data, err = f.readOnce()
	}
	return data, err
}

// whole is the length up to which what one read returns is all that there is. The kernel returns
// fewer bytes than were asked for if the next line does not fit into its own page of 4 KiB, and
// no line is longer than what whole leaves of it.
const whole = 1024

func (f *file) readOnce() ([]byte, error) {
	if f.f == nil {
		h, err := os.Open(f.path)
		if err != nil {
			return nil, err
		}
		f.f = h
		kept.Add(1)
	}
	if f.buf == nil {
		// Most files are a few bytes long, and there may be hundreds.
		f.buf = make([]byte, 256)
	}
	n := 0
	for {
		m, err := f.pread(f.buf[n:], int64(n))
		n += m
		switch {
		case err != nil:
			return nil, err
		case m == 0, n < len(f.buf) && n <= whole:
			return f.buf[:n], nil
		case n < len(f.buf):
			continue
		}
		// The buffer is full: there may be more. A file that is read in pieces may change between
		// them, so start over with more room.
		f.buf = make([]byte, 2*len(f.buf))
		n = 0
	}
}

// pread reads without taking the end for an error.
func (f *file) pread(to []byte, at int64) (int, error) {
	n, err := f.f.ReadAt(to, at)
	if err == io.EOF {
		err = nil
	}
	return n, err
}

func (f *file) close() {
	if f.f != nil {
		f.f.Close()
		f.f = nil
		kept.Add(-1)
	}
}

// notUnderstood is the reason for a value that was read but does not have the expected form.
var notUnderstood = metric.ReasonFor("not understood")

// why converts an error of a file to a cell's reason. No error means that the file was read but
// did not contain the value.
func why(err error) metric.Reason {
	switch {
	case err == nil:
		return notUnderstood
	case errors.Is(err, os.ErrDeadlineExceeded):
		return metric.TimedOut
	case errors.Is(err, fs.ErrPermission):
		return metric.Permission
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.EINVAL), errors.Is(err, syscall.EOPNOTSUPP):
		return metric.Unsupported
	case errors.Is(err, syscall.ENODEV), errors.Is(err, syscall.ENXIO):
		return metric.Vanished
	}
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return metric.ReasonFor(errno.Error())
	}
	return metric.Other
}

// lacking explains in a sentence why a file supplies nothing on this machine.
func lacking(path string, err error) string {
	if errors.Is(err, fs.ErrNotExist) {
		return "this kernel has no " + path
	}
	return fmt.Sprintf("%s cannot be read: %v", path, cause(err))
}

// cause removes the path from an error that is printed beside the path.
func cause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
