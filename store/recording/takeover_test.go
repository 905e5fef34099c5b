package recording

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"go.etcd.io/bbolt"

	"tachograph/sample/metric"
	"tachograph/store/disk"
	"tachograph/store/layout"
	"tachograph/store/storetest/proof"
)

// TestAReadersLockKeepsNobodyFromRecording: a user who may read archives locks the live one.
// The recorder reports that, begins a new archive, and continues the old one when the lock
// is free.
func TestAReadersLockKeepsNobodyFromRecording(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, how := range []int{syscall.LOCK_SH, syscall.LOCK_EX} {
			dir := t.TempDir()
			log := new(proof.Log)
			opt := testOptions(dir)
			opt.Log = slog.New(log)
			w := create(t, opt)
			recordTicks(t, w, 0, 10)
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			live, _ := filepath.Glob(filepath.Join(dir, "*"+layout.LiveSuffix))
			f, err := os.Open(live[0])
			if err != nil {
				t.Fatal(err)
			}
			if err := syscall.Flock(int(f.Fd()), how); err != nil {
				t.Fatal(err)
			}
			w = create(t, opt)
			recordTicks(t, w, 10, 20)
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			if said := strings.Join(log.All(), "\n"); !strings.Contains(said, "locked by another process") {
				t.Errorf("logged %q", said)
			}
			f.Close()
			w = create(t, opt)
			recordTicks(t, w, 20, 30)
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			if got := numbers(t, dir); !slices.Equal(got, upTo(30)) {
				t.Errorf("ticks %v", got)
			}
		}
	})
}

// TestWhatLiesAmongTheArchives starts a recorder with links, pipes and directories among its
// files.
func TestWhatLiesAmongTheArchives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, name := range []string{"x-20250615T110000Z.live", "zz-20990615T120000Z.live", "x-20250615T110000Z--20250615T120000Z.tacho", "recorder.status", "recorder.unshipped"} {
			for kind, make := range map[string]func(path, target string) error{
				"pipe":      func(path, _ string) error { return syscall.Mkfifo(path, 0o644) },
				"link":      func(path, target string) error { return os.Symlink(target, path) },
				"loop":      func(path, _ string) error { return os.Symlink(path, path) },
				"directory": func(path, _ string) error { return os.Mkdir(path, 0o755) },
				"hard link": func(path, target string) error { return os.Link(target, path) },
			} {
				dir := t.TempDir()
				w := create(t, testOptions(dir))
				recordTicks(t, w, 0, 10)
				if err := w.Close(); err != nil {
					t.Fatal(err)
				}
				live, _ := filepath.Glob(filepath.Join(dir, "*"+layout.LiveSuffix))
				if err := make(filepath.Join(dir, name), live[0]); err != nil {
					t.Fatal(err)
				}
				w, err := Create(testOptions(dir))
				if err != nil {
					t.Errorf("a %s as %s: %v", kind, name, err)
					continue
				}
				recordTicks(t, w, 10, 20)
				if err := w.Close(); err != nil {
					t.Errorf("a %s as %s: %v", kind, name, err)
				}
			}
		}
	})
}

// TestDamagedArchivesAreSetAside damages what an earlier run left, one record, fact or
// bucket at a time. The recorder must set it aside unchanged and go on in a new archive.
func TestDamagedArchivesAreSetAside(t *testing.T) {
	spoils := map[string]func(*bbolt.Tx) error{}
	for _, name := range layout.Buckets {
		spoils["no bucket "+name] = func(tx *bbolt.Tx) error { return tx.DeleteBucket([]byte(name)) }
		if name != layout.BucketChunks { // chunks are read only when a query needs them
			spoils["a record of "+name] = func(tx *bbolt.Tx) error {
				b := tx.Bucket([]byte(name))
				key, stored := b.Cursor().First()
				stored = slices.Clone(stored)
				stored[0] ^= 1
				return b.Put(key, stored)
			}
		}
	}
	for _, key := range []string{layout.MetaArchive, layout.MetaTotals, layout.MetaJournal} {
		spoils["no "+key] = func(tx *bbolt.Tx) error { return tx.Bucket([]byte(layout.BucketMeta)).Delete([]byte(key)) }
	}
	for what, spoil := range spoils {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { setAside(t, spoil) })
		})
	}
}

func setAside(t *testing.T, spoil func(*bbolt.Tx) error) {
	dir := t.TempDir()
	w := create(t, testOptions(dir))
	recordTicks(t, w, 0, 10)
	if err := w.Event(metric.Event{At: now(), Kind: metric.EventGap, Text: "x"}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	live, _ := filepath.Glob(filepath.Join(dir, "*"+layout.LiveSuffix))
	db, err := disk.OS.OpenBolt(live[0], 0o640, boltOptions())
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Update(spoil); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(live[0])
	if err != nil {
		t.Fatal(err)
	}
	w = create(t, testOptions(dir))
	recordTicks(t, w, 10, 20)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if after, err := os.ReadFile(live[0] + layout.DamagedSuffix); err != nil || !slices.Equal(before, after) {
		t.Errorf("set aside: %v, the same bytes: %v", err, slices.Equal(before, after))
	}
	if got := numbers(t, dir); !slices.Equal(got, upTo(20)[10:]) {
		t.Errorf("ticks %v", got)
	}
}
