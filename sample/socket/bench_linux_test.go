package socket

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tachograph/store/storetest/proof"
)

// nothing hears sockets and forgets them.
type nothing struct{ heard, closed int }

func (n *nothing) Hear(s *Socket) {
	if n.heard++; s.Closed {
		n.closed++
	}
}

// mostHeld is how many sockets a process makes at most: it may not have more than a few thousand
// descriptors.
const mostHeld = 10_000

// hold makes connections with n ends, and keeps them until its input ends.
func hold(n int) error {
	ln, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	if err := errors.Join(unix.Bind(ln, &unix.SockaddrInet4{}), unix.Listen(ln, 100)); err != nil {
		return err
	}
	name, err := unix.Getsockname(ln)
	if err != nil {
		return err
	}
	to := unix.SockaddrInet4{Port: name.(*unix.SockaddrInet4).Port}
	for i := range n / 2 {
		to.Addr = [4]byte{127, 0, byte(i >> 12), byte(1 + i>>4&0xf)}
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err == nil {
			err = unix.Connect(fd, &to)
		}
		if err == nil {
			_, _, err = unix.Accept4(ln, unix.SOCK_CLOEXEC)
		}
		if err != nil {
			return err
		}
	}
	fmt.Println("ready")
	io.Copy(io.Discard, os.Stdin)
	return nil
}

// connect has other processes hold n ends of connections over the loopback interface.
func connect(b *testing.B, n int) {
	for ; n > 0; n -= mostHeld {
		c := exec.Command("/proc/self/exe")
		c.Env = append(os.Environ(), fmt.Sprintf("%s=hold %d", role, min(n, mostHeld)))
		c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		in, _ := c.StdinPipe()
		out, _ := c.StdoutPipe()
		if err := c.Start(); err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { in.Close(); c.Wait() })
		if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "ready\n" {
			b.Skip(line, err)
		}
	}
}

// cpu returns the processor time of the process.
func cpu() time.Duration {
	var u unix.Rusage
	unix.Getrusage(unix.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkList measures a list, in processor time.
func BenchmarkList(b *testing.B) {
	counts := []int{0, 500, 10_000}
	if proof.Long() {
		counts = append(counts, 100_000)
	}
	for _, n := range counts {
		b.Run(fmt.Sprintf("sockets=%d", n), func(b *testing.B) {
			connect(b, n)
			var h nothing
			l, err := Open(&h)
			if err != nil {
				b.Skip(err)
			}
			defer l.Close()
			began := cpu()
			for b.Loop() {
				h.heard = 0
				if err := l.List(&h); err != nil || h.heard < n {
					b.Fatal(err, h.heard)
				}
			}
			b.ReportMetric(float64(cpu()-began)/float64(b.N)/1e6, "cpu-ms/op")
		})
	}
}

// BenchmarkSpaces measures a list of a machine with containers, in processor time.
func BenchmarkSpaces(b *testing.B) {
	for _, n := range []int{1, 16} {
		b.Run(fmt.Sprintf("namespaces=%d", n), func(b *testing.B) {
			var h nothing
			l, err := Open(&h)
			if err != nil {
				b.Skip(err)
			}
			defer l.Close()
			var all []*spaced
			for range n {
				all = append(all, inNamespace(b))
			}
			err = l.Spaces(n, func(each func(uint64, int32)) {
				for _, s := range all {
					each(s.namespace, int32(s.Process.Pid))
				}
			})
			if err != nil {
				b.Fatal(err)
			}
			if err := l.List(&h); err != nil {
				b.Fatal(err)
			}
			if read, _ := l.Namespaces(); read != n+1 {
				b.Skip(l.Notice())
			}
			began := cpu()
			for b.Loop() {
				if err := l.List(&h); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(cpu()-began)/float64(b.N)/1e6, "cpu-ms/op")
		})
	}
}

// BenchmarkClosings measures what it takes to hear of 1,000 closed sockets, in processor time of
// this thread: of what making and closing them costs, nothing is in it.
func BenchmarkClosings(b *testing.B) {
	c, err := openClosings()
	if err != nil {
		b.Skip(err)
	}
	defer c.close()
	r, d, s, h := newReceiver(), new(decoder), new(Socket), new(nothing)
	spent := time.Duration(0)
	for b.Loop() {
		b.StopTimer()
		const n = 1000
		for range n {
			fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
			if err != nil {
				b.Fatal(err)
			}
			unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})
			unix.Close(fd)
		}
		for h.closed = 0; h.closed < n; {
			unix.Poll([]unix.PollFd{{Fd: int32(c.fd), Events: unix.POLLIN}}, -1)
			b.StartTimer()
			began := cpu()
			r.receive(c, func(m []byte) {
				if d.closed(m, 0, s) {
					h.Hear(s)
				}
			})
			spent += cpu() - began
			b.StopTimer()
		}
		b.StartTimer()
	}
	b.ReportMetric(float64(spent)/float64(b.N)/1e6, "cpu-ms/op")
}
