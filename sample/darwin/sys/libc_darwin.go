package sys

import (
	"strconv"
	"sync"
	"syscall"
	"unsafe"
)

// Sizes of the records that this file returns.
const (
	StatfsSize = 2168
	UtmpxSize  = 640
)

// mntNoWait makes getfsstat answer from memory: a dead file server does not hang us.
const mntNoWait = 2

// Mounts reads one struct statfs (StatfsSize bytes) per mounted file system. The result aliases
// the returned buffer, which at least doubles while the list fills it.
func Mounts(buf []byte) (list, next []byte, err error) {
	for range growTries {
		n, errno := getfsstat(buf)
		if errno != 0 {
			return nil, buf, failed("getfsstat", errno)
		}
		if len(buf) > 0 && n*StatfsSize < len(buf) {
			return buf[:n*StatfsSize], buf, nil
		}
		// A full buffer may have cut the list short.
		buf = make([]byte, 2*max(n, 16)*StatfsSize)
	}
	return nil, buf, failed("getfsstat", syscall.ENOMEM)
}

func getfsstat(buf []byte) (int, syscall.Errno) {
	r, _, errno := call6(addr_getfsstat, uintptr(unsafe.Pointer(unsafe.SliceData(buf))), uintptr(len(buf)), mntNoWait, 0, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(int32(r)), 0
}

// FileSystemType fills conf with the struct vfsconf of a type of file system; a type that is not
// loaded is an error.
func FileSystemType(name string, conf []byte) error {
	s, err := syscall.BytePtrFromString(name)
	if err != nil {
		return failed("getvfsbyname "+name, syscall.EINVAL)
	}
	_, _, errno := call6(addr_getvfsbyname, uintptr(unsafe.Pointer(s)), uintptr(unsafe.Pointer(unsafe.SliceData(conf))), 0, 0, 0, 0)
	if errno != 0 {
		return failed("getvfsbyname "+name, errno)
	}
	return nil
}

// logins serialises the walk of the login records, which has one position for
// the whole process.
var logins sync.Mutex

// Logins calls visit with each login record; the bytes are valid only during
// the call.
func Logins(visit func(utmpx []byte)) {
	logins.Lock()
	defer logins.Unlock()
	call6X(addr_setutxent, 0, 0, 0, 0, 0, 0)
	for {
		r, _, _ := call6X(addr_getutxent, 0, 0, 0, 0, 0, 0)
		if r == 0 {
			break
		}
		visit(unsafe.Slice((*byte)(foreign(r)), UtmpxSize))
	}
	call6X(addr_endutxent, 0, 0, 0, 0, 0, 0)
}

// Notification is a registration with the notification server.
type Notification struct{ token int32 }

type notifyStatus uint32

func (s notifyStatus) Error() string { return "notify status " + strconv.FormatUint(uint64(s), 10) }

func notifyFailed(call string, r uintptr) error {
	if s := notifyStatus(uint32(r)); s != 0 {
		return &Error{call, s}
	}
	return nil
}

// Notify registers for a name, so that its state can be read.
func Notify(name string) (Notification, error) {
	var n Notification
	s, err := syscall.BytePtrFromString(name)
	if err != nil {
		return n, failed("notify_register_check "+name, syscall.EINVAL)
	}
	r, _, _ := call6X(addr_notify_register_check, uintptr(unsafe.Pointer(s)), uintptr(unsafe.Pointer(&n.token)), 0, 0, 0, 0)
	return n, notifyFailed("notify_register_check "+name, r)
}

// State is the number that the name's owner stores with it.
func (n Notification) State() (uint64, error) {
	var v uint64
	r, _, _ := call6X(addr_notify_get_state, uintptr(n.token), uintptr(unsafe.Pointer(&v)), 0, 0, 0, 0)
	return v, notifyFailed("notify_get_state", r)
}

// Close ends the registration.
func (n Notification) Close() error {
	r, _, _ := call6X(addr_notify_cancel, uintptr(n.token), 0, 0, 0, 0, 0)
	return notifyFailed("notify_cancel", r)
}
