package software

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// What dnf5 has installed is reported once nothing can follow: rpm's lock says so.
func TestFollowDNF5(t *testing.T) {
	root := t.TempDir()
	write := func(path, text string) {
		t.Helper()
		path = filepath.Join(root, path)
		os.MkdirAll(filepath.Dir(path), 0o755)
		f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		f.WriteString(text)
		f.Close()
	}
	write("usr/lib/sysimage/rpm/rpmdb.sqlite", "")
	write("usr/lib/sysimage/rpm/.rpm.lock", "")
	logs := NewLogs(root, in(time.UTC))
	expect := func(want string) {
		t.Helper()
		var got []string
		if err := logs.Follow(time.Time{}, func(log string, c Change) { got = append(got, log+" "+c.Package+" "+c.Was+"→"+c.Is) }); err != nil {
			t.Fatal(err)
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("got %v, want %s", got, want)
		}
	}
	unlock := lock(t, filepath.Join(root, "usr/lib/sysimage/rpm/.rpm.lock"))
	write("var/log/dnf5.log", dnf5Lines("7", "install nginx-1.28-1.x86_64", "install zlib-1.3-1.x86_64"))
	expect("")
	expect("") // a script of the package takes its time
	write("var/log/dnf5.log", dnf5Lines("7", "uninstall zlib-1.2-1.x86_64"))
	unlock()
	expect("dnf5 zlib 1.2-1→1.3-1")
	expect("dnf5 nginx →1.28-1")
	expect("")
	write("var/log/dnf5.log", dnf5Lines("8", "install curl-8-1.x86_64"))
	expect("") // the transaction may have begun while the log was read
	expect("dnf5 curl →8-1")
}

// lock locks a file as rpm does, for somebody else.
func lock(t *testing.T, path string) (unlock func()) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	l := unix.Flock_t{Type: unix.F_WRLCK}
	if err := unix.FcntlFlock(f.Fd(), ofdSetLock, &l); err != nil {
		t.Fatal(err)
	}
	return func() { f.Close() }
}

// ofdSetLock locks for the open file, so that the lock counts within the process, too
// (F_OFD_SETLK of Linux).
const ofdSetLock = 37

func TestRPMOf(t *testing.T) {
	root := t.TempDir()
	r := RPM(root)
	if r.Files() != nil || r.Busy() {
		t.Error("there is no database")
	}
	dir := filepath.Join(root, "var/lib/rpm")
	os.MkdirAll(dir, 0o755)
	os.WriteFile(filepath.Join(dir, "Packages.db"), nil, 0o644)
	if files := r.Files(); len(files) == 0 || filepath.Dir(files[0]) != dir || r.Busy() {
		t.Error(files)
	}
	unix.Mkfifo(filepath.Join(dir, ".rpm.lock"), 0o644)
	if r.Busy() {
		t.Error("a pipe is a lock")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := r.List(ctx); !errors.Is(err, context.Canceled) && !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}
