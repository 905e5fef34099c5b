package proc

import (
	"encoding/binary"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"tachograph/sample/proc/procfs"
)

// The benchmarks of this file measure the kernel's part of reading a process, without parsing.
// docs/MEASUREMENTS.md compares them under "Cheaper than text".

const manySleepers = 500

// benchmarkKernel measures a sweep of n processes by the clock of the thread that makes the calls.
func benchmarkKernel(b *testing.B, n int, sweep func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	clock := func() int64 {
		var t unix.Timespec
		if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
			b.Fatal(err)
		}
		return t.Nano()
	}
	sweep()
	before := clock()
	for b.Loop() {
		sweep()
	}
	b.ReportMetric(float64(clock()-before)/float64(b.N)/float64(n), "cpu-ns/process")
}

// BenchmarkFourTexts reads the files of sleeping processes through descriptors that stay open.
func BenchmarkFourTexts(b *testing.B) {
	pids := sleepers(b, manySleepers)
	for _, names := range [][]string{{"stat"}, {"schedstat"}, {"io"}, {"status"}, {"stat", "schedstat", "io", "status"}} {
		b.Run(strings.Join(names, "+"), func(b *testing.B) {
			var files []int
			for _, pid := range pids {
				for _, name := range names {
					f, err := os.Open(fmt.Sprintf("/proc/%d/%s", pid, name))
					if err != nil {
						b.Fatal(err)
					}
					defer f.Close()
					files = append(files, int(f.Fd()))
				}
			}
			text := make([]byte, 4096)
			benchmarkKernel(b, len(pids), func() {
				for _, fd := range files {
					if n, err := unix.Pread(fd, text, 0); n == 0 || err != nil {
						b.Fatal(n, err)
					}
				}
			})
		})
	}
}

// BenchmarkClocks looks at the clocks of sleeping processes, which is what the recorder does
// before it reads a file.
func BenchmarkClocks(b *testing.B) {
	pids := sleepers(b, manySleepers)
	benchmarkKernel(b, len(pids), func() {
		for _, pid := range pids {
			if _, ok := ranFor(pid); !ok {
				b.Fatal("no clock")
			}
		}
	})
}

// BenchmarkTaskstatsBatch asks for the statistics of sleeping processes, with some requests in
// each message, and fetches the answers to a message in one call.
func BenchmarkTaskstatsBatch(b *testing.B) {
	w := startWatcher()
	if w == nil || w.named != nil {
		b.Skip("only root may ask for taskstats")
	}
	defer w.stop()
	a := openGroupAsker(w.family)
	if a == nil {
		b.Fatal("the kernel does not answer")
	}
	defer a.close()
	pids := sleepers(b, manySleepers)
	for _, size := range []int{1, 16, 64} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			many := newBatch(a, size)
			benchmarkKernel(b, len(pids), func() {
				for rest := pids; len(rest) > 0; rest = rest[min(size, len(rest)):] {
					many.ask(b, rest[:min(size, len(rest))])
				}
			})
		})
	}
}

// batch is several requests in one message, and room for their answers.
type batch struct {
	fd       int
	requests []byte
	answers  []answer
	vectors  []unix.Iovec
	headers  []header
}

type answer [1024]byte

// header is struct mmsghdr.
type header struct {
	unix.Msghdr
	length uint32
}

func newBatch(a *groupAsker, size int) *batch {
	m := &batch{fd: a.fd, answers: make([]answer, size), vectors: make([]unix.Iovec, size), headers: make([]header, size)}
	for i := range size {
		m.requests = append(m.requests, a.request[:]...)
		m.vectors[i].Base = &m.answers[i][0]
		m.vectors[i].SetLen(len(answer{}))
		m.headers[i].Iov = &m.vectors[i]
		m.headers[i].SetIovlen(1)
	}
	return m
}

// ask sends the requests and checks that each was answered.
func (m *batch) ask(b *testing.B, pids []int32) {
	size := len(groupAsker{}.request)
	for i, pid := range pids {
		binary.NativeEndian.PutUint32(m.requests[i*size+24:], uint32(pid))
	}
	if _, err := unix.Write(m.fd, m.requests[:size*len(pids)]); err != nil {
		b.Fatal(err)
	}
	for got := 0; got < len(pids); {
		n, _, errno := unix.Syscall6(unix.SYS_RECVMMSG, uintptr(m.fd), uintptr(unsafe.Pointer(&m.headers[0])), uintptr(len(pids)-got), 0, 0, 0)
		if errno != 0 {
			b.Fatal(errno)
		}
		for i := range int(n) {
			procfs.Messages(m.answers[i][:m.headers[i].length], func(kind uint16, _ []byte) {
				if kind == unix.NLMSG_ERROR {
					b.Fatal("an error for an answer")
				}
			})
		}
		got += int(n)
	}
}
