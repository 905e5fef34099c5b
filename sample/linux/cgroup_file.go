package linux

import (
	"errors"
	"io/fs"
	"syscall"
)

// groupFile is a file of one control group. There are thousands of them, so they share a buffer,
// and have no more than a descriptor each.
type groupFile struct {
	open bool
	fd   int32
	// ino is the file's number in its file system, by which a group that was removed and made
	// again is known: 0 if it has never been opened.
	ino uint64
}

// mostKeptGroups is how many times as many descriptors may be open as sources keep otherwise: to
// open a file costs six times as much as to read it, and 500 groups have 4000 that are read every
// few seconds. The kernel holds about 5 KB for each.
const mostKeptGroups = 2

func (f *groupFile) close() {
	if f.open {
		syscall.Close(int(f.fd))
		f.open = false
		kept.Add(-1)
	}
}

// read returns the content of the file at place p of group d. It is valid until the next read.
func (g *cgroups) read(d *cgroup, p int) ([]byte, error) {
	if d.there&(1<<p) == 0 {
		return nil, fs.ErrNotExist
	}
	f := &d.files[p]
	if f.open {
		data, err := g.pread(int(f.fd))
		if err == nil {
			return data, nil
		}
		f.close() // the group is gone; another may have taken its place
		if !errors.Is(err, syscall.ENODEV) && !errors.Is(err, syscall.ENXIO) && !errors.Is(err, syscall.ESTALE) {
			return nil, err
		}
	}
	place := &g.places[p]
	fd, err := openRetrying(g.trees[place.tree] + d.path + "/" + place.name)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) && f.ino != 0 {
			g.ended(d, p)
			f.ino = 0
		}
		return nil, err
	}
	var st syscall.Stat_t
	if syscall.Fstat(fd, &st) == nil && uint64(st.Ino) != f.ino {
		if f.ino != 0 {
			g.ended(d, p)
		}
		f.ino = uint64(st.Ino)
	}
	data, err := g.pread(fd)
	if err == nil && place.held && kept.Load() < mostKeptGroups*mostKept() {
		f.open, f.fd = true, int32(fd)
		kept.Add(1)
	} else {
		syscall.Close(fd)
	}
	return data, err
}

func openRetrying(path string) (int, error) {
	for {
		fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
		if err != syscall.EINTR {
			return fd, err
		}
	}
}

// pread reads a file from its start. What one read returns is all that there is, unless it fills
// the buffer: the kernel makes the whole text of such a file at once.
func (g *cgroups) pread(fd int) ([]byte, error) {
	if g.buf == nil {
		g.buf = make([]byte, 8<<10)
	}
	for {
		n, err := syscall.Pread(fd, g.buf, 0)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return nil, err
		case n < len(g.buf):
			return g.buf[:max(n, 0)], nil
		default:
			g.buf = make([]byte, 2*len(g.buf))
		}
	}
}
