package listen

import (
	"context"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"
)

// A pace is how often a Lasting socket checks whether its file is still there: every seldom, and
// for awhile after Look every often.
type pace struct{ seldom, often, awhile time.Duration }

var usualPace = pace{seldom: 2 * time.Second, often: 10 * time.Millisecond, awhile: 3 * time.Second}

// Lasting is a unix socket whose file other programs may remove. Some remove it when they have
// lost the server that listened there, even if it is already back. Lasting then makes the socket
// again.
type Lasting struct {
	open   func() (*Socket, error)
	pace   pace
	log    *slog.Logger
	ctx    context.Context
	cancel context.CancelFunc
	conns  chan net.Conn
	looks  chan struct{}
	tasks  sync.WaitGroup

	mu  sync.Mutex
	now *Socket
}

// Last is like Unix, but keeps the socket until the listener is closed, whatever happens to the
// file.
func Last(option, path string, mode os.FileMode, group string, log *slog.Logger) (*Lasting, error) {
	return last(usualPace, func() (*Socket, error) { return Unix(option, path, mode, group) }, log)
}

func last(p pace, open func() (*Socket, error), log *slog.Logger) (*Lasting, error) {
	l := &Lasting{open: open, pace: p, log: log, conns: make(chan net.Conn), looks: make(chan struct{}, 1)}
	s, err := l.open()
	if err != nil {
		return nil, err
	}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	l.begin(s)
	l.tasks.Go(l.watch)
	return l, nil
}

// begin accepts the connections to s until s is closed.
func (l *Lasting) begin(s *Socket) {
	l.mu.Lock()
	l.now = s
	l.mu.Unlock()
	l.tasks.Go(func() {
		for {
			c, err := s.Accept()
			if err != nil {
				if l.current() != s || l.ctx.Err() != nil {
					return
				}
				// No descriptor is free, or the client has already gone.
				l.log.Warn("somebody cannot be let in", "why", err.Error())
				if _, ok := l.pause(l.pace.seldom); !ok {
					return
				}
				continue
			}
			select {
			case l.conns <- c:
			case <-l.ctx.Done():
				c.Close()
				return
			}
		}
	})
}

func (l *Lasting) current() *Socket {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.now
}

// Look has the file checked at once, and again soon. Callers use it when a client has gone,
// because that client may remove the file.
func (l *Lasting) Look() {
	select {
	case l.looks <- struct{}{}:
	default: // a check is already due
	}
}

// pause waits for d or until Look is called; ok is false when the listener is closed.
func (l *Lasting) pause(d time.Duration) (asked, ok bool) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return false, true
	case <-l.looks:
		return true, true
	case <-l.ctx.Done():
		return false, false
	}
}

// watch makes the socket again if its file is gone or has been replaced.
func (l *Lasting) watch() {
	told := ""
	var until time.Time
	for {
		next := l.pace.seldom
		if time.Now().Before(until) {
			next = l.pace.often
		}
		asked, ok := l.pause(next)
		if !ok {
			return
		}
		if asked {
			until = time.Now().Add(l.pace.awhile)
		}
		s := l.current()
		if s.Mine() {
			continue
		}
		anew, err := l.open()
		if err != nil {
			if told != err.Error() {
				told = err.Error()
				l.log.Warn("the socket was taken away and cannot be made anew yet", "why", told)
			}
			continue
		}
		told = ""
		l.log.Info("the file of the socket was taken away; it is there again", "path", anew.path)
		l.begin(anew)
		s.Close()
	}
}

// Accept waits for the next connection.
func (l *Lasting) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.ctx.Done():
		return nil, net.ErrClosed
	}
}

// Addr returns the address of the present socket.
func (l *Lasting) Addr() net.Addr { return l.current().Addr() }

// Close closes the listener, and removes the file if it is its own.
func (l *Lasting) Close() error {
	l.cancel()
	s := l.current()
	err := s.Close()
	l.tasks.Wait()
	if now := l.current(); now != s {
		now.Close() // made while s was being closed
		s = now
	}
	s.Remove()
	return err
}
