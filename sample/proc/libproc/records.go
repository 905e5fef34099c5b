package libproc

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"strconv"
	"strings"
)

// States of a process, the values of p_stat.
const (
	stateIdle   = 1
	stateStop   = 4
	stateZombie = 5
)

// Process is a record of kern.proc about a process: KinfoSize bytes.
type Process []byte

// Processes calls each with the records of a kern.proc list. It ignores a record that is cut
// short.
func Processes(list []byte, each func(p Process)) {
	for len(list) >= KinfoSize {
		each(Process(list[:KinfoSize:KinfoSize]))
		list = list[KinfoSize:]
	}
}

// Pid is the number of the process.
func (p Process) Pid() int32 { return int32(get(KPid, p)) }

// StartMicros is the wall clock at the fork, in microseconds since 1970. It
// does not move when the clock is set.
func (p Process) StartMicros() int64 {
	return int64(get(KStartSec, p))*1e6 + int64(get(KStartMicro, p))
}

// Zombie reports whether the process has ended and waits for its parent.
func (p Process) Zombie() bool { return get(KStat, p) == stateZombie }

// Comm is the short name: up to 16 bytes, which alias p.
func (p Process) Comm() []byte {
	b, _ := KComm.Text(p)
	return b
}

// Key identifies a process among all others of this boot, by its unique number.
func Key(unique uint64) string { return strconv.FormatUint(unique, 10) }

// FullName returns the short name or, if the kernel has cut the name of the program's file to
// make it, the name of the file.
func FullName(comm []byte, exe string) string {
	const cut = 16
	if len(comm) < cut {
		return string(comm)
	}
	base := exe[strings.LastIndexByte(exe, '/')+1:]
	if len(base) > len(comm) && base[:len(comm)] == string(comm) {
		return base
	}
	return string(comm)
}

// Translated is 1 if Rosetta runs a process with these flags, else 0.
func Translated(flag uint64) uint64 { return flag / translatedFlag & 1 }

// EffectiveGID is the first of the groups of the credentials.
func (p Process) EffectiveGID() uint32 {
	if n := get(KGroupCount, p); n == 0 || n > uint64(kGroupsCount) {
		return uint32(get(KRealGID, p))
	}
	return uint32(get(kFirstGroup, p))
}

// Terminal is the device of the controlling terminal; false is none.
func (p Process) Terminal() (dev uint32, ok bool) {
	v := uint32(get(KTTY, p))
	return v, v != noDevice
}

// State returns the letter of the process's state. The kernel keeps a process in the state
// "run" whatever it does; running is how many of its threads run.
func (p Process) State(running uint64) byte {
	switch get(KStat, p) {
	case stateZombie:
		return 'Z'
	case stateStop:
		return 'T'
	case stateIdle:
		return 'I'
	}
	if running > 0 {
		return 'R'
	}
	return 'S'
}

// ThreadLetter is the letter of a thread's state.
func ThreadLetter(state uint64) byte {
	switch state {
	case 1:
		return 'R'
	case 2:
		return 'T'
	case 3:
		return 'S'
	case 4:
		return 'D'
	case 5:
		return 'Z'
	}
	return '?'
}

// Cwd returns the working directory in the answer to PIDVnodePathInfo.
func Cwd(b []byte) ([]byte, bool) { return cwdPath.Text(b) }

// Descriptors walks the answer to PIDListFDs, and calls socket with the descriptors that are
// sockets. It returns the number of descriptors of all kinds.
func Descriptors(b []byte, socket func(fd int32)) (n int) {
	for len(b) >= fdSize {
		if get(fdType, b) == fdTypeSocket {
			socket(int32(get(fdNumber, b)))
		}
		b = b[fdSize:]
		n++
	}
	return n
}

// SocketKind reports whether the answer to FDSocketInfo shows a TCP or a UDP socket.
func SocketKind(b []byte) (tcp, udp bool) {
	if family := get(socketFamily, b); family != familyInet && family != familyInet6 {
		return false, false
	}
	switch get(socketKind, b) {
	case socketTCP:
		return true, false
	case socketInet:
		return false, get(socketProtocol, b) == protocolUDP
	}
	return false, false
}

// Threads walks a list of 64-bit thread numbers.
func Threads(b []byte, each func(id uint64)) {
	for len(b) >= 8 {
		each(binary.LittleEndian.Uint64(b))
		b = b[8:]
	}
}

