// Package disk is the file layer below the archive: the few operations that the writer needs,
// with the two kinds of sync that it distinguishes. Tests replace it with disktest, which loses
// what a crash may lose.
package disk

import (
	"io"
	"io/fs"

	"go.etcd.io/bbolt"
)

// FS opens and arranges files. Names are ordinary paths.
//
// No operation follows a symbolic link in a path's last element: a writer that runs as root
// must not be led elsewhere by a user who can write beside it.
type FS interface {
	// OpenFile is os.OpenFile. A symbolic link is an error.
	OpenFile(name string, flag int, perm fs.FileMode) (File, error)
	Mkdir(name string, perm fs.FileMode) error
	// Rename replaces new if it exists.
	Rename(old, new string) error
	Remove(name string) error
	ReadDir(name string) ([]fs.DirEntry, error)
	Lstat(name string) (fs.FileInfo, error)
	// Chmod sets the mode of a file or directory that may be read. A symbolic
	// link is an error.
	Chmod(name string, mode fs.FileMode) error
	// Chown sets owner and group, -1 to leave one unchanged. It changes a symbolic link itself.
	Chown(name string, uid, gid int) error
	// SyncDir makes what was created, renamed and removed in a directory
	// survive a power cut.
	SyncDir(name string) error
	// Lock takes an exclusive lock that ends with the process. It returns ErrLocked if another
	// process holds it. Other users cannot open the lock file.
	Lock(name string) (Lock, error)
	// OpenBolt opens a bbolt database and creates it if need be. Unless opt says otherwise it
	// uses the page size that archives have on all machines. bbolt itself fully syncs what it
	// commits, so opt must not set NoSync unless the database is scratch.
	OpenBolt(name string, perm fs.FileMode, opt bbolt.Options) (*bbolt.DB, error)
}

// File is an open file.
type File interface {
	io.Writer
	io.WriterAt
	io.ReaderAt
	io.Closer
	Name() string
	Size() (int64, error)
	Truncate(size int64) error
	// Barrier makes what was written survive a crash of the kernel, and keeps it before
	// everything written later if the power fails.
	Barrier() error
	// Sync makes what was written, and what Barrier covered in other files,
	// survive a power cut.
	Sync() error
}

// Lock is a held lock.
type Lock interface {
	// File is the lock file, for notes such as the holder's process id.
	File() File
	Unlock() error
}

// PageSize is the bbolt page size of archives. It is the same everywhere, although bbolt would
// take the machine's, 16 KiB on Apple silicon: a commit writes whole pages, and small ones make
// small commits.
const PageSize = 4096
