package serve

import (
	"bytes"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"tachograph/cmd/internal/listen"
)

// open opens a door for a test; users counts who is in.
func open(t *testing.T, opt DoorOptions, users *atomic.Int32) *Door {
	t.Helper()
	opt.Option, opt.BeyondOption, opt.Log = "--other", "--other-remote", slog.New(slog.DiscardHandler)
	opt.Refused, opt.Full = []byte("no\n"), []byte("full\n")
	opt.Use = func() func() {
		users.Add(1)
		return func() { users.Add(-1) }
	}
	d, err := OpenDoor(opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

// told is what the server says before it closes the connection.
func told(t *testing.T, c net.Conn) string {
	t.Helper()
	b, err := io.ReadAll(c)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestDoor(t *testing.T) {
	for _, listen := range []string{"tcp:127.0.0.1:0", "unix:" + filepath.Join(shortDir(t), "s")} {
		var users atomic.Int32
		d := open(t, DoorOptions{Listen: listen, Connections: 1}, &users)
		dial := func() net.Conn {
			c, err := net.Dial(d.Addr().Network(), d.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { c.Close() })
			return c
		}
		in := make(chan net.Conn)
		go func() {
			for {
				c, err := d.Accept()
				if err != nil {
					close(in)
					return
				}
				in <- c
			}
		}()
		dial().Write([]byte("x"))
		guest := <-in
		guest.Read(make([]byte, 1))
		if users.Load() != 1 {
			t.Errorf("%s: %d users", listen, users.Load())
		}
		if got := told(t, dial()); got != "full\n" {
			t.Errorf("%s: one too many is told %q", listen, got)
		}
		guest.Close()
		guest.Close()
		if users.Load() != 0 {
			t.Errorf("%s: %d users, all of whom have left", listen, users.Load())
		}
		dial()
		(<-in).Close()
		d.Close()
		if _, open := <-in; open {
			t.Errorf("%s: somebody came through a closed door", listen)
		}
		if _, err := os.Lstat(d.Path()); d.Unix() && err == nil {
			t.Error("the socket is left behind")
		}
	}
}

// Who may not read the archives is told so, as the protocol has it.
func TestDoorRefusesStrangers(t *testing.T) {
	var users atomic.Int32
	d := open(t, DoorOptions{Listen: "unix:" + filepath.Join(shortDir(t), "s")}, &users)
	d.access = &gatekeeper{peerOf: listen.PeerOf} // in which nobody is
	go d.Accept()
	c, err := net.Dial("unix", d.Path())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if got := told(t, c); got != "no\n" || users.Load() != 0 {
		t.Errorf("told %q, %d are in", got, users.Load())
	}
}

func TestDoorsThatStayClosed(t *testing.T) {
	for _, c := range []struct {
		opt  DoorOptions
		says string
	}{
		{DoorOptions{Listen: "44321"}, "unix:PATH"},
		{DoorOptions{Listen: "tcp:0.0.0.0:0"}, "--other-remote"},
		{DoorOptions{Listen: "tcp:192.0.2.1:1"}, "--other-remote"},
		{DoorOptions{Listen: "tcp:127.0.0.1:0", Mode: 0o600}, "for a unix socket"},
		{DoorOptions{Listen: "tcp:127.0.0.1:0", Access: Access{Users: []string{"0"}}}, "for a unix socket"},
		{DoorOptions{Listen: "unix:/x", Access: Access{Users: []string{"no-such-user"}}}, "no user"},
		{DoorOptions{Listen: "unix:" + strings.Repeat("x", 200)}, "the system takes"},
	} {
		c.opt.Option, c.opt.BeyondOption = "--other", "--other-remote"
		d, err := OpenDoor(c.opt)
		if err == nil {
			d.Close()
		}
		if err == nil || !strings.Contains(err.Error(), c.says) || bytes.ContainsRune([]byte(err.Error()), '\n') {
			t.Errorf("%+v: %v", c.opt, err)
		}
	}
	var users atomic.Int32
	if !open(t, DoorOptions{Listen: "tcp:0.0.0.0:0", Beyond: true}, &users).Addr().(*net.TCPAddr).IP.IsUnspecified() {
		t.Error("not for everybody, though that was said")
	}
}
