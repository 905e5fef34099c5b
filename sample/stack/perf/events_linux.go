package perf

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"tachograph/sample/stack"
)

// events are the kernel's samplers of a session, with a ring for each processor.
type events struct {
	calls  *calls
	rings  []ring
	fds    []int // of events that write into the rings of other events
	depth  int   // maximum depth of a stack
	rate   int
	kernel bool // the kernel reports its own frames
	copies int  // bytes of a program's stack that the kernel copies into a sample; 0 for none
	// switches says which events of context switches they are; 0 if they are of the clock.
	switches switchKind
}

// ring is memory that the kernel writes to and this package reads from.
type ring struct {
	fd   int
	cpu  int
	page *unix.PerfEventMmapPage
	all  []byte // the page and the data
	data []byte
}

const (
	// ringPages is a ring's usual size. With the page before it, it is what kernels allow users
	// without rights (perf_event_mlock_kb, 516).
	ringPages, leastPages = 128, 8
	// copyPages is a ring's usual size if samples have copies of stacks, leastCopy the smallest
	// that can hold them.
	copyPages, leastCopy = 512, 64
	// switchCopy is how much of a stack is copied when a thread goes to sleep, which threads do
	// much more often than the clock ticks.
	switchCopy = 4 << 10
	// allPages limits the rings of a machine with very many processors to 64 MB in total.
	allPages = 16 << 10
	// mostEvents limits the events for threads of one process: each thread needs one on each
	// processor. Beyond it, all processes are sampled and the process is picked out.
	mostEvents = 1024
)

// errRefused means that the kernel allows no perf events, or has none.
var errRefused = errors.New("the kernel allows no perf events")

func refused(err error) bool {
	return errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSYS) ||
		errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENODEV) || errors.Is(err, unix.EINVAL) ||
		errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE)
}

// listen starts sampling. threads are the threads of one process, or nil for all threads.
func listen(calls *calls, rate int, cpus []int, threads []int32) (*events, error) {
	var err error
	e := &events{calls: calls, rate: min(rate, limit("perf_event_max_sample_rate", stack.MaxRate)), depth: min(stack.MaxDepth, limit("perf_event_max_stack", 127))}
	for _, try := range []struct {
		kernel bool
		copies int
	}{{true, copySize(e.rate)}, {false, copySize(e.rate)}, {true, 0}, {false, 0}} {
		e.kernel, e.copies = try.kernel, try.copies
		if err = e.open(cpus, threads); err == nil {
			return e, nil
		}
		e.close()
		denied := errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM)
		unknown := errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EOPNOTSUPP)
		if !denied && !(unknown && e.copies > 0) {
			break
		}
	}
	if refused(err) {
		return nil, fmt.Errorf("%w (%w)", errRefused, err)
	}
	return nil, fmt.Errorf("perf events: %w", err)
}

// copySize is how much of a stack is worth copying: as much as leaves room in a ring for the
// samples of some tenths of a second. Samples have less than 64 KB.
func copySize(rate int) int {
	const least, most, perSecond = 8 << 10, 32 << 10, 8 << 20
	if own.machine == nil {
		return 0
	}
	size := least
	for size < most && 2*size*rate <= perSecond {
		size *= 2
	}
	return size
}

// limit returns one of the kernel's limits, or fallback if it cannot be read.
func limit(name string, fallback int) int {
	text, err := os.ReadFile("/proc/sys/kernel/" + name)
	if err != nil {
		return fallback
	}
	if n, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil && n > 0 {
		return n
	}
	return fallback
}

// processors returns the numbers of the processors that are online.
func processors() ([]int, error) {
	text, err := os.ReadFile("/sys/devices/system/cpu/online")
	if err != nil {
		// Without /sys: as many as this program may use, counted from 0.
		var all []int
		for i := range runtime.NumCPU() {
			all = append(all, i)
		}
		return all, nil
	}
	return ranges(strings.TrimSpace(string(text)))
}

// ranges reads "0-3,8".
func ranges(text string) ([]int, error) {
	const most = 8192 // CONFIG_NR_CPUS has no more
	var all []int
	for part := range strings.SplitSeq(text, ",") {
		from, to, ok := strings.Cut(part, "-")
		if !ok {
			to = from
		}
		a, err := strconv.Atoi(from)
		b, err2 := strconv.Atoi(to)
		if err != nil || err2 != nil || a < 0 || b < a || b >= most {
			return nil, fmt.Errorf("the kernel's list of processors is %q", text)
		}
		for ; a <= b; a++ {
			all = append(all, a)
		}
	}
	return all, nil
}

