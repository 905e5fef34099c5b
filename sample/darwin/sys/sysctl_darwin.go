package sys

import (
	"syscall"
	"unsafe"
)

// growTries limits how often a list may outgrow its buffer between the request for its size and
// the reading.
const growTries = 8

// MIB is the number of a sysctl, by which the kernel finds it fastest.
type MIB []int32

// Lookup resolves a sysctl's name. For a name that this kernel does not have the error is
// ENOENT.
func Lookup(name string) (MIB, error) {
	var mib [12]int32
	n := uintptr(len(mib))
	s, err := syscall.BytePtrFromString(name)
	if err != nil {
		return nil, failed("sysctlnametomib "+name, syscall.EINVAL)
	}
	_, _, e := call6(addr_sysctlnametomib, uintptr(unsafe.Pointer(s)), uintptr(unsafe.Pointer(&mib[0])),
		uintptr(unsafe.Pointer(&n)), 0, 0, 0)
	if e != 0 {
		return nil, failed("sysctlnametomib "+name, e)
	}
	return append(MIB(nil), mib[:min(int(n), len(mib))]...), nil
}

// Sysctl reads m into buf and returns the number of bytes. A buffer that is too short is ENOMEM
// (ENOBUFS for the routing lists). A nil buffer asks for the size, which for lists is an
// over-estimate.
func Sysctl(m MIB, buf []byte) (n int, errno syscall.Errno) {
	if len(m) == 0 {
		return 0, syscall.ENOENT
	}
	size := uintptr(len(buf))
	_, _, errno = call6(addr_sysctl, uintptr(unsafe.Pointer(unsafe.SliceData(m))), uintptr(len(m)),
		uintptr(unsafe.Pointer(unsafe.SliceData(buf))), uintptr(unsafe.Pointer(&size)), 0, 0)
	if errno != 0 {
		return int(size), errno
	}
	return int(size), 0
}

// SysctlList reads a list whose length changes. It tries buf first. If that is too short it asks
// for the size, enlarges buf and reads again, until the list has not grown in between. It
// returns the bytes read, which alias the returned buffer, and the buffer for the next time.
func SysctlList(m MIB, buf []byte) (list, next []byte, errno syscall.Errno) {
	if len(buf) > 0 {
		n, e := Sysctl(m, buf)
		if e == 0 {
			return buf[:n], buf, 0
		}
		if !tooShort(e) {
			return nil, buf, e
		}
	}
	for range growTries {
		n, e := Sysctl(m, nil)
		if e != 0 {
			return nil, buf, e
		}
		if want := n + n/4 + 1024; want > len(buf) {
			buf = make([]byte, want)
		} else {
			buf = make([]byte, 2*len(buf))
		}
		n, e = Sysctl(m, buf)
		if e == 0 {
			return buf[:n], buf, 0
		}
		if !tooShort(e) {
			return nil, buf, e
		}
	}
	return nil, buf, syscall.ENOMEM
}

func tooShort(e syscall.Errno) bool { return e == syscall.ENOMEM || e == syscall.ENOBUFS }

// SysctlText reads a string sysctl by name.
func SysctlText(name string) (string, error) {
	m, err := Lookup(name)
	if err != nil {
		return "", err
	}
	list, _, e := SysctlList(m, make([]byte, 512))
	if e != 0 {
		return "", failed("sysctl "+name, e)
	}
	return cString(list), nil
}

// SysctlUint reads a number of 4 or 8 bytes by name.
func SysctlUint(name string) (uint64, error) {
	m, err := Lookup(name)
	if err != nil {
		return 0, err
	}
	var b [8]byte
	n, e := Sysctl(m, b[:])
	switch {
	case e != 0:
		return 0, failed("sysctl "+name, e)
	case n == 4:
		return uint64(uint32(le64(b))), nil
	case n == 8:
		return le64(b), nil
	}
	return 0, failed("sysctl "+name, syscall.EINVAL)
}

func le64(b [8]byte) uint64 {
	var v uint64
	for i := 7; i >= 0; i-- {
		v = v<<8 | uint64(b[i])
	}
	return v
}
