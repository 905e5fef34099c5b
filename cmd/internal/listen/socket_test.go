package listen

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestAddresses(t *testing.T) {
	long := "unix:/" + strings.Repeat("x", longestPath())
	for _, c := range []struct {
		text, wrong string
		want        Address
	}{
		{text: "unix:/a/b", want: Address{Unix: true, Path: "/a/b"}},
		{text: "unix:///a/b", want: Address{Unix: true, Path: "/a/b"}},
		{text: long[:len(long)-1], want: Address{Unix: true, Path: long[5 : len(long)-1]}},
		{text: long, wrong: "the system takes"},
		{text: "tcp:127.0.0.1:80", want: Address{Host: "127.0.0.1", Port: "80"}},
		{text: "tcp:[::1]:80", want: Address{Host: "::1", Port: "80"}},
		{text: "tcp:80", wrong: "write unix:PATH or tcp:HOST:PORT"},
		{text: "tcp:host:", wrong: "write unix:PATH"},
		{text: "unix:", wrong: "write unix:PATH"},
		{text: "/a/b", wrong: "write unix:PATH"},
		{text: "", wrong: "write unix:PATH"},
	} {
		got, err := Parse("--at", c.text)
		if c.wrong != "" {
			if err == nil || !strings.Contains(err.Error(), c.wrong) {
				t.Errorf("%q: %v", c.text, err)
			}
		} else if err != nil || got != c.want {
			t.Errorf("%q: %+v %v", c.text, got, err)
		}
	}
	for host, want := range map[string]bool{"localhost": true, "LOCALHOST": true, "127.0.0.1": true, "127.9.9.9": true, "::1": true, "::ffff:127.0.0.1": true,
		"": false, "0.0.0.0": false, "::": false, "192.168.1.1": false, "example.com": false, "localhost.example.com": false} {
		if got := (Address{Host: host}).Loopback(); got != want {
			t.Errorf("%q: %v", host, got)
		}
	}
}

func TestSocketFile(t *testing.T) {
	dir := shortDir(t)
	path := filepath.Join(dir, "deep", "down", "s")
	group := strconv.Itoa(os.Getgid())
	l, err := Unix("--at", path, 0o640, group)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(path)
	if err != nil || info.Mode() != os.ModeSocket|0o640 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	parent, err := os.Stat(filepath.Dir(path))
	if want := os.FileMode(0o700); err != nil || os.Geteuid() != 0 && parent.Mode().Perm() != want || os.Geteuid() == 0 && parent.Mode().Perm() != 0o755 {
		t.Errorf("its directory: %v %v", parent.Mode(), err)
	}
	if _, err := Unix("--at", path, 0, ""); err == nil || !strings.Contains(err.Error(), "another server listens") {
		t.Errorf("a second server: %v", err)
	}
	l.Close()
	if _, err := os.Lstat(path); err != nil {
		t.Fatalf("closing removes it: %v", err)
	}
	// It is stale now, as after a kill.
	l, err = Unix("--at", path, 0, "")
	if err != nil {
		t.Fatalf("a stale one: %v", err)
	}
	if info, err := os.Lstat(path); err != nil || info.Mode() != os.ModeSocket|0o666 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	l.Close()
	l.Remove()
	if _, err := os.Lstat(path); err == nil {
		t.Error("it is still there at the end")
	}
	l.Remove() // of which there is none
}