func (e *events) attributes(inherit bool) *unix.PerfEventAttr {
	a := &unix.PerfEventAttr{
		Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_CPU_CLOCK,
		Size:        uint32(unsafe.Sizeof(unix.PerfEventAttr{})),
		Sample:      uint64(e.rate),
		Sample_type: unix.PERF_SAMPLE_IP | unix.PERF_SAMPLE_TID | unix.PERF_SAMPLE_TIME | unix.PERF_SAMPLE_CALLCHAIN,
		Bits: unix.PerfBitFreq | unix.PerfBitMmap | unix.PerfBitMmap2 | unix.PerfBitComm | unix.PerfBitCommExec | unix.PerfBitTask |
			unix.PerfBitSampleIDAll | unix.PerfBitUseClockID | unix.PerfBitExcludeIdle | unix.PerfBitExcludeHv,
		Clockid:          unix.CLOCK_MONOTONIC,
		Sample_max_stack: uint16(e.depth),
		Wakeup:           1, // for who waits for samples
	}
	if e.copies > 0 {
		a.Sample_type |= unix.PERF_SAMPLE_REGS_USER | unix.PERF_SAMPLE_STACK_USER
		a.Sample_regs_user, a.Sample_stack_user = own.mask, uint32(e.copies)
	}
	if inherit {
		a.Bits |= unix.PerfBitInherit
	}
	if !e.kernel {
		a.Bits |= unix.PerfBitExcludeKernel | unix.PerfBitExcludeCallchainKernel
	}
	if e.switches != 0 {
		e.switches.set(a)
	}
	return a
}

// open makes a ring for each processor, and has the threads' samples written into them.
func (e *events) open(cpus []int, threads []int32) error {
	pages := ringPages
	if e.copies > 0 {
		pages = copyPages
	}
	for pages > leastPages && pages*len(cpus) > allPages {
		pages /= 2
	}
	return e.openWith(cpus, threads, pages)
}

// openWith is open with rings of that many pages.
func (e *events) openWith(cpus []int, threads []int32, pages int) error {
	if threads == nil {
		threads = []int32{-1}
	}
	opened := 0
	for _, tid := range threads {
		err := e.follow(cpus, tid, pages)
		if errors.Is(err, unix.ESRCH) {
			continue // it has ended meanwhile
		}
		if err != nil {
			return err
		}
		opened++
	}
	if opened == 0 {
		return unix.ESRCH
	}
	return nil
}

// follow has the samples of a thread, and of all threads that it starts, written into the
// rings. A processor's ring is the ring of the first event there.
func (e *events) follow(cpus []int, tid int32, pages int) error {
	for _, cpu := range cpus {
		var fd int
		err := e.calls.do(callEvents, func() (err error) {
			fd, err = unix.PerfEventOpen(e.attributes(tid > 0), int(tid), cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
			return err
		})
		if errors.Is(err, unix.ENODEV) {
			continue // switched off meanwhile
		}
		if err != nil {
			return err
		}
		r := e.ring(cpu)
		if r == nil {
			if err := e.makeRing(fd, cpu, pages); err != nil {
				unix.Close(fd)
				return err
			}
			continue
		}
		e.fds = append(e.fds, fd)
		if err := unix.IoctlSetInt(fd, unix.PERF_EVENT_IOC_SET_OUTPUT, r.fd); err != nil {
			return err
		}
	}
	if len(e.rings) == 0 {
		return unix.ENODEV
	}
	return nil
}

func (e *events) ring(cpu int) *ring {
	for i := range e.rings {
		if e.rings[i].cpu == cpu {
			return &e.rings[i]
		}
	}
	return nil
}

func (e *events) makeRing(fd, cpu, pages int) error {
	size := os.Getpagesize()
	least := leastPages
	if e.copies > 0 {
		least = leastCopy
	}
	for {
		all, err := unix.Mmap(fd, 0, (1+pages)*size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		if err == nil {
			e.rings = append(e.rings, ring{fd: fd, cpu: cpu, all: all, data: all[size:], page: (*unix.PerfEventMmapPage)(unsafe.Pointer(&all[0]))})
			return nil
		}
		// Other programs of this user may have used up the memory that the user may lock.
		if pages /= 2; pages < least || !errors.Is(err, unix.EPERM) {
			return err
		}
	}
}

func (e *events) close() {
	for _, fd := range e.fds {
		unix.Close(fd)
	}
	for _, r := range e.rings {
		unix.Munmap(r.all)
		unix.Close(r.fd)
	}
	e.fds, e.rings = nil, nil
}

// drain appends what is in the ring to b, and returns the space to the kernel.
func (r *ring) drain(b []byte) []byte {
	head, tail := atomic.LoadUint64(&r.page.Data_head), r.page.Data_tail
	size := uint64(len(r.data))
	if n := head - tail; n > 0 && n <= size {
		from := tail % size
		first := min(n, size-from)
		b = roomy(b, int(n))
		b = append(append(b, r.data[from:from+first]...), r.data[:n-first]...)
	}
	atomic.StoreUint64(&r.page.Data_tail, head)
	return b
}

// roomy returns b with room for n more bytes. If it must move b, it clears the old place.
func roomy(b []byte, n int) []byte {
	if cap(b)-len(b) >= n {
		return b
	}
	moved := append(make([]byte, 0, 2*(len(b)+n)), b...)
	clear(b)
	return moved
}
