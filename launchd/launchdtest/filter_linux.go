package launchdtest

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// allow refuses the calling thread all calls of the kernel but those, with EPERM, as systemd does
// for SystemCallFilter= and SystemCallErrorNumber=EPERM. Calls for another processor are refused
// too (SystemCallArchitectures=native).
func allow(calls []uint64) error {
	const atNumber, atProcessor = 0, 4 // in struct seccomp_data
	processors := map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64}
	load := func(at uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: at}
	}
	equal := func(k uint32, then, otherwise uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: then, Jf: otherwise, K: k}
	}
	give := func(k uint32) unix.SockFilter { return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: k} }
	refuse := give(unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM))
	program := []unix.SockFilter{load(atProcessor), equal(processors[runtime.GOARCH], 1, 0), refuse, load(atNumber)}
	for _, nr := range calls {
		program = append(program, equal(uint32(nr), 0, 1), give(unix.SECCOMP_RET_ALLOW))
	}
	program = append(program, refuse)
	filter := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	return unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&filter)), 0, 0)
}
