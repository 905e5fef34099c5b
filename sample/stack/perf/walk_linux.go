package perf

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"tachograph/sample/stack"
	"tachograph/sample/stack/symbol"
	"tachograph/sample/stack/unwind"
)

// Limits of the tables that stacks are walked by.
const (
	maxTables  = 24 << 20 // bytes, of all images
	tablesTime = 2 * time.Second
)

// tables returns the tables of a region's image, which it reads once; nil if there are none.
func (m *images) tables(pid int32, r *region) *unwind.Image {
	t, known := m.unwinding[r.file]
	if known {
		return t
	}
	if m.of(pid, r) != nil && m.tableBytes < maxTables && len(m.unwinding) < maxImages {
		room := uint64(maxTables - m.tableBytes)
		from := origin{pid, r.start, r.end, r.file, r.deleted}
		t, _ = symbol.Within(&m.tablesLeft, oneFile, func() (*unwind.Image, error) {
			file, size, err := from.read()
			if err != nil {
				return nil, err
			}
			if c, ok := file.(io.Closer); ok {
				defer c.Close()
			}
			return unwind.Read(file, size, room)
		})
	}
	if t != nil {
		m.tableBytes += t.Bytes()
	}
	if len(m.unwinding) < maxImages {
		m.unwinding[r.file] = t
	}
	return t
}

// walk returns the addresses of a program's stack, the innermost first and at most most, by the
// registers and a copy of the stack. chain is what the kernel found by frame pointers, and how
// that ended. The result is valid until the next call.
func (x *session) walk(q *process, registers *unwind.Registers, copied []byte, most int, chain []uint64, chainEnd stack.End) ([]uint64, stack.End) {
	if x.walked == nil {
		x.walker.Machine = own.machine
		x.walked = make([]uint64, 0, stack.MaxDepth)
	}
	walked, end := x.walker.Walk(registers, copied, func(pc uint64) (*unwind.Image, uint64, bool) {
		r := x.processes.region(q, pc)
		if r == nil {
			return nil, 0, !q.told
		}
		t := x.images.tables(q.pid, r)
		if t == nil {
			return nil, 0, true
		}
		return t, x.images.of(q.pid, r).Base, true
	}, x.walked[:0:max(0, most)])
	if end == stack.Whole {
		return walked, end
	}
	return joined(walked, end, chain, chainEnd)
}

// fromCall returns the addresses of a program's stack from where it called the kernel. Of its
// registers only two are known, so that the walk ends where a function keeps its frame in
// another one, unless that was saved further in.
func (x *session) fromCall(q *process, pc, sp uint64, copied []byte, most int) ([]uint64, stack.End) {
	chain := append(x.chain[:0], pc)
	x.chain = chain
	if own.machine == nil || len(copied) == 0 {
		return chain, stack.Broken
	}
	var registers unwind.Registers
	registers.Set(own.machine.PC, pc)
	registers.Set(own.machine.SP, sp)
	return x.walk(q, &registers, copied, most, nil, stack.Broken)
}

// copier copies stacks of threads that wait. If the memory of a process does not answer, it gives up
// that process at once: it may be the one that hangs. A program in Python is read by processMemory.
type copier struct {
	buf  []byte
	of   *os.File // the memory of process pid
	pid  int32
	left time.Duration
	hung map[int32]bool // processes whose memory could not be read in time
}

// Limits of copies of stacks: where a stack is not in memory but on a disk, or wherever else
// the program has put it, a copy may never come.
const (
	copyBytes = 16 << 10
	copyTime  = time.Second // in a session, in which copies take some milliseconds
	oneCopy   = 100 * time.Millisecond
)

// copy returns a copy of a process's stack from the stack's pointer on; nil if there is none. It
// is valid until the next call.
func (m *copier) copy(pid int32, sp uint64) []byte {
	if m.hung == nil {
		m.hung, m.left = make(map[int32]bool), copyTime
	}
	if m.hung[pid] || sp > 1<<63-1 {
		return nil
	}
	if m.buf == nil {
		m.buf = make([]byte, copyBytes)
	}
	if m.of == nil || m.pid != pid {
		m.close()
		of, err := symbol.Within(&m.left, oneCopy, func() (*os.File, error) { return os.Open(fmt.Sprintf("/proc/%d/mem", pid)) })
		if err != nil {
			m.hung[pid] = errors.Is(err, symbol.ErrSlow)
			return nil
		}
		m.of, m.pid = of, pid
	}
	buf, of := m.buf, m.of
	n, err := symbol.Within(&m.left, oneCopy, func() (int, error) {
		defer runtime.KeepAlive(of)
		return unix.Pread(int(of.Fd()), buf, int64(sp))
	})
	switch {
	case errors.Is(err, symbol.ErrSlow):
		m.hung[pid], m.buf, m.of = true, nil, nil // both are still in use
		return nil
	case err != nil || n <= 0:
		m.close() // it may be the memory of the program before an exec
		return nil
	}
	return buf[:n]
}

func (m *copier) close() {
	if m.of != nil {
		m.of.Close()
	}
	m.of = nil
}

// joined adds to a walk that ended early the frames that the kernel found by frame pointers
// beyond its last one. If the last one occurs several times in the chain, the outermost is meant
// that is no further out than in the walk: a chain may lack frames, but has none too many.
func joined(walked []uint64, end stack.End, chain []uint64, chainEnd stack.End) ([]uint64, stack.End) {
	last := len(walked) - 1
	for i := min(last, len(chain)-1); i >= 0; i-- {
		if chain[i] != walked[last] {
			continue
		}
		rest := chain[i+1:]
		if len(rest) == 0 {
			break
		}
		if room := cap(walked) - len(walked); len(rest) > room {
			rest, chainEnd = rest[:room], stack.Truncated
		}
		return append(walked, rest...), chainEnd
	}
	return walked, end
}
