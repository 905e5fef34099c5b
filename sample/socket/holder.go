package socket

// Totals are what was transferred over some sockets. They never fall.
type Totals struct {
	Bytes    [NumProtocols]Bytes
	Loopback Bytes
	Media    [NumMedia]Bytes
	Retrans  uint64
	// Connections that were opened and accepted here, and those of the opened ones that came to
	// nothing.
	Opened, Accepted, Refused, Failed uint64
	Closed                            uint64
}

// All returns the bytes of all protocols.
func (t *Totals) All() (sum Bytes) {
	for _, b := range t.Bytes {
		sum.add(b)
	}
	return sum
}

func (t *Totals) add(o *Totals) {
	for i, b := range o.Bytes {
		t.Bytes[i].add(b)
	}
	t.Loopback.add(o.Loopback)
	for i, b := range o.Media {
		t.Media[i].add(b)
	}
	t.Retrans += o.Retrans
	t.Opened += o.Opened
	t.Accepted += o.Accepted
	t.Refused += o.Refused
	t.Failed += o.Failed
	t.Closed += o.Closed
}

func (b *Bytes) add(o Bytes) { b.In, b.Out = b.In+o.In, b.Out+o.Out }

func (b Bytes) sum() uint64 { return b.In + b.Out }

// since returns by how much b is more than before, which is not less where b is.
func (b Bytes) since(before Bytes) Bytes {
	return Bytes{b.In - min(b.In, before.In), b.Out - min(b.Out, before.Out)}
}

func (b Bytes) atLeast(o Bytes) Bytes { return Bytes{max(b.In, o.In), max(b.Out, o.Out)} }

// Holder is who holds sockets: a process. What is shown of it changes only when a Book settles,
// so that all that is shown at one time adds up.
type Holder struct {
	// Of is whose the sockets are. A Book does not use it.
	Of any
	// Shown is what was transferred over its sockets, and Open how many of its connections are
	// open.
	Shown Totals
	Open  int
	// Owing is of how many connections that are gone the last report is still to come.
	Owing int
	// Changed is the number of the settling at which any of these last changed.
	Changed uint64

	now   Totals
	open  int
	owing int
	dirty bool
	ended bool
}

// Ended reports whether nothing is given to h any more.
func (h *Holder) Ended() bool { return h.ended }
