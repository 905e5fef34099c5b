package perf

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"tachograph/sample/proc/procfs"
	"tachograph/sample/stack"
)

// Limits of looks at waiting threads. A thread takes some 70 microseconds, one that is skipped
// 10: a process with very many threads costs a twentieth of a processor.
const (
	looksOne  = 10 // per second, for one process
	looksAll  = 1
	maxAsked  = 72   // threads of one process in a look; if it has more, they take turns
	maxTasks  = 8192 // threads in a look at all processes
	maxThread = 4 << 10
)

// waiting samples threads that wait.
type waiting struct {
	s     *session
	pid   int32  // 0 for all processes
	count uint32 // how many of the clock's samples one of these represents
	turn  int
	// could says that some thread could be read, denied that no thread could for lack of
	// rights.
	could, denied bool
	buf           []byte
	copier        copier
}

// look gives samples of the threads that wait now; it returns false if the process is gone.
func (w *waiting) look() bool {
	if w.pid != 0 {
		return w.process(w.pid, false)
	}
	names, err := readNames("/proc")
	if err != nil {
		w.s.failed(err)
		return true
	}
	left := maxTasks
	for i := range names {
		// In turn, so that if there are too many, none is left out for ever.
		pid, err := strconv.ParseInt(names[(i+w.turn)%len(names)], 10, 32)
		if err != nil {
			continue
		}
		tasks, err := readNames(fmt.Sprintf("/proc/%d/task", pid))
		if err != nil {
			continue
		}
		if left -= len(tasks); left < 0 {
			w.turn += i
			w.s.statistics.Missed++
			break
		}
		for _, name := range tasks {
			if tid, err := strconv.ParseInt(name, 10, 32); err == nil {
				w.thread(int32(pid), int32(tid), w.count, true)
			}
		}
	}
	return true
}

// process gives samples of the threads of one process.
func (w *waiting) process(pid int32, stuck bool) bool {
	tasks, err := readNames(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil || len(tasks) == 0 {
		return false
	}
	slices.Sort(tasks)
	if w.s.switches != nil {
		w.s.switches.follow(numbers(tasks))
	}
	// Of very many threads, every n-th one is read and counts n times.
	n := (len(tasks) + maxAsked - 1) / maxAsked
	w.turn++
	alive := false
	for i, name := range tasks {
		tid, err := strconv.ParseInt(name, 10, 32)
		if err != nil || i%n != w.turn%n {
			alive = alive || err == nil
			continue
		}
		if w.thread(pid, int32(tid), w.count*uint32(n), stuck) {
			alive = true
		}
	}
	return alive
}

// thread gives a sample of a thread if it waits; stuck selects only threads that nothing can
// wake. It returns false if the thread is gone.
func (w *waiting) thread(pid, tid int32, count uint32, stuck bool) bool {
	if w.s.switches.look(tid, count) {
		return true
	}
	dir := fmt.Sprintf("/proc/%d/task/%d/", pid, tid)
	st, err := readStat(dir + "stat")
	if err != nil {
		return false
	}
	switch st.State {
	case 'D':
	case 'S', 'T', 't', 'I':
		if stuck {
			return true
		}
	case 'Z', 'X':
		return false
	default:
		return true
	}
	s := w.s
	frames := s.frames[:0]
	call, callErr := w.read(dir + "syscall")
	before := string(call)
	pc, sp, called := procfs.Called(call)
	q := s.processes.get(pid)
	var copied []byte
	if called && pc != 0 {
		copied = w.copier.copy(pid, sp)
		defer clear(copied)
	}
	stackText, stackErr := w.read(dir + "stack")
	procfs.KernelStack(stackText, func(name []byte, offset, size uint64) {
		if len(frames) < stack.MaxDepth {
			frames = append(frames, s.kernel().named(string(name), offset, size))
		}
	})
	// It waits in the innermost function, which the kernel shows even to users who may not see
	// the other frames.
	var wait string
	var channelErr error
	if len(frames) > 0 {
		wait = frames[0].Name
	} else if wait, channelErr = w.channel(dir); wait != "" {
		frames = append(frames, stack.Frame{Name: wait, Kernel: true})
	}
	// A thread that went on meanwhile may wait in another call by now: then its stack and its
	// call do not belong together.
	if call, _ = w.read(dir + "syscall"); string(call) != before {
		s.statistics.Gone++
		return true
	}
	end := stack.Whole
	if called && pc != 0 {
		var user []uint64
		user, end = s.fromCall(q, pc, sp, copied, stack.MaxDepth-len(frames))
		for _, address := range user {
			frames = append(frames, s.user(q, address))
		}
	}
	if s.frames = frames; len(frames) == 0 {
		switch denied := firstDenied(stackErr, channelErr, callErr); {
		case denied != nil:
			w.denied = true
			s.failed(denied)
		default:
			s.statistics.Gone++ // it runs again
		}
		return true
	}
	w.could = true
	s.switches.found(tid, frames, wait)
	s.send(q, tid, stack.Sample{State: stack.Waiting, Wait: wait, End: end, Frames: frames, Count: count})
	return true
}

// channel returns the kernel function that a thread waits in; "" if it is not shown, or the
// thread does not wait.
func (w *waiting) channel(dir string) (string, error) {
	text, err := w.read(dir + "wchan")
	name := strings.TrimSpace(string(text))
	if name == "0" {
		name = ""
	}
	return name, err
}

func firstDenied(errs ...error) error {
	for _, err := range errs {
		if errors.Is(err, fs.ErrPermission) {
			return err
		}
	}
	return nil
}

// read reads one of the small files of a thread. The result is valid until the next call.
func (w *waiting) read(path string) (text []byte, err error) {
	err = w.s.calls.do(callOf(path), func() error {
		text, err = w.readFile(path)
		return err
	})
	return text, err
}

func (w *waiting) readFile(path string) ([]byte, error) {
	f, err := w.s.open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if w.buf == nil {
		w.buf = make([]byte, 4*maxThread)
	}
	n, err := f.Read(w.buf)
	if n > 0 {
		err = nil
	}
	return w.buf[:n], err
}

func readNames(dir string) ([]string, error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return d.Readdirnames(-1)
}
