//go:build unix

package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"tachograph/sample/metric"
	"tachograph/store/recording"
	"tachograph/store/storetest"
	"tachograph/store/storetest/proof"
	"tachograph/testdata/patience"
)

// activated is a server that somebody else starts, with a socket of theirs.
type activated struct {
	dir, socket, archives string
	said                  *os.File
}

func newActivated(t *testing.T) *activated {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "serve") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	a := &activated{dir: dir, socket: filepath.Join(dir, "s"), archives: filepath.Join(dir, "archives")}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(a.archives, 0o755); err != nil {
		t.Fatal(err)
	}
	m := storetest.NewMachine(1)
	w, err := recording.Create(recording.Options{Dir: a.archives, Host: metric.Host{ID: "id", Name: "m", Platform: "linux"}, BootID: "b",
		Catalog: m.Catalog(), Intervals: m.Intervals(), Now: proof.NewClock(m.Start).Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	for _, tick := range m.Ticks(0) {
		if err := w.Append(tick); err != nil {
			t.Fatal(err)
		}
	}
	if a.said, err = os.Create(filepath.Join(dir, "said")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.said.Close() })
	return a
}

// start starts a command that is the server, or becomes it. At the end it is told
// to end, and must leave the socket.
func (a *activated) start(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	cmd.Stdout, cmd.Stderr = a.said, a.said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			text, _ := os.ReadFile(a.said.Name())
			t.Errorf("the server ended with %v:\n%s", err, text)
		}
		if _, err := os.Lstat(a.socket); err != nil {
			t.Errorf("the server has removed a socket that is not its: %v", err)
		}
	})
}

// ask asks something that the server can answer.
func (a *activated) ask(t *testing.T) {
	t.Helper()
	client := http.Client{Timeout: patience.Stretch(30 * time.Second), Transport: &http.Transport{DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", a.socket)
		}}}
	answer, err := client.Post("http://localhost/tachograph.v1.CatalogService/ListCategories", "application/json", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK || !strings.Contains(string(body), `"categories"`) {
		t.Errorf("status %d, %v: %s", answer.StatusCode, err, body)
	}
}
