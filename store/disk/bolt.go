package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime/debug"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"tachograph/store/boltread"
)

// ErrDamaged is in the error of OpenBolt when the file's content is the cause.
var ErrDamaged = errors.New("the database is damaged")

// ErrHeld is in the error of OpenBolt when another process has locked the file. Any process
// that may read the file can lock it.
var ErrHeld = errors.New("another process has locked the database")

// boltTimeout bounds the wait for bbolt's own lock. The writer's directory lock
// keeps other writers out, so only a passing tool can hold it.
const boltTimeout = 2 * time.Second

func (osFS) OpenBolt(name string, perm fs.FileMode, opt bbolt.Options) (*bbolt.DB, error) {
	return OpenBolt(name, perm, opt, OpenNoFollow)
}

// OpenBolt opens a database as FS.OpenBolt does, through the given open
// function.
func OpenBolt(name string, perm fs.FileMode, opt bbolt.Options, open func(string, int, fs.FileMode) (*os.File, error)) (*bbolt.DB, error) {
	if opt.PageSize == 0 {
		opt.PageSize = PageSize
	}
	if opt.Timeout == 0 {
		opt.Timeout = boltTimeout
	}
	var file *os.File
	opt.OpenFile = func(name string, flag int, perm fs.FileMode) (*os.File, error) {
		f, err := open(name, flag, perm)
		if err != nil {
			return nil, err
		}
		if err := sound(f); err != nil {
			f.Close()
			return nil, err
		}
		file = f
		return f, nil
	}
	var db *bbolt.DB
	err := Contain(func() (err error) {
		db, err = bbolt.Open(name, perm, &opt)
		return err
	})
	if err != nil {
		// After a panic bbolt has not closed the file, which would keep its
		// lock; after an error it has, and this does nothing.
		if file != nil {
			file.Close()
		}
		if errors.Is(err, bolterrors.ErrTimeout) {
			err = ErrHeld
		}
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return db, nil
}

// CheckBolt checks whether the structure of the database at name is as bbolt left it;
// ErrDamaged is in the error if not. No process may be writing to it.
func CheckBolt(name string) error {
	f, err := OpenNoFollow(name, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if size, err := boltread.FileSource(f).Size(); err == nil && size == 0 {
		return fmt.Errorf("%w: it is empty", ErrDamaged)
	}
	return sound(f)
}

// sound checks the structure of an existing database before bbolt sees it:
// bbolt walks all pages in a goroutine of its own when it opens a file without
// a freelist, and a panic there cannot be contained.
func sound(f *os.File) error {
	src := boltread.FileSource(f)
	if size, err := src.Size(); err != nil || size == 0 {
		return err
	}
	s, err := boltread.Open(src)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if d := s.Check(nil); len(d) > 0 {
		return fmt.Errorf("%w: %w", ErrDamaged, d[0])
	}
	return nil
}

// Contain runs fn, which uses a bbolt database, and turns a panic or a memory
// fault in it into an error: bbolt trusts its file, and the file is mapped into
// memory.
func Contain(fn func() error) (err error) {
	old := debug.SetPanicOnFault(true)
	defer func() {
		debug.SetPanicOnFault(old)
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: bbolt cannot make sense of it: %v", ErrDamaged, r)
		}
	}()
	return fn()
}
