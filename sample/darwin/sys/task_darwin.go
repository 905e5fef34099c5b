package sys

import (
	"syscall"
	"unsafe"
)

// rawCall6 is call6 without informing Go's scheduler, which then cannot give the thread's
// processor slot to other Go code. It is for calls that return at once and never wait: while
// such a call waits, the garbage collector waits, too.
//
//go:linkname rawCall6 syscall.rawSyscall6
func rawCall6(fn, a1, a2, a3, a4, a5, a6 uintptr) (r1, r2 uintptr, err syscall.Errno)

// Task is a right to inspect another process, Thread one of its threads. Token is a suspension
// of a task; it ends with the token, also when the process that holds it is killed.
type (
	Task   uint32
	Thread uint32
	Token  uint32
)

// TaskSelf is this process.
func TaskSelf() Task { return Task(taskSelf()) }

// TaskReadForPid asks for the right to read a process, which includes suspending and resuming
// it. The kernel logs each refusal for one of Apple's programs.
func TaskReadForPid(pid int32) (Task, syscall.Errno) {
	var t Task
	_, _, errno := call6(addr_task_read_for_pid, taskSelf(), uintptr(pid), uintptr(unsafe.Pointer(&t)), 0, 0, 0)
	return t, errno
}

// TaskForPid asks for the right to do anything with a process.
func TaskForPid(pid int32) (Task, Kern) {
	var t Task
	r, _, _ := call6X(addr_task_for_pid, taskSelf(), uintptr(pid), uintptr(unsafe.Pointer(&t)), 0, 0, 0)
	return t, Kern(int32(r))
}

// ClosePort releases a right from this package.
func ClosePort(port uint32) error { return releasePort(port) }

// Info fills words with a flavour of task_info and returns how many words the
// kernel filled.
func (t Task) Info(flavor int32, words []uint32) (n int, k Kern) {
	count := uint32(len(words))
	r, _, _ := call6X(addr_task_info, uintptr(t), uintptr(flavor),
		uintptr(unsafe.Pointer(unsafe.SliceData(words))), uintptr(unsafe.Pointer(&count)), 0, 0)
	return min(int(count), len(words)), Kern(int32(r))
}

// Threads appends a right to each thread, which the caller must release.
func (t Task) Threads(to []Thread) ([]Thread, Kern) {
	var list unsafe.Pointer
	var count uint32
	r, _, _ := call6X(addr_task_threads, uintptr(t), uintptr(unsafe.Pointer(&list)), uintptr(unsafe.Pointer(&count)), 0, 0, 0)
	if r := Kern(int32(r)); r != 0 {
		return to, r
	}
	to = append(to, unsafe.Slice((*Thread)(list), count)...)
	call6X(addr_vm_deallocate, taskSelf(), uintptr(list), uintptr(count)*4, 0, 0, 0)
	return to, 0
}

// Read fills b from the task's memory, or fails.
func (t Task) Read(addr uint64, b []byte) Kern {
	if len(b) == 0 {
		return 0
	}
	var n uint64
	r, _, _ := call6X(addr_mach_vm_read_overwrite, uintptr(t), uintptr(addr), uintptr(len(b)),
		uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(unsafe.Pointer(&n)), 0)
	if k := Kern(int32(r)); k != 0 || n == uint64(len(b)) {
		return k
	}
	return KernInvalidAddress
}

// Suspend stops all threads of the task until the token is released, by Resume or ClosePort, or
// by the end of this process.
func (t Task) Suspend() (Token, Kern) {
	var token Token
	r, _, _ := call6X(addr_task_suspend2, uintptr(t), uintptr(unsafe.Pointer(&token)), 0, 0, 0, 0)
	return token, Kern(int32(r))
}

// Resume ends a suspension. It consumes the token unless it fails.
func (t Token) Resume() Kern {
	r, _, _ := rawCall6(addr_task_resume2, uintptr(t), 0, 0, 0, 0, 0)
	return Kern(int32(r))
}

// Info fills words with a flavour of thread_info.
func (t Thread) Info(flavor int32, words []uint32) Kern {
	count := uint32(len(words))
	r, _, _ := rawCall6(addr_thread_info, uintptr(t), uintptr(flavor),
		uintptr(unsafe.Pointer(unsafe.SliceData(words))), uintptr(unsafe.Pointer(&count)), 0, 0)
	if k := Kern(int32(r)); k != 0 || int(count) >= len(words) {
		return k
	}
	return KernInvalidArgument
}

// State fills words with the thread's registers.
func (t Thread) State(flavor int32, words []uint32) Kern {
	count := uint32(len(words))
	r, _, _ := call6X(addr_thread_get_state, uintptr(t), uintptr(flavor),
		uintptr(unsafe.Pointer(unsafe.SliceData(words))), uintptr(unsafe.Pointer(&count)), 0, 0)
	if k := Kern(int32(r)); k != 0 || int(count) >= len(words) {
		return k
	}
	return KernInvalidArgument
}

// SharedCache is the location of the system's libraries in this process; 0 if there is none.
func SharedCache() (base, size uint64) {
	r, _, _ := call6X(addr__dyld_get_shared_cache_range, uintptr(unsafe.Pointer(&size)), 0, 0, 0, 0, 0)
	return uint64(r), size
}

// Stackshot stops all processors and records what all threads do (of one process, or with -1 of
// all processes). It passes the result to read, which must not keep it.
func Stackshot(pid int32, flags uint64, read func(shot []byte)) error {
	config, _, _ := call6X(addr_stackshot_config_create, 0, 0, 0, 0, 0, 0)
	if config == 0 {
		return failed("stackshot_config_create", syscall.ENOMEM)
	}
	defer call6X(addr_stackshot_config_dealloc, config, 0, 0, 0, 0, 0)
	r, _, _ := call6X(addr_stackshot_config_set_pid, config, uintptr(pid), 0, 0, 0, 0)
	if r == 0 {
		r, _, _ = call6X(addr_stackshot_config_set_flags, config, uintptr(flags), 0, 0, 0, 0)
	}
	if r == 0 {
		r, _, _ = call6X(addr_stackshot_capture_with_config, config, 0, 0, 0, 0, 0)
	}
	if e := syscall.Errno(int32(r)); e != 0 {
		return failed("stack_snapshot_with_config", e)
	}
	at, _, _ := call6X(addr_stackshot_config_get_stackshot_buffer, config, 0, 0, 0, 0, 0)
	size, _, _ := call6X(addr_stackshot_config_get_stackshot_size, config, 0, 0, 0, 0, 0)
	if at == 0 || int32(size) <= 0 {
		return failed("stack_snapshot_with_config", syscall.ENODATA)
	}
	read(unsafe.Slice((*byte)(foreign(at)), int(int32(size))))
	return nil
}
