package mach

import (
	"fmt"
	"runtime"
	"syscall"

	"tachograph/sample/darwin/sys"
	"tachograph/sample/proc/libproc"
	"tachograph/sample/stack/chain"
)

// refused is shared by all samplers of this program: the kernel logs every attempt.
var refused refusals

// New makes a sampler for this machine.
func New() *Sampler { return &Sampler{newDarwinKernel, &refused} }

// Flavors of task_info, thread_info and thread_get_state, and the words of each.
const (
	taskDyldInfo         = 17
	threadIdentifierInfo = 4
	threadExtendedInfo   = 5
	armThreadState64     = 6
	x86ThreadState64     = 4
	identifierWords      = 6
	extendedWords        = 28
)

// darwinKernel implements kernel with system calls. Each call reuses its buffers.
type darwinKernel struct {
	arm          bool // the processor's registers, whatever this program was built for
	numer, denom uint64
	threads      []sys.Thread
	words        [armWords]uint32
	buf          [libproc.PathSize]byte
}

func newDarwinKernel() kernel {
	k := &darwinKernel{arm: runtime.GOARCH == "arm64", numer: 1, denom: 1}
	if there, err := sys.SysctlUint("hw.optional.arm64"); err == nil && there == 1 {
		k.arm = true // and this program is translated, if it was built for Intel
	}
	if n, d := sys.Timebase(); n > 0 && d > 0 {
		k.numer, k.denom = uint64(n), uint64(d)
	}
	return k
}

func (k *darwinKernel) Open(pid int32) (port, int, error) {
	task, errno := sys.TaskReadForPid(pid)
	switch errno {
	case 0:
		return port(task), 1, nil
	case syscall.ESRCH:
		return 0, 1, errGone
	case syscall.EPERM, syscall.EACCES, syscall.EIO: // the last is Mach's number for any failure
		return 0, 1, fmt.Errorf("%w (task_read_for_pid: %w)", errRefused, errno)
	}
	// Older systems require the full right for this.
	task, c := sys.TaskForPid(pid)
	if c != 0 {
		return 0, 2, fmt.Errorf("%w (task_for_pid: %w)", errRefused, c)
	}
	return port(task), 2, nil
}

func (k *darwinKernel) Close(p port) { sys.ClosePort(uint32(p)) }

func (k *darwinKernel) Self() port { return port(sys.TaskSelf()) }

func (k *darwinKernel) Process(pid int32) (p process, ok bool) {
	if n, errno := sys.PidInfo(pid, libproc.PIDUniqueID, 0, k.buf[:libproc.UniqueSize]); errno != 0 || n < libproc.UniqueSize {
		return p, false
	}
	unique, _ := libproc.Unique.Uint(k.buf[:])
	p.pid, p.key = pid, libproc.Key(unique)
	if n, errno := sys.PidPath(pid, k.buf[:]); errno == 0 {
		p.path = string(k.buf[:n])
	}
	if n, errno := sys.KernProc(pid, k.buf[:libproc.KinfoSize]); errno == 0 && n == libproc.KinfoSize {
		record := libproc.Process(k.buf[:n])
		p.command = libproc.FullName(record.Comm(), p.path)
		flags, _ := libproc.KFlag.Uint(record)
		p.translated = libproc.Translated(flags) == 1
		return p, !record.Zombie()
	}
	return p, true
}

func (k *darwinKernel) Mapped(pid int32, addr uint64) string {
	b := k.buf[:libproc.RegionPathSize]
	if n, errno := sys.PidInfo(pid, libproc.PIDRegionPathInfo, addr, b); errno != 0 || n < len(b) {
		return ""
	}
	at, _ := libproc.RegionAddress.Uint(b)
	size, _ := libproc.RegionSize.Uint(b)
	if addr < at || addr-at >= size {
		return ""
	}
	path, _ := libproc.RegionPath.Text(b)
	return string(path)
}

func (k *darwinKernel) Threads(task port, to []port) ([]port, code) {
	list, c := sys.Task(task).Threads(k.threads[:0])
	k.threads = list
	for _, t := range list {
		to = append(to, port(t))
	}
	return to, code(c)
}

func (k *darwinKernel) Identify(thread port, id *identity) code {
	words := k.words[:identifierWords]
	c := sys.Thread(thread).Info(threadIdentifierInfo, words)
	*id = identity{id: pair(words, 0), queue: pair(words, 4)}
	return code(c)
}

func (k *darwinKernel) Describe(thread port, d *description) code {
	words := k.words[:extendedWords]
	c := sys.Thread(thread).Info(threadExtendedInfo, words)
	d.user, d.system, d.state = pair(words, 0), pair(words, 2), int32(words[6])
	for i := range d.name {
		d.name[i] = byte(words[12+i/4] >> (8 * (i % 4)))
	}
	return code(c)
}

func (k *darwinKernel) Registers(thread port, translated bool, r *chain.Registers) code {
	if k.arm {
		c := sys.Thread(thread).State(armThreadState64, k.words[:armWords])
		armRegisters(k.words[:], translated, r)
		return code(c)
	}
	c := sys.Thread(thread).State(x86ThreadState64, k.words[:intelWords])
	intelRegisters(k.words[:], r)
	return code(c)
}

func (k *darwinKernel) Read(task port, addr uint64, b []byte) bool {
	return sys.Task(task).Read(addr, b) == 0
}

func (k *darwinKernel) Suspend(task port) (port, code) {
	token, c := sys.Task(task).Suspend()
	return port(token), code(c)
}

func (k *darwinKernel) Resume(token port) code { return code(sys.Token(token).Resume()) }

func (k *darwinKernel) Dyld(task port) (at, size uint64) {
	words := k.words[:5]
	if n, c := sys.Task(task).Info(taskDyldInfo, words); c != 0 || n < 4 {
		return 0, 0
	}
	return pair(words, 0), pair(words, 2)
}

func (k *darwinKernel) Cache() uint64 {
	base, _ := sys.SharedCache()
	return base
}

func (k *darwinKernel) Now() uint64 {
	return libproc.Ticks{Numer: k.numer, Denom: k.denom}.Nanoseconds(sys.AbsoluteTime())
}

func (k *darwinKernel) Shot(pid int32, flags uint64, read func([]byte)) error {
	return sys.Stackshot(pid, flags, read)
}

func (k *darwinKernel) Message(c code) string { return sys.Kern(c).Error() }
