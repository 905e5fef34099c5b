package proc

import (
	"encoding/binary"
	"fmt"
	"os"
	"syscall"

	"tachograph/sample/darwin/sys"
	"tachograph/sample/metric"
	"tachograph/sample/owner"
	"tachograph/sample/proc/libproc"
)

// darwinCalls implements macCalls with system calls.
type darwinCalls struct {
	users, groups *directory
	terminals     map[uint32]string
	jobs          *launchdJobs
	boot          [16]byte
	self          []byte
}

func newDarwinCalls() *darwinCalls {
	return &darwinCalls{
		users: newDirectory("/etc/passwd", lookupUser), groups: newDirectory("/etc/group", lookupGroup),
		terminals: make(map[uint32]string), jobs: newLaunchdJobs(""),
	}
}

// Processes lists all processes, including the kernel's own: the list of some releases lacks
// number 0, which then takes a call of its own.
func (c *darwinCalls) Processes(buf []byte) (list, next []byte, errno syscall.Errno) {
	list, next, errno = sys.KernProcAll(buf)
	if errno != 0 {
		return nil, next, errno
	}
	zero := false
	libproc.Processes(list, func(p libproc.Process) { zero = zero || p.Pid() == 0 })
	if zero {
		return list, next, 0
	}
	if c.self == nil {
		c.self = make([]byte, libproc.KinfoSize)
	}
	if n, e := sys.KernProc(0, c.self); e != 0 || n < libproc.KinfoSize || libproc.Process(c.self).Pid() != 0 {
		return list, next, 0
	}
	if len(next) < len(list)+libproc.KinfoSize {
		grown := make([]byte, len(list)+32*libproc.KinfoSize)
		copy(grown, list)
		next = grown
	}
	n := copy(next[len(list):], c.self)
	return next[:len(list)+n], next, 0
}

func (c *darwinCalls) Info(pid, flavour int32, arg uint64, buf []byte) (int, syscall.Errno) {
	return sys.PidInfo(pid, flavour, arg, buf)
}

func (c *darwinCalls) List(pid, flavour int32, buf []byte) (int, syscall.Errno) {
	return sys.PidList(pid, flavour, 0, buf)
}

func (c *darwinCalls) Socket(pid, fd int32, buf []byte) (int, syscall.Errno) {
	return sys.PidFDInfo(pid, fd, libproc.FDSocketInfo, buf)
}

func (c *darwinCalls) Usage(pid, flavour int32, buf []byte) syscall.Errno {
	return sys.PidRusage(pid, flavour, buf)
}

func (c *darwinCalls) Path(pid int32, buf []byte) (int, syscall.Errno) { return sys.PidPath(pid, buf) }

func (c *darwinCalls) Responsible(pid int32) (int32, syscall.Errno) { return sys.Responsible(pid) }

func (c *darwinCalls) Signing(pid int32, op uint32, buf []byte) syscall.Errno {
	return sys.CodeSigning(pid, op, buf)
}

func (c *darwinCalls) Coalitions(buf []byte) (int, syscall.Errno) {
	return sys.Coalitions(libproc.ResourceCoalition, buf)
}

func (c *darwinCalls) CoalitionUsage(id uint64, buf []byte) syscall.Errno {
	return sys.CoalitionUsage(id, buf)
}

func (c *darwinCalls) Arguments(pid int32, buf []byte) (int, syscall.Errno) {
	return sys.ProcArgs(pid, buf)
}

func (c *darwinCalls) Jobs(now metric.Stamp) *owner.Jobs { return c.jobs.look(now) }

// Console returns the owner of the screen's device, which macOS gives to who logs in there.
func (c *darwinCalls) Console() (uid uint32, ok bool) {
	info, err := os.Stat("/dev/console")
	if err != nil {
		return 0, false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || st.Uid == 0 {
		return 0, false
	}
	return st.Uid, true
}

var bootTime = sys.MIB{1, 21} // CTL_KERN, KERN_BOOTTIME

// Boot reads a struct timeval: seconds and microseconds.
func (c *darwinCalls) Boot() (int64, bool) {
	n, errno := sys.Sysctl(bootTime, c.boot[:])
	if errno != 0 || n < 12 {
		return 0, false
	}
	return int64(binary.LittleEndian.Uint64(c.boot[:]))*1e6 + int64(int32(binary.LittleEndian.Uint32(c.boot[8:]))), true
}

func (c *darwinCalls) UserName(uid uint32) string  { return c.users.name(uid) }
func (c *darwinCalls) GroupName(gid uint32) string { return c.groups.name(gid) }

// TerminalName returns the name of the file in /dev with the device number. It also remembers
// numbers that have no file.
func (c *darwinCalls) TerminalName(dev uint32) string {
	if s, ok := c.terminals[dev]; ok {
		return s
	}
	if entries, err := os.ReadDir("/dev"); err == nil {
		for _, e := range entries {
			if e.Type()&os.ModeCharDevice == 0 {
				continue
			}
			info, err := e.Info()
			if err != nil {
				continue
			}
			if st, ok := info.Sys().(*syscall.Stat_t); ok {
				c.terminals[uint32(st.Rdev)] = e.Name()
			}
		}
	}
	if _, ok := c.terminals[dev]; !ok {
		c.terminals[dev] = fmt.Sprintf("%d:%d", dev>>24, dev&0xffffff)
	}
	return c.terminals[dev]
}
