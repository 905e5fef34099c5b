package procfs

import (
	"bytes"
	"math"
	"strconv"
)

// IO is /proc/PID/io, in bytes and calls.
type IO struct {
	RChar, WChar, SyscR, SyscW            uint64
	ReadBytes, WriteBytes, CancelledWrite uint64
}

// each pairs the fields of s with those of o.
func (s *IO) each(o *IO, do func(a *uint64, b uint64)) {
	do(&s.RChar, o.RChar)
	do(&s.WChar, o.WChar)
	do(&s.SyscR, o.SyscR)
	do(&s.SyscW, o.SyscW)
	do(&s.ReadBytes, o.ReadBytes)
	do(&s.WriteBytes, o.WriteBytes)
	do(&s.CancelledWrite, o.CancelledWrite)
}

// Add adds o to s.
func (s *IO) Add(o *IO) { s.each(o, func(a *uint64, b uint64) { *a += b }) }

// Less subtracts o from s, but not below zero.
func (s *IO) Less(o *IO) { s.each(o, func(a *uint64, b uint64) { *a -= min(*a, b) }) }

// AtLeast raises each field of s to that of o.
func (s *IO) AtLeast(o *IO) { s.each(o, func(a *uint64, b uint64) { *a = max(*a, b) }) }

// Parse reads text into s. It returns false if the text is not an io file, as on a kernel
// without I/O accounting.
func (s *IO) Parse(text []byte) bool {
	*s = IO{}
	seen := false
	for len(text) > 0 {
		var l []byte
		l, text = line(text)
		key, rest := field(l)
		v := first(rest)
		switch string(key) {
		case "rchar:":
			s.RChar, seen = v, true
		case "wchar:":
			s.WChar = v
		case "syscr:":
			s.SyscR = v
		case "syscw:":
			s.SyscW = v
		case "read_bytes:":
			s.ReadBytes = v
		case "write_bytes:":
			s.WriteBytes = v
		case "cancelled_write_bytes:":
			s.CancelledWrite = v
		}
	}
	return seen
}

// SchedStat is /proc/PID/schedstat: nanoseconds on a processor, nanoseconds runnable without
// one, and the number of turns. It counts only the first thread of the process.
type SchedStat struct{ Running, Waiting, Turns uint64 }

// Parse reads text into s.
func (s *SchedStat) Parse(text []byte) bool {
	var v [3]uint64
	for i := range v {
		var w []byte
		var ok bool
		w, text = field(text)
		if v[i], ok = uint(w); !ok {
			return false
		}
	}
	*s = SchedStat{v[0], v[1], v[2]}
	return true
}

// Smaps is /proc/PID/smaps_rollup, in KiB.
type Smaps struct {
	RSS, PSS                   uint64
	SharedClean, SharedDirty   uint64
	PrivateClean, PrivateDirty uint64
	Referenced, Anonymous      uint64
	Swap, SwapPSS, Locked      uint64
}

// Parse reads text into s; it returns false if the text has no sizes.
func (s *Smaps) Parse(text []byte) bool {
	*s = Smaps{}
	seen := false
	for len(text) > 0 {
		var l []byte
		l, text = line(text)
		key, rest := field(l)
		v := first(rest)
		switch string(key) {
		case "Rss:":
			s.RSS, seen = v, true
		case "Pss:":
			s.PSS = v
		case "Shared_Clean:":
			s.SharedClean = v
		case "Shared_Dirty:":
			s.SharedDirty = v
		case "Private_Clean:":
			s.PrivateClean = v
		case "Private_Dirty:":
			s.PrivateDirty = v
		case "Referenced:":
			s.Referenced = v
		case "Anonymous:":
			s.Anonymous = v
		case "Swap:":
			s.Swap = v
		case "SwapPss:":
			s.SwapPSS = v
		case "Locked:":
			s.Locked = v
		}
	}
	return seen
}

// Forks finds in /proc/stat how many processes and threads were ever made, and the second of
// the wall clock at which the kernel booted.
func Forks(text []byte) (forks, bootSecond uint64, ok bool) {
	var f, b bool
	for len(text) > 0 {
		var l []byte
		l, text = line(text)
		key, rest := field(l)
		w, _ := field(rest)
		switch string(key) {
		case "processes":
			forks, f = uint(w)
		case "btime":
			bootSecond, b = uint(w)
		}
	}
	return forks, bootSecond, f && b
}

// Reclaimed adds up the counters of /proc/vmstat that move whenever the kernel takes memory
// from processes, even from ones that do nothing.
func Reclaimed(text []byte) (pages uint64) {
	for len(text) > 0 {
		var l []byte
		l, text = line(text)
		key, rest := field(l)
		if bytes.HasPrefix(key, []byte("pgsteal")) || string(key) == "pswpout" || string(key) == "thp_collapse_alloc" {
			w, _ := field(rest)
			n, _ := uint(w)
			pages += n
		}
	}
	return pages
}

// Sockets calls add with the inode of each socket in a table such as
// /proc/net/tcp. The first line is a heading, and the inode is the tenth word
// of the others.
func Sockets(text []byte, add func(inode uint64)) {
	_, text = line(text)
	for len(text) > 0 {
		var l, w []byte
		l, text = line(text)
		for range 10 {
			w, l = field(l)
		}
		if v, ok := uint(w); ok && v != 0 {
			add(v)
		}
	}
}

// LinkInode reads the number in a link to a thing without a name: kind "socket" reads
// "socket:[12345]".
func LinkInode(link []byte, kind string) (uint64, bool) {
	n := len(kind)
	if len(link) < n+3 || string(link[:n]) != kind || link[n] != ':' || link[n+1] != '[' || link[len(link)-1] != ']' {
		return 0, false
	}
	return uint(link[n+2 : len(link)-1])
}

// Running returns, from /proc/loadavg, how many threads run or want to, and the number of the
// newest process or thread.
func Running(text []byte) (running int, last int32, ok bool) {
	f := bytes.Fields(text)
	if len(f) < 5 {
		return 0, 0, false
	}
	part, _, _ := bytes.Cut(f[3], []byte("/"))
	n, err1 := strconv.ParseInt(string(part), 10, 32)
	l, err2 := strconv.ParseInt(string(f[4]), 10, 32)
	return int(n), int32(l), err1 == nil && err2 == nil && n >= 0 && l > 0
}

// OpenFiles returns how many files a process may have open at a time, from /proc/PID/limits:
// the soft limit, or the largest uint64 if it is unlimited.
func OpenFiles(text []byte) (uint64, bool) {
	for len(text) > 0 {
		var l []byte
		l, text = line(text)
		rest, found := bytes.CutPrefix(l, []byte("Max open files"))
		if !found {
			continue
		}
		soft, _ := field(rest)
		if string(soft) == "unlimited" {
			return math.MaxUint64, true
		}
		return uint(soft)
	}
	return 0, false
}
