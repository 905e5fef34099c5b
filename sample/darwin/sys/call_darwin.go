package sys

import (
	"runtime"
	"syscall"
	"unsafe"
)

// The runtime's two ways to call libSystem. The first treats a 32-bit -1 as failure and then
// returns errno; the second treats a 64-bit one so.

//go:linkname call6 syscall.syscall6
func call6(fn, a1, a2, a3, a4, a5, a6 uintptr) (r1, r2 uintptr, err syscall.Errno)

//go:linkname call6X syscall.syscall6X
func call6X(fn, a1, a2, a3, a4, a5, a6 uintptr) (r1, r2 uintptr, err syscall.Errno)

// taskSelfAddr is the address of libSystem's variable mach_task_self_.
func taskSelfAddr() unsafe.Pointer

//go:cgo_import_dynamic libc_mach_task_self_ mach_task_self_ "/usr/lib/libSystem.B.dylib"

func taskSelf() uintptr { return uintptr(*(*uint32)(taskSelfAddr())) }

// errnoAddr returns the address of libSystem's errno for the current thread. The caller must
// have locked itself to the thread.
func errnoAddr() *int32 {
	r, _, _ := call6X(addr___error, 0, 0, 0, 0, 0, 0)
	return (*int32)(foreign(r))
}

// foreign converts a number that a call returned to a pointer into memory of libSystem or
// CoreFoundation.
func foreign(r uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&r)) }

// failsWithZero calls a function of libproc that returns a count of bytes, and only 0 on
// failure. Where 0 can also mean an empty list (mayBeEmpty), it clears errno first, because
// success leaves errno unchanged.
//
// It makes more than one call, so its arguments must not point to the stack, which may grow in
// between.
//
//go:uintptrescapes
func failsWithZero(mayBeEmpty bool, fn, a1, a2, a3, a4, a5 uintptr) (n int, errno syscall.Errno) {
	runtime.LockOSThread()
	if mayBeEmpty {
		*errnoAddr() = 0
	}
	r, _, _ := call6X(fn, a1, a2, a3, a4, a5, 0)
	n = int(int32(r))
	if n <= 0 {
		n, errno = 0, syscall.Errno(*errnoAddr())
	}
	runtime.UnlockOSThread()
	return n, errno
}

// cString returns the text before the first NUL of b.
func cString(b []byte) string {
	for i, c := range b {
		if c == 0 {
			return string(b[:i])
		}
	}
	return string(b)
}
