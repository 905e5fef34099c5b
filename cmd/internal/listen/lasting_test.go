package listen

import (
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Who takes the file away does not keep others from connecting for long.
func TestLasting(t *testing.T) {
	path := filepath.Join(shortDir(t), "s")
	l, err := Last("--at", path, 0o600, "", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	accepted := make(chan error)
	go func() {
		for {
			c, err := l.Accept()
			accepted <- err
			if err != nil {
				return
			}
			c.Close()
		}
	}()
	connect := func() {
		t.Helper()
		for end := time.Now().Add(time.Minute); ; {
			c, err := net.Dial("unix", path)
			if err == nil {
				c.Close()
				break
			}
			if time.Now().After(end) {
				t.Fatal(err)
			}
			<-time.After(time.Millisecond)
		}
		if err := <-accepted; err != nil {
			t.Fatal(err)
		}
	}
	connect()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	connect()
	l.Look()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	since := time.Now()
	connect()
	t.Logf("there again after %v", time.Since(since))
	l.Close()
	if err := <-accepted; !errors.Is(err, net.ErrClosed) {
		t.Errorf("it ends with %v", err)
	}
	if _, err := os.Lstat(path); err == nil {
		t.Error("the file is still there")
	}
}
