package perf

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"
	"reflect"
	"testing"
)

// made returns a record as the kernel writes it.
func made(kind uint32, misc uint16, v ...any) []byte {
	var b bytes.Buffer
	for _, x := range v {
		switch x := x.(type) {
		case string:
			b.WriteString(x + string(make([]byte, 8-len(x)%8)))
		default:
			binary.Write(&b, binary.NativeEndian, x)
		}
	}
	head := binary.NativeEndian.AppendUint32(nil, kind)
	head = binary.NativeEndian.AppendUint16(head, misc)
	head = binary.NativeEndian.AppendUint16(head, uint16(recordHeader+b.Len()))
	return append(head, b.Bytes()...)
}

type who struct {
	PID, TID int32
	Time     uint64
}

var (
	aSample = made(kindSample, 1, uint64(0x1234), int32(7), int32(8), uint64(99), uint64(6),
		uint64(markKernel), uint64(0xffffffff81000010), uint64(0xffffffff81000020), uint64(markUser), uint64(0x401000), uint64(0x402000))
	// A sample with registers, and with 24 bytes of the stack of which 16 are valid.
	aCopy = made(kindSample, 2, uint64(0x1234), int32(7), int32(8), uint64(99), uint64(1), uint64(markUser),
		uint64(2), make([]uint64, len(own.numbers)), uint64(24), uint64(11), uint64(12), uint64(13), uint64(16))
	// A sample of a thread without a program.
	noCopy   = made(kindSample, 1, uint64(0x1234), int32(7), int32(8), uint64(99), uint64(1), uint64(markKernel), uint64(0), uint64(0))
	aMapping = made(kindMapping, 0, int32(7), int32(8), uint64(0x400000), uint64(0x1000), uint64(0x2000), uint32(8), uint32(1),
		uint64(1234), uint64(1), uint32(5), uint32(2), "/bin/a program", who{7, 8, 100})
	aCommand = made(kindCommand, commandExec, int32(7), int32(7), "new", who{7, 7, 101})
	aFork    = made(kindFork, 0, int32(9), int32(7), int32(9), int32(8), uint64(102), who{7, 8, 102})
	anExit   = made(kindExit, 0, int32(9), int32(7), int32(9), int32(7), uint64(103), who{9, 9, 103})
	aLoss    = made(kindLost, 0, uint64(1), uint64(17), who{0, 0, 104})
	moreLost = made(kindLostSamples, 0, uint64(3), who{0, 0, 105})
)

func TestRecords(t *testing.T) {
	for _, c := range []struct {
		name string
		b    []byte
		want record
	}{
		{"sample", aSample, record{kind: kindSample, misc: 1, time: 99, pid: 7, tid: 8, chain: aSample[40:]}},
		{"copy", aCopy, record{kind: kindSample, misc: 2, time: 99, pid: 7, tid: 8, chain: aCopy[40:48],
			registers: aCopy[56 : len(aCopy)-40], stack: aCopy[len(aCopy)-32 : len(aCopy)-16]}},
		{"no copy", noCopy, record{kind: kindSample, misc: 1, time: 99, pid: 7, tid: 8, chain: noCopy[40:48]}},
		{"mapping", aMapping, record{kind: kindMapping, time: 100, pid: 7, tid: 8, start: 0x400000, size: 0x1000, offset: 0x2000, major: 8, minor: 1, inode: 1234, name: []byte("/bin/a program")}},
		{"command", aCommand, record{kind: kindCommand, misc: commandExec, time: 101, pid: 7, tid: 7, name: []byte("new")}},
		{"fork", aFork, record{kind: kindFork, time: 102, pid: 9, tid: 9, parent: 7, parentTID: 8}},
		{"exit", anExit, record{kind: kindExit, time: 103, pid: 9, tid: 9, parent: 7, parentTID: 7}},
		{"lost", aLoss, record{kind: kindLost, time: 104, lost: 17}},
		{"lost samples", moreLost, record{kind: kindLostSamples, time: 105, lost: 3}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var r record
			if !r.parse(c.b) || !reflect.DeepEqual(r, c.want) {
				t.Errorf("got  %+v\nwant %+v", r, c.want)
			}
			for n := range c.b { // cut at every place
				if short, _ := next(c.b[:n]); short != nil {
					t.Errorf("%d bytes of %d pass for a record", n, len(c.b))
				}
				r.parse(c.b[:n])
			}
		})
	}
}

func TestChains(t *testing.T) {
	chain := func(v ...uint64) []byte {
		return made(kindSample, 0, uint64(0), int32(1), int32(1), uint64(1), uint64(len(v)), v)
	}
	const guest = 1<<64 - 2048
	for _, c := range []struct {
		name string
		b    []byte
		want string
	}{
		{"both", aSample, "k:ffffffff81000010 k:ffffffff81000020 u:401000 u:402000 "},
		{"of a program alone", chain(markUser, 1, 2), "u:1 u:2 "},
		{"of a virtual machine", chain(guest, 1, 2, markUser, 3), "u:3 "},
		{"without a marker", chain(1, 2), ""},
		{"empty", chain(), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var r record
			if !r.parse(c.b) {
				t.Fatal("not understood")
			}
			got := ""
			r.frames(func(a uint64, kernel bool) {
				got += fmt.Sprintf("%s:%x ", map[bool]string{true: "k", false: "u"}[kernel], a)
			})
			if got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func FuzzRecords(f *testing.F) {
	f.Add(bytes.Join([][]byte{aSample, aCopy, noCopy, aMapping, aCommand, aFork, anExit, aLoss, moreLost}, nil))
	f.Add(aSample[:len(aSample)-8])
	f.Add(made(kindSample, 0, uint64(0), int32(1), int32(1), uint64(1), uint64(1<<61)))
	f.Add([]byte{9, 0, 0, 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		var r record
		for rec, rest := next(b); rec != nil; rec, rest = next(rest) {
			if !r.parse(rec) {
				continue
			}
			n := 0
			r.frames(func(uint64, bool) { n++ })
			if len(r.registers)+len(r.stack) > len(rec) {
				t.Errorf("%d bytes of the stack in %d bytes", len(r.stack), len(rec))
			}
			if 8*n > len(rec) {
				t.Errorf("%d frames in %d bytes", n, len(rec))
			}
		}
	})
}

func FuzzTraced(f *testing.F) {
	record := make([]byte, 8+8+8+4+12)
	record[0], record[6], record[24] = kindSample, byte(len(record)), 12
	f.Add(record)
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, _, fields, ok := traced(b); ok && len(fields) > len(b) {
			t.Errorf("%d bytes of %d", len(fields), len(b))
		}
	})
}

// The kernel's order of registers is that of the tables after this.
func TestRegisters(t *testing.T) {
	for name, c := range processorsCopied {
		if bits.OnesCount64(c.mask) != len(c.numbers) {
			t.Errorf("%s: %d registers are asked for, %d are known", name, bits.OnesCount64(c.mask), len(c.numbers))
		}
		seen := make(map[int]bool)
		for _, n := range c.numbers {
			seen[n] = true
		}
		if len(seen) != len(c.numbers) || !seen[c.machine.PC] || !seen[c.machine.SP] || !seen[c.machine.FP] {
			t.Errorf("%s: %v", name, c.numbers)
		}
	}
}
