package perf

import "encoding/binary"

// switched is a record of the events that measure waits: a thread goes to sleep (a sample), the
// processor leaves it or returns to it (a switch), or a thread wakes another (a sample with
// fields).
type switched struct {
	kind     uint32
	misc     uint16
	pid, tid int32
	time     uint64
	chain    []byte // of a sample, as in record
	fields   []byte // of a tracepoint's sample
	// registers and stack are as in record.
	registers, stack []byte
	lost             uint64
}

const (
	kindSwitch = 14
	// switchOut says that the processor left the thread, switchWants that the thread would have
	// gone on.
	switchOut, switchWants = 1 << 13, 1 << 14
)

// parse reads a record; it returns false if the record is not needed, or damaged. Slices in r
// point into b.
func (r *switched) parse(b []byte) bool {
	order := binary.NativeEndian
	if len(b) < recordHeader+trailer {
		return false
	}
	*r = switched{kind: order.Uint32(b), misc: order.Uint16(b[4:])}
	if r.kind == kindSample {
		const fixed = recordHeader + 8 + 8 + 8 + 8 // ip, thread, time, length of the chain
		if len(b) < fixed {
			return false
		}
		r.pid, r.tid, r.time = int32(order.Uint32(b[16:])), int32(order.Uint32(b[20:])), order.Uint64(b[24:])
		n := order.Uint64(b[32:])
		if n > uint64(len(b)-fixed)/8 {
			return false
		}
		r.chain = b[fixed : fixed+8*n]
		rest := b[fixed+8*n:]
		if r.registers, r.stack = copiedIn(rest); r.registers == nil && len(rest) >= 4 {
			size := uint64(order.Uint32(rest))
			if size > uint64(len(rest)-4) {
				return false
			}
			r.fields = rest[4 : 4+size]
		}
		return true
	}
	end := len(b) - trailer
	r.pid, r.tid, r.time = int32(order.Uint32(b[end:])), int32(order.Uint32(b[end+4:])), order.Uint64(b[end+8:])
	switch body := b[recordHeader:end]; r.kind {
	case kindSwitch:
		return true
	case kindLost:
		if len(body) < 16 {
			return false
		}
		r.lost = order.Uint64(body[8:])
	case kindLostSamples:
		if len(body) < 8 {
			return false
		}
		r.lost = order.Uint64(body)
	default:
		return false
	}
	return true
}

// wakeFields are the places of the fields of the tracepoint sched:sched_waking.
type wakeFields struct{ flags, current, woken int }

// readWakeFields reads the kernel's description of them.
func readWakeFields(format string) (f wakeFields, ok bool) {
	ok = true
	for _, c := range []struct {
		name string
		size int
		at   *int
	}{{"common_flags", 1, &f.flags}, {"common_pid", 4, &f.current}, {"pid", 4, &f.woken}} {
		at, found := FieldOf(format, c.name, c.size)
		*c.at, ok = at, ok && found
	}
	return f, ok
}

// inInterrupt are the flags of a record that was written while an interrupt, and not the thread
// that had the processor, was served: by hardware, software, or one that cannot be masked.
const inInterrupt = 0x08 | 0x10 | 0x40

// read returns which thread was woken, and whether an interrupt woke it; ok is false if the
// record does not say so, or numbers threads otherwise than the sampler sees them.
func (f *wakeFields) read(r *switched) (woken int32, interrupt, ok bool) {
	b, order := r.fields, binary.NativeEndian
	if len(b) <= f.flags || len(b) < f.current+4 || len(b) < f.woken+4 {
		return 0, false, false
	}
	current := int32(order.Uint32(b[f.current:]))
	return int32(order.Uint32(b[f.woken:])), b[f.flags]&inInterrupt != 0 || current == 0, current == r.tid
}
