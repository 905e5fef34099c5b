package disktest

import (
	"errors"
	"io/fs"
	"os"
	"sync"

	"tachograph/store/disk"
)

// FS is a disk.FS on real files below a directory.
type FS struct {
	dir   string
	mu    sync.Mutex
	ops   []Op
	files map[string]int // open or named files, by name below dir
	names map[int]string // of files that were renamed since they were opened
	next  int
	fault func(Op) error
}

// New returns a file layer for an existing directory, which must be empty.
func New(dir string) *FS {
	return &FS{dir: dir, files: make(map[string]int), names: make(map[int]string)}
}

// Fail makes fn decide about every operation before it happens: an error fails
// it. nil ends this.
func (d *FS) Fail(fn func(Op) error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fault = fn
}

// Short is a fault of a write that happens after N bytes.
type Short struct {
	N   int
	Err error
}

func (s *Short) Error() string { return s.Err.Error() }
func (s *Short) Unwrap() error { return s.Err }

// do runs one operation under the lock and logs it if it succeeded.
func (d *FS) do(op Op, fn func() error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	op.Name = d.rel(op.Name)
	if op.To != "" {
		op.To = d.rel(op.To)
	}
	return d.doLocked(op, fn)
}

func (d *FS) doLocked(op Op, fn func() error) error {
	if d.fault != nil {
		if err := d.fault(op); err != nil {
			return &fs.PathError{Op: op.Kind.String(), Path: op.Name, Err: err}
		}
	}
	if err := fn(); err != nil {
		return err
	}
	if op.Kind.changes() {
		d.log(op)
	}
	return nil
}

// OpenFile implements disk.FS.
func (d *FS) OpenFile(name string, flag int, perm fs.FileMode) (disk.File, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	rel := d.rel(name)
	kind := Open
	if _, err := os.Lstat(name); errors.Is(err, fs.ErrNotExist) && flag&os.O_CREATE != 0 {
		kind = Create
	}
	f := &file{fs: d}
	err := d.doLocked(Op{Kind: kind, Name: rel, file: d.next}, func() (err error) {
		f.File, err = disk.OS.OpenFile(name, flag, perm)
		return err
	})
	if err != nil {
		return nil, err
	}
	f.name, f.id = rel, d.identify(rel, kind == Create)
	f.appending = flag&os.O_APPEND != 0
	if flag&os.O_TRUNC != 0 && kind == Open {
		d.log(Op{Kind: Truncate, Name: rel, file: f.id})
	}
	return f, nil
}

// identify returns the number of the file called rel.
func (d *FS) identify(rel string, created bool) int {
	id, ok := d.files[rel]
	if !ok || created {
		id = d.next
		d.next++
		d.files[rel] = id
	}
	return id
}

// Mkdir implements disk.FS.
func (d *FS) Mkdir(name string, perm fs.FileMode) error {
	return d.do(Op{Kind: Mkdir, Name: name}, func() error { return disk.OS.Mkdir(name, perm) })
}

// Rename implements disk.FS.
func (d *FS) Rename(old, new string) error {
	return d.do(Op{Kind: Rename, Name: old, To: new}, func() error {
		if err := disk.OS.Rename(old, new); err != nil {
			return err
		}
		if id, ok := d.files[d.rel(old)]; ok {
			d.files[d.rel(new)], d.names[id] = id, d.rel(new)
			delete(d.files, d.rel(old))
		}
		return nil
	})
}

// Remove implements disk.FS.
func (d *FS) Remove(name string) error {
	return d.do(Op{Kind: Remove, Name: name}, func() error {
		delete(d.files, d.rel(name))
		return disk.OS.Remove(name)
	})
}

// ReadDir implements disk.FS.
func (d *FS) ReadDir(name string) (list []fs.DirEntry, err error) {
	err = d.do(Op{Kind: ReadDir, Name: name}, func() error {
		list, err = disk.OS.ReadDir(name)
		return err
	})
	return list, err
}

// Lstat implements disk.FS.
func (d *FS) Lstat(name string) (fs.FileInfo, error) { return disk.OS.Lstat(name) }

// Chmod implements disk.FS. No mode is in the log.
func (d *FS) Chmod(name string, mode fs.FileMode) error { return disk.OS.Chmod(name, mode) }

// Chown implements disk.FS. No owner is in the log.
func (d *FS) Chown(name string, uid, gid int) error { return disk.OS.Chown(name, uid, gid) }

// SyncDir implements disk.FS.
func (d *FS) SyncDir(name string) error {
	return d.do(Op{Kind: SyncDir, Name: name}, func() error {
		// The log decides what survives; a real sync would only cost time.
		_, err := os.Stat(name)
		return err
	})
}

// Lock implements disk.FS. Locks and their files are not in the log.
func (d *FS) Lock(name string) (disk.Lock, error) { return disk.OS.Lock(name) }

// file is an open file of an FS.
type file struct {
	disk.File
	fs        *FS
	name      string
	id        int
	appending bool
	pos       int64
}

// called is what f is called now.
func (f *file) called() string {
	if name, ok := f.fs.names[f.id]; ok {
		return name
	}
	return f.name
}

func (f *file) Write(p []byte) (int, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	off := f.pos
	if f.appending {
		var err error
		if off, err = f.File.Size(); err != nil {
			return 0, err
		}
	}
	n, err := f.write(p, off, f.File.Write)
	f.pos = off + int64(n)
	return n, err
}

func (f *file) WriteAt(p []byte, off int64) (int, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	return f.write(p, off, func(p []byte) (int, error) { return f.File.WriteAt(p, off) })
}

func (f *file) write(p []byte, off int64, fn func([]byte) (int, error)) (n int, err error) {
	op := Op{Kind: Write, Name: f.called(), Off: off, Data: append([]byte(nil), p...), file: f.id}
	err = f.fs.doLocked(op, func() error {
		n, err = fn(p)
		return err
	})
	var short *Short
	if errors.As(err, &short) && short.N > 0 && short.N < len(p) {
		n, _ = fn(p[:short.N])
		op.Data = op.Data[:n]
		f.fs.log(op)
	}
	return n, err
}

func (f *file) ReadAt(p []byte, off int64) (n int, err error) {
	ferr := f.fs.do(Op{Kind: Read, Name: f.name, Off: off, file: f.id}, func() error {
		n, err = f.File.ReadAt(p, off)
		return nil
	})
	if ferr != nil {
		return 0, ferr
	}
	return n, err
}

func (f *file) Truncate(size int64) error {
	return f.do(Op{Kind: Truncate, Off: size}, func() error { return f.File.Truncate(size) })
}

func (f *file) Barrier() error { return f.do(Op{Kind: Barrier}, func() error { return nil }) }
func (f *file) Sync() error    { return f.do(Op{Kind: Sync}, func() error { return nil }) }

func (f *file) do(op Op, fn func() error) error {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	op.Name, op.file = f.called(), f.id
	return f.fs.doLocked(op, fn)
}
