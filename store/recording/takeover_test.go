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

	"tachograph/store/layout"
	"tachograph/store/storetest/proof"
)

// TestAReadersLockKeepsNobodyFromRecording has somebody who may read archives
// lock the unfinished one: the recorder tells, begins a new one, and takes the
// old one up when it is free.
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

// TestWhatLiesAmongTheArchives starts with links, pipes and directories among
// the recorder's files.
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
