package symbol

import (
	"bufio"
	"errors"
	"io"
)

// Kernel has the names of the running kernel's functions, from Linux's /proc/kallsyms.
type Kernel struct {
	table *Table
	// scheduler is where the functions are that a thread waits by.
	scheduler [2]uint64
}

// ErrHidden means that the kernel shows names but not their addresses.
var ErrHidden = errors.New("the kernel hides its addresses (kernel.kptr_restrict)")

// ReadKernel reads the text of /proc/kallsyms, which includes modules' functions.
func ReadKernel(r io.Reader) (*Kernel, error) {
	// Room for a kernel as distributions build it, so that it need not grow.
	b := builder{functions: make([]collected, 0, 1<<17), names: make([]byte, 0, 4<<20)}
	var k Kernel
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 4096), 64<<10)
	for lines.Scan() {
		address, kind, name := kernelSymbol(lines.Bytes())
		if address == 0 || kind != 't' && kind != 'T' && kind != 'w' && kind != 'W' || len(name) == 0 {
			continue
		}
		switch string(name) {
		case "__sched_text_start":
			k.scheduler[0] = address
			continue
		case "__sched_text_end":
			k.scheduler[1] = address
			continue
		}
		// The last function of a piece of the kernel has no known end.
		const longest = 1 << 20
		if err := b.add(address, 0, address+longest, string(name)); err != nil {
			return nil, err
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if len(b.functions) == 0 {
		return nil, ErrHidden
	}
	k.table = b.table("")
	return &k, nil
}

// kernelSymbol splits a line: "ffffffff81000000 T _text", followed by the module if there is
// one.
func kernelSymbol(line []byte) (address uint64, kind byte, name []byte) {
	const digits = 16
	i := 0
	for ; i < len(line) && i < digits && line[i] != ' '; i++ {
		c := line[i]
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		default:
			return 0, 0, nil
		}
		address = address<<4 | uint64(c)
	}
	if len(line) < i+4 || line[i] != ' ' || line[i+2] != ' ' {
		return 0, 0, nil
	}
	kind, name = line[i+1], line[i+3:]
	for j, c := range name {
		if c == '\t' || c == ' ' {
			name = name[:j]
			break
		}
	}
	return address, kind, name[:min(len(name), maxName)]
}

// Find returns the function at an address.
func (k *Kernel) Find(address uint64) (string, bool) {
	name, _, _, ok := k.table.Find(address)
	return name, ok
}

// Schedules reports whether an address is in the functions that a thread waits by: which of them
// called which says nothing about what it waits for.
func (k *Kernel) Schedules(address uint64) bool {
	return k.scheduler[0] <= address && address < k.scheduler[1]
}

// Address returns the address of the function of that name and size: several static functions
// may have the same name. It returns 0 if there is none, or more than one.
func (k *Kernel) Address(name string, size uint64) uint64 {
	var found uint64
	for i := range k.table.functions {
		f := &k.table.functions[i]
		if uint64(f.size) != size || k.table.name(f.name) != name {
			continue
		}
		if found != 0 {
			return 0
		}
		found = f.start
	}
	return found
}

// Start returns where the kernel's code begins.
func (k *Kernel) Start() uint64 { return k.table.functions[0].start }
