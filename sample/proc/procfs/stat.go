package procfs

import (
	"bytes"
	"errors"
	"strconv"
)

// Stat is /proc/PID/stat.
type Stat struct {
	Comm []byte // points into the parsed text
	StatNumbers
}

// StatNumbers is all of it but the name. proc(5) numbers the fields; the names are the ones used
// there.
type StatNumbers struct {
	PID   int32
	State byte

	PPID, PGrp, Session int32
	TTY                 uint32
	TPGID               int32
	Flags               uint64

	MinFlt, CMinFlt, MajFlt, CMajFlt uint64
	// Times here are in clock ticks.
	UTime, STime   uint64
	CUTime, CSTime int64

	Priority, Nice, Threads int64
	StartTime               uint64 // since boot; with the pid it identifies the process
	VSize                   uint64 // bytes
	RSS                     int64  // pages
	// StartCode and StartStack change when the process calls exec. They are 0 or 1 for readers
	// who may not trace it.
	StartCode, StartStack uint64

	WChan uint64
	// Ignored are the signals that the process ignores, the first in bit 0.
	Ignored               uint64
	ExitSignal, Processor int64
	RTPriority, Policy    uint64
	BlkIOTicks            uint64
	GuestTime             uint64
	CGuestTime            int64
	// ExitCode is a wait status. It is zero until the process is a zombie, and
	// for readers who may not trace the process.
	ExitCode uint64
}

// Key identifies a process among all others of this boot: by its number, and its start time as
// in Stat.
func Key(pid int32, start uint64) string {
	return strconv.Itoa(int(pid)) + "/" + strconv.FormatUint(start, 10)
}

var errStat = errors.New("not the text of a stat file")

// statFields is how many fields follow the command's name in kernels that have exit_code. Older
// ones have fewer; the missing ones are zero.
const statFields = 50

// Parse reads text into s. The command's name is everything between the first opening and the
// last closing parenthesis: names may contain both, and blanks.
func (s *Stat) Parse(text []byte) error {
	open, shut := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	if open < 0 || shut < open {
		return errStat
	}
	word, _ := field(text[:open])
	pid, ok := uint(word)
	if !ok || pid > 1<<31-1 {
		return errStat
	}
	var v [statFields + 1]uint64 // v[i] is field i+2 of proc(5)
	state, rest := field(text[shut+1:])
	if len(state) != 1 || state[0] <= ' ' {
		return errStat
	}
	n := 1
	for n < statFields {
		value, after, ok := nextInteger(rest)
		if !ok {
			return errStat
		}
		if after == nil {
			break
		}
		n++
		v[n], rest = value, after
	}
	if n < 22 { // up to rss: every kernel since 2.6 has more
		return errStat
	}
	*s = Stat{Comm: text[open+1 : shut], StatNumbers: StatNumbers{
		PID: int32(pid), State: state[0],
		PPID: int32(v[2]), PGrp: int32(v[3]), Session: int32(v[4]), TTY: uint32(v[5]), TPGID: int32(v[6]),
		Flags: v[7], MinFlt: v[8], CMinFlt: v[9], MajFlt: v[10], CMajFlt: v[11],
		UTime: v[12], STime: v[13], CUTime: int64(v[14]), CSTime: int64(v[15]),
		Priority: int64(v[16]), Nice: int64(v[17]), Threads: int64(v[18]),
		StartTime: v[20], VSize: v[21], RSS: int64(v[22]),
		StartCode: v[24], StartStack: v[26], Ignored: v[31], WChan: v[33],
		ExitSignal: int64(v[36]), Processor: int64(v[37]), RTPriority: v[38], Policy: v[39],
		BlkIOTicks: v[40], GuestTime: v[41], CGuestTime: int64(v[42]), ExitCode: v[50],
	}}
	return nil
}
