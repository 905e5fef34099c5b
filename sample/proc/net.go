package proc

import (
	"runtime"
	"time"

	"tachograph/sample"
	"tachograph/sample/metric"
	"tachograph/sample/socket"
)

// network holds the lister of connections and the book that adds them up. The list is made
// after that of the processes, so that the process of each socket can be found, and before any row is
// filled.
type network struct {
	lister socket.Lister // nil where connections cannot be listed
	lacks  string        // why they cannot
	// spaces has the lister know how many network namespaces it may read; nil where there are none.
	spaces func() error
	book   *socket.Book
	// cpu returns the processor time of the calling thread; it is nil where a list costs nothing.
	cpu func() time.Duration
	// listed says that there has been a list. left is the processor time that lists may still take,
	// as of the time at of the continuous clock.
	listed bool
	left   time.Duration
	at     int64
	// why says why this sweep does not know what was transferred.
	why metric.Reason
	// How many network namespaces are read, and how many are not.
	namespaces, unread int
	// What connections transferred while they had no values of their own, and how many of the open
	// ones have none, as of the last time when connections were chosen.
	others  socket.Bytes
	unnamed int
	// holders counts the processes that are known to hold one of these sockets; nil where the
	// kernel names the only one.
	holders func(inodes []uint64) int
	// mourned are the holders whose processes have ended since the last list, which may still
	// have something of theirs.
	mourned []*socket.Holder
}

func newNetwork() network {
	return network{book: socket.NewBook(), left: listSaved, why: metric.NotRead}
}

func (n *network) close() error {
	if n.lister == nil {
		return nil
	}
	return n.lister.Close()
}

// Lists may take a two hundredth of one processor in the long run, and what has been saved up
// until then.
const (
	listShare = 200
	listSaved = 100 * time.Millisecond
)

// listedLess is why there are no totals in a sweep that lists no connections. The totals of the
// sweep before would look like a network at rest.
var listedLess = metric.ReasonFor("connections are listed less often, because there are many")

// allowed reports whether lists may take any time now.
func (n *network) allowed(now metric.Stamp) bool {
	n.left = min(listSaved, n.left+time.Duration(max(0, now.Cont-n.at)/listShare))
	n.at = now.Cont
	return n.left > 0
}

// lackNet marks the metrics that need a list of connections as those that this machine lacks.
func (s *processes[P, R]) lackNet() {
	for i := range s.transfers.columns {
		lack(s.groups[0].Metrics[s.transfers.first+i], s.net.lacks)
	}
	for _, g := range s.traffic.follows() {
		for _, d := range g.Metrics {
			lack(d, s.net.lacks)
		}
	}
}

func lack(d *metric.Desc, why string) {
	if d.Unsupported == "" {
		d.Unsupported = why
	}
}

// listSockets finds out what each process has transferred.
func (s *processes[P, R]) listSockets(c *sample.Context, now metric.Stamp) {
	n := &s.net
	switch {
	case n.lister == nil:
		return
	case !n.allowed(now):
		n.why = listedLess
	default:
		s.meetNew(c, now)
		s.k.letGo(c, now)
		if s.traffic.chooses(s.afterwards[0]) {
			n.book.Name(s.opt.Network.Named)
		}
		n.why = n.list(now)
		c.Now()
		s.k.findHolders(c, now)
	}
	n.book.Settle(s.table.sweeps)
	if n.why != listedLess {
		for i, h := range n.mourned {
			n.book.End(h)
			n.mourned[i] = nil
		}
		n.mourned = n.mourned[:0]
	}
	if s.again != nil && s.transfers.wanted && n.why != s.done[c.Class].net {
		s.again = nil
	}
}

func (n *network) list(now metric.Stamp) metric.Reason {
	var before time.Duration
	if n.cpu != nil {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		before = n.cpu()
	}
	err := n.book.Look(n.lister, now.Cont)
	n.listed = true
	if n.cpu != nil {
		n.left -= n.cpu() - before
	}
	if err != nil {
		return sample.ReasonOf(err)
	}
	return metric.Present
}

// meetNew meets the processes that no sweep has met: whose sockets are can only be said of those
// that have been met.
func (s *processes[P, R]) meetNew(c *sample.Context, now metric.Stamp) {
	for i, pid := range s.listing {
		if s.table.lookup(pid) != nil {
			continue
		}
		if i%walkTogether == walkTogether-1 && c.Late() {
			return
		}
		if p := s.k.meet(c, pid, now); p != nil {
			p.ahead = s.table.sweeps
		}
	}
}

// hold returns the holder of p's sockets.
func (s *census[P]) hold(p *process[P]) *socket.Holder {
	if p.held == nil {
		p.held = s.net.book.NewHolder(p)
	}
	return p.held
}

