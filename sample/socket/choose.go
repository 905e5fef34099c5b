package socket

import (
	"cmp"
	"net/netip"
	"slices"
	"time"
)

// A Connection is a connection that has values of its own: one of those that transferred most
// since the last look, or one in trouble. Of one that has closed since, they are the last values.
type Connection struct {
	Socket   Socket
	Holder   *Holder // nil if nobody is known
	Accepted bool
	Began    int64 // continuous clock; the connection may be older if the kernel does not say it
}

// chooser chooses the connections that have values of their own, at each look.
type chooser struct {
	most int // of each list
	// close is set while a list is heard for a look.
	close bool
	// The candidates of the look, and those that have closed since the last one. No more are kept
	// than have room.
	largest, troubled, closed ranking
	finals                    []pick // of named connections
	// named are the connections that had values at the last look, which was at the time at.
	named map[uint64]struct{}
	at    int64
	looks int
	// heard is what all sockets transferred since the book began, and others what they did while
	// they had no values of their own.
	heard, heardBefore, others Bytes
	chosen                     []Connection
}

// pick is a candidate.
type pick struct {
	Connection
	rank uint64
	more Bytes // since the last look
	// fresh: the connection began since then.
	fresh bool
}

// large is how much a connection must have transferred since the last look to have values if it
// has closed since.
const large = 1 << 20

// silent is for how long the other side may acknowledge nothing before that is trouble.
const silent = 10 * time.Second

// ranking keeps the picks of the highest ranks, as a heap with the lowest on top.
type ranking []pick

func (r *ranking) offer(p pick, most int) {
	switch {
	case p.rank == 0 || most == 0:
		return
	case len(*r) < most:
		*r = append(*r, p)
		for i := len(*r) - 1; i > 0 && (*r)[i].rank < (*r)[(i-1)/2].rank; i = (i - 1) / 2 {
			(*r)[i], (*r)[(i-1)/2] = (*r)[(i-1)/2], (*r)[i]
		}
		return
	case p.rank <= (*r)[0].rank:
		return
	}
	h := *r
	h[0] = p
	for i := 0; ; {
		least := i
		for c := 2*i + 1; c <= 2*i+2 && c < len(h); c++ {
			if h[c].rank < h[least].rank {
				least = c
			}
		}
		if least == i {
			return
		}
		h[i], h[least] = h[least], h[i]
		i = least
	}
}

// room reports whether the ranking takes a pick of a rank.
func (r ranking) room(rank uint64, most int) bool {
	return rank > 0 && (len(r) < most || most > 0 && rank > r[0].rank)
}

// consider makes e a candidate if there is room for it.
func (b *Book) consider(e *entry, s *Socket) {
	c := &b.chooser
	more, again := e.bytes.since(e.looked), e.retrans-e.lookedRetrans
	fresh := e.first > c.at || c.looks == 0
	e.looked, e.lookedRetrans = e.bytes, e.retrans
	if e.flags&connection == 0 {
		return
	}
	moved, trouble := more.sum(), c.trouble(e, s, again, b.now)
	if !c.largest.room(moved, c.most) && !c.troubled.room(trouble, c.most) {
		return
	}
	p := pick{Connection: Connection{Socket: *s, Began: e.began}, rank: moved, more: more, fresh: fresh}
	c.largest.offer(p, c.most)
	p.rank = trouble
	c.troubled.offer(p, c.most)
}

// trouble says how much trouble a connection is in: 0 is none.
func (c *chooser) trouble(e *entry, s *Socket, again uint64, now int64) (rank uint64) {
	const each = 1 << 40 // more than what was sent again within a look
	if c.looks > 0 {
		rank = min(again, each-1)
	}
	rank += each * uint64(s.Retries)
	if s.State == SynSent && now-e.began > max(now-c.at, int64(silent)) && c.looks > 0 {
		rank += each
	}
	if s.Unacked > 0 && time.Duration(s.TCP.LastAck)*time.Millisecond > silent {
		rank += each
	}
	return rank
}

// considerClosed makes a connection that has closed a candidate if it had values, or has
// transferred much since the last look. e is nil if no list had it.
func (b *Book) considerClosed(e *entry, s *Socket) {
	c := &b.chooser
	p := pick{Connection: Connection{Socket: *s, Began: b.now}, fresh: true}
	if e != nil {
		p.Began, p.Holder, p.Accepted = e.began, e.holder, e.flags&accepted != 0
		p.more, p.fresh = e.bytes.since(e.looked), e.first > c.at || c.looks == 0
		p.Socket.Bytes, p.Socket.Retrans = e.bytes, e.retrans
	} else {
		p.more = s.Bytes
	}
	if c.close {
		for _, r := range []ranking{c.largest, c.troubled} {
			for i := range r {
				if r[i].Socket.ID == s.ID { // the present list had it
					r[i].Connection = p.Connection
					return
				}
			}
		}
	}
	if _, ok := c.named[s.ID]; ok {
		c.finals = append(c.finals, p)
		delete(c.named, s.ID)
	} else if p.rank = p.more.sum(); p.rank >= large {
		c.closed.offer(p, c.most)
	}
}

