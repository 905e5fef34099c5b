package serve

import (
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"tachograph/cmd/internal/listen"
)

func TestDefaultAddress(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", "/run/user/7")
	want := "unix:/run/user/7/tachograph/serve.sock"
	if os.Geteuid() == 0 {
		want = "unix:/var/run/tachograph/serve.sock"
	}
	if got := DefaultAddress(); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestHanded(t *testing.T) {
	for _, c := range []struct{ pid, fds, want string }{
		{"", "", "no socket was handed over"},
		{"1", "1", "no socket was handed over"},
		{strconv.Itoa(os.Getpid()), "2", "one is needed"},
	} {
		t.Setenv("LISTEN_PID", c.pid)
		t.Setenv("LISTEN_FDS", c.fds)
		if _, err := New(Options{Listen: "systemd"}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v", c, err)
		}
	}
	path := filepath.Join(shortDir(t), "s")
	own, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	f, err := own.(*net.UnixListener).File()
	if err != nil {
		t.Fatal(err)
	}
	l, err := listenerOf(f)
	if err != nil {
		t.Fatal(err)
	}
	if a, err := addressOf(l); err != nil || a != (listen.Address{Unix: true, Path: path}) {
		t.Errorf("%+v %v", a, err)
	}
	l.Close()
	if _, err := os.Lstat(path); err != nil {
		t.Error("a socket of somebody else's is removed")
	}
	f, err = os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := listenerOf(f); err == nil && runtime.GOOS != "plan9" {
		t.Error("a file that is no socket")
	}
}
