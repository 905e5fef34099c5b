package main

import (
	"bufio"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// idle does nearly nothing until this program is signalled to begin.
func idle() {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGUSR1)
	for {
		select {
		case <-c:
			return
		case <-time.After(500 * time.Millisecond):
			burn(1)
		}
	}
}

// every returns a channel that is ready this many times a second.
func every(perSecond int) <-chan time.Time { return time.Tick(time.Second / time.Duration(perSecond)) }

func stat([]string) {
	idle()
	for {
		_, _ = os.Stat("/etc/hostname")
	}
}

// hold allocates a number of MB a second, up to a limit.
func hold(args []string) {
	n := 0
	for range every(number(args, 0)) {
		if n++; n <= number(args, 1) {
			b, err := unix.Mmap(-1, 0, 1<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
			if err != nil {
				select {}
			}
			touch(b)
		}
	}
}

// answer answers each line with a line, after 1 ms of work.
func answer(args []string) {
	l, err := net.Listen("unix", args[0])
	if err != nil {
		panic(err)
	}
	for {
		c, err := l.Accept()
		if err != nil {
			panic(err)
		}
		go func() {
			for r := bufio.NewReader(c); ; {
				line, err := r.ReadString('\n')
				if err != nil {
					return
				}
				burn(1)
				_, _ = io.WriteString(c, line)
			}
		}()
	}
}

// askFor sends fifty requests a second, and waits for each answer.
func askFor(args []string) {
	var c net.Conn
	for range every(10) {
		var err error
		if c, err = net.Dial("unix", args[0]); err == nil {
			break
		}
	}
	r := bufio.NewReader(c)
	for range every(50) {
		_, _ = io.WriteString(c, "what?\n")
		if _, err := r.ReadString('\n'); err != nil {
			return
		}
	}
}

// orphan starts children that end at once, and never waits for them.
func orphan(args []string) {
	idle()
	for range every(number(args, 0)) {
		p, err := os.StartProcess("/bin/true", []string{"true"}, &os.ProcAttr{})
		if err == nil {
			_ = p.Release()
		}
	}
}

func open(args []string) {
	_ = unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 4096, Max: 4096})
	idle()
	for range every(number(args, 0)) {
		_, _ = unix.Open("/etc/hostname", unix.O_RDONLY, 0) // until the limit is reached
	}
}

func threads(args []string) {
	idle()
	for range every(number(args, 0)) {
		go func() {
			runtime.LockOSThread()
			for {
				ts := unix.NsecToTimespec(int64(time.Second))
				_ = unix.Nanosleep(&ts, nil)
			}
		}()
	}
}

// convoy makes a number of threads take one lock in turn, each for a moment.
func convoy(args []string) {
	idle()
	r, w, err := os.Pipe()
	if err != nil {
		panic(err)
	}
	in, out := int(r.Fd()), int(w.Fd())
	for range number(args, 0) {
		go func() {
			runtime.LockOSThread()
			for b := make([]byte, 1); ; {
				_, _ = unix.Read(in, b)
				_, _ = unix.Write(out, b)
			}
		}()
	}
	_, _ = unix.Write(out, []byte{1, 1})
	select {}
}

// accept accepts connections until it is signalled, then no more.
func accept(args []string) {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err == nil {
		err = unix.Bind(s, &unix.SockaddrInet4{Port: number(args, 0), Addr: [4]byte{127, 0, 0, 1}})
	}
	if err == nil {
		err = unix.Listen(s, 16)
	}
	if err != nil {
		panic(err)
	}
	go func() {
		for {
			c, _, err := unix.Accept(s)
			if err == nil {
				_ = unix.Close(c)
			}
		}
	}()
	idle()
	_ = unix.Kill(os.Getpid(), unix.SIGSTOP) // the simplest way to accept no more
	select {}
}

func connect(args []string) {
	for range every(number(args, 1)) {
		go func() {
			c, err := net.DialTimeout("tcp", "127.0.0.1:"+args[0], 2*time.Second)
			if err == nil {
				_ = c.Close()
			}
		}()
	}
}

// syncing writes little but waits for the disk each time, without pause.
func syncing(args []string) {
	f, err := os.Create(args[0])
	if err != nil {
		panic(err)
	}
	idle()
	for {
		_, _ = f.WriteAt(make([]byte, 512), 0)
		_ = f.Sync()
	}
}

// share works for a percentage of the time, as far as its quota allows.
func share(args []string) {
	for range every(20) {
		burn(number(args, 0) / 2)
	}
}

// again starts a program that takes memory, again each time it has ended.
func again(args []string) {
	idle()
	for range every(2) {
		cmd := exec.Command(args[0], "hold", args[1], args[2])
		_ = cmd.Run()
	}
}

// write writes a number of MB/s to a file, over and over the same 1 GB.
func write(args []string) {
	f, err := os.Create(args[0])
	if err != nil {
		panic(err)
	}
	idle()
	b, at := make([]byte, 1<<20), int64(0)
	for range every(number(args, 1)) {
		_, _ = f.WriteAt(b, at<<20)
		if at = (at + 1) % 1024; at%16 == 0 {
			_ = f.Sync()
		}
	}
}

// read reads a file again and again, each time from the disk.
func read(args []string) {
	f, err := os.Open(args[0])
	if err != nil {
		panic(err)
	}
	_ = f.Sync()
	idle()
	for b := make([]byte, 1<<20); ; {
		_ = unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)
		_, _ = f.Seek(0, io.SeekStart)
		for {
			if _, err := f.Read(b); err != nil {
				break
			}
		}
	}
}

func send(args []string) {
	idle()
	c, err := net.Dial("udp", "127.0.0.1:"+args[0])
	if err != nil {
		panic(err)
	}
	for b := make([]byte, 600); ; {
		_, _ = c.Write(b)
	}
}

func walk(args []string) {
	idle()
	for {
		_ = filepath.WalkDir(args[0], func(_ string, d fs.DirEntry, err error) error {
			if err == nil {
				_, _ = d.Info()
			}
			return nil
		})
	}
}