// Name has the next Look choose connections, at most so many of those that transferred most, of
// those in trouble, and of those that have closed.
func (b *Book) Name(most int) {
	b.mu.Lock()
	b.chooser.most, b.chooser.close = most, true
	b.mu.Unlock()
}

// Named returns the connections that the last Look chose, once whose they are has been looked for,
// in the order of their numbers.
func (b *Book) Named() []Connection {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := &b.chooser
	if !c.close {
		return c.chosen
	}
	c.close = false
	had := func(p *pick) bool { _, ok := c.named[p.Socket.ID]; return ok || p.fresh }
	counted := Bytes{}
	c.chosen = c.chosen[:0]
	take := func(p *pick) { c.chosen = append(c.chosen, p.Connection) }
	for i := range c.finals {
		counted.add(c.finals[i].more)
		take(&c.finals[i])
	}
	for i := range c.closed {
		p := &c.closed[i]
		if p.fresh {
			counted.add(p.more)
		}
		if p.Holder == nil {
			if at := b.portOf(localOf(&p.Socket)); at != nil {
				p.Holder, p.Accepted = at.holder(), true
			}
		}
		take(p)
	}
	open := make(map[uint64]struct{}, len(c.largest)+len(c.troubled))
	for _, r := range []ranking{c.largest, c.troubled} {
		for i := range r {
			p := &r[i]
			if _, twice := open[p.Socket.ID]; twice {
				continue
			}
			open[p.Socket.ID] = struct{}{}
			if had(p) {
				counted.add(p.more)
			}
			if e := b.byID[p.Socket.ID]; e != nil {
				p.Holder, p.Accepted = e.holder, e.flags&accepted != 0
			}
			take(p)
		}
	}
	slices.SortFunc(c.chosen, func(x, y Connection) int { return cmp.Compare(x.Socket.ID, y.Socket.ID) })
	c.others.add(c.heard.since(c.heardBefore).since(counted))
	c.heardBefore = c.heard
	for _, x := range c.chosen {
		if x.Socket.Closed {
			delete(open, x.Socket.ID)
		}
	}
	c.named, c.at = open, b.now
	c.looks++
	clear(c.largest)
	clear(c.troubled)
	clear(c.closed)
	clear(c.finals)
	c.largest, c.troubled, c.closed, c.finals = c.largest[:0], c.troubled[:0], c.closed[:0], c.finals[:0]
	return c.chosen
}

// Others returns what was transferred over connections while they had no values of their own, as
// of the last look, and how many of the open ones have none.
func (b *Book) Others() (transferred Bytes, unnamed int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.chooser.others, b.Open - len(b.chooser.named)
}

// A Port is an address and a port that are listened on.
type Port struct {
	Protocol  Protocol
	At        netip.AddrPort
	Namespace uint64
	Has       Has // HasQueues, HasDrops
	// Connections that wait to be accepted, and how many may, of all Sockets together.
	Waiting, Limit, Drops uint64
	Open                  int // connections that were accepted from it and are open
	Sockets               int
	Inodes                []uint64
	Holders               []*Holder // each once
}

// Ports returns the ports that are listened on, sorted.
func (b *Book) Ports() []Port {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []Port
	for key, p := range b.ports {
		for ; p != nil; p = p.next {
			if p.left != 0 {
				continue
			}
			q := Port{Protocol: key.protocol, At: p.at, Namespace: key.namespace, Has: HasQueues | HasDrops, Drops: p.dropped, Open: p.open, Sockets: len(p.listeners)}
			for _, l := range p.listeners {
				q.Has &= l.has
				q.Waiting, q.Limit, q.Drops = q.Waiting+l.waiting, q.Limit+l.limit, q.Drops+l.drops
				q.Inodes = append(q.Inodes, l.of.inode)
				if h := l.of.holder; h != nil && !slices.Contains(q.Holders, h) {
					q.Holders = append(q.Holders, h)
				}
			}
			all = append(all, q)
		}
	}
	slices.SortFunc(all, func(x, y Port) int {
		return cmp.Or(cmp.Compare(x.Protocol, y.Protocol), cmp.Compare(x.At.Port(), y.At.Port()),
			x.At.Addr().Compare(y.At.Addr()), cmp.Compare(x.Namespace, y.Namespace))
	})
	return all
}
