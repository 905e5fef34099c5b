package sys

import (
	"sync"
	"syscall"
	"unsafe"
)

var (
	coalitionsAddr     = sync.OnceValue(func() uintptr { return symbol("proc_listcoalitions") })
	coalitionUsageAddr = sync.OnceValue(func() uintptr { return symbol("coalition_info_resource_usage") })
)

// Coalitions lists the coalitions of one type; n is the number of bytes filled. A completely
// filled buffer may have been too short.
func Coalitions(kind int32, buf []byte) (n int, errno syscall.Errno) {
	const ofOneType = 2
	fn := coalitionsAddr()
	if fn == 0 {
		return 0, syscall.ENOTSUP
	}
	return failsWithZero(true, fn, ofOneType, uintptr(kind),
		uintptr(unsafe.Pointer(unsafe.SliceData(buf))), uintptr(len(buf)), 0)
}

// CoalitionUsage fills buf with a coalition_resource_usage. A kernel whose struct is shorter
// leaves the rest of buf as it was, and does not say so.
func CoalitionUsage(id uint64, buf []byte) syscall.Errno {
	fn := coalitionUsageAddr()
	if fn == 0 {
		return syscall.ENOTSUP
	}
	_, _, errno := call6(fn, uintptr(id), uintptr(unsafe.Pointer(unsafe.SliceData(buf))), uintptr(len(buf)), 0, 0, 0)
	return errno
}
