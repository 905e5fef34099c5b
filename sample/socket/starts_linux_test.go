package socket

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestStarts has the process of short connections found. The tracepoints may not be mounted here:
// another process does so where nobody sees it.
func TestStarts(t *testing.T) {
	c := exec.Command("/proc/self/exe")
	c.Env = append(os.Environ(), role+"=trace")
	c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	out, err := c.CombinedOutput()
	if why, ok := strings.CutPrefix(string(out), "skip: "); ok {
		t.Skip(why)
	}
	if _, started := errors.AsType[*exec.ExitError](err); err != nil && !started {
		t.Skip(err) // no right to a mount namespace
	}
	if err != nil || string(out) != "" {
		t.Errorf("%v\n%s", err, out)
	}
}

// begin makes short connections over IPv4 and IPv6, and finds itself as the process of each.
func begin() error {
	err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
	if err == nil {
		err = unix.Mount("tracefs", "/sys/kernel/tracing", "tracefs", 0, "")
	}
	if err != nil && err != unix.EBUSY {
		return fmt.Errorf("skip: %w", err)
	}
	b := newBook()
	l, err := Open(b)
	if err != nil {
		return err
	}
	defer l.Close()
	if l.trace == nil {
		return fmt.Errorf("skip: %s", l.Notice())
	}
	const n = 200
	self := int32(os.Getpid())
	for _, host := range []string{"127.0.0.1", "[::1]"} {
		ln, err := net.Listen("tcp", host+":0")
		if err != nil {
			continue
		}
		done := make(chan error)
		go func() {
			for range n {
				c, err := ln.Accept()
				if err != nil {
					done <- err
					return
				}
				c.Close()
			}
			done <- nil
		}()
		for range n {
			c, err := net.Dial("tcp", ln.Addr().String())
			if err != nil {
				return err
			}
			c.Close()
		}
		if err := <-done; err != nil {
			return err
		}
		ln.Close()
		if _, err := net.Dial("tcp", ln.Addr().String()); err == nil {
			return errors.New("nobody refused")
		}
		at := netip.MustParseAddrPort(ln.Addr().String())
		if err := found(l, b, self, at, n+1, n); err != nil {
			return err
		}
	}
	return nil
}

// found waits until as many ends of connections with the port are reported as closed.
func found(l *DiagLister, b *book, self int32, at netip.AddrPort, clients, servers int) error {
	for end := time.Now().Add(time.Minute); ; {
		l.mu.Lock()
		l.take()
		l.mu.Unlock()
		b.Lock()
		asked, answered, unknown, wrong := 0, 0, 0, Socket{}
		for _, s := range b.closed {
			switch {
			case s.Peer == at:
				if asked++; s.PID == 0 {
					unknown++ // its beginning was read after its end, which is rare
				}
				if s.PID != self && (s.PID != 0 || unknown > clients/100) {
					wrong = s
				}
			case s.Local == at && s.State == Closed:
				if answered++; s.PID != 0 {
					wrong = s
				}
			}
		}
		b.Unlock()
		if wrong.Closed {
			return fmt.Errorf("%+v, the process is %d", wrong, self)
		}
		if asked == clients && answered == servers {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("%d and %d of %d and %d are reported", asked, answered, clients, servers)
		}
	}
}
