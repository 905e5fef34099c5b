package socket

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"tachograph/testdata/patience"
)

// spaceBytes is what the process in a namespace sends to itself.
const spaceBytes = 4321

// talkToItself makes a connection within a new network namespace, prints its addresses, closes it
// when it reads a line, and ends after another.
func talkToItself() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	lo, _ := unix.NewIfreq("lo")
	lo.SetUint16(unix.IFF_UP)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo); err != nil {
		return err
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	client, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		return err
	}
	server, err := ln.Accept()
	if err != nil {
		return err
	}
	client.Write(make([]byte, spaceBytes))
	if _, err := io.ReadFull(server, make([]byte, spaceBytes)); err != nil {
		return err
	}
	in := bufio.NewReader(os.Stdin)
	fmt.Println(client.LocalAddr(), client.RemoteAddr())
	in.ReadString('\n')
	client.Close()
	server.Close()
	fmt.Println("closed")
	in.ReadString('\n')
	return nil
}

// spaced is a process in a network namespace of its own.
type spaced struct {
	*exec.Cmd
	namespace   uint64
	local, peer netip.AddrPort
	in          io.Writer
	out         *bufio.Reader
}

func inNamespace(t testing.TB) *spaced {
	c := exec.Command("/proc/self/exe")
	c.Env = append(os.Environ(), role+"=talk")
	c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	in, _ := c.StdinPipe()
	out, _ := c.StdoutPipe()
	if err := c.Start(); err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { c.Process.Kill(); c.Wait() })
	s := &spaced{Cmd: c, in: in, out: bufio.NewReader(out)}
	line, err := s.out.ReadString('\n')
	local, peer, ok := strings.Cut(strings.TrimSpace(line), " ")
	if err != nil || !ok {
		t.Skip(line, err)
	}
	s.local, s.peer = netip.MustParseAddrPort(local), netip.MustParseAddrPort(peer)
	var st unix.Stat_t
	if err := unix.Stat(fmt.Sprintf("/proc/%d/ns/net", c.Process.Pid), &st); err != nil {
		t.Fatal(err)
	}
	s.namespace = st.Ino
	return s
}

func TestNamespaces(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("namespaces take root")
	}
	b := newBook()
	l := open(t, b)
	all := []*spaced{inNamespace(t), inNamespace(t), inNamespace(t)}
	err := l.Spaces(2, func(each func(uint64, int32)) {
		each(l.spaces.own, int32(os.Getpid()))
		each(1, 1<<30) // a process that has ended
		for _, s := range all {
			each(s.namespace, int32(s.Process.Pid))
			each(s.namespace, int32(s.Process.Pid))
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	list := func() {
		t.Helper()
		if err := l.List(b); err != nil {
			t.Fatal(err)
		}
	}
	list()
	if read, missing := l.Namespaces(); read != 3 || missing != 1 || !strings.HasPrefix(l.Notice(), "1 network namespace is not read: at most 2 are") {
		t.Skipf("%d namespaces read, %d not: %s", read, missing, l.Notice())
	}
	for _, s := range all[:2] {
		one, ok := b.findIn(s.namespace, false, s.local, s.peer)
		if !ok || one.Bytes != (Bytes{Out: spaceBytes}) || one.Inode == 0 {
			t.Errorf("in %d: %+v", s.namespace, one)
		}
		fmt.Fprintln(s.in)
		s.out.ReadString('\n')
		patience.Until(t, "the connection is reported as closed", func() bool {
			end, ok := b.findIn(s.namespace, true, s.local, s.peer)
			return ok && end.ID == one.ID && end.Bytes.Out == spaceBytes
		})
	}
	// One goes, and the third takes its place.
	all[0].Process.Kill()
	all[0].Wait()
	all = all[1:]
	list()
	list()
	if read, missing := l.Namespaces(); read != 3 || missing != 0 || strings.Contains(l.Notice(), "namespace") {
		t.Errorf("%d namespaces read, %d not: %s", read, missing, l.Notice())
	}
	if one, ok := b.findIn(all[1].namespace, false, all[1].local, all[1].peer); !ok || one.Bytes.Out != spaceBytes {
		t.Errorf("%+v", one)
	}
}

// TestRefusedNamespaces has a user without rights look.
func TestRefusedNamespaces(t *testing.T) {
	l := &DiagLister{rooms: map[uint64]*room{}}
	l.spaces = spaces{most: 2, unread: map[uint64]unread{1: {unix.EPERM, 1}, 2: {unix.EACCES, 1}, 3: {errTooMany, 1}, 4: {unix.EMFILE, 1}}}
	const want = "2 network namespaces are not read: entering them takes CAP_SYS_ADMIN and CAP_SYS_PTRACE"
	if got := l.Notice(); got != "1 network namespace is not read: at most 2 are; "+want+"; 1 network namespace is not read: too many open files" {
		t.Error(got)
	}
}
