package socket

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"net/netip"
	"sync"
	"syscall"
)

// control is a control socket of the statistics of macOS. The kernel answers a request while it
// is sent, so there is nothing to wait for.
type control interface {
	send(request []byte) error
	// receive reads one datagram, and returns 0 if there is none.
	receive(to []byte) (int, error)
}

// statistics asks for the connections of a Mac. Sockets that close are passed on while answers
// are read: by List, and by drain whenever the kernel's buffer fills up in between.
type statistics struct {
	ctl control
	// nanoseconds converts ticks of the continuous clock.
	nanoseconds func(ticks uint64) int64
	// backlogs returns the queues of the sockets that listen on an address: how many connections
	// wait, and how many may.
	backlogs func() map[netip.AddrPort][]Bytes
	loopback uint32 // index of lo0
	uid      uint32 // the recorder's

	mu      sync.Mutex
	hear    Hearer
	sources map[uint64]*ntSource // open ones
	ids     map[uint64]*ntSource // the same
	names   map[string]string
	context uint64
	round   uint64
	buf     []byte
	socket  Socket                     // scratch of update
	foreign bool                       // a socket of another user was there
	users   bool                       // sockets have their users
	queues  map[netip.AddrPort][]Bytes // of this look, and not yet given to a socket
	// Of the current answer: how many updates it has, and whether processes are missing.
	updates    int
	incomplete bool
}

// ntSource is what the client keeps of an open source.
type ntSource struct {
	id    uint64
	seen  uint64 // the last round that had it
	heard uint64 // the last round that passed it on
	// established and listened say that it was ever in such a state.
	established, listened bool
	nameless              uint8 // how often the kernel did not name its process
}

// maxNameless is how often to ask again for the process of a source. Since macOS 27 the kernel
// looks for it only when it is asked; sockets of the kernel itself have none.
const maxNameless = 2

// Bounds of a round of questions.
const (
	maxFragments = 1 << 16
	maxRetries   = 16
)

// errWithheld is returned by subscribe if the kernel refuses to say anything.
var errWithheld = errors.New("the kernel refuses its network statistics")

func newStatistics(ctl control) *statistics {
	return &statistics{
		ctl: ctl, sources: make(map[uint64]*ntSource), ids: make(map[uint64]*ntSource), names: make(map[string]string),
		nanoseconds: func(t uint64) int64 { return int64(t) }, buf: make([]byte, 64<<10),
	}
}

// subscribe asks for all kinds of sources. Old kernels lack the last.
func (c *statistics) subscribe() error {
	refused := error(nil)
	have := 0
	for _, p := range ntProviders {
		c.context++
		err := c.ctl.send(addAllSources(c.context, p))
		a, errRead := c.read()
		switch {
		case errRead != nil:
			return errRead
		case a.errno != 0:
			err = syscall.Errno(a.errno)
		}
		if err != nil {
			refused = err
		} else {
			have++
		}
	}
	switch {
	case have > 0:
		return nil
	case errors.Is(refused, syscall.EPERM):
		return fmt.Errorf("%w: %w", errWithheld, refused)
	}
	return fmt.Errorf("com.apple.network.statistics: %w", refused)
}

// List implements Lister.
func (c *statistics) List(h Hearer) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hear = h
	c.queues = nil
	if c.backlogs != nil {
		c.queues = c.backlogs()
	}
	c.round++
	for again := true; again; again = c.incomplete {
		c.incomplete = false
		if err := c.ask(); err != nil {
			return err
		}
	}
	for ref, x := range c.sources {
		if x.seen != c.round {
			c.forget(ref, x)
		}
	}
	return nil
}

// Errors of answers, as Darwin numbers them.
const (
	ntENOMEM  = 12
	ntEAGAIN  = 35
	ntENOBUFS = 55
)

// ask goes through all sources, fragment by fragment.
func (c *statistics) ask() error {
	var request [24]byte
	retries := 0
	c.context++
	for range maxFragments {
		c.updates = 0
		// Where there was no room for the answer, it is short and the question has to be repeated.
		err := c.ctl.send(getUpdates(&request, c.context))
		a, errRead := c.read()
		if errRead != nil {
			return errRead
		}
		if n, ok := err.(syscall.Errno); ok {
			a.errno = uint32(n)
		} else if err != nil {
			return err
		}
		switch {
		case a.errno == ntEAGAIN:
			c.context++
		case a.errno == ntENOMEM || a.errno == ntENOBUFS:
		case a.errno != 0:
			return fmt.Errorf("com.apple.network.statistics: %w", syscall.Errno(a.errno))
		case a.success && !a.more:
			return nil
		}
		if c.updates > 0 {
			retries = 0
		} else if retries++; retries > maxRetries {
			break
		}
	}
	return errors.New("com.apple.network.statistics: the kernel does not list all connections")
}

// drain takes in what the kernel reported by itself.
func (c *statistics) drain() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, err := c.read()
	return err
}

// ntAnswer is the answer to the current question.
type ntAnswer struct {
	success, more bool
	errno         uint32
}