// findNamed finds whose sockets are where the kernel names the process.
func (s *census[P]) findNamed() {
	s.net.book.Find(func(t socket.Trace) (*socket.Holder, bool) {
		if t.PID == socket.KernelPID {
			t.PID, t.Unique = 0, 0
		}
		if p := s.table.lookup(t.PID); p != nil && p.start == t.Unique {
			return s.hold(p), false
		}
		for _, p := range s.table.gone {
			if p.pid == t.PID && p.start == t.Unique {
				return s.hold(p), false
			}
		}
		return nil, false
	})
}

// transferred reports whether what p has transferred has changed since its last row.
func (s *processes[P, R]) transferred(p *process[P]) bool {
	return p.held != nil && p.held.Changed > s.since
}

// netColumns are what processes transferred.
var netColumns = []struct {
	name string
	get  func(t *socket.Totals) uint64
}{
	{"proc.net.in_bytes", func(t *socket.Totals) uint64 { return t.All().In }},
	{"proc.net.out_bytes", func(t *socket.Totals) uint64 { return t.All().Out }},
	{"proc.net.retrans_bytes", func(t *socket.Totals) uint64 { return t.Retrans }},
	{"proc.net.tcp.in_bytes", func(t *socket.Totals) uint64 { return t.Bytes[socket.TCP].In }},
	{"proc.net.tcp.out_bytes", func(t *socket.Totals) uint64 { return t.Bytes[socket.TCP].Out }},
	{"proc.net.udp.in_bytes", func(t *socket.Totals) uint64 { return t.Bytes[socket.UDP].In }},
	{"proc.net.udp.out_bytes", func(t *socket.Totals) uint64 { return t.Bytes[socket.UDP].Out }},
	{"proc.net.quic.in_bytes", func(t *socket.Totals) uint64 { return t.Bytes[socket.QUIC].In }},
	{"proc.net.quic.out_bytes", func(t *socket.Totals) uint64 { return t.Bytes[socket.QUIC].Out }},
	{"proc.net.loopback.in_bytes", func(t *socket.Totals) uint64 { return t.Loopback.In }},
	{"proc.net.loopback.out_bytes", func(t *socket.Totals) uint64 { return t.Loopback.Out }},
	{"proc.net.wifi.in_bytes", func(t *socket.Totals) uint64 { return t.Media[socket.Wifi].In }},
	{"proc.net.wifi.out_bytes", func(t *socket.Totals) uint64 { return t.Media[socket.Wifi].Out }},
	{"proc.net.wired.in_bytes", func(t *socket.Totals) uint64 { return t.Media[socket.Wired].In }},
	{"proc.net.wired.out_bytes", func(t *socket.Totals) uint64 { return t.Media[socket.Wired].Out }},
	{"proc.net.cellular.in_bytes", func(t *socket.Totals) uint64 { return t.Media[socket.Cellular].In }},
	{"proc.net.cellular.out_bytes", func(t *socket.Totals) uint64 { return t.Media[socket.Cellular].Out }},
	{"proc.net.opened", func(t *socket.Totals) uint64 { return t.Opened }},
	{"proc.net.accepted", func(t *socket.Totals) uint64 { return t.Accepted }},
	{"proc.net.refused", func(t *socket.Totals) uint64 { return t.Refused }},
	{"proc.net.failed", func(t *socket.Totals) uint64 { return t.Failed }},
}

// awaited reports whether the kernel may still report what an ended process transferred last:
// until the next list, and for a while if a connection is gone of which no report has come.
func (s *processes[P, R]) awaited(p *process[P]) bool {
	return s.sockets && p.held != nil && p.held.Open+p.held.Owing > 0 && !p.held.Ended()
}

// noSockets are the totals of a process that never had any.
var noSockets socket.Holder

// supplyNet adds the columns of what a process transferred. Of a process that has ended they are
// in its last row, unless no sweep met it: then nobody knows.
func (s *processes[P, R]) supplyNet() {
	shown := func() *socket.Holder {
		if h := s.filling.held; h != nil {
			return h
		}
		return &noSockets
	}
	columns := []column[R]{{name: "proc.net.connections", number: func(*R) uint64 { return uint64(shown().Open) }}}
	for _, c := range netColumns {
		columns = append(columns, column[R]{name: c.name, number: func(*R) uint64 { return c.get(&shown().Shown) }})
	}
	s.transfers = &supply[R]{
		load: func(*R) metric.Reason { return s.net.why }, columns: columns,
		lasting: func(_ *R, d *metric.Desc) bool {
			return d.Sem == metric.Counter && s.filling.met != 0 && s.net.listed
		},
	}
	s.parts = append(s.parts, s.transfers)
}
