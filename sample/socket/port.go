package socket

import (
	"net/netip"
	"slices"
)

// local is where a socket of this machine can be reached.
type local struct {
	addr      netip.AddrPort
	namespace uint64
	protocol  Protocol
}

func localOf(s *Socket) local {
	l := local{s.Local, s.Namespace, s.Protocol}
	if l.protocol == QUIC {
		l.protocol = UDP
	}
	return l
}

type portKey struct {
	namespace uint64
	protocol  Protocol
	number    uint16
}

func (l local) key() portKey { return portKey{l.namespace, l.protocol, l.addr.Port()} }

// port is an address and a port that are listened on, by one socket or by several.
type port struct {
	at        netip.AddrPort
	listeners []listener
	next      *port // with another address
	open      int   // connections that were accepted from it
	dropped   uint64
	// left is the number of the list since which nobody has listened on it, 0 if somebody does.
	left uint32
}

// listener is a socket that listens.
type listener struct {
	of                    *entry
	has                   Has
	waiting, limit, drops uint64
}

// hear takes in what a list says of a socket that listens.
func (p *port) hear(e *entry, s *Socket) {
	for i := range p.listeners {
		if l := &p.listeners[i]; l.of == e {
			l.waiting, l.limit, l.drops = s.Received, s.Unsent, s.Drops
		}
	}
}

// holder returns a holder of the port that has not ended, or nil. Where several listen it is the
// first: the kernel does not say which of them gets a connection.
func (p *port) holder() *Holder {
	for _, l := range p.listeners {
		if h := l.of.holder; h != nil && !h.ended {
			return h
		}
	}
	return nil
}

// ephemeral is the lowest of the ports that kernels give out by themselves. A UDP socket with
// such a port and without another side asks rather than answers.
const ephemeral = 32768

// listens reports whether s takes what others send.
func listens(s *Socket) bool {
	if s.State == Listen {
		return true
	}
	return s.Protocol == UDP && s.Local.Port() < ephemeral && s.Local.Port() != 0 && s.Peer.Port() == 0
}

// portOf returns the port that takes connections to an address: the one that has just this
// address, or else one for all.
func (b *Book) portOf(at local) *port {
	var all *port
	for p := b.ports[at.key()]; p != nil; p = p.next {
		switch {
		case p.at.Addr().Unmap() == at.addr.Addr().Unmap():
			return p
		case p.at.Addr().IsUnspecified():
			all = p
		}
	}
	return all
}

// findDirections finds out which of the sockets that a list had first were accepted. That is
// known only now, because the list may have the ones that listen last.
func (b *Book) findDirections() {
	for i := range b.fresh {
		f := &b.fresh[i]
		if e := b.byID[f.id]; e != nil && e.flags&answers != 0 {
			b.join(e, f)
		}
	}
	for i := range b.fresh {
		f := &b.fresh[i]
		if e := b.byID[f.id]; e != nil {
			b.direct(e, f.at)
		}
	}
	b.fresh = b.fresh[:0]
}

// direct counts a connection as accepted if its local port is listened on, or else as opened.
func (b *Book) direct(e *entry, at local) {
	e.flags |= directed
	if e.flags&connection == 0 {
		return
	}
	if e.port = b.portOf(at); e.port == nil {
		b.give(e, &Totals{Opened: 1})
		return
	}
	e.flags |= accepted
	e.port.open++
	b.give(e, &Totals{Accepted: 1})
}

// join adds a socket to those that listen on a port.
func (b *Book) join(e *entry, f *fresh) {
	key := f.at.key()
	p := b.ports[key]
	for p != nil && p.at != f.at.addr {
		p = p.next
	}
	if p == nil {
		p = &port{at: f.at.addr, next: b.ports[key]}
		b.ports[key] = p
	}
	if p.left != 0 {
		p.left = 0
		b.left--
	}
	p.listeners = append(p.listeners, f.listener)
	e.port = p
}

// leave takes e from its port.
func (b *Book) leave(e *entry) {
	p := e.port
	switch {
	case p == nil:
	case e.flags&answers == 0:
		p.open--
	default:
		p.listeners = slices.DeleteFunc(p.listeners, func(l listener) bool {
			if l.of == e {
				p.dropped += l.drops
			}
			return l.of == e
		})
		if len(p.listeners) == 0 {
			p.left = max(1, b.looks)
			b.left++
		}
	}
}

// forgetPorts forgets the ports that nobody has listened on since before the last list: what was
// accepted from them has closed, or is known.
func (b *Book) forgetPorts() {
	if b.left == 0 {
		return
	}
	b.left = 0
	for key, first := range b.ports {
		for at := &first; *at != nil; {
			p := *at
			switch {
			case p.left != 0 && b.looks-p.left > 1:
				*at = p.next
				continue
			case p.left != 0:
				b.left++
			}
			at = &p.next
		}
		if first == nil {
			delete(b.ports, key)
		} else {
			b.ports[key] = first
		}
	}
}
