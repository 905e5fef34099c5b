package proc

import (
	"strconv"

	"tachograph/sample"
	"tachograph/sample/catalog"
	"tachograph/sample/metric"
	"tachograph/sample/socket"
)

// listeners are the ports that are listened on.
type listeners[P any] struct {
	*connections[P]
	of    *metric.Group
	byKey map[string]*heardPort
	order []*heardPort
	looks uint64
	ids   uint64
}

// heardPort is what is listened on under one name: on the addresses of both families, and of all
// addresses that are not recorded.
type heardPort struct {
	instance metric.Instance
	look     uint64 // the last look that had it
	port     socket.Port
}

func newListeners[P any](on catalog.Platform, of *connections[P]) *listeners[P] {
	names := make([]string, len(listenerColumns))
	for i := range listenerColumns {
		names[i] = listenerColumns[i].name
	}
	return &listeners[P]{connections: of, of: catalog.Group(on, "listeners", names...), byKey: make(map[string]*heardPort)}
}

var notSaidOfPort = metric.ReasonFor("the kernel does not say it of this port")

func saidOfPort(p *socket.Port, has socket.Has, v uint64) value {
	if p.Has&has == 0 {
		return absent(notSaidOfPort)
	}
	return ofNumber(v)
}

var listenerColumns = []struct {
	name string
	get  func(p *socket.Port) value
}{
	{"network.listener.backlog", func(p *socket.Port) value { return saidOfPort(p, socket.HasQueues, p.Waiting) }},
	{"network.listener.backlog_limit", func(p *socket.Port) value { return saidOfPort(p, socket.HasQueues, p.Limit) }},
	{"network.listener.drops", func(p *socket.Port) value { return saidOfPort(p, socket.HasDrops, p.Drops) }},
	{"network.listener.connections", func(p *socket.Port) value { return ofNumber(uint64(p.Open)) }},
	{"network.listener.sockets", func(p *socket.Port) value { return ofNumber(uint64(p.Sockets)) }},
}

// fill gives each port a row.
func (s *listeners[P]) fill(ports []socket.Port, frames []*sample.Frame) {
	s.looks++
	s.order = s.order[:0]
	for _, p := range ports {
		s.add(p)
	}
	for _, h := range s.order {
		s.describe(h)
		for _, f := range frames {
			row := f.Row(&h.instance)
			for col := range listenerColumns {
				if f.Wants(col) {
					listenerColumns[col].get(&h.port).fill(f, row, col)
				}
			}
		}
	}
	if len(s.byKey) > 2*len(s.order)+few {
		for key, h := range s.byKey {
			if h.look != s.looks {
				delete(s.byKey, key)
			}
		}
	}
}

// add adds a port to those with its name.
func (s *listeners[P]) add(p socket.Port) {
	key := p.Protocol.String() + " " + s.address(p.At.Addr(), p.At.Port())
	if p.Namespace != 0 {
		key += " in " + strconv.FormatUint(p.Namespace, 10)
	}
	h := s.byKey[key]
	if h == nil {
		s.ids++
		h = &heardPort{instance: metric.Instance{ID: s.ids, Key: key}}
		s.byKey[key] = h
	}
	if h.look != s.looks {
		h.look, h.port = s.looks, p
		s.order = append(s.order, h)
		return
	}
	q := &h.port
	q.Has &= p.Has
	q.Waiting, q.Limit, q.Drops = q.Waiting+p.Waiting, q.Limit+p.Limit, q.Drops+p.Drops
	q.Open, q.Sockets = q.Open+p.Open, q.Sockets+p.Sockets
	q.Inodes, q.Holders = append(q.Inodes, p.Inodes...), append(q.Holders, p.Holders...)
}

// describe gives a port its name and labels. Of several processes that listen on it, they have
// the first that is known.
func (s *listeners[P]) describe(h *heardPort) {
	var p *process[P]
	if len(h.port.Holders) > 0 {
		p = holderOf[P](h.port.Holders[0])
	}
	l := labelsOf(p)
	l.add("protocol", h.port.Protocol.String())
	l.add("port", strconv.Itoa(int(h.port.At.Port())))
	l.add("address", s.names.Local(h.port.At.Addr()))
	n := len(h.port.Holders)
	if s.net.holders != nil {
		n = max(n, s.net.holders(h.port.Inodes))
	}
	if n > 1 {
		l.add("holders", strconv.Itoa(n))
	}
	name := h.port.Protocol.String() + " " + s.address(h.port.At.Addr(), h.port.At.Port())
	if h.port.Namespace != 0 {
		in := strconv.FormatUint(h.port.Namespace, 10)
		if p != nil {
			if container := p.instance.Label(metric.OwnerContainer); container != "" {
				in = container
			}
		}
		name += " in " + in
	}
	l.give(&h.instance, name)
}