// Arguments parses the answer to kern.procargs2: the number of arguments, the path of the
// program, NULs, the arguments. It does not look at the environment that follows. Arguments may
// be empty.
func Arguments(b []byte) (argv []string, ok bool) {
	_, ok = eachArgument(b, func(arg []byte) { argv = append(argv, string(arg)) })
	return argv, ok
}

// GivenPath returns the path that was given to exec, from the answer to kern.procargs2. It may be
// relative, and may be that of a link.
func GivenPath(b []byte) string {
	if len(b) < 4 {
		return ""
	}
	path, _, whole := bytes.Cut(b[4:], nul)
	if !whole {
		return ""
	}
	return string(path)
}

// eachArgument returns the environment, which follows the arguments; nil if the answer has not
// all arguments.
func eachArgument(b []byte, each func(arg []byte)) (environment []byte, ok bool) {
	if len(b) < 4 {
		return nil, false
	}
	count := int32(binary.LittleEndian.Uint32(b))
	rest := b[4:]
	path := bytes.IndexByte(rest, 0)
	if count < 0 || path < 0 {
		return nil, false
	}
	rest = rest[path:]
	for len(rest) > 0 && rest[0] == 0 {
		rest = rest[1:]
	}
	for range count {
		arg, after, whole := bytes.Cut(rest, nul)
		if !whole {
			// Cut short, by the kernel or by our buffer: what follows could be anything, so it
			// leaves out an argument without its end.
			return nil, true
		}
		each(arg)
		rest = after
	}
	return rest, true
}

var nul = []byte{0}

// Variable returns a variable of the environment in the answer to kern.procargs2, "" if it is
// not there: the kernel leaves the environment out for programs that macOS protects.
func Variable(b []byte, name string) string {
	rest, _ := eachArgument(b, func([]byte) {})
	for {
		v, after, whole := bytes.Cut(rest, nul)
		if !whole || len(v) == 0 {
			return ""
		}
		if len(v) > len(name) && v[len(name)] == '=' && string(v[:len(name)]) == name {
			return string(v[len(name)+1:])
		}
		rest = after
	}
}

// Coalition returns the resource coalition in the answer to PIDCoalition.
func Coalition(b []byte) (id uint64, ok bool) { return coalitionID.Uint(b) }

// Operations of csops that anybody may ask for about any process.
const (
	SigningStatus   = 0  // 32 flags
	SigningIdentity = 11 // a text
	SigningTeam     = 14 // a text
	SigningTextSize = 512
	// SignedByApple is the flag of the programs that are part of macOS.
	SignedByApple = 0x04000000
)

// SigningText returns the text in an answer of csops: a number, the length of the whole in big
// endian, and the text with a NUL at its end.
func SigningText(b []byte) string {
	const header = 8
	if len(b) < header {
		return ""
	}
	end := min(uint64(binary.BigEndian.Uint32(b[4:])), uint64(len(b)))
	if end < header {
		return ""
	}
	text, _, _ := bytes.Cut(b[header:end], nul)
	return string(text)
}

// SigningFlags returns the flags in the answer to SigningStatus.
func SigningFlags(b []byte) uint32 {
	if len(b) < 4 {
		return 0
	}
	return binary.LittleEndian.Uint32(b)
}

// Ticks converts Mach ticks, in which the kernel counts times, into nanoseconds.
type Ticks struct{ Numer, Denom uint64 }

// appleSilicon is the clock frequency of all Macs that can translate programs of other Macs.
const appleSilicon = 24_000_000

// KernelTicks makes Ticks from what the machine reports: hw.tbfrequency (0 if there is none),
// whether this program runs translated, and mach_timebase_info. A translated program gets the
// timebase of the processor that it is made for, while the kernel counts in its own: so the
// frequency comes first, and is itself not believed if it is the other processor's.
func KernelTicks(hz uint64, translated bool, numer, denom uint32) Ticks {
	switch {
	case translated && (hz == 0 || hz == 1e9):
		return Ticks{1e9, appleSilicon}
	case hz > 0:
		return Ticks{1e9, hz}
	case numer > 0 && denom > 0:
		return Ticks{uint64(numer), uint64(denom)}
	}
	return Ticks{1, 1}
}

// Nanoseconds converts without overflow if the result fits.
func (t Ticks) Nanoseconds(ticks uint64) uint64 {
	hi, lo := bits.Mul64(ticks, t.Numer)
	if hi >= t.Denom {
		return 1<<64 - 1
	}
	ns, _ := bits.Div64(hi, lo, t.Denom)
	return ns
}