// read takes in all messages that have arrived. What is malformed is skipped.
func (c *statistics) read() (a ntAnswer, err error) {
	for {
		n, err := c.ctl.receive(c.buf)
		if err != nil || n <= 0 {
			return a, err
		}
		m, rest, ok := cutStatistic(c.buf[:min(n, len(c.buf))])
		for ; ok; m, rest, ok = cutStatistic(rest) {
			switch m.kind() {
			case ntSuccess:
				if m.context() == c.context {
					a.success, a.more = true, m.flags()&ntContinuation != 0
				}
			case ntError:
				if e, ok := m.errno(); ok && m.context() == c.context {
					a.errno = e
				}
			case ntSourceUpdate:
				c.update(m)
			case ntSourceRemoved:
				// What has not been reported closed by now vanishes.
				if ref, ok := m.source(); ok && c.sources[ref] != nil {
					c.forget(ref, c.sources[ref])
				}
			}
		}
	}
}

// update passes on what an update says.
func (c *statistics) update(m ntMessage) {
	s := &c.socket
	flow, ok := m.update(s, c.intern)
	ref, numbered := m.source()
	if !ok || !numbered {
		return
	}
	c.updates++
	x := c.sources[ref]
	if x == nil {
		x = &ntSource{id: c.identify(s, &flow, ref)}
		c.sources[ref], c.ids[x.id] = x, x
	}
	x.seen = c.round
	x.established = x.established || flow.succeeded || s.State.synchronized()
	x.listened = x.listened || s.State == Listen
	s.ID = x.id
	s.Start = c.nanoseconds(flow.start)
	s.Loopback = s.Interface != 0 && s.Interface == c.loopback || s.Peer.Addr().IsLoopback()
	if s.Has&HasUID != 0 {
		c.users, c.foreign = true, c.foreign || s.UID != c.uid
	}
	switch {
	case s.Closed:
		x.end(s)
		c.forget(ref, x)
	case x.heard == c.round:
		return
	case s.PID == 0 && s.Unique == 0 && x.nameless < maxNameless:
		x.nameless++
		c.incomplete = true
		return
	case s.PID == 0 && s.Unique == 0:
		s.PID = KernelPID
	}
	if s.State == Listen && !s.Closed {
		c.queue(s)
	}
	x.heard = c.round
	if c.hear != nil {
		c.hear.Hear(s)
	}
}

func (c *statistics) forget(ref uint64, x *ntSource) {
	delete(c.sources, ref)
	delete(c.ids, x.id)
}

// synchronized reports whether both sides of a connection have known of it.
func (s State) synchronized() bool {
	return s == Established || s >= FinWait1 && s != Closed && s != Listen
}

// queue gives a socket that listens its queue. Several that listen on one address are listed in
// no order.
func (c *statistics) queue(s *Socket) {
	l := c.queues[s.Local]
	if len(l) == 0 {
		return
	}
	s.Has |= HasQueues
	s.Received, s.Unsent = l[0].In, l[0].Out
	if len(l) > 1 {
		c.queues[s.Local] = l[1:]
	}
}

// end completes the last words about a socket.
func (x *ntSource) end(s *Socket) {
	switch {
	case x.listened:
		s.State = Listen
	case s.Protocol == TCP:
		s.State = Closed
		if !x.established && s.Bytes == (Bytes{}) {
			s.Ended = Refused
		}
	}
}

// identify returns the number of a socket. The kernel's own differs from client to client, so
// that of a recorder that starts again would not fit; the time of the start is the same for all.
func (c *statistics) identify(s *Socket, f *ntFlow, ref uint64) uint64 {
	h := fnv.New64a()
	var b [8]byte
	add := func(v uint64) {
		binary.LittleEndian.PutUint64(b[:], v)
		h.Write(b[:])
	}
	add(f.start)
	add(uint64(f.provider))
	if f.start == 0 {
		add(s.Unique)
	}
	if id := h.Sum64(); f.start != 0 && c.ids[id] == nil && id != 0 {
		return id
	}
	// Another one began in the same tick.
	for _, a := range []netip.AddrPort{s.Local, s.Peer} {
		ip := a.Addr().As16()
		h.Write(ip[:])
		add(uint64(a.Port()))
	}
	if id := h.Sum64(); c.ids[id] == nil && id != 0 {
		return id
	}
	add(ref)
	return h.Sum64()
}

func (c *statistics) intern(b []byte) string {
	if s, ok := c.names[string(b)]; ok {
		return s
	}
	s := string(b)
	if len(c.names) < 64 {
		c.names[s] = s
	}
	return s
}

// Lost implements Lister. A source that the kernel had no room to report is missing in the next
// list; how many began and ended in between nobody knows.
func (c *statistics) Lost() uint64 { return 0 }

const ownUserOnly = "only the connections of the recorder's own user are shown: since macOS 27 the kernel shows those of others only to root"

// Notice implements Lister. Every Mac has daemons of other users with sockets.
func (c *statistics) Notice() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.users && !c.foreign && c.uid != 0 {
		return ownUserOnly
	}
	return ""
}
