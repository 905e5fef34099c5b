package proc

import (
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"tachograph/sample/darwin"
	"tachograph/sample/darwin/sys"
	"tachograph/sample/proc/libproc"
	"tachograph/sample/report"
)

// exitWatch waits in a kqueue for exits and execs. A process that has ended is a zombie until
// its parent waits for it: that is the time to fetch its last totals.
type exitWatch struct {
	kq   int
	done chan struct{}

	sync.Mutex
	events  []macEvent
	flavour int32
	// flushed receives a message once all events before a flush have been taken in.
	flushed chan struct{}
	// Scratch of Add.
	changes, receipts []unix.Kevent_t
}

const (
	flushIdent   = 1
	quitIdent    = 2
	withoutCause = unix.NOTE_EXIT | unix.NOTE_EXEC
	followed     = withoutCause | unix.NOTE_EXITSTATUS | unix.NOTE_EXIT_DETAIL
	// flushPatience bounds how long a sweep waits for the watch to catch up.
	flushPatience = 200 * time.Millisecond
)

// watchExits returns nil if no kqueue can be made: then only sweeps notice exits.
func watchExits() macWatch {
	kq, err := unix.Kqueue()
	if err != nil {
		return nil
	}
	unix.CloseOnExec(kq)
	w := &exitWatch{kq: kq, done: make(chan struct{}), flushed: make(chan struct{}, 1), flavour: libproc.NewestRusage}
	var user [2]unix.Kevent_t
	unix.SetKevent(&user[0], flushIdent, unix.EVFILT_USER, unix.EV_ADD|unix.EV_CLEAR)
	unix.SetKevent(&user[1], quitIdent, unix.EVFILT_USER, unix.EV_ADD|unix.EV_CLEAR)
	if _, err := unix.Kevent(kq, user[:], nil, nil); err != nil {
		unix.Close(kq)
		return nil
	}
	go w.run()
	return w
}

// Add watches processes. One that has ended by now is not watched, and one whose exit status
// the kernel keeps from us is watched without it.
func (w *exitWatch) Add(pids []int32) {
	for len(pids) > 0 {
		n := min(len(pids), 256)
		w.register(pids[:n], followed)
		pids = pids[n:]
	}
}

func (w *exitWatch) register(pids []int32, notes uint32) {
	w.changes = w.changes[:0]
	for _, pid := range pids {
		var e unix.Kevent_t
		unix.SetKevent(&e, int(pid), unix.EVFILT_PROC, unix.EV_ADD|unix.EV_RECEIPT|unix.EV_CLEAR)
		e.Fflags = notes
		w.changes = append(w.changes, e)
	}
	if cap(w.receipts) < len(w.changes) {
		w.receipts = make([]unix.Kevent_t, len(w.changes))
	}
	w.receipts = w.receipts[:len(w.changes)]
	n, err := unix.Kevent(w.kq, w.changes, w.receipts, nil)
	if err != nil || notes == withoutCause {
		return
	}
	var again []int32
	for _, r := range w.receipts[:n] {
		if r.Flags&unix.EV_ERROR != 0 && (r.Data == int64(unix.EACCES) || r.Data == int64(unix.EPERM)) {
			again = append(again, int32(r.Ident))
		}
	}
	if len(again) > 0 {
		w.register(again, withoutCause)
	}
}

func (w *exitWatch) run() {
	defer close(w.done)
	happened := make([]unix.Kevent_t, 64)
	for {
		n, err := unix.Kevent(w.kq, nil, happened, nil)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return
		}
		for i := range happened[:n] {
			e := &happened[i]
			switch {
			case e.Filter == unix.EVFILT_PROC:
				w.note(e)
			case e.Ident == quitIdent:
				return
			case e.Ident == flushIdent:
				select {
				case w.flushed <- struct{}{}:
				default:
				}
			}
		}
	}
}

// note takes in an event of one process, and reads the zombie's totals before its parent waits
// for it.
func (w *exitWatch) note(e *unix.Kevent_t) {
	at := darwin.Now()
	pid := int32(e.Ident)
	w.Lock()
	defer w.Unlock()
	if e.Fflags&unix.NOTE_EXEC != 0 {
		w.events = append(w.events, macEvent{pid: pid, exec: true, at: at})
	}
	if e.Fflags&unix.NOTE_EXIT == 0 {
		return
	}
	end := macEvent{pid: pid, at: at, status: int(e.Data) & 0xffff, known: e.Fflags&unix.NOTE_EXITSTATUS != 0, usage: w.lastUsage(pid)}
	if e.Fflags&unix.NOTE_EXIT_DETAIL != 0 {
		if end.idle = report.EndedIdle(uint32(e.Data)); !end.idle {
			end.cause = report.ExitDetail(uint32(e.Data))
		}
	}
	w.events = append(w.events, end)
}

func (w *exitWatch) lastUsage(pid int32) []byte {
	for {
		b := make([]byte, libproc.RusageSize(w.flavour))
		switch errno := sys.PidRusage(pid, w.flavour, b); {
		case errno == 0:
			return b
		case errno == unix.EINVAL && w.flavour > 0:
			w.flavour--
		default:
			return nil // refused, or its parent was quicker
		}
	}
}

// catchUp waits until the watch has taken in the events in the queue, which include the exits
// of all processes that the last listing no longer shows.
func (w *exitWatch) catchUp() {
	select {
	case <-w.flushed:
	default:
	}
	var trigger [1]unix.Kevent_t
	unix.SetKevent(&trigger[0], flushIdent, unix.EVFILT_USER, 0)
	trigger[0].Fflags = unix.NOTE_TRIGGER
	if _, err := unix.Kevent(w.kq, trigger[:], nil, nil); err == nil {
		select {
		case <-w.flushed:
		case <-time.After(flushPatience):
		}
	}
}

// Take lets the watch catch up first.
func (w *exitWatch) Take(each func(e *macEvent)) {
	w.catchUp()
	w.Lock()
	defer w.Unlock()
	for i := range w.events {
		each(&w.events[i])
	}
	clear(w.events)
	w.events = w.events[:0]
}

func (w *exitWatch) Close() {
	var trigger [1]unix.Kevent_t
	unix.SetKevent(&trigger[0], quitIdent, unix.EVFILT_USER, 0)
	trigger[0].Fflags = unix.NOTE_TRIGGER
	if _, err := unix.Kevent(w.kq, trigger[:], nil, nil); err == nil {
		<-w.done
	}
	unix.Close(w.kq)
}
