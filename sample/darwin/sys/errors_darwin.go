package sys

import (
	"fmt"
	"syscall"
)

// Error is a failed call, with its error.
type Error struct {
	Call string
	Err  error // syscall.Errno or Kern
}

func (e *Error) Error() string { return e.Call + ": " + e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

func failed(call string, errno syscall.Errno) error { return &Error{call, errno} }

// Kern is a kern_return_t or an IOReturn.
type Kern int32

// The codes that callers distinguish.
const (
	MigArrayTooLarge    Kern = -307
	KernInvalidAddress  Kern = 1
	KernInvalidArgument Kern = 4
	KernNoAccess        Kern = 8
	ioNotPrivileged     Kern = -536870207 // 0xe00002c1
	ioNotPermitted      Kern = -536870174 // 0xe00002e2
)

var kernNames = map[Kern]string{
	MigArrayTooLarge: "MIG_ARRAY_TOO_LARGE",
	1:                "KERN_INVALID_ADDRESS", 2: "KERN_PROTECTION_FAILURE", 3: "KERN_NO_SPACE",
	4: "KERN_INVALID_ARGUMENT", 5: "KERN_FAILURE", 6: "KERN_RESOURCE_SHORTAGE",
	8: "KERN_NO_ACCESS", 15: "KERN_INVALID_NAME", 16: "KERN_INVALID_TASK",
	17: "KERN_INVALID_RIGHT", 18: "KERN_INVALID_VALUE", 20: "KERN_INVALID_CAPABILITY",
	22: "KERN_INVALID_HOST", 37: "KERN_TERMINATED", 46: "KERN_NOT_SUPPORTED", 49: "KERN_OPERATION_TIMED_OUT", 53: "KERN_DENIED",
}

func (k Kern) Error() string {
	if n := kernNames[k]; n != "" {
		return fmt.Sprintf("%s (%d)", n, int32(k))
	}
	if k < 0 {
		return fmt.Sprintf("code 0x%08x", uint32(k))
	}
	return fmt.Sprintf("code %d", int32(k))
}

// Is lets errors.Is treat refusals of both kernels, Mach and BSD, as EPERM.
func (k Kern) Is(target error) bool {
	return target == syscall.EPERM && (k == KernNoAccess || k == ioNotPrivileged || k == ioNotPermitted || k == 53)
}

func kernFailed(call string, r uintptr) error {
	if k := Kern(int32(r)); k != 0 {
		return &Error{call, k}
	}
	return nil
}
