package perf

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"tachograph/sample/proc/procfs"
	"tachograph/sample/stack"
	"tachograph/sample/stack/symbol"
)

// written names code that programs made at run time, from what they write about it: Node, Python,
// Java and others, if they are asked to.
type written struct {
	root  string // of the machine
	texts map[int32]*writtenText
	bytes int           // of all texts
	left  time.Duration // for reading them
}

// writtenText is the text of one process.
type writtenText struct {
	asked  time.Time // when it was last looked for
	inode  uint64
	device uint64
	names  *symbol.PerfMap // nil if there is no text, or none that may be believed
}

// Limits of what is read in a session. A big program of Node's writes some 100,000 lines.
const (
	maxWritten   = 1024     // processes
	writtenBytes = 16 << 20 // of memory for all names
	writtenTime  = 2 * time.Second
	oneText      = 500 * time.Millisecond
	// writtenOften is how often a text is looked at again.
	writtenOften = time.Second
)

func newWritten() *written {
	return &written{root: "/", texts: make(map[int32]*writtenText), left: writtenTime}
}

// name names those frames of a stack of q that are in no file's code.
func (w *written) name(q *process, frames []stack.Frame) {
	for i := range frames {
		f := &frames[i]
		if f.Name != "" || f.Image != nil || f.Kernel {
			continue
		}
		at := f.Address
		if i > 0 && !frames[i-1].Kernel {
			at-- // where a call returns to
		}
		if t := w.of(q.pid); t.names != nil {
			f.Name, _ = t.names.Find(at)
		}
	}
}

// of returns the text of a process, as it was within the last second.
func (w *written) of(pid int32) *writtenText {
	t := w.texts[pid]
	if t == nil {
		if len(w.texts) >= maxWritten {
			clear(w.texts)
			w.bytes = 0
		}
		t = new(writtenText)
		w.texts[pid] = t
	} else if time.Since(t.asked) < writtenOften {
		return t
	}
	t.asked = time.Now()
	before := *t
	if t.names != nil {
		w.bytes -= t.names.Bytes()
	}
	room := writtenBytes - w.bytes
	now, err := symbol.Within(&w.left, oneText, func() (writtenText, error) { return readWritten(w.root, pid, before, room) })
	switch {
	case err == nil:
		t.inode, t.device, t.names = now.inode, now.device, now.names
	case !errors.Is(err, symbol.ErrSlow):
		t.names = nil
	}
	if t.names != nil {
		w.bytes += t.names.Bytes()
	}
	return t
}

var errBelieve = errors.New("it is not the process's own")

// readWritten reads the text that process pid has written. It is where the process sees /tmp, under
// the number that the process has in its own namespace. It has to belong to the process's user, or
// to root: otherwise any user could name another one's functions. And it has to be younger than the
// process, because an earlier one may have had the same number.
func readWritten(root string, pid int32, before writtenText, room int) (t writtenText, err error) {
	dir := fmt.Sprintf("%sproc/%d/", root, pid)
	text, err := os.ReadFile(dir + "status")
	if err != nil {
		return t, err
	}
	var status procfs.Status
	status.Parse(text)
	if status.Inner == 0 {
		status.Inner = uint64(pid) // a kernel without namespaces
	}
	f, st, err := openRegular(fmt.Sprintf("%sroot/tmp/perf-%d.map", dir, status.Inner), unix.O_NOFOLLOW)
	if err != nil {
		return t, err
	}
	defer f.Close()
	if uint64(st.Uid) != status.EUID && st.Uid != 0 {
		return t, errBelieve
	}
	began, err := beginning(dir)
	if err != nil {
		return t, err
	}
	if time.Unix(st.Mtim.Unix()).Before(began) {
		return t, errBelieve
	}
	if before.inode != st.Ino || before.device != st.Dev {
		before.names = nil
	}
	t = writtenText{inode: st.Ino, device: st.Dev}
	t.names, err = symbol.ReadPerfMap(f, st.Size, before.names, room)
	return t, err
}

// beginning returns when the process in a directory of /proc began, by the wall clock, and at most
// a few seconds too early.
func beginning(dir string) (time.Time, error) {
	const each, clocks = time.Second / 100, 2 * time.Second // of the clock of files, and of the wall's
	st, err := readStat(dir + "stat")
	if err != nil {
		return time.Time{}, err
	}
	var up unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &up); err != nil {
		return time.Time{}, err
	}
	return time.Now().Add(time.Duration(st.StartTime)*each - time.Duration(up.Nano()) - clocks), nil
}
