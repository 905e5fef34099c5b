package sys

import (
	"syscall"
	"unsafe"
)

// PidInfo is proc_pidinfo for the flavours that fill a struct. n is the number of bytes filled;
// 0 comes with an errno (ESRCH: no such process; EPERM: not ours to look at). A kernel older or
// newer than the flavour's struct may fill less than buf.
func PidInfo(pid, flavor int32, arg uint64, buf []byte) (n int, errno syscall.Errno) {
	return failsWithZero(false, addr_proc_pidinfo, uintptr(pid), uintptr(flavor), uintptr(arg),
		uintptr(unsafe.Pointer(unsafe.SliceData(buf))), uintptr(len(buf)))
}

// PidList is proc_pidinfo for the flavours that fill a list (descriptors, threads), which may be
// empty. Without a buffer n is an over-estimate of the bytes needed; a completely filled buffer
// may have been too short.
func PidList(pid, flavor int32, arg uint64, buf []byte) (n int, errno syscall.Errno) {
	return failsWithZero(true, addr_proc_pidinfo, uintptr(pid), uintptr(flavor), uintptr(arg),
		uintptr(unsafe.Pointer(unsafe.SliceData(buf))), uintptr(len(buf)))
}

// PidFDInfo describes one descriptor of a process.
func PidFDInfo(pid, fd, flavor int32, buf []byte) (n int, errno syscall.Errno) {
	return failsWithZero(false, addr_proc_pidfdinfo, uintptr(pid), uintptr(fd), uintptr(flavor),
		uintptr(unsafe.Pointer(unsafe.SliceData(buf))), uintptr(len(buf)))
}

// PidRusage fills buf with the rusage_info of a flavour. buf must have at least the struct's
// exact size. A flavour that the kernel does not know is EINVAL.
func PidRusage(pid, flavor int32, buf []byte) syscall.Errno {
	_, _, errno := call6(addr_proc_pid_rusage, uintptr(pid), uintptr(flavor),
		uintptr(unsafe.Pointer(unsafe.SliceData(buf))), 0, 0, 0)
	return errno
}

// PidPath writes the path of a process's executable into buf, which should
// have 4096 bytes, and returns its length.
func PidPath(pid int32, buf []byte) (n int, errno syscall.Errno) {
	return failsWithZero(false, addr_proc_pidpath, uintptr(pid),
		uintptr(unsafe.Pointer(unsafe.SliceData(buf))), uintptr(len(buf)), 0, 0)
}

// KernProcAll reads kern.proc.all: one kinfo_proc per process of any owner.
// The result aliases the returned buffer.
func KernProcAll(buf []byte) (list, next []byte, errno syscall.Errno) {
	return SysctlList(kernProcAll, buf)
}

var kernProcAll = MIB{1, 14, 0}

// KernProc reads the kinfo_proc of one process; n is 0 when there is none.
func KernProc(pid int32, buf []byte) (n int, errno syscall.Errno) {
	m := [4]int32{1, 14, 1, pid}
	return Sysctl(m[:], buf)
}

// ProcArgs reads kern.procargs2: argc, executable path, arguments and, for
// some, environment. Another user's process is EINVAL, as is a dead one.
func ProcArgs(pid int32, buf []byte) (n int, errno syscall.Errno) {
	m := [3]int32{1, 49, pid}
	return Sysctl(m[:], buf)
}
