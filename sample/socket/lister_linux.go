package socket

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"tachograph/sample/stack/perf"
)

// DiagLister is the Lister of Linux. It asks every network namespace by a netlink socket of its
// own, and hears there, by another, of sockets that close.
type DiagLister struct {
	hearer Hearer
	waiter *Waiter

	mu       sync.Mutex // held while sockets are passed on
	rooms    map[uint64]*room
	spaces   spaces
	decoder  decoder
	receiver *receiver
	socket   Socket
	lost     uint64 // in namespaces that are gone
	// trace hears of connections that processes begin; if it is nil, untraced says why.
	trace    *perf.Tracepoint
	starts   *starts
	untraced error
}

// room is a network namespace. The recorder's own has number 0.
type room struct {
	namespace uint64
	diag      *Diagnoser
	closings  *closings
	met       uint64 // in which list a process was in it last
}

// Open makes a Lister of the network namespace of the calling thread. From now on h hears of the
// sockets that close, also from a goroutine.
func Open(h Hearer) (*DiagLister, error) {
	r, err := openRoom(0)
	if err != nil {
		return nil, err
	}
	w, err := NewWaiter()
	if err != nil {
		r.close()
		return nil, err
	}
	l := &DiagLister{hearer: h, waiter: w, rooms: make(map[uint64]*room), receiver: newReceiver()}
	if err := l.add(r); err != nil {
		w.Close()
		r.close()
		return nil, err
	}
	l.follow()
	w.Start(l.hear)
	return l, nil
}

// startFilter lets through the changes of state that starts needs: to SYN_SENT and from it.
const startFilter = "newstate==2||oldstate==2"

// follow begins to hear which process begins which connection, where the kernel lets it. Only
// a connection that no list has needs it.
func (l *DiagLister) follow() {
	t, err := perf.OpenTracepoint("sock/inet_sock_set_state", startFilter)
	if err == nil {
		if l.starts = newStarts(t.Format); l.starts != nil {
			l.trace = t
			return
		}
		t.Close()
		err = errors.New("the tracepoint has other fields")
	}
	l.untraced = err
}

// openRoom opens the network namespace of the calling thread.
func openRoom(namespace uint64) (*room, error) {
	diag, err := OpenDiagnoser()
	if err != nil {
		return nil, err
	}
	// The kernel may lack what answers, or may load it only now.
	if _, err := diag.ask(listening, 0, func([]byte) {}); err != nil {
		diag.Close()
		return nil, err
	}
	c, err := openClosings()
	if err != nil {
		diag.Close()
		return nil, err
	}
	return &room{namespace: namespace, diag: diag, closings: c}, nil
}

func (r *room) close() {
	r.diag.Close()
	r.closings.close()
}

func (l *DiagLister) add(r *room) error {
	if err := l.waiter.Add(r.closings.fd); err != nil {
		return fmt.Errorf("netlink socket events: %w", err)
	}
	l.rooms[r.namespace] = r
	return nil
}

// List implements Lister. While it passes sockets, the goroutine passes nothing: a socket that
// closes is passed as closed after it has been passed as open.
func (l *DiagLister) List(h Hearer) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.visit()
	var failed error
	for _, r := range l.rooms {
		if err := l.list(r, h); err != nil && r.namespace == 0 {
			failed = err
		} else if err != nil {
			l.spaces.unread[r.namespace] = unread{err, l.spaces.list}
			l.leave(r)
		}
	}
	l.take()
	if l.trace != nil {
		l.starts.listed()
	}
	return failed
}

func (l *DiagLister) list(r *room, h Hearer) error {
	pass := func(b []byte) {
		if l.decoder.open(b, r.namespace, &l.socket) {
			h.Hear(&l.socket)
		}
	}
	if _, err := r.diag.ask(listening, askSKMemInfo, pass); err != nil {
		return err
	}
	torn, err := r.diag.ask(connected, askInfo|askCong, pass)
	if err == nil && torn {
		_, err = r.diag.ask(connected, askInfo|askCong, pass)
	}
	return err
}

// take passes on the closed sockets that the kernel has reported, and returns their number.
func (l *DiagLister) take() (n int) {
	if l.trace != nil {
		l.trace.Each(l.starts.hear)
	}
	for _, r := range l.rooms {
		n += l.receiver.receive(r.closings, func(b []byte) {
			if !l.decoder.closed(b, r.namespace, &l.socket) {
				return
			}
			if l.trace != nil {
				l.socket.PID = l.starts.of(&l.socket)
			}
			l.hearer.Hear(&l.socket)
		})
	}
	return n
}

// hear takes in closings as they come. They may wait in the kernel, so that a burst does not wake
// the recorder for each, as long as there is room for them: Linux 6.18 takes 1,280 bytes for each, so that
// 13,000 fit into 16 MB.
func (l *DiagLister) hear() (messages int, pause time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	pause = time.Second
	for _, r := range l.rooms {
		if !r.closings.roomy {
			pause = 10 * time.Millisecond // as few as 300 fit
		}
	}
	return l.take(), pause
}

// leave closes a namespace.
func (l *DiagLister) leave(r *room) {
	l.lost += r.closings.lost()
	r.close()
	delete(l.rooms, r.namespace)
}

// Lost implements Lister.
func (l *DiagLister) Lost() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.lost
	for _, r := range l.rooms {
		n += r.closings.lost()
	}
	return n
}

// Close ends the goroutine and closes everything.
func (l *DiagLister) Close() error {
	l.waiter.Close()
	for _, r := range l.rooms {
		r.close()
	}
	if l.trace != nil {
		l.trace.Close()
	}
	return nil
}
