package perf

import (
	"bytes"
	"fmt"
	"os"
	"path"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"tachograph/sample/stack"
	"tachograph/sample/stack/python"
	"tachograph/sample/stack/symbol"
)

// pythons find out what processes that run a program in Python do in it.
type pythons struct {
	// files are the files that were looked into for an interpreter: nil if they have none.
	files map[fileID]*python.Image
	left  time.Duration // for looking into files
	// taken is when the sample that is being given was taken; 0: now.
	taken uint64
	// given has the functions that a thread was in when it began to wait: the wait may be over. If
	// it is nil, the functions are read now.
	given    *interpreted
	now      interpreted
	frames   []stack.Frame
	arrivals *arrivals
}

// interpreter is the one of a process.
type interpreter struct {
	regions int // how many regions the process had when it was looked for
	reader  *python.Interpreter
	memory  *processMemory
	file    *python.Image
	image   *stack.Image
	// inner says that the process has other numbers for its threads: it is in a container. numbers
	// are those that are known.
	inner   bool
	numbers map[int32]uint64
}

const (
	// pythonTime is how long looking for interpreters may take in a session.
	pythonTime = 2 * time.Second
	// stale is how old a sample may be: by then the thread may be elsewhere in its program.
	stale = 20 * time.Millisecond
	// maxInner bounds how many threads' numbers are remembered for a process.
	maxInner = 1 << 12
)

// interpret puts the functions of a Python program into a sample of a thread that runs it, and
// says whether the thread waits for the interpreter's lock.
func (x *session) interpret(q *process, tid int32, s *stack.Sample) {
	p := &x.pythons
	known := p.given
	if known == nil {
		known = &p.now
		if p.taken != 0 && monotonic()-p.taken > uint64(stale) {
			return
		}
		x.ask(q, tid, known, s.State == stack.Waiting)
	}
	if len(known.places) == 0 || q.python == nil || q.python.reader == nil {
		return
	}
	i := q.python
	p.frames = i.file.Splice(p.frames[:0], s.Frames, i.image, s.End == stack.Whole, known.places)
	if s.Frames = p.frames; len(s.Frames) > stack.MaxDepth {
		s.Frames, s.End = s.Frames[:stack.MaxDepth], stack.Truncated
	}
	if known.lock != "" {
		s.Wait = known.lock
	}
}

// ask reads where a thread is in its program now, and if it waits, whether for the interpreter's
// lock. It has no places if it runs no Python.
func (x *session) ask(q *process, tid int32, to *interpreted, waits bool) {
	to.forget()
	if !q.told {
		return
	}
	if q.python == nil || q.python.regions != len(q.regions) {
		x.findPython(q)
	}
	i := q.python
	if i.reader == nil {
		return
	}
	thread := i.number(q.pid, tid)
	to.places, _ = i.reader.Stack(thread, to.places)
	if waits && len(to.places) > 0 {
		to.lock = x.lockOf(q, i, tid, thread)
	}
	to.at = monotonic()
}

// findPython looks for an interpreter in the files that a process has mapped: in its program, and
// in those that have Python in their names.
func (x *session) findPython(q *process) {
	old := q.python
	q.python = &interpreter{regions: len(q.regions)}
	for n, r := range q.regions {
		if n > 0 && !strings.Contains(path.Base(r.file.path), "python") {
			continue
		}
		file := x.pythonIn(q.pid, r)
		if file == nil {
			continue
		}
		image := x.images.of(q.pid, r)
		if image == nil {
			continue
		}
		if old != nil && old.reader != nil && old.image == image {
			old.regions = len(q.regions)
			q.python = old
			return
		}
		i := q.python
		i.memory, i.file, i.image = &processMemory{pid: q.pid, calls: x.calls}, file, image
		var err error
		if i.reader, err = python.Open(i.memory, file, image.Base); err != nil {
			i.reader = nil
			i.memory.close()
			x.statistics.Python = err.Error()
			continue
		}
		i.inner, i.numbers = innerNumber(fmt.Sprintf("/proc/%d/status", q.pid)) != 0, make(map[int32]uint64)
		if x.pythons.arrivals == nil && x.events != nil {
			x.pythons.arrivals = newArrivals(x.events)
		}
		break
	}
	if old != nil && old.memory != nil {
		old.memory.close()
	}
}

// pythonIn returns the interpreter in the file of a region; nil if it has none.
func (x *session) pythonIn(pid int32, r *region) *python.Image {
	p := &x.pythons
	m, known := p.files[r.file]
	if known || !strings.HasPrefix(r.file.path, "/") {
		return m
	}
	if p.files == nil || len(p.files) >= maxImages {
		p.files = make(map[fileID]*python.Image)
	}
	from := origin{pid, r.start, r.end, r.file, r.deleted}
	m, _ = symbol.Within(&p.left, oneFile, func() (*python.Image, error) {
		file, size, err := from.open()
		if err != nil {
			return nil, err
		}
		defer file.Close()
		f, err := symbol.ReadELF(file, size)
		if err != nil {
			return nil, err
		}
		m, _ := python.FindELF(f, from.file.path)
		return m, nil
	})
	p.files[r.file] = m
	return m
}

// number returns the number that the process itself has for one of its threads.
func (i *interpreter) number(pid, tid int32) uint64 {
	if !i.inner {
		return uint64(tid)
	}
	n, known := i.numbers[tid]
	if !known {
		if len(i.numbers) >= maxInner {
			clear(i.numbers)
		}
		n = innerNumber(fmt.Sprintf("/proc/%d/task/%d/status", pid, tid))
		i.numbers[tid] = n
	}
	return n
}

// innerNumber reads the number that a process or thread has in its own container; 0 if it has no
// other there.
func innerNumber(path string) uint64 {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	for line := range bytes.Lines(text) {
		if list, ok := bytes.CutPrefix(line, []byte("NSpid:")); ok {
			if numbers := bytes.Fields(list); len(numbers) > 1 {
				n, _ := strconv.ParseUint(string(numbers[len(numbers)-1]), 10, 32)
				return n
			}
		}
	}
	return 0
}

// lockOf says that a thread waits for the interpreter's lock, because the address that it waits
// for is in the lock; "" if it does not.
func (x *session) lockOf(q *process, i *interpreter, tid int32, thread uint64) string {
	var text []byte
	err := x.calls.do(callStack, func() (err error) {
		text, err = os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/syscall", q.pid, tid))
		return err
	})
	if err != nil {
		return ""
	}
	words := bytes.Fields(text)
	if len(words) < 2 || string(words[0]) != strconv.Itoa(unix.SYS_FUTEX) {
		return ""
	}
	address, err := strconv.ParseUint(strings.TrimPrefix(string(words[1]), "0x"), 16, 64)
	if err != nil {
		return ""
	}
	lock, ok := i.reader.Lock(thread)
	if !ok || address < lock.From || address >= lock.To {
		return ""
	}
	name := ""
	if lock.Holder != 0 && !i.inner {
		name = x.processes.thread(q, int32(lock.Holder))
	}
	return lock.Wait(thread, name)
}

func (p *pythons) close(processes *processes) {
	for _, q := range processes.all {
		if q.python != nil && q.python.memory != nil {
			q.python.memory.close()
		}
	}
}
