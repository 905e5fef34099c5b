package sys

import (
	"sync"
	"syscall"
	"unsafe"
)

// swiftNameAddr is 0 if this Mac has no library that makes names of Swift readable.
var swiftNameAddr = sync.OnceValue(func() uintptr {
	const path, lazy, local = "/usr/lib/swift/libswiftDemangle.dylib", 1, 4
	s, err := syscall.BytePtrFromString(path)
	if err != nil {
		return 0
	}
	library, _, _ := call6X(addr_dlopen, uintptr(unsafe.Pointer(s)), lazy|local, 0, 0, 0, 0)
	if library == 0 {
		return 0
	}
	return symbolIn(library, "swift_demangle_getSimplifiedDemangledName")
})

// SwiftName returns a mangled name of Swift as macOS's own tools show it; "" if the library cannot
// tell, or is not there. The library is a large program in C++ that reads a stranger's bytes: call
// this only in a process that may crash. The simulated Mac lacks the library, so only its absence has
// been seen.
func SwiftName(mangled string) string {
	fn := swiftNameAddr()
	s, err := syscall.BytePtrFromString(mangled)
	if fn == 0 || err != nil {
		return ""
	}
	b := make([]byte, 4096)
	r, _, _ := call6X(fn, uintptr(unsafe.Pointer(s)), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)), 0, 0, 0)
	if r == 0 || r >= uintptr(len(b)) { // not one of Swift, or cut off
		return ""
	}
	return cString(b)
}
