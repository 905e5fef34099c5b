package perf

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"tachograph/sample/proc/procfs"
	"tachograph/sample/stack"
	"tachograph/sample/stack/symbol"
	"tachograph/sample/stack/unwind"
)

// images are the files that code was mapped from.
type images struct {
	mu      sync.Mutex // other goroutines call Open
	known   map[stack.Image]*stack.Image
	origins map[*stack.Image]origin
	files   map[fileID]*symbol.ELF // nil if it could not be read, or is not ELF
	left    time.Duration          // for reading headers
	// unwinding has the tables that stacks are walked by; nil if a file has none.
	unwinding  map[fileID]*unwind.Image
	tableBytes int
	tablesLeft time.Duration
}

// fileID is a file as the kernel reports it for a mapping.
type fileID struct {
	path         string
	major, minor uint32
	inode        uint64
}

// region is a part of a process's memory that holds code.
type region struct {
	start, end, offset uint64
	file               fileID
	deleted            bool
	image              *stack.Image
	looked             bool // image was looked up, even if there is none
}

// origin is where an image was mapped, so that its file can be opened through the mapping.
type origin struct {
	pid        int32
	start, end uint64
	file       fileID
	deleted    bool
}

const (
	// maxImages bounds how many files are remembered; beyond it all are forgotten, and read
	// again when they occur.
	maxImages = 1 << 14
	// headersTime is how long reading the headers of files may take in a session, oneFile how
	// long those of one file may.
	headersTime = 2 * time.Second
	oneFile     = 500 * time.Millisecond
)

func newImages() *images {
	m := &images{left: headersTime, tablesLeft: tablesTime, unwinding: make(map[fileID]*unwind.Image)}
	m.forget()
	return m
}

func (m *images) forget() {
	m.known, m.origins, m.files = make(map[stack.Image]*stack.Image), make(map[*stack.Image]origin), make(map[fileID]*symbol.ELF)
}

