package main

import (
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// works are the tasks of the machine's programs.
var works map[string]func(args []string)

func init() {
	works = map[string]func(args []string){
		"serve": serve, "store": store, "periodic": periodic, "burn": func(a []string) { burn(number(a, 0)) }, "rest": func([]string) { select {} },
		"loop": loop, "fill": fill, "fork": fork, "crash": crash, "supervise": supervise, "thrash": thrash, "grow": grow, "receive": receive,
		"stat": stat, "hold": hold, "answer": answer, "ask": askFor, "orphan": orphan, "open": open, "threads": threads, "convoy": convoy,
		"accept": accept, "connect": connect, "sync": syncing, "share": share, "again": again, "write": write, "read": read, "send": send, "walk": walk,
		"spin": spin, "yield": yield, "pass": passOn, "return": giveBack, "duplicate": duplicate, "drain": drain, "stream": stream, "files": files,
		"ticks": ticks, "consume": consume, "produce": produce, "commands": commands, "faults": faults, "logs": logs, "unseen": unseen,
	}
}

// calm starts the programs of a modest server.
func (in *incident) calm() {
	in.start("root", "/usr/sbin/sshd", "rest")
	install("/usr/bin/rotatelogs")
	in.start("root", "/usr/sbin/cron", "periodic", "20", "/usr/bin/rotatelogs", "150")
	in.start("www", "/usr/sbin/nginx", "serve", "4")
	in.start("app", "/usr/local/bin/webapp", "serve", "9")
	in.start("db", "/usr/lib/postgresql/postgres", "store", "/tmp/postgres.wal", "700", "48")
}

func number(args []string, i int) int {
	n, err := strconv.Atoi(args[i])
	if err != nil {
		fatal(err)
	}
	return n
}

// burn uses the processor for a number of milliseconds.
func burn(ms int) {
	for end := time.Now().Add(time.Duration(ms) * time.Millisecond); time.Now().Before(end); {
	}
}

// serve works for some milliseconds, ten times a second.
func serve(args []string) {
	for range time.Tick(100 * time.Millisecond) {
		burn(1 + rand.IntN(2*number(args, 0)))
	}
}

// store writes 48 KB to a file and waits for the disk, at an interval in milliseconds; it holds
// some MB of memory.
func store(args []string) {
	f, err := os.OpenFile(args[0], os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return
	}
	held := make([]byte, number(args, 2)<<20)
	touch(held)
	page := make([]byte, 48<<10)
	for at := int64(0); ; at = (at + int64(len(page))) % (8 << 20) {
		f.WriteAt(page, at)
		f.Sync()
		held[rand.IntN(len(held))]++
		time.Sleep(time.Duration(number(args, 1)) * time.Millisecond)
	}
}

func touch(b []byte) {
	for i := 0; i < len(b); i += 4096 {
		b[i] = byte(rand.Uint32() | 1)
	}
}

// child runs another program of the machine.
func child(path string, args ...string) error {
	cmd := exec.Command(path, args...)
	cmd.Args[0] = filepath.Base(path)
	return cmd.Run()
}

// periodic runs a program that burns some milliseconds, at an interval in seconds.
func periodic(args []string) {
	for range time.Tick(time.Duration(number(args, 0)) * time.Second) {
		child(args[1], "burn", args[2])
	}
}

// asked returns a channel that gets each SIGUSR1.
func asked() chan os.Signal {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGUSR1)
	return c
}

// loop is idle until signalled, then uses a processor for some seconds.
func loop(args []string) {
	begin := asked()
	for {
		select {
		case <-begin:
			burn(1000 * number(args, 0))
		case <-time.After(200 * time.Millisecond):
			burn(1)
		}
	}
}

// fill appends a number of KB a second to a file from when it is signalled (or at once if args
// say so), up to a number of MB, and keeps trying when the volume is full.
func fill(args []string) {
	begin := asked()
	if len(args) < 4 {
		<-begin
	}
	f, err := os.OpenFile(args[0], os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return
	}
	piece := make([]byte, number(args, 1)<<10/10)
	touch(piece)
	left := number(args, 2) << 20
	for range time.Tick(100 * time.Millisecond) {
		if left > 0 {
			n, _ := f.Write(piece)
			left -= n
		}
	}
}

// fork starts a number of programs a second for some seconds when signalled, at most forty at a
// time; each burns some milliseconds.
func fork(args []string) {
	running := make(chan bool, 40)
	for range asked() {
		end := time.Now().Add(time.Duration(number(args, 1)) * time.Second)
		for time.Now().Before(end) {
			running <- true
			go func() {
				child(args[2], "burn", args[3])
				<-running
			}()
			time.Sleep(time.Second / time.Duration(number(args, 0)))
		}
	}
}

// crash lives for a number of milliseconds and ends with a segmentation fault.
func crash(args []string) {
	held := make([]byte, 12<<20)
	touch(held)
	burn(number(args, 0) / 4)
	time.Sleep(time.Duration(number(args, 0)) * time.Millisecond * 3 / 4)
	held[0]++
	unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
	// The runtime would catch the signal and exit by itself: let the kernel end this process, as
	// it does a C program.
	var byDefault [4]uint64
	unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(unix.SIGSEGV), uintptr(unsafe.Pointer(&byDefault)), 0, 8, 0, 0)
	unix.Kill(os.Getpid(), unix.SIGSEGV)
	select {}
}

// supervise keeps a service running. The service is healthy until the signal; then, for some
// seconds, it ends soon after each start.
func supervise(args []string) {
	broken := asked()
	var end time.Time
	path := args[1]
	for {
		if time.Now().Before(end) {
			child(path, "crash", args[2])
			time.Sleep(700 * time.Millisecond)
			continue
		}
		cmd := exec.Command(path, "serve", "6")
		cmd.Args[0] = filepath.Base(path)
		if cmd.Start() != nil {
			return
		}
		<-broken
		end = time.Now().Add(time.Duration(number(args, 0)) * time.Second)
		cmd.Process.Kill()
		cmd.Wait()
	}
}

// thrash allocates a number of MB when signalled, and touches all of it for some seconds.
func thrash(args []string) {
	for range asked() {
		held, err := unix.Mmap(-1, 0, number(args, 0)<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
		if err != nil {
			return
		}
		for end := time.Now().Add(time.Duration(number(args, 1)) * time.Second); time.Now().Before(end); {
			at := rand.IntN(len(held)/4096) * 4096
			held[at]++
		}
		unix.Munmap(held)
	}
}

// grow allocates a number of MB a second when signalled, up to a limit, and holds them until a
// number of seconds are over.
func grow(args []string) {
	for range asked() {
		end := time.Now().Add(time.Duration(number(args, 2)) * time.Second)
		var held [][]byte
		for time.Now().Before(end) {
			if len(held) < number(args, 1) {
				b, err := unix.Mmap(-1, 0, 1<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
				if err != nil {
					return
				}
				touch(b)
				held = append(held, b)
			}
			time.Sleep(time.Second / time.Duration(number(args, 0)))
		}
		for _, b := range held {
			unix.Munmap(b)
		}
	}
}

// receive reads the datagrams to a port.
func receive(args []string) {
	conn, err := net.ListenPacket("udp", ":"+args[0])
	if err != nil {
		return
	}
	for b := make([]byte, 2048); ; {
		if _, _, err := conn.ReadFrom(b); err != nil {
			return
		}
	}
}
