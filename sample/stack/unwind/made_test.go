package unwind

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
)

// tables makes an .eh_frame in which common is what all functions have in common.
type tables struct {
	b    []byte
	last int // where the last common entry is
}

const tablesAt = 0x100000

func (t *tables) entry(body []byte) {
	for len(body)%8 != 4 {
		body = append(body, 0)
	}
	t.b = append(binary.LittleEndian.AppendUint32(t.b, uint32(len(body))), body...)
}

// common adds what the functions after it have in common: addresses are 4 bytes, relative.
func (t *tables) common(letters string, data int8, ra byte, program ...byte) {
	t.last = len(t.b)
	body := append([]byte{0, 0, 0, 0, 1}, letters...)
	body = append(body, 0, 1, byte(data)&0x7f, ra)
	if strings.HasPrefix(letters, "z") {
		var extra []byte
		for _, l := range letters[1:] {
			switch l {
			case 'R':
				extra = append(extra, encodedRelative|0x0b)
			case 'L':
				extra = append(extra, 0x1b)
			case 'P':
				extra = append(extra, 0x9b, 1, 2, 3, 4)
			}
		}
		body = append(append(body, byte(len(extra))), extra...)
	}
	t.entry(append(body, program...))
}

func (t *tables) function(start, size uint64, program ...byte) {
	at := len(t.b) + 4
	body := binary.LittleEndian.AppendUint32(nil, uint32(at-t.last))
	body = binary.LittleEndian.AppendUint32(body, uint32(start-(tablesAt+uint64(at)+4)))
	body = binary.LittleEndian.AppendUint32(body, uint32(size))
	t.entry(append(append(body, 0), program...))
}

func (t *tables) image(machine *Machine) *Image {
	m := &Image{machine: machine, frames: t.b, address: tablesAt}
	m.scan()
	return m
}

// made returns an .eh_frame_hdr for the image.
func (m *Image) made(address uint64) []byte {
	b := []byte{1, 0x1b, 0x03, 0x3b}
	b = binary.LittleEndian.AppendUint32(b, uint32(m.address-address-4))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(m.index)))
	for _, p := range m.index {
		b = binary.LittleEndian.AppendUint32(b, uint32(p.start-address))
		b = binary.LittleEndian.AppendUint32(b, uint32(m.address+uint64(p.at)-address))
	}
	return b
}

// names are the registers' names, as readelf has them.
var names = map[*Machine][]string{&X86: {"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "ra"}, &ARM: arm()}

func arm() []string {
	var all []string
	for i := range 31 {
		all = append(all, fmt.Sprintf("x%d", i))
	}
	all[30] = "ra"
	return append(all, "sp", "pc")
}

// shown returns a row as readelf shows it, without the registers of which nothing is said.
func (r *row) shown(m *Machine) string {
	name := names[m]
	var b bytes.Buffer
	if r.cfa.kind == isValue {
		b.WriteString("exp")
	} else {
		fmt.Fprintf(&b, "%s%+d", name[r.cfa.register], r.cfa.value)
	}
	for _, s := range r.rules {
		text := ""
		switch s.kind {
		case isLost:
			text = "u"
		case isSame:
			text = "s"
		case atDistance:
			text = fmt.Sprintf("c%+d", s.value)
		case isDistance:
			text = fmt.Sprintf("v%+d", s.value)
		case inRegister:
			text = name[s.rule.register]
		case atValue:
			text = "exp"
		case isValue:
			text = "vexp"
		}
		fmt.Fprintf(&b, " %s=%s", name[s.register], text)
	}
	return b.String()
}