// of returns the image of region r of process pid; nil if its code is not from a file.
func (m *images) of(pid int32, r *region) *stack.Image {
	if r.looked {
		return r.image
	}
	r.looked = true
	image := stack.Image{Path: r.file.path, Base: r.start - r.offset}
	switch {
	case r.file.path == "[vdso]" || r.file.path == "[vsyscall]":
		image.Base = r.start
	case !strings.HasPrefix(r.file.path, "/"), strings.HasPrefix(r.file.path, "//"), // no file
		strings.HasPrefix(r.file.path, "/memfd:"), strings.HasPrefix(r.file.path, "/dev/"), strings.HasPrefix(r.file.path, "/SYSV"):
		return nil // code that was made at run time
	default:
		from := origin{pid, r.start, r.end, r.file, r.deleted}
		if f := m.headers(from); f != nil {
			image.ID = f.ID
			if bias, ok := f.Bias(r.start, r.offset); ok {
				image.Base = bias
			}
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if r.image = m.known[image]; r.image == nil {
		if len(m.known) >= maxImages {
			m.forget()
		}
		r.image = &image
		m.known[image] = r.image
	}
	m.origins[r.image] = origin{pid, r.start, r.end, r.file, r.deleted}
	return r.image
}

// headers returns the headers of a file, which it reads once.
func (m *images) headers(from origin) *symbol.ELF {
	if f, known := m.files[from.file]; known {
		return f
	}
	if len(m.files) >= maxImages {
		clear(m.files)
	}
	f, _ := symbol.Within(&m.left, oneFile, func() (*symbol.ELF, error) {
		file, size, err := from.open()
		if err != nil {
			return nil, err
		}
		defer file.Close()
		return symbol.ReadELF(file, size)
	})
	m.files[from.file] = f
	return f
}

// Open opens the file of an image that this Sampler gave, for a symbol.Namer: in the process's
// own root, and even if the file was removed. If debug is a path, it opens the file that the
// process, or else this one, has there.
func (s *Sampler) Open(m *stack.Image, debug string) (io.ReaderAt, int64, error) {
	if s.images == nil {
		return nil, 0, errNever
	}
	s.images.mu.Lock()
	from, known := s.images.origins[m]
	s.images.mu.Unlock()
	if !known {
		return nil, 0, errNever
	}
	if debug != "" {
		return openFirst([]string{fmt.Sprintf("/proc/%d/root%s", from.pid, debug), debug}, nil)
	}
	return from.read()
}

var (
	errNever = errors.New("no sample had that image")
	errKind  = errors.New("it is not an ordinary file")
	errGone  = errors.New("the file that was mapped is not there any more")
)

// read opens the mapped file, or the code that the kernel maps.
func (o origin) read() (io.ReaderAt, int64, error) {
	if o.file.path == "[vdso]" {
		return vdso(o)
	}
	return o.open()
}

// open opens the mapped file: by the mapping itself, which works for containers and for removed
// files; or, if that is not allowed or the process has ended, by its name, if that is still the
// same file.
func (o origin) open() (*os.File, int64, error) {
	names := []string{fmt.Sprintf("/proc/%d/map_files/%x-%x", o.pid, o.start, o.end)}
	if o.deleted {
		names = append(names, fmt.Sprintf("/proc/%d/exe", o.pid))
	} else {
		names = append(names, fmt.Sprintf("/proc/%d/root%s", o.pid, o.file.path), o.file.path)
	}
	return openFirst(names, func(i int, st *unix.Stat_t) bool {
		return i == 0 || o.file.inode == 0 || st.Ino == o.file.inode
	})
}

// openFirst opens the first of these files that is there, an ordinary file, and right.
func openFirst(names []string, isRight func(i int, st *unix.Stat_t) bool) (*os.File, int64, error) {
	for i, name := range names {
		f, st, err := openRegular(name, 0)
		if err != nil {
			continue
		}
		if isRight == nil || isRight(i, st) {
			return f, st.Size, nil
		}
		f.Close()
	}
	return nil, 0, errGone
}

// openRegular opens a file if it is an ordinary one. There may be a pipe or a device of that name,
// which could block, or do something, when opened: so the type is checked before.
func openRegular(name string, flags int) (*os.File, *unix.Stat_t, error) {
	fd, err := unix.Open(name, unix.O_PATH|unix.O_CLOEXEC|flags, 0)
	if err != nil {
		return nil, nil, err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, nil, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil, nil, errKind
	}
	f, err := os.Open(fmt.Sprintf("/proc/self/fd/%d", fd))
	return f, &st, err
}

// vdso reads the code that the kernel maps into every process. This process has the same, if
// the other has the same number of bits.
func vdso(o origin) (io.ReaderAt, int64, error) {
	const most = 1 << 20
	text, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return nil, 0, err
	}
	var start, size uint64
	procfs.Maps(text, func(m *procfs.Mapping) {
		if string(m.Path) == "[vdso]" {
			start, size = m.Start, m.End-m.Start
		}
	})
	if size == 0 || size > most || size != o.end-o.start {
		return nil, 0, errGone
	}
	memory, err := os.Open("/proc/self/mem")
	if err != nil {
		return nil, 0, err
	}
	defer memory.Close()
	b := make([]byte, size)
	if _, err := memory.ReadAt(b, int64(start)); err != nil {
		return nil, 0, err
	}
	return bytes.NewReader(b), int64(size), nil
}

// kernelImage is the image of the kernel: its build ID, and how far it was moved at boot, if
// the address that it was linked for is known.
func kernelImage(names *symbol.Kernel) *stack.Image {
	m := &stack.Image{Path: "kernel"}
	if notes, err := os.ReadFile("/sys/kernel/notes"); err == nil {
		m.ID = symbol.BuildID(notes)
	}
	const linked = 0xffffffff81000000 // of x86-64, whatever the version
	if runtime.GOARCH == "amd64" && names != nil {
		m.Base = names.Start() - linked
	}
	return m
}
