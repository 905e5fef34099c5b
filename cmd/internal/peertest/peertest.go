// Package peertest starts the servers of other projects for tests. Each listens at its own
// addresses, and ends with the test; Start waits until it answers.
package peertest

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"testing"

	"tachograph/testdata/patience"
)

// Need skips a test if one of the programs is missing, and with -short.
func Need(t testing.TB, programs ...string) {
	t.Helper()
	if testing.Short() {
		t.Skip("runs other programs")
	}
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			t.Skipf("%s is not installed", p)
		}
	}
}

// Addresses returns n free addresses, for a program that must be given them. The kernel chooses
// their ports. On Linux they are in a part of loopback that is reserved for this process, so
// that no other program takes one before that program does.
func Addresses(t testing.TB, n int) []string {
	t.Helper()
	host := "127.0.0.1"
	if pid := os.Getpid(); runtime.GOOS == "linux" {
		host = fmt.Sprintf("127.%d.%d.%d", 64+pid>>16&63, pid>>8&255, pid&255)
	}
	var list []string
	for range n {
		l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close() // only when all are chosen
		list = append(list, l.Addr().String())
	}
	return list
}

// A Peer is a running program of another project.
type Peer struct {
	cmd   *exec.Cmd
	ended chan struct{}
	said  said
}

// Start starts a program and waits until it answers at a URL with success. It is killed at the
// end of the test.
func Start(t testing.TB, url string, program string, args ...string) *Peer {
	t.Helper()
	p := &Peer{cmd: exec.Command(program, args...), ended: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = &p.said, &p.said
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait()
		close(p.ended)
	}()
	t.Cleanup(func() {
		p.End(os.Kill)
		if t.Failed() {
			t.Logf("%s says:\n%s", program, p.said.tail())
		}
	})
	patience.Until(t, program+" answers", func() bool {
		select {
		case <-p.ended:
			t.Fatalf("%s has ended", program)
		default:
		}
		answer, err := http.Get(url)
		if err != nil {
			return false
		}
		answer.Body.Close()
		return answer.StatusCode == http.StatusOK
	})
	return p
}

// End sends a signal to the program and waits for its end.
func (p *Peer) End(signal os.Signal) {
	_ = p.cmd.Process.Signal(signal)
	<-p.ended
}

// said keeps the end of a program's output.
type said struct {
	mu   sync.Mutex
	text bytes.Buffer
}

const keptOfSaid = 4000

func (s *said) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text.Write(b)
	if s.text.Len() > 10*keptOfSaid {
		s.text.Next(s.text.Len() - keptOfSaid)
	}
	return len(b), nil
}

func (s *said) tail() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(s.text.Bytes()[max(0, s.text.Len()-keptOfSaid):])
}
