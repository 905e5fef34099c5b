package disktest

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"go.etcd.io/bbolt"

	"tachograph/store/disk"
)

// crashDirs calls fn with the directory after a crash at every position.
func crashDirs(t *testing.T, d *FS, perPosition int, fn func(dir string, at int, mode Mode)) {
	t.Helper()
	base := t.TempDir()
	rnd := rand.New(rand.NewSource(1))
	for at := 0; at <= d.Len(); at++ {
		for n := range 2 * perPosition {
			mode := Mode(n % 2)
			dir := filepath.Join(base, fmt.Sprintf("%d.%d", at, n))
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := d.Crash(dir, at, mode, rnd); err != nil {
				t.Fatal(err)
			}
			fn(dir, at, mode)
			if t.Failed() {
				t.Fatalf("at operation %d of %d, %v", at, d.Len(), mode)
			}
			os.RemoveAll(dir)
		}
	}
}

// TestCrashOfALog appends records with barriers, and a full sync from time to time. After a
// crash, everything that the last barrier or sync covered must be there.
func TestCrashOfALog(t *testing.T) {
	dir := t.TempDir()
	d := New(dir)
	f, err := d.OpenFile(filepath.Join(dir, "log"), os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.SyncDir(dir); err != nil {
		t.Fatal(err)
	}
	type mark struct{ at, bytes int }
	var barriers, syncs []mark
	var want []byte
	for i := range 60 {
		rec := bytes.Repeat([]byte{byte(i + 1)}, 1+i*7%600)
		if _, err := f.Write(rec); err != nil {
			t.Fatal(err)
		}
		want = append(want, rec...)
		if i%3 == 0 {
			if err := f.Barrier(); err != nil {
				t.Fatal(err)
			}
			barriers = append(barriers, mark{d.Len(), len(want)})
		}
		if i%20 == 10 {
			if err := f.Sync(); err != nil {
				t.Fatal(err)
			}
			syncs = append(syncs, mark{d.Len(), len(want)})
		}
	}
	fewest, most := len(want), 0
	crashDirs(t, d, 4, func(dir string, at int, mode Mode) {
		got, err := os.ReadFile(filepath.Join(dir, "log"))
		if errors.Is(err, fs.ErrNotExist) && at < 2 {
			return
		}
		if err != nil {
			t.Error(err)
		}
		safe := 0
		for _, m := range syncs {
			if m.at <= at {
				safe = max(safe, m.bytes)
			}
		}
		for _, m := range barriers {
			if m.at <= at && mode == Panic {
				safe = max(safe, m.bytes)
			}
		}
		if len(got) < safe || !bytes.Equal(got[:safe], want[:safe]) {
			t.Errorf("%d bytes are left, %d were safe", len(got), safe)
		}
		fewest, most = min(fewest, len(got)-safe), max(most, len(got)-safe)
	})
	if fewest != 0 || most == 0 {
		t.Errorf("between %d and %d bytes more than safe survived: nothing was ever lost, or nothing ever kept", fewest, most)
	}
}

// TestCrashOfBolt commits to a bbolt database. After a crash at any position it must open,
// pass bbolt's own check and hold exactly the content after one of the commits.
func TestCrashOfBolt(t *testing.T) {
	dir := t.TempDir()
	d := New(dir)
	db, err := d.OpenBolt(filepath.Join(dir, "db"), 0o600, bbolt.Options{NoFreelistSync: true, PageSize: 1024})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.SyncDir(dir); err != nil {
		t.Fatal(err)
	}
	start := d.Len()
	rnd := rand.New(rand.NewSource(5))
	type commit struct {
		at   int
		want map[string]string
	}
	commits := []commit{{start, map[string]string{}}}
	for range 12 {
		want := map[string]string{}
		for k, v := range commits[len(commits)-1].want {
			want[k] = v
		}
		err := db.Update(func(tx *bbolt.Tx) error {
			b, err := tx.CreateBucketIfNotExists([]byte("b"))
			if err != nil {
				return err
			}
			for range 10 {
				k, v := fmt.Sprint(rnd.Intn(200)), fmt.Sprint(rnd.Int63(), string(make([]byte, rnd.Intn(900))))
				want[k] = v
				if err := b.Put([]byte(k), []byte(v)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		commits = append(commits, commit{d.Len(), want})
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if c := d.Counts(); c.Syncs < 24 || c.Writes < 50 {
		t.Errorf("the log has only %+v", c)
	}
	if testing.Short() {
		return
	}
	crashDirs(t, d, 1, func(dir string, at int, mode Mode) {
		if at < start {
			return
		}
		db, err := disk.OS.OpenBolt(filepath.Join(dir, "db"), 0o600, bbolt.Options{NoFreelistSync: true, ReadOnly: true, PreLoadFreelist: true})
		if err != nil {
			t.Error(err)
			return
		}
		defer db.Close()
		got := map[string]string{}
		err = db.View(func(tx *bbolt.Tx) error {
			for err := range tx.Check() {
				t.Error(err)
			}
			if b := tx.Bucket([]byte("b")); b != nil {
				return b.ForEach(func(k, v []byte) error { got[string(k)] = string(v); return nil })
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		last := 0
		for i, c := range commits {
			if c.at <= at {
				last = i
			}
		}
		if !same(got, commits[last].want) && (last+1 == len(commits) || !same(got, commits[last+1].want)) {
			t.Errorf("%d keys that are neither commit %d's nor the next one's", len(got), last)
		}
	})
}

func same(a, b map[string]string) bool {
	if len(a) != len(b) {
		return false
	}
	for k, v := range a {
		if b[k] != v {
			return false
		}
	}
	return true
}

// TestFaults makes operations fail, including a commit of bbolt, and then succeed again.
func TestFaults(t *testing.T) {
	dir := t.TempDir()
	d := New(dir)
	f, err := d.OpenFile(filepath.Join(dir, "f"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	db, err := d.OpenBolt(filepath.Join(dir, "db"), 0o600, bbolt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	put := func(v string) error {
		return db.Update(func(tx *bbolt.Tx) error {
			b, err := tx.CreateBucketIfNotExists([]byte("b"))
			if err != nil {
				return err
			}
			return b.Put([]byte("k"), []byte(v))
		})
	}
	if err := put("one"); err != nil {
		t.Fatal(err)
	}
	d.Fail(func(op Op) error {
		switch op.Kind {
		case Write:
			return &Short{N: 2, Err: syscall.ENOSPC}
		case BoltCommit:
			return syscall.ENOSPC
		case Create:
			return syscall.EROFS
		}
		return nil
	})
	if n, err := f.Write([]byte("abcdef")); n != 2 || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("Write = %d, %v", n, err)
	}
	if _, err := d.OpenFile(filepath.Join(dir, "g"), os.O_CREATE|os.O_RDWR, 0o600); !errors.Is(err, syscall.EROFS) {
		t.Errorf("Create: %v", err)
	}
	if err := put("two"); err == nil {
		t.Error("the commit succeeded")
	}
	d.Fail(nil)
	if err := put("three"); err != nil {
		t.Errorf("commit after the fault: %v", err)
	}
	if n, err := f.Size(); n != 2 || err != nil {
		t.Errorf("Size = %d, %v", n, err)
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}
