package disktest

import (
	"bytes"
	"io/fs"
	"os"
	"strings"

	"go.etcd.io/bbolt"

	"tachograph/store/disk"
)

// OpenBolt implements disk.FS.
func (d *FS) OpenBolt(name string, perm fs.FileMode, opt bbolt.Options) (*bbolt.DB, error) {
	rel := d.rel(name)
	w := &boltWatch{fs: d, name: rel, synced: !opt.NoSync}
	opt.Logger = w
	err := d.do(Op{Kind: BoltOpen, Name: name}, func() error { return nil })
	if err != nil {
		return nil, err
	}
	db, err := disk.OpenBolt(name, perm, opt, func(name string, flag int, perm fs.FileMode) (*os.File, error) {
		d.mu.Lock()
		defer d.mu.Unlock()
		before, err := os.ReadFile(name)
		created := err != nil
		kind := Open
		if created {
			kind = Create
		}
		err = d.doLocked(Op{Kind: kind, Name: rel, file: d.next}, func() (err error) {
			w.file, err = disk.OpenNoFollow(name, flag, perm)
			return err
		})
		if err != nil {
			return nil, err
		}
		w.id = d.identify(rel, created)
		w.known = before
		return w.file, nil
	})
	if err != nil {
		return nil, err
	}
	w.pageSize = db.Info().PageSize
	d.mu.Lock()
	defer d.mu.Unlock()
	return db, w.compare(true)
}

// boltWatch is bbolt's logger, which tells when commits begin and end.
type boltWatch struct {
	fs       *FS
	name     string
	id       int
	file     *os.File
	known    []byte
	pageSize int
	synced   bool
	restore  func() error
}

func (w *boltWatch) Debugf(format string, v ...any) {
	if !strings.HasPrefix(format, "Committing transaction") {
		return
	}
	w.fs.mu.Lock()
	defer w.fs.mu.Unlock()
	if strings.HasSuffix(format, "successfully") {
		w.end(true)
		return
	}
	w.begin()
}

func (w *boltWatch) Errorf(format string, v ...any) {
	if strings.HasPrefix(format, "Committing transaction failed") {
		w.fs.mu.Lock()
		defer w.fs.mu.Unlock()
		w.end(false)
	}
}

// begin makes a commit fail that is to fail: bbolt's writes cannot be reached,
// but what its descriptor stands for can be changed.
func (w *boltWatch) begin() {
	if w.fs.fault == nil {
		return
	}
	if err := w.fs.fault(Op{Kind: BoltCommit, Name: w.name, file: w.id}); err != nil {
		restore, err := fillUp(w.file)
		if err != nil {
			panic(err)
		}
		w.restore = restore
	}
}

func (w *boltWatch) end(ok bool) {
	if w.restore != nil {
		if err := w.restore(); err != nil {
			panic(err)
		}
		w.restore = nil
	}
	if w.file == nil || w.pageSize == 0 {
		return // while it is being opened
	}
	if err := w.compare(ok); err != nil {
		panic(err)
	}
}

// compare logs what has changed in the file since it was last looked at, as
// one commit.
func (w *boltWatch) compare(ok bool) error {
	now := make([]byte, 0)
	st, err := w.file.Stat()
	if err == nil {
		now = make([]byte, st.Size())
		_, err = w.file.ReadAt(now, 0)
	}
	if err != nil {
		return err
	}
	op := func(kind Kind, off int64, data []byte) {
		w.fs.log(Op{Kind: kind, Name: w.name, Off: off, Data: data, file: w.id})
	}
	sync := func() {
		if ok && w.synced {
			op(Sync, 0, nil)
		}
	}
	first := len(w.known) == 0
	if len(now) > len(w.known) && !first {
		op(Truncate, int64(len(now)), nil)
		sync()
	}
	var metas [][]byte
	zero := make([]byte, w.pageSize)
	for off := 0; off < len(now); off += w.pageSize {
		page := now[off:min(off+w.pageSize, len(now))]
		old := zero[:len(page)]
		if off+len(page) <= len(w.known) {
			old = w.known[off : off+len(page)]
		}
		switch {
		case bytes.Equal(page, old):
		case off < 2*w.pageSize && !first:
			metas = append(metas, page)
		default:
			op(Write, int64(off), page)
		}
	}
	sync()
	for _, m := range metas {
		op(Write, int64(m[0])*int64(w.pageSize), m)
	}
	if len(metas) > 0 {
		sync()
	}
	w.known = now
	return nil
}

func (w *boltWatch) Debug(v ...any)                   {}
func (w *boltWatch) Error(v ...any)                   {}
func (w *boltWatch) Info(v ...any)                    {}
func (w *boltWatch) Infof(format string, v ...any)    {}
func (w *boltWatch) Warning(v ...any)                 {}
func (w *boltWatch) Warningf(format string, v ...any) {}
func (w *boltWatch) Fatal(v ...any)                   {}
func (w *boltWatch) Fatalf(format string, v ...any)   {}
func (w *boltWatch) Panic(v ...any)                   {}
func (w *boltWatch) Panicf(format string, v ...any)   {}
