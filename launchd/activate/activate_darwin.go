package activate

import (
	"fmt"
	"os"
	"syscall"
	"unsafe"
)

//go:linkname call6X syscall.syscall6X
func call6X(fn, a1, a2, a3, a4, a5, a6 uintptr) (r1, r2 uintptr, err syscall.Errno)

// What is imported from libSystem: for each function a pragma that binds the symbol,
// a trampoline in the .s file that jumps to it, and the trampoline's address here.

//go:cgo_import_dynamic libc_launch_activate_socket launch_activate_socket "/usr/lib/libSystem.B.dylib"
//go:cgo_import_dynamic libc_free free "/usr/lib/libSystem.B.dylib"

var (
	addr_launch_activate_socket uintptr
	addr_free                   uintptr
)

// Sockets returns the sockets that launchd opened for this process under a name in its plist.
// It works only once.
func Sockets(name string) ([]*os.File, error) {
	fds, errno := activate(name)
	switch errno {
	case 0:
	case syscall.ESRCH:
		return nil, fmt.Errorf("launchd did not start this process")
	case syscall.ENOENT:
		return nil, fmt.Errorf("launchd has no socket %q for this process: its plist names none", name)
	case syscall.EALREADY:
		return nil, fmt.Errorf("the socket %q of launchd was taken over before", name)
	default:
		return nil, fmt.Errorf("launchd does not hand over the socket %q: %w", name, errno)
	}
	files := make([]*os.File, len(fds))
	for i, fd := range fds {
		syscall.CloseOnExec(int(fd))
		files[i] = os.NewFile(uintptr(fd), "launchd socket "+name)
	}
	return files, nil
}

// maxSockets is far more than a plist has under one name.
const maxSockets = 1 << 10

// activate calls launch_activate_socket, which returns an errno and memory that the caller must
// free.
func activate(name string) ([]int32, syscall.Errno) {
	text, err := syscall.BytePtrFromString(name)
	if err != nil {
		return nil, syscall.EINVAL
	}
	// On the heap: the call may run on another stack.
	out := new(struct {
		list  *int32
		count uintptr
	})
	r, _, _ := call6X(addr_launch_activate_socket, uintptr(unsafe.Pointer(text)), uintptr(unsafe.Pointer(&out.list)), uintptr(unsafe.Pointer(&out.count)), 0, 0, 0)
	if errno := syscall.Errno(uint32(r)); errno != 0 {
		return nil, errno
	}
	var fds []int32
	if out.list != nil {
		fds = append(fds, unsafe.Slice(out.list, min(out.count, maxSockets))...)
		call6X(addr_free, uintptr(unsafe.Pointer(out.list)), 0, 0, 0, 0, 0)
	}
	return fds, 0
}
