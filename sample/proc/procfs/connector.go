package procfs

import (
	"bytes"
	"encoding/binary"
)

// ProcEvent is an event of the process connector: struct proc_event of linux/cn_proc.h.
type ProcEvent struct {
	What      uint32
	Time      int64 // nanoseconds of the monotonic clock
	PID, TGID uint32
	// ParentTGID is the process that forked or, at an exit, the parent that is notified.
	ParentTGID uint32
	Status     uint32   // wait status, of an exit
	Comm       [16]byte // the new name, if the name changed
	Err        uint32   // in the answer to a request
}

// Values of What.
const (
	ConnectorAnswer = 0
	ConnectorFork   = 0x00000001
	ConnectorExec   = 0x00000002
	ConnectorComm   = 0x00000200
	ConnectorExit   = 0x80000000

	connectorHeader = 20 // struct cn_msg
	connectorIndex  = 1  // CN_IDX_PROC and CN_VAL_PROC
	eventHeader     = 16
)

// Parse reads the payload of a connector message; it returns false if the message is not the
// process connector's, or cut short.
func (e *ProcEvent) Parse(b []byte) bool {
	if len(b) < connectorHeader+eventHeader {
		return false
	}
	u32 := func(off int) uint32 { return binary.NativeEndian.Uint32(b[off:]) }
	if u32(0) != connectorIndex || u32(4) != connectorIndex {
		return false
	}
	b = b[connectorHeader:]
	*e = ProcEvent{What: u32(0), Time: int64(binary.NativeEndian.Uint64(b[8:]))}
	rest := b[eventHeader:]
	need := map[uint32]int{ConnectorAnswer: 4, ConnectorFork: 16, ConnectorExec: 8, ConnectorComm: 24, ConnectorExit: 24}[e.What]
	if need == 0 {
		return true // of another kind
	}
	if len(rest) < need {
		return false
	}
	field := func(i int) uint32 { return binary.NativeEndian.Uint32(rest[4*i:]) }
	switch e.What {
	case ConnectorAnswer:
		e.Err = field(0)
	case ConnectorFork:
		e.ParentTGID, e.PID, e.TGID = field(1), field(2), field(3)
	case ConnectorExec:
		e.PID, e.TGID = field(0), field(1)
	case ConnectorComm:
		e.PID, e.TGID = field(0), field(1)
		copy(e.Comm[:], rest[8:24])
	case ConnectorExit:
		e.PID, e.TGID, e.Status = field(0), field(1), field(2)
		if len(rest) >= 24 {
			e.ParentTGID = field(5)
		}
	}
	return true
}

// ListenRequest is the message that asks the process connector for its events.
func ListenRequest() []byte {
	const listen, size = 1, 16 + connectorHeader + 4
	b := make([]byte, size)
	binary.NativeEndian.PutUint32(b, size)
	binary.NativeEndian.PutUint16(b[4:], 3) // NLMSG_DONE
	binary.NativeEndian.PutUint32(b[16:], connectorIndex)
	binary.NativeEndian.PutUint32(b[20:], connectorIndex)
	binary.NativeEndian.PutUint16(b[32:], 4)
	binary.NativeEndian.PutUint32(b[36:], listen)
	return b
}

// CommOf makes the name of a task from the text of its comm file.
func CommOf(text []byte) (c [16]byte) {
	copy(c[:15], bytes.TrimSuffix(text, []byte("\n")))
	return c
}
