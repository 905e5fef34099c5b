package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// spin keeps a number of threads busy.
func spin(args []string) {
	idle()
	for range number(args, 0) {
		go func() {
			for {
				burn(1000)
			}
		}()
	}
	select {}
}

// yield has a number of threads that give the processor away without pause.
func yield(args []string) {
	idle()
	for range number(args, 0) {
		go func() {
			runtime.LockOSThread()
			for {
				_, _, _ = unix.Syscall(unix.SYS_SCHED_YIELD, 0, 0, 0)
			}
		}()
	}
	select {}
}

// passOn passes a byte to a child and back without pause.
func passOn(args []string) {
	idle()
	cmd := exec.Command(args[0], "return")
	to, err := cmd.StdinPipe()
	if err != nil {
		fatal(err)
	}
	from, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	for b := make([]byte, 1); err == nil; {
		if _, err = to.Write(b); err == nil {
			_, err = from.Read(b)
		}
	}
	fatal(err)
}

// giveBack writes to its standard output whatever it reads.
func giveBack([]string) {
	for b := make([]byte, 1); ; {
		n, err := os.Stdin.Read(b)
		if err == nil {
			_, err = os.Stdout.Write(b[:n])
		}
		if err != nil {
			return
		}
	}
}

// duplicate copies a file to another again and again, from disk to disk.
func duplicate(args []string) {
	idle()
	for {
		from, err := os.Open(args[0])
		if err != nil {
			fatal(err)
		}
		to, err := os.Create(args[1])
		if err != nil {
			fatal(err)
		}
		_ = unix.Fadvise(int(from.Fd()), 0, 0, unix.FADV_DONTNEED)
		_, err = io.CopyBuffer(struct{ io.Writer }{to}, struct{ io.Reader }{from}, make([]byte, 1<<20))
		_ = to.Sync()
		_, _ = from.Close(), to.Close()
		if err != nil {
			fatal(err)
		}
	}
}

// drain reads everything from each connection to a port of this machine.
func drain(args []string) {
	l, err := net.Listen("tcp", "127.0.0.1:"+args[0])
	if err != nil {
		fatal(err)
	}
	for {
		c, err := l.Accept()
		if err != nil {
			fatal(err)
		}
		go func() { _, _ = io.Copy(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{c}) }()
	}
}

// stream writes to a port of this machine as fast as is possible.
func stream(args []string) {
	idle()
	c, err := net.Dial("tcp", "127.0.0.1:"+args[0])
	for b := make([]byte, 256<<10); err == nil; {
		_, err = c.Write(b)
	}
	fatal(err)
}

// files creates a number of empty files a second, also when none can be created any more.
func files(args []string) {
	idle()
	n := 0
	for range every(number(args, 1)) {
		n++
		if f, err := os.Create(filepath.Join(args[0], fmt.Sprint(n))); err == nil {
			_ = f.Close()
		}
	}
}

// ticks sleeps for some microseconds, without end.
func ticks(args []string) {
	idle()
	runtime.LockOSThread()
	for {
		ts := unix.NsecToTimespec(int64(number(args, 0)) * int64(time.Microsecond))
		_ = unix.Nanosleep(&ts, nil)
	}
}

// consume reads lines from a named pipe, which it makes.
func consume(args []string) {
	_ = unix.Mkfifo(args[0], 0o600)
	f, err := os.OpenFile(args[0], os.O_RDWR, 0)
	for b := make([]byte, 100); err == nil; {
		_, err = f.Read(b)
	}
	fatal(err)
}

// produce writes two hundred lines a second into a named pipe.
func produce(args []string) {
	var fd int
	for range every(10) {
		var err error
		if fd, err = unix.Open(args[0], unix.O_WRONLY, 0); err == nil {
			break
		}
	}
	for range every(200) {
		burn(1)
		if _, err := unix.Write(fd, make([]byte, 100)); err != nil {
			return
		}
	}
}

// commands starts a shell that starts another command, one after the other.
func commands([]string) {
	idle()
	for {
		_ = exec.Command("/bin/sh", "-c", "expr 1 + 1 >/dev/null; true").Run()
	}
}

// faults maps some MB, touches each page and unmaps them, without pause.
func faults(args []string) {
	idle()
	for {
		b, err := unix.Mmap(-1, 0, number(args, 0)<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
		if err != nil {
			fatal(err)
		}
		for i := 0; i < len(b); i += 4096 {
			b[i] = 1
		}
		_ = unix.Munmap(b)
	}
}

// logs writes short lines to a file, each by itself, as fast as is possible. It begins the file anew at 1 GB.
func logs(args []string) {
	f, err := os.Create(args[0])
	if err != nil {
		fatal(err)
	}
	idle()
	line := []byte("2026-03-02T09:00:00Z DEBUG cache: entry 4711 is older than it may be, and is read anew\n")
	for at := int64(0); ; at = (at + int64(len(line))) % (1 << 30) {
		_, _ = f.WriteAt(line, at)
	}
}

// unseen fills a volume with a file that has no name any more, by a number of KB a second.
func unseen(args []string) {
	f, err := os.Create(args[0])
	if err == nil {
		err = os.Remove(args[0])
	}
	if err != nil {
		fatal(err)
	}
	idle()
	for range every(10) {
		_, _ = f.Write(make([]byte, number(args, 1)<<10/10))
	}
}
