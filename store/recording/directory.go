package recording

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"

	"tachograph/store/disk"
	"tachograph/store/layout"
)

const (
	dirMode  = 0o750
	fileMode = 0o640
)

// directory is the place where a Writer keeps its archives.
type directory struct {
	path string
	fs   disk.FS
	gid  int // -1: the group is left alone
	lock disk.Lock
}

// openDirectory makes the directory if it is missing, checks that it is fit to hold archives,
// and takes its lock.
func openDirectory(opt Options) (*directory, error) {
	path, err := filepath.Abs(opt.Dir)
	if err != nil {
		return nil, err
	}
	d := &directory{path: path, fs: opt.FS, gid: -1}
	if opt.Group != "" {
		if d.gid, err = groupID(opt.Group); err != nil {
			return nil, err
		}
	}
	if err := d.ensure(); err != nil {
		return nil, err
	}
	if err := d.acquire(); err != nil {
		return nil, err
	}
	return d, nil
}

func groupID(name string) (int, error) {
	g, err := user.LookupGroup(name)
	if err != nil {
		return 0, fmt.Errorf("the group that shall own archives: %w", err)
	}
	return strconv.Atoi(g.Gid)
}

// ensure makes the directory if it is missing, and checks it.
func (d *directory) ensure() error {
	st, err := d.fs.Lstat(d.path)
	if errors.Is(err, fs.ErrNotExist) {
		if err := d.make(d.path); err != nil {
			return fmt.Errorf("cannot make the archive directory: %w", err)
		}
		st, err = d.fs.Lstat(d.path)
	}
	switch {
	case err != nil:
		return fmt.Errorf("archive directory: %w", err)
	case st.Mode()&fs.ModeSymlink != 0:
		return fmt.Errorf("archive directory %s is %w: it is a symbolic link; name the place it points to", d.path, ErrUnsafeDir)
	case !st.IsDir():
		return fmt.Errorf("archive directory %s is %w: it is a file", d.path, ErrUnsafeDir)
	case st.Mode().Perm()&0o002 != 0:
		return fmt.Errorf("archive directory %s is %w: everybody may write to it (mode %04o); chmod o-w %s", d.path, ErrUnsafeDir, st.Mode().Perm(), d.path)
	}
	return nil
}

// make makes a directory and its parents.
func (d *directory) make(path string) error {
	err := d.fs.Mkdir(path, dirMode)
	if errors.Is(err, fs.ErrNotExist) && filepath.Dir(path) != path {
		// /proc, where nothing can be made, gives the same error.
		if _, e := d.fs.Lstat(filepath.Dir(path)); e == nil {
			return fmt.Errorf("%s: the file system of %s takes no new directories", path, filepath.Dir(path))
		}
		if err := d.make(filepath.Dir(path)); err != nil {
			return err
		}
		err = d.fs.Mkdir(path, dirMode)
	}
	if err != nil {
		return err
	}
	if err := d.own(path, dirMode); err != nil {
		return err
	}
	return d.fs.SyncDir(filepath.Dir(path))
}

// own sets the mode, whatever the umask took away, and the group of a new file or directory.
func (d *directory) own(path string, mode fs.FileMode) error {
	if err := d.fs.Chmod(path, mode); err != nil {
		return err
	}
	if d.gid >= 0 {
		return d.fs.Chown(path, -1, d.gid)
	}
	return nil
}

func (d *directory) file(name string) string { return filepath.Join(d.path, name) }

// sync makes the names of files safe.
func (d *directory) sync() error { return d.fs.SyncDir(d.path) }

// remove removes a file, if it exists.
func (d *directory) remove(path string) error {
	if err := d.fs.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// settle cuts off the space that bbolt allocated beyond the last page, and makes the file safe.
func (d *directory) settle(path string, size int64) error {
	f, err := d.fs.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Truncate(size); err != nil {
		return err
	}
	return f.Sync()
}

// acquire keeps other writers out until release.
func (d *directory) acquire() error {
	path := d.file(layout.LockName)
	lock, err := d.fs.Lock(path)
	if errors.Is(err, disk.ErrLocked) {
		return fmt.Errorf("archive directory %s: %w (%s)", d.path, ErrLocked, d.holder(path))
	}
	if err != nil {
		return fmt.Errorf("archive directory %s: %w", d.path, err)
	}
	// The process ID in the lock file is for people to read; a full disk that cannot take it is
	// no reason not to record.
	note := strconv.Itoa(os.Getpid()) + "\n"
	if f := lock.File(); f.Truncate(0) == nil {
		_, _ = f.WriteAt([]byte(note), 0)
	}
	d.lock = lock
	return nil
}

// holder returns which process holds the lock at path, as far as the file says.
func (d *directory) holder(path string) string {
	f, err := d.fs.OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		return "process unknown"
	}
	defer f.Close()
	var b [32]byte
	n, _ := f.ReadAt(b[:], 0)
	if pid := strings.TrimSpace(string(b[:n])); layout.Digits(pid) {
		return "process " + pid
	}
	return "process unknown"
}

func (d *directory) release() {
	if d.lock != nil {
		_ = d.lock.Unlock()
	}
}

// leftover is an archive that an earlier run did not finish.
type leftover struct {
	path     string   // path of the bbolt file
	journals []string // in order of generation
	last     uint64   // last generation
}

// leftovers lists the unfinished archives in name order, which is time order, and removes the
// half-made files of an interrupted finish.
func (d *directory) leftovers() ([]leftover, error) {
	entries, err := d.fs.ReadDir(d.path)
	if err != nil {
		return nil, fmt.Errorf("archive directory: %w", err)
	}
	byName := make(map[string]*leftover)
	var list []*leftover
	for _, e := range entries { // sorted by name
		name := e.Name()
		if !e.Type().IsRegular() {
			continue
		}
		switch {
		case layout.IsLiveName(name):
			l := &leftover{path: d.file(name)}
			byName[name] = l
			list = append(list, l)
		case layout.IsSpareName(name), strings.Contains(name, layout.FinishedSuffix+layout.TmpSuffix), strings.HasSuffix(name, layout.LiveSuffix+layout.TmpSuffix), layout.IsJournalName(strings.TrimSuffix(name, layout.TmpSuffix)) && strings.HasSuffix(name, layout.TmpSuffix):
			if err := d.fs.Remove(d.file(name)); err != nil {
				return nil, fmt.Errorf("a half finished archive: %w", err)
			}
		default:
			live, generation, ok := layout.ParseJournalName(name)
			if l := byName[live]; ok && l != nil {
				l.journals = append(l.journals, d.file(name))
				l.last = max(l.last, generation)
			}
		}
	}
	out := make([]leftover, 0, len(list))
	for _, l := range list {
		out = append(out, *l)
	}
	return out, nil
}
