package disk

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"go.etcd.io/bbolt"
)

func TestOpenFollowsNoLink(t *testing.T) {
	dir := t.TempDir()
	target := filepath.Join(dir, "target")
	if err := os.WriteFile(target, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(target, link); err != nil {
		t.Fatal(err)
	}
	if _, err := OS.OpenFile(link, os.O_RDWR|os.O_CREATE, 0o600); err == nil || !strings.Contains(err.Error(), "symbolic link") {
		t.Errorf("OpenFile of a link: %v", err)
	}
	if _, err := OS.OpenBolt(link, 0o600, bbolt.Options{}); err == nil {
		t.Error("OpenBolt followed a link")
	}
	if _, err := OS.Lock(link); err == nil {
		t.Error("Lock followed a link")
	}
	if err := OS.Chmod(link, 0o644); err == nil {
		t.Error("Chmod followed a link")
	}
	if err := OS.Chown(link, -1, os.Getegid()); err != nil {
		t.Errorf("Chown of a link: %v", err)
	}
	for _, name := range []string{target, dir} {
		if err := OS.Chmod(name, 0o500); err != nil {
			t.Error(err)
		}
		if st, err := os.Lstat(name); err != nil || st.Mode().Perm() != 0o500 {
			t.Errorf("Chmod of %s: %v, %v", name, st.Mode(), err)
		}
		if err := OS.Chmod(name, 0o700); err != nil {
			t.Error(err)
		}
	}
	if _, err := OS.OpenFile(dir, os.O_RDONLY, 0); err == nil {
		t.Error("OpenFile opened a directory")
	}
}

func TestFileKeepsWhatIsWritten(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	f, err := OS.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []func() error{
		func() error { _, err := f.Write([]byte("hello")); return err },
		f.Barrier,
		func() error { _, err := f.WriteAt([]byte("J"), 0); return err },
		f.Sync,
		func() error { return f.Truncate(3) },
	} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := f.Size(); n != 3 || err != nil {
		t.Errorf("Size = %d, %v", n, err)
	}
	b := make([]byte, 4)
	if n, err := f.ReadAt(b, 0); string(b[:n]) != "Jel" || err != io.EOF {
		t.Errorf("ReadAt = %q, %v", b[:n], err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if err := OS.SyncDir(filepath.Dir(name)); err != nil {
		t.Error(err)
	}
}

func TestLockIsExclusive(t *testing.T) {
	name := filepath.Join(t.TempDir(), "lock")
	l, err := OS.Lock(name)
	if err != nil {
		t.Fatal(err)
	}
	// Another open file in the same process does not share the lock.
	if _, err := OS.Lock(name); !errors.Is(err, ErrLocked) {
		t.Errorf("second Lock: %v", err)
	}
	if err := l.Unlock(); err != nil {
		t.Fatal(err)
	}
	if l, err = OS.Lock(name); err != nil {
		t.Fatalf("Lock after Unlock: %v", err)
	}
	l.Unlock()
}

// TestDamagedBolt opens a database with each page wiped in turn. bbolt would panic or fault
// on most of them.
func TestDamagedBolt(t *testing.T) {
	name := filepath.Join(t.TempDir(), "db")
	db, err := OS.OpenBolt(name, 0o600, bbolt.Options{NoFreelistSync: true})
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		b, err := tx.CreateBucket([]byte("b"))
		if err != nil {
			return err
		}
		for i := range 500 {
			if err := b.Put([]byte{byte(i >> 8), byte(i)}, make([]byte, 100)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	pages := 0
	db.View(func(tx *bbolt.Tx) error { pages = int(tx.Size()) / PageSize; return nil })
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	sound, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	refused := 0
	for page := range pages {
		b := append([]byte(nil), sound...)
		clear(b[page*PageSize : (page+1)*PageSize])
		if err := os.WriteFile(name, b, 0o600); err != nil {
			t.Fatal(err)
		}
		db, err := OS.OpenBolt(name, 0o600, bbolt.Options{NoFreelistSync: true})
		if err != nil {
			if !errors.Is(err, ErrDamaged) {
				t.Errorf("page %d wiped: %v", page, err)
			}
			refused++
			continue
		}
		db.Close()
	}
	if refused < 10 {
		t.Errorf("%d of %d wiped pages were noticed", refused, pages)
	}
	fault := Contain(func() error { panic("page 7 already freed") })
	if !errors.Is(fault, ErrDamaged) {
		t.Errorf("Contain = %v", fault)
	}
}

// TestLockIsClosedToOthers: a user who may only read the directory cannot lock a writer out
// of it. Such a user cannot open the lock file, and a lock file that an earlier version left
// open to others does not help either.
func TestLockIsClosedToOthers(t *testing.T) {
	old := syscall.Umask(0)
	defer syscall.Umask(old)
	mode := func(name string) os.FileMode {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		return info.Mode().Perm()
	}
	const dead = "1073741824" // larger than any process ID of a system
	for _, tc := range []struct {
		name   string
		note   string // content of a lock file that exists already; empty: there is none
		locked bool   // by another process
		want   error
	}{
		{"fresh", "", false, nil},
		{"left open", dead, false, nil},
		{"locked by a stranger", dead, true, nil},
		{"locked by a writer", strconv.Itoa(os.Getppid()), true, ErrLocked},
		{"locked by nobody knows whom", "?", true, ErrLocked},
	} {
		t.Run(tc.name, func(t *testing.T) {
			name := filepath.Join(t.TempDir(), "lock")
			if tc.note != "" {
				if err := os.WriteFile(name, []byte(tc.note+"\n"), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if tc.locked {
				f, err := os.Open(name)
				if err != nil {
					t.Fatal(err)
				}
				defer f.Close()
				if err := syscall.Flock(int(f.Fd()), syscall.LOCK_SH); err != nil {
					t.Fatal(err)
				}
			}
			l, err := OS.Lock(name)
			if !errors.Is(err, tc.want) {
				t.Fatalf("Lock: %v, want %v", err, tc.want)
			}
			if err != nil {
				return
			}
			defer l.Unlock()
			if m := mode(name); m != 0o600 {
				t.Errorf("mode %o", m)
			}
			if _, err := OS.Lock(name); !errors.Is(err, ErrLocked) {
				t.Errorf("a second Lock: %v", err)
			}
		})
	}
}
