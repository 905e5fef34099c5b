package sys

import (
	"sync"
	"syscall"
	"unsafe"
)

// defaultImages is RTLD_DEFAULT: look in all libraries of the program.
const defaultImages = ^uintptr(1)

// symbol returns the address of a function without a public header, 0 if this release of macOS
// has none. dyld does not start a program that imports a function which is missing.
func symbol(name string) uintptr { return symbolIn(defaultImages, name) }

// symbolIn is symbol for one library.
func symbolIn(library uintptr, name string) uintptr {
	s, err := syscall.BytePtrFromString(name)
	if err != nil {
		return 0
	}
	r, _, _ := call6X(addr_dlsym, library, uintptr(unsafe.Pointer(s)), 0, 0, 0, 0)
	return r
}

var (
	responsibleAddr = sync.OnceValue(func() uintptr { return symbol("responsibility_get_pid_responsible_for_pid") })
	csopsAddr       = sync.OnceValue(func() uintptr { return symbol("csops") })
)

// Responsible returns the process that macOS holds responsible for what pid does: the app that
// started it, or pid itself. The answer may be the number of a process that ended long ago.
func Responsible(pid int32) (int32, syscall.Errno) {
	fn := responsibleAddr()
	if fn == 0 {
		return 0, syscall.ENOTSUP
	}
	r, _, errno := call6(fn, uintptr(pid), 0, 0, 0, 0, 0)
	if int32(r) >= 0 {
		return int32(r), 0
	}
	if errno == 0 {
		errno = syscall.ESRCH
	}
	return 0, errno
}

// CodeSigning is csops: it fills buf with what the kernel knows of the signature of a process's
// program. Any user may ask about any process.
func CodeSigning(pid int32, op uint32, buf []byte) syscall.Errno {
	fn := csopsAddr()
	if fn == 0 {
		return syscall.ENOTSUP
	}
	_, _, errno := call6(fn, uintptr(pid), uintptr(op), uintptr(unsafe.Pointer(unsafe.SliceData(buf))), uintptr(len(buf)), 0, 0)
	return errno
}