// What is no socket of ours is left alone.
func TestSocketLeavesOthersAlone(t *testing.T) {
	path := filepath.Join(shortDir(t), "s")
	if err := os.WriteFile(path, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Unix("--at", path, 0, ""); err == nil || !strings.Contains(err.Error(), "is no socket") {
		t.Errorf("a file: %v", err)
	}
	os.Remove(path)
	if err := os.Symlink("/nowhere", path); err != nil {
		t.Fatal(err)
	}
	if _, err := Unix("--at", path, 0, ""); err == nil || !strings.Contains(err.Error(), "is no socket") {
		t.Errorf("a link: %v", err)
	}
	os.Remove(path)
	first, err := Unix("--at", path, 0, "")
	if err != nil {
		t.Fatal(err)
	}
	os.Remove(path)
	second, err := Unix("--at", path, 0, "")
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	first.Close()
	first.Remove()
	if _, err := os.Lstat(path); err != nil {
		t.Error("the socket of another server is removed")
	}
	if _, err := Unix("--at", path, 0, "no-such-group"); err == nil || !strings.Contains(err.Error(), "no-such-group") {
		t.Errorf("no such group: %v", err)
	}
}

// Nobody is let in between bind and listen.
func TestNobodyConnectsTooEarly(t *testing.T) {
	path := filepath.Join(shortDir(t), "s")
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	f := os.NewFile(uintptr(fd), path)
	defer f.Close()
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: path}); err != nil {
		t.Fatal(err)
	}
	if c, err := net.Dial("unix", path); err == nil {
		c.Close()
		t.Error("somebody could connect before the mode was right")
	}
	s, err := prepare(f, path, 0o600, -1)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	c, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
}

// shortDir is a directory whose name leaves room for that of a socket.
func shortDir(t *testing.T) string {
	dir, err := os.MkdirTemp("", "s")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// A link in the place of the socket is not followed when that gets its mode.
func TestModeFollowsNoLink(t *testing.T) {
	dir := shortDir(t)
	secret, path := filepath.Join(dir, "secret"), filepath.Join(dir, "s")
	if err := os.WriteFile(secret, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(secret, path); err != nil {
		t.Fatal(err)
	}
	err := chmod(path, 0o666)
	if info, _ := os.Stat(secret); info.Mode().Perm() != 0o600 {
		t.Errorf("the file behind the link has the mode %v, %v", info.Mode(), err)
	}
}

// A directory in which somebody else could exchange the socket is refused, also where it
// lies further up; one like /tmp is not.
func TestDirectoryThatOthersMayWrite(t *testing.T) {
	for _, c := range []struct {
		mode    os.FileMode
		refused bool
	}{{0o755, false}, {0o700, false}, {0o777, true}, {0o777 | os.ModeSticky, false}} {
		for _, below := range []string{"", "below"} {
			dir := filepath.Join(shortDir(t), "d")
			if err := os.MkdirAll(filepath.Join(dir, below), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(dir, c.mode); err != nil {
				t.Fatal(err)
			}
			l, err := Unix("--at", filepath.Join(dir, below, "s"), 0, "")
			if err == nil {
				l.Close()
			}
			if c.refused != (err != nil) || err != nil && !strings.Contains(err.Error(), "everybody may write it") {
				t.Errorf("%v, %q: %v", c.mode, below, err)
			}
		}
	}
}

// Any user can lock a directory that he may read. A server makes its socket there all the same.
func TestLockOfTheDirectory(t *testing.T) {
	dir := shortDir(t)
	f, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	l, err := Unix("--at", filepath.Join(dir, "s"), 0, "")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	l.Remove()
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

// The server's own lock is not waited for without end, and what is no lock is refused.
func TestLockHasALimit(t *testing.T) {
	was := lockWait
	lockWait = 0
	t.Cleanup(func() { lockWait = was })
	for name, c := range map[string]struct {
		make func(name string) error
		says string
	}{
		"held": {func(name string) error {
			unlock, err := lock("--at", strings.TrimSuffix(name, ".lock"))
			t.Cleanup(unlock)
			return err
		}, "held the lock"},
		"open to others": {func(name string) error {
			if err := os.WriteFile(name, nil, 0o600); err != nil {
				return err
			}
			return os.Chmod(name, 0o644)
		}, "remove it"},
		"a pipe": {func(name string) error { return unix.Mkfifo(name, 0o600) }, "remove it"},
		"a link": {func(name string) error { return os.Symlink("/etc/passwd", name) }, "cannot be opened"},
	} {
		path := filepath.Join(shortDir(t), "s")
		if err := c.make(path + ".lock"); err != nil {
			t.Fatal(err)
		}
		l, err := Unix("--at", path, 0, "")
		if err == nil {
			l.Close()
		}
		if err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), "--at unix:PATH") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
