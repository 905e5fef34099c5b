package main

import (
	"io"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// play plays a part until the process is killed.
func play(part string, args []string) {
	for len(args) < 2 {
		args = append(args, "")
	}
	switch part {
	case "worker":
		worker(duration(args[0]), number(args[1]))
	case "threads":
		for range 4 {
			go worker(duration(args[0]), 1)
		}
		worker(duration(args[0]), 1)
	case "pulse":
		pulse(number(args[0]))
	case "writer":
		writer(args[0])
	case "reader":
		reader(args[0])
	case "server":
		server()
	}
}

func duration(s string) time.Duration {
	d, err := time.ParseDuration(s)
	if err != nil {
		return time.Second
	}
	return d
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 1
	}
	return n
}

// worker does a little work each period, and holds some megabytes.
func worker(period time.Duration, megabytes int) {
	memory := make([]byte, megabytes<<20)
	for n := 0; ; n++ {
		for i := 0; i < len(memory); i += 4096 {
			memory[i] += byte(n)
		}
		time.Sleep(period)
	}
}

// pulse uses a percentage of a processor, for a while now and then.
func pulse(duty int) {
	for {
		until := time.Now().Add(time.Duration(3+rand.IntN(20)) * time.Second)
		busy := rand.IntN(5) < 2
		for time.Now().Before(until) {
			if busy {
				spin(time.Now().Add(time.Duration(duty) * time.Millisecond))
			}
			time.Sleep(time.Duration(100-duty) * time.Millisecond)
		}
	}
}

func spin(until time.Time) {
	for time.Now().Before(until) {
	}
}

// writer writes files, over and over the same ones, and syncs some.
func writer(path string) {
	text := make([]byte, 200<<10)
	for n := 0; ; n++ {
		f, err := os.Create(path + strconv.Itoa(n%3))
		if err != nil {
			return
		}
		for range 120 {
			if _, err := f.Write(text[:1000+rand.IntN(len(text)-1000)]); err != nil {
				break
			}
			if rand.IntN(5) == 0 {
				_ = f.Sync()
			}
			time.Sleep(500 * time.Millisecond)
		}
		_ = f.Close()
	}
}

// reader reads files at random.
func reader(dir string) {
	for {
		_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err == nil && e.Type().IsRegular() && rand.IntN(50) == 0 {
				if f, err := os.Open(path); err == nil {
					_, _ = io.CopyN(io.Discard, f, 1<<16)
					_ = f.Close()
					time.Sleep(20 * time.Millisecond)
				}
			}
			return nil
		})
		time.Sleep(10 * time.Second)
	}
}

// server sends requests to itself over the loopback interface.
func server() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return
	}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = io.Copy(conn, conn)
				_ = conn.Close()
			}()
		}
	}()
	for {
		conn, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			return
		}
		for range 1 + rand.IntN(20) {
			_, _ = conn.Write(make([]byte, 1+rand.IntN(4000)))
			time.Sleep(20 * time.Millisecond)
		}
		_ = conn.Close()
	}
}
