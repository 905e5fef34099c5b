package procfs

import "bytes"

// Mapping is a line of /proc/PID/maps: a part of a process's memory.
type Mapping struct {
	Start, End   uint64
	Executable   bool
	Offset       uint64 // in the file
	Major, Minor uint32 // of the file's device
	Inode        uint64 // 0: no file
	// Path is a file, or the kernel's name for other memory, in brackets. It points into the
	// parsed text.
	Path []byte
	// Deleted says that the file's name, which Path has, was removed.
	Deleted bool
}

// Maps calls each with the mappings in text. It skips lines that are not mappings.
func Maps(text []byte, each func(*Mapping)) {
	var m Mapping
	for len(text) > 0 {
		var l []byte
		if l, text = line(text); m.parse(l) {
			each(&m)
		}
	}
}

func (m *Mapping) parse(l []byte) bool {
	*m = Mapping{}
	addresses, rest := field(l)
	modes, rest := field(rest)
	offset, rest := field(rest)
	device, rest := field(rest)
	inode, rest := field(rest)
	from, to, dashed := bytes.Cut(addresses, []byte("-"))
	major, minor, colon := bytes.Cut(device, []byte(":"))
	if !dashed || !colon || len(modes) < 3 {
		return false
	}
	var ok [6]bool
	var maj, min uint64
	m.Start, ok[0] = hexadecimal(from)
	m.End, ok[1] = hexadecimal(to)
	m.Offset, ok[2] = hexadecimal(offset)
	maj, ok[3] = hexadecimal(major)
	min, ok[4] = hexadecimal(minor)
	m.Inode, ok[5] = uint(inode)
	if ok != [6]bool{true, true, true, true, true, true} || m.End <= m.Start {
		return false
	}
	m.Major, m.Minor, m.Executable = uint32(maj), uint32(min), modes[2] == 'x'
	m.Path = bytes.TrimLeft(rest, " ")
	m.Path, m.Deleted = bytes.CutSuffix(m.Path, []byte(" (deleted)"))
	return true
}

// hexadecimal reads a hexadecimal number without a prefix.
func hexadecimal(b []byte) (v uint64, ok bool) {
	if len(b) == 0 || len(b) > 16 {
		return 0, false
	}
	for _, c := range b {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		default:
			return 0, false
		}
		v = v<<4 | uint64(c)
	}
	return v, true
}

// prefixed reads a hexadecimal number with the prefix "0x".
func prefixed(b []byte) (uint64, bool) {
	b, ok := bytes.CutPrefix(b, []byte("0x"))
	if !ok {
		return 0, false
	}
	return hexadecimal(b)
}

// KernelStack calls each with the functions in /proc/PID/task/TID/stack, the innermost first:
// offset is where in the function, of size bytes, the thread is or will return to.
func KernelStack(text []byte, each func(name []byte, offset, size uint64)) {
	for len(text) > 0 {
		var l []byte
		l, text = line(text)
		l, ok := bytes.CutPrefix(l, []byte("[<0>] "))
		if !ok {
			continue
		}
		word, _ := field(l)
		name, place, ok := bytes.Cut(word, []byte("+"))
		into, of, ok2 := bytes.Cut(place, []byte("/"))
		if !ok || !ok2 || len(name) == 0 {
			continue
		}
		offset, ok := prefixed(into)
		size, ok2 := prefixed(of)
		if ok && ok2 {
			each(name, offset, size)
		}
	}
}

// Called reads /proc/PID/task/TID/syscall: the address from which a thread called the kernel,
// and its stack pointer there. A running thread's are not known.
func Called(text []byte) (pc, sp uint64, ok bool) {
	l, _ := line(text)
	words := bytes.Fields(l)
	if len(words) < 3 {
		return 0, 0, false
	}
	sp, ok = prefixed(words[len(words)-2])
	if !ok {
		return 0, 0, false
	}
	pc, ok = prefixed(words[len(words)-1])
	return pc, sp, ok
}
