package procfs

import (
	"bytes"
	"encoding/binary"
)

// Exit is what the kernel reports about a task at its end, over netlink, as struct taskstats. A
// process is a group of tasks; LastOfGroup marks the last to end.
type Exit struct {
	PID, TGID, PPID uint32
	UID, GID        uint32
	Comm            [16]byte // see Name
	Status          uint32   // wait status
	LastOfGroup     bool
	// Lived is how long the process lived, in nanoseconds.
	Lived                  int64
	UTime, STime           uint64 // nanoseconds
	MinFlt, MajFlt         uint64
	PeakRSS                uint64 // KiB
	IO                     IO
	Voluntary, Involuntary uint64
	// Run is the time on a processor, measured; UTime and STime are sampled by
	// the clock tick.
	Run uint64 // nanoseconds
}

// Offsets of the fields of struct taskstats: the same on every processor, since the kernel's
// header aligns them by hand.
const (
	tsVersion = 0
	tsStatus  = 4
	tsFlags   = 8
	tsRun     = 72
	tsComm    = 80
	tsUID     = 120
	tsGID     = 124
	tsPID     = 128
	tsPPID    = 132
	tsUTime   = 152
	tsSTime   = 160
	tsMinFlt  = 168
	tsMajFlt  = 176
	tsPeakRSS = 200
	tsRChar   = 216
	tsWChar   = 224
	tsSyscR   = 232
	tsSyscW   = 240
	tsRead    = 248
	tsWrite   = 256
	tsCancel  = 264
	tsNVCSW   = 272
	tsNIVCSW  = 280
	tsTGID    = 368
	tsGETime  = 376
	tsSize    = 384

	// exitVersion is the first version that has the process of a task, in Linux 5.17.
	exitVersion = 12
	lastInGroup = 0x20 // AGROUP
)

// Parse reads a struct taskstats; it returns false if this kernel's version is too old.
func (e *Exit) Parse(b []byte) bool {
	if len(b) < tsSize || binary.NativeEndian.Uint16(b[tsVersion:]) < exitVersion {
		return false
	}
	u32 := func(off int) uint32 { return binary.NativeEndian.Uint32(b[off:]) }
	u64 := func(off int) uint64 { return binary.NativeEndian.Uint64(b[off:]) }
	*e = Exit{
		PID: u32(tsPID), TGID: u32(tsTGID), PPID: u32(tsPPID), UID: u32(tsUID), GID: u32(tsGID),
		Comm:   [16]byte(b[tsComm:]),
		Status: u32(tsStatus), LastOfGroup: b[tsFlags]&lastInGroup != 0,
		Lived: int64(u64(tsGETime) * 1000), UTime: u64(tsUTime) * 1000, STime: u64(tsSTime) * 1000,
		MinFlt: u64(tsMinFlt), MajFlt: u64(tsMajFlt), PeakRSS: u64(tsPeakRSS),
		IO: IO{
			RChar: u64(tsRChar), WChar: u64(tsWChar), SyscR: u64(tsSyscR), SyscW: u64(tsSyscW),
			ReadBytes: u64(tsRead), WriteBytes: u64(tsWrite), CancelledWrite: u64(tsCancel),
		},
		Voluntary: u64(tsNVCSW), Involuntary: u64(tsNIVCSW),
		Run: u64(tsRun),
	}
	return true
}

// Name returns the name of the task.
func (e *Exit) Name() []byte {
	if i := bytes.IndexByte(e.Comm[:], 0); i >= 0 {
		return e.Comm[:i]
	}
	return e.Comm[:]
}

// Attributes calls each with the attributes of a netlink message. It does not descend into
// nested ones.
func Attributes(b []byte, each func(kind uint16, value []byte)) {
	for len(b) >= 4 {
		n := int(binary.NativeEndian.Uint16(b))
		kind := binary.NativeEndian.Uint16(b[2:]) &^ 0xc000 // nested, byte order
		if n < 4 || n > len(b) {
			return
		}
		each(kind, b[4:n])
		n = (n + 3) &^ 3
		if n > len(b) {
			return
		}
		b = b[n:]
	}
}

// Messages calls each with the netlink messages in the result of one read.
func Messages(b []byte, each func(kind uint16, payload []byte)) {
	const header = 16
	for len(b) >= header {
		n := uint64(binary.NativeEndian.Uint32(b))
		if n < header || n > uint64(len(b)) {
			return
		}
		each(binary.NativeEndian.Uint16(b[4:]), b[header:n])
		n = (n + 3) &^ 3
		if n > uint64(len(b)) {
			return
		}
		b = b[n:]
	}
}
