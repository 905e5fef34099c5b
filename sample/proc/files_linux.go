package proc

import (
	"errors"
	"fmt"
	"strconv"

	"golang.org/x/sys/unix"

	"tachograph/sample/metric"
	"tachograph/sample/proc/procfs"
)

// kind is one of the files that every sweep reads for every process.
type kind uint8

const (
	statFile kind = iota
	ioFile
	schedstatFile
	statusFile
	numKinds
)

var kindNames = [numKinds]string{"stat", "io", "schedstat", "status"}

// Descriptors that are not open.
const (
	closed  = -1
	refused = -2 // by the kernel; asking again costs and changes nothing
)

// procDir reads files below /proc. It keeps descriptors open from sweep to sweep: that halves
// the cost of reading, allocates nothing, and a descriptor can never refer to a later process
// with the same pid.
type procDir struct {
	path string
	fd   int
	// genuine is false for a directory that only looks like /proc: a file in
	// it survives the removal of its name, which a process does not.
	genuine bool
	open    int // descriptors kept open
	most    int // and how many may be kept open
	dirents []byte
	buf     []byte
}

// mostKept limits the kept descriptors even where the process may have more: the kernel uses a
// page of memory for each.
const mostKept = 16384

func openProcDir(path string) (*procDir, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w: is proc mounted there?", path, err)
	}
	d := &procDir{path: path, fd: fd, dirents: make([]byte, 64<<10), buf: make([]byte, 16<<10)}
	var fs unix.Statfs_t
	if unix.Fstatfs(fd, &fs) == nil {
		d.genuine = fs.Type == unix.PROC_SUPER_MAGIC
	}
	d.most = descriptorsToKeep()
	return d, nil
}

// descriptorsToKeep returns half of the number of files that the recorder may open, after
// raising that limit as far as it needs and the kernel allows.
func descriptorsToKeep() int {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil {
		return 0
	}
	if more := (unix.Rlimit{Cur: 2 * mostKept, Max: max(limit.Max, 2*mostKept)}); limit.Cur < more.Cur && unix.Setrlimit(unix.RLIMIT_NOFILE, &more) == nil {
		limit = more
	}
	return int(min(limit.Cur/2, mostKept))
}

func (d *procDir) close() error { return unix.Close(d.fd) }

// pids calls each with every pid.
func (d *procDir) pids(each func(pid int32)) error {
	if err := d.list(d.fd, each); err != nil {
		return fmt.Errorf("list %s: %w", d.path, err)
	}
	return nil
}

// list walks the numeric names in a directory.
func (d *procDir) list(fd int, each func(int32)) error {
	if _, err := unix.Seek(fd, 0, unix.SEEK_SET); err != nil {
		return err
	}
	for {
		n, err := unix.Getdents(fd, d.dirents)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n <= 0 {
			return err
		}
		procfs.Dirents(d.dirents[:n], each)
	}
}

// listAt walks the numeric names in a directory that is not kept open.
func (d *procDir) listAt(pid int32, dir string, each func(int32)) error {
	fd, err := unix.Openat(d.fd, pidPath(pid, dir), unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return d.list(fd, each)
}

func pidPath(pid int32, name string) string { return strconv.Itoa(int(pid)) + "/" + name }

// files are the kept descriptors of one process.
type files [numKinds]int32

func noFiles() (f files) {
	for i := range f {
		f[i] = closed
	}
	return f
}

// read returns the text of one of the files of a process, valid until the next
// read.
func (d *procDir) read(f *files, pid int32, k kind) ([]byte, error) {
	switch fd := int(f[k]); fd {
	case refused:
		return nil, unix.EACCES
	case closed:
	default:
		n, err := d.readFD(fd)
		if err == nil {
			return d.buf[:n], nil
		}
		d.release(f, k)
		return nil, err
	}
	fd, err := d.openFile(pidPath(pid, kindNames[k]))
	if err != nil {
		if errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM) {
			f[k] = refused
		}
		return nil, err
	}
	n, err := d.readFD(fd)
	if err != nil || d.open >= d.most {
		unix.Close(fd)
		if err != nil {
			return nil, err
		}
		return d.buf[:n], nil
	}
	f[k] = int32(fd)
	d.open++
	return d.buf[:n], nil
}

// readAt returns the text of a file that is read too seldom to be kept open.
func (d *procDir) readAt(path string) ([]byte, error) {
	fd, err := d.openFile(path)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	n, err := d.readFD(fd)
	return d.buf[:n], err
}

// readStart is readAt for the first bytes of a file that may be very long.
func (d *procDir) readStart(path string, most int) ([]byte, error) {
	fd, err := d.openFile(path)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	if len(d.buf) < most {
		d.buf = make([]byte, most)
	}
	total := 0
	for total < most {
		n, err := unix.Pread(fd, d.buf[total:most], int64(total))
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return nil, err
		}
		if n == 0 {
			break
		}
		total += n
	}
	return d.buf[:total], nil
}

func (d *procDir) openFile(path string) (int, error) {
	for {
		fd, err := unix.Openat(d.fd, path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		switch {
		case err == unix.EINTR:
			continue
		case err == unix.EMFILE && d.most > d.open/2:
			// Other parts of the recorder need descriptors as well: keep fewer from now on.
			d.most = d.open / 2
		}
		return fd, err
	}
}

// mostBuffered is the largest buffer that is kept for the next sweep: one command line of
// megabytes must not use that memory for ever.
const mostBuffered = 128 << 10

// trim frees a buffer that grew for a single large file.
func (d *procDir) trim() {
	if len(d.buf) > mostBuffered {
		d.buf = make([]byte, mostBuffered)
	}
}

// readFD reads a whole file from its start, enlarging the buffer as need be.
func (d *procDir) readFD(fd int) (int, error) {
	total := 0
	for {
		n, err := unix.Pread(fd, d.buf[total:], int64(total))
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return 0, err
		}
		total += n
		// A file of proc that fits arrives whole in the first read.
		if n == 0 || total < len(d.buf) && d.genuine && total < 4000 {
			break
		}
		if total == len(d.buf) {
			d.buf = append(d.buf, make([]byte, len(d.buf))...)
		}
	}
	if !d.genuine {
		var st unix.Stat_t
		if unix.Fstat(fd, &st) == nil && st.Nlink == 0 {
			return 0, unix.ESRCH
		}
	}
	return total, nil
}

// release closes a descriptor that is open.
func (d *procDir) release(f *files, k kind) {
	if f[k] >= 0 {
		unix.Close(int(f[k]))
		d.open--
		f[k] = closed
	}
}

func (d *procDir) releaseAll(f *files) {
	for k := range numKinds {
		d.release(f, k)
	}
}

// link returns what a symbolic link of a process points to. It shares the
// buffer of read.
func (d *procDir) link(path string) ([]byte, error) {
	n, err := unix.Readlinkat(d.fd, path, d.buf)
	if err != nil {
		return nil, err
	}
	return d.buf[:n], nil
}

var noAddressSpace = metric.ReasonFor("no address space of its own")

// reasonFor says why a file of a process could not be read.
func reasonFor(err error) metric.Reason {
	switch {
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		return metric.Permission
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ESRCH), errors.Is(err, unix.ENOTDIR):
		return metric.Vanished
	}
	var errno unix.Errno
	if errors.As(err, &errno) {
		return metric.ReasonFor(errno.Error())
	}
	return metric.Other
}
