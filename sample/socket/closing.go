package socket

import "time"

// closing is a socket that closed before any list had it. It has less than Totals, because thousands
// of them may wait.
type closing struct {
	at       local
	trace    Trace
	bytes    Bytes
	retrans  uint64
	media    *[NumMedia]Bytes // nil where the kernel does not keep them
	protocol Protocol
	ended    Ending
	loopback bool
	// connected says that it is or was to be a connection, and not a socket without other side.
	connected bool
}

// mostEnded is how many of these wait for the next list, which may have the port that they were
// accepted from.
const mostEnded = 4096

// hearEnd takes in a socket that closed before any list had it.
func (b *Book) hearEnd(s *Socket) {
	e := entry{protocol: s.Protocol}
	if s.Loopback {
		e.flags = loopback
	}
	c := closing{at: localOf(s), trace: traceOf(s), protocol: s.Protocol, ended: s.Ended, loopback: s.Loopback,
		connected: !listens(s) && (s.Protocol != UDP || s.Has&HasBytes != 0)}
	var t Totals
	if !b.increase(&e, s, &t) && !c.connected {
		return
	}
	c.bytes, c.retrans, c.media = t.Bytes[s.Protocol], t.Retrans, e.media
	if c.connected {
		b.short++
		b.considerClosed(nil, s)
	}
	if b.ended = append(b.ended, c); len(b.ended) == mostEnded {
		b.settleEnded(nil)
	}
}

// totals returns what the socket transferred, and how it ended.
func (c *closing) totals() (t Totals) {
	t.Bytes[c.protocol], t.Retrans = c.bytes, c.retrans
	if c.loopback {
		t.Loopback = c.bytes
	}
	if c.media != nil {
		t.Media = *c.media
	}
	if c.connected {
		t.add(c.ended.counted())
	}
	return t
}

// counted returns how the end of a connection is counted.
func (e Ending) counted() *Totals {
	switch e {
	case Refused:
		return &endRefused
	case Failed:
		return &endFailed
	}
	return &endNormal
}

var (
	endNormal  = Totals{Closed: 1}
	endRefused = Totals{Closed: 1, Refused: 1}
	endFailed  = Totals{Closed: 1, Failed: 1}
)

// settleEnded gives what the sockets in ended transferred to who held them: the process that the
// kernel names, or else the one that listens on their port.
func (b *Book) settleEnded(find func(Trace) (h *Holder, wait bool)) {
	for i := range b.ended {
		c := &b.ended[i]
		p := b.portOf(c.at)
		var h *Holder
		if c.trace != (Trace{Namespace: c.trace.Namespace}) && find != nil {
			h, _ = find(c.trace)
		}
		if h == nil && p != nil {
			h = p.holder()
		}
		t := c.totals()
		switch {
		case !c.connected:
		case p != nil:
			t.Accepted++
		default:
			t.Opened++
		}
		b.award(h, &t)
	}
	b.ended = b.ended[:0]
}

// missing is a connection that lists do not have any more, of which no report came. On a crowded
// machine the kernel takes seconds to write one.
type missing struct {
	entry
	by    *Holder
	since int64
	owing bool // by waits for the report
}

// mostLate is after how many lists a report does not come any more, mostMissing how many
// connections are waited for, and mostOwing how long an ended process waits for the report.
const (
	mostLate    = 12
	mostMissing = 4096
	mostOwing   = int64(10 * time.Second)
)

// miss remembers what e has transferred.
func (b *Book) miss(e *entry) {
	if len(b.missing) >= mostMissing {
		b.lost++
		return
	}
	b.missing[e.id] = &missing{entry: *e, by: e.holder, since: b.now, owing: e.holder != nil}
	b.owe(e.holder, 1)
}

// owe changes of how many missing connections h waits for the reports.
func (b *Book) owe(h *Holder, by int) {
	if h != nil {
		h.owing += by
		b.touch(h)
	}
}

// release ends the wait of the holder of m.
func (b *Book) release(m *missing) {
	if m.owing {
		m.owing = false
		b.owe(m.by, -1)
	}
}

// hearLate takes in the report of a connection that is missing: it has transferred only what is
// new since the last list that had it.
func (b *Book) hearLate(s *Socket) bool {
	m := b.missing[s.ID]
	if m == nil {
		return false
	}
	delete(b.missing, s.ID)
	b.release(m)
	if m.by != nil && m.by.ended {
		m.by = nil
	}
	var d Totals
	if b.increase(&m.entry, s, &d) {
		b.award(m.by, &d)
	}
	return true
}
