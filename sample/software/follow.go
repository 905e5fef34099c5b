package software

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"tachograph/sample"
)

// log is a file that a package manager appends to.
type log struct {
	name   string
	path   string
	parser parser
	mark   Mark
	buf    []byte
}

// Mark says how far a log has been read. The number of the file changes when the log is rotated.
type Mark struct {
	File uint64
	Size int64
}

// Logs are the logs of all package managers that a machine may have.
type Logs struct {
	logs []*log
	zone *time.Location // nil until a log needs it
}

// NewLogs returns the logs below a root directory. Logs without a zone in their times have
// the machine's, which it may change.
func NewLogs(root string, machine func() *time.Location) *Logs {
	l := &Logs{}
	zone := func() *time.Location {
		if l.zone == nil {
			l.zone = machine()
		}
		return l.zone
	}
	for _, one := range []log{
		{name: "dpkg", path: "var/log/dpkg.log", parser: oneByOne(dpkg{zone}.line)},
		{name: "pacman", path: "var/log/pacman.log", parser: oneByOne(pacman{zone}.line)},
		{name: "zypper", path: "var/log/zypp/history", parser: oneByOne(zypper{zone}.line)},
		{name: "dnf", path: "var/log/dnf.rpm.log", parser: oneByOne((&dnf{}).line)},
		{name: "dnf5", path: "var/log/dnf5.log", parser: &dnf5{busy: RPM(root).Busy}},
	} {
		one.path = filepath.Join(root, one.path)
		l.logs = append(l.logs, &one)
	}
	return l
}

// most is how much of a log one look reads: the rest is for the next one. mostOld is how much of
// one that has never been read.
const (
	most    = 1 << 20
	mostOld = 256 << 10
)

// Follow passes what was changed since the last call to each, the name of the log first. The first
// call goes back as far as since, within the last part of a log.
func (l *Logs) Follow(since time.Time, each func(log string, c Change)) error {
	l.zone = nil
	var failed []error
	for _, one := range l.logs {
		if err := one.follow(since, func(c Change) { each(one.name, c) }); err != nil && !errors.Is(err, fs.ErrNotExist) {
			failed = append(failed, err)
		}
	}
	return errors.Join(failed...)
}

func (l *log) follow(since time.Time, found func(Change)) error {
	each := func(c Change) {
		if !c.At.Before(since) {
			found(c)
		}
	}
	h, holds := l.parser.(holder)
	ended := holds && h.ended()
	err := l.readOn(each)
	if ended && err == nil {
		h.settle(each)
	}
	return err
}

// readOn reads from the mark on.
func (l *log) readOn(each func(Change)) error {
	f, number, size, err := open(l.path)
	if err != nil {
		return err
	}
	defer f.Close()
	at := l.mark
	partial := false // the text begins within a line
	switch {
	case at == Mark{}:
		at.Size = max(0, size-mostOld)
		if partial = at.Size > 0; !partial {
			err = l.rest(at, each)
		}
	case at.File != number:
		err = l.rest(at, each)
		at.Size = 0
	case at.Size > size:
		at.Size = 0 // it was cut
	}
	if err != nil {
		return err
	}
	at.File = number
	at.Size, err = l.read(f, at.Size, size, partial, each)
	l.mark = at
	return err
}

// rest reads what was written before the log was rotated: from the mark on, or its last part if there is none.
func (l *log) rest(at Mark, each func(Change)) error {
	f, number, size, err := open(l.path + ".1")
	if err != nil {
		return nil // rotated more than once, or compressed at once
	}
	defer f.Close()
	first := at == Mark{}
	if first {
		at.Size = max(0, size-mostOld)
	} else if number != at.File || at.Size > size {
		return nil
	}
	_, err = l.read(f, at.Size, size, first && at.Size > 0, each)
	return err
}

// open opens a log, and returns its number and its size.
func open(path string) (f *os.File, number uint64, size int64, err error) {
	f, info, err := sample.OpenRegular(path)
	if err != nil {
		return nil, 0, 0, err
	}
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		number = uint64(s.Ino)
	}
	return f, number, info.Size(), nil
}

// read reads complete lines from a position up to the size at most, and returns where it stopped.
func (l *log) read(f io.ReaderAt, at, size int64, partial bool, each func(Change)) (int64, error) {
	if l.buf == nil {
		l.buf = make([]byte, 32<<10)
	}
	for end := min(size, at+most); at < end; {
		n, err := f.ReadAt(l.buf[:min(int64(len(l.buf)), size-at)], at)
		text := l.buf[:n]
		used := bytes.LastIndexByte(text, '\n') + 1
		for line := range bytes.Lines(text[:used]) {
			if partial {
				partial = false
				continue
			}
			l.parser.line(string(bytes.TrimRight(line, "\r\n")), each)
		}
		if used == 0 {
			if n < len(l.buf) {
				return at, nil // the line is not complete yet
			}
			used, partial = n, true // a line as long as the buffer is none of a package manager's
		}
		at += int64(used)
		if err != nil && err != io.EOF {
			return at, err
		}
	}
	return at, nil
}
