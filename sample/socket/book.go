package socket

import "sync"

// A Book has every open socket, and adds up what was transferred over those of each holder, and
// over those that nobody is known to hold. What a socket transfers goes to whom the Book knows as
// its holder when it hears of it: the first time all since the connection began.
//
// Of these sums nothing is missing and nothing is in two: what all holders have, those that have
// ended included, and what nobody has, is together what All has. What waits until a holder is
// found is not in All yet.
//
// A reading is Look, which hears of all sockets, then Find for those without holder, then Settle.
// Sockets that close are heard of at any time, also from other goroutines.
type Book struct {
	// Flows hears what each interface carried, if it is not nil.
	Flows *Flows

	mu   sync.Mutex
	byID map[uint64]*entry
	open []*entry
	free []*entry
	// fresh are the sockets that the present list had first, and ended those that were never
	// listed before they closed.
	fresh []fresh
	ended []closing
	ports map[portKey]*port
	left  int // how many ports nobody listens on any more
	// looks counts lists; listing says that one is under way, and during has the sockets that
	// have closed since it began.
	looks   uint32
	listing bool
	during  map[uint64]struct{}
	missing map[uint64]*missing
	now     int64
	dirty   []*Holder
	chooser chooser

	// All and Nobody are shown as of the last settling: what was transferred over all sockets,
	// and over those of which no holder is known.
	All, Nobody Totals
	// Open is how many connections are open, Short how many began and closed between two lists,
	// and Lost how many vanished without having been reported closed.
	Open        int
	Short, Lost uint64
	all, nobody Totals
	count       int
	short, lost uint64
}

// entry is an open socket. There may be very many.
type entry struct {
	id            uint64
	bytes         Bytes
	retrans       uint64
	media         *[NumMedia]Bytes // nil where the kernel does not keep them
	holder        *Holder
	port          *port // that it was accepted from, or listens on
	owed          *Totals
	inode, unique uint64
	namespace     uint64
	began         int64
	first         int64 // continuous clock: the list that had it first
	// What it had transferred at the last look of the chooser.
	looked        Bytes
	lookedRetrans uint64
	pid           int32
	heard         uint32 // the last list that had it
	place         int32  // in open
	protocol      Protocol
	flags         flags
}

type flags uint8

const (
	loopback   flags = 1 << iota
	connection       // it neither listens nor is it one of which the kernel counts no bytes
	answers
	accepted
	directed // it is known whether it was accepted, or that this does not matter
	held     // it has or had a holder
	nobodys  // it was looked for whose it is, in vain
	doubted  // its holder may have handed it on
)

// fresh is a socket whose direction is not known until the list is complete.
type fresh struct {
	id       uint64
	at       local
	listener listener
}

// NewBook returns an empty book.
func NewBook() *Book {
	return &Book{byID: make(map[uint64]*entry), ports: make(map[portKey]*port), during: make(map[uint64]struct{}),
		missing: make(map[uint64]*missing)}
}

// NewHolder returns a holder of sockets. The Book has it as long as it has sockets.
func (b *Book) NewHolder(of any) *Holder { return &Holder{Of: of} }

// Look hears of all sockets of l. now is the continuous clock.
func (b *Book) Look(l Lister, now int64) error {
	b.mu.Lock()
	b.looks++
	b.listing, b.now = true, now
	b.mu.Unlock()
	err := l.List(b)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.listing = false
	clear(b.during)
	if err == nil {
		b.findMissing()
		b.Flows.listed()
	}
	b.findDirections()
	return err
}

// Hear implements Hearer.
func (b *Book) Hear(s *Socket) {
	if !s.Closed && (s.State == TimeWait || s.State == SynReceived) {
		return // no socket of a process: the kernel remembers an address, or has a request
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.byID[s.ID]
	switch {
	case e == nil && s.Closed:
		if !b.hearLate(s) {
			b.hearEnd(s)
		}
	case e != nil && s.Closed:
		if e.flags&directed == 0 {
			b.direct(e, localOf(s))
		}
		b.take(e, s)
		if e.flags&connection != 0 {
			b.considerClosed(e, s)
		}
		b.end(e, s.Ended)
	case e != nil:
		again := e.heard == b.looks && b.listing
		b.take(e, s)
		if b.chooser.close && !again {
			b.consider(e, s)
		}
	default:
		if _, over := b.during[s.ID]; !over {
			b.hearFirst(s)
		}
	}
	if s.Closed && b.listing {
		b.during[s.ID] = struct{}{} // the list may still have it as open
	}
}

// hearFirst takes in a socket that is new to the book.
func (b *Book) hearFirst(s *Socket) {
	e := b.newEntry()
	*e = entry{id: s.ID, place: int32(len(b.open)), began: s.Start, namespace: s.Namespace, protocol: s.Protocol}
	if e.first = b.now; e.began == 0 {
		e.began = b.now
	}
	if s.Loopback {
		e.flags |= loopback
	}
	switch {
	case listens(s):
		e.flags |= answers
	case s.Protocol != UDP || s.Has&HasBytes != 0:
		e.flags |= connection
		b.count++
	}
	b.open = append(b.open, e)
	b.byID[s.ID] = e
	b.take(e, s)
	if b.chooser.close {
		b.consider(e, s)
	}
	b.fresh = append(b.fresh, fresh{s.ID, localOf(s), listener{e, s.Has, s.Received, s.Unsent, s.Drops}})
}

func (b *Book) newEntry() *entry {
	if n := len(b.free); n > 0 {
		e := b.free[n-1]
		b.free = b.free[:n-1]
		return e
	}
	// Many at once: each alone would take more room.
	block := make([]entry, 64)
	for i := range block {
		b.free = append(b.free, &block[i])
	}
	return b.newEntry()
}

// take gives what e has transferred since it was last heard of to its holder.
func (b *Book) take(e *entry, s *Socket) {
	if !s.Closed {
		e.heard = b.looks
		b.follow(e, s)
	}
	if e.holder != nil && e.holder.ended {
		b.hand(e, nil)
		if e.inode == 0 && e.pid == 0 {
			e.flags |= nobodys
		}
	}
	if e.flags&answers != 0 && e.port != nil {
		e.port.hear(e, s)
	}
	var d Totals
	if b.increase(e, s, &d) {
		b.give(e, &d)
	}
}

// follow takes in what leads to the holder of e. A socket that no descriptor leads to any more is
// still that of the process that closed it.
func (b *Book) follow(e *entry, s *Socket) {
	if e.flags&doubted != 0 {
		if e.flags &^= doubted; s.Inode != 0 {
			b.hand(e, nil)
		}
	}
	if s.Inode == e.inode && s.PID == e.pid && s.Unique == e.unique {
		return
	}
	first := e.inode == 0 && e.pid == 0
	e.inode, e.pid, e.unique = s.Inode, s.PID, s.Unique
	switch {
	case e.inode == 0 && e.pid == 0:
		if e.holder == nil {
			e.flags |= nobodys
			b.pay(e)
		}
	case !first || e.holder == nil:
		e.flags &^= nobodys
		b.hand(e, nil)
	}
}

// increase sets d to what e has transferred since it was last heard of, and reports whether that
// is anything.
func (b *Book) increase(e *entry, s *Socket, d *Totals) bool {
	more := s.Bytes.since(e.bytes)
	again := s.Retrans - min(s.Retrans, e.retrans)
	if more == (Bytes{}) && again == 0 {
		return false
	}
	e.bytes, e.retrans = e.bytes.atLeast(s.Bytes), max(e.retrans, s.Retrans)
	d.Bytes[e.protocol], d.Retrans = more, again
	b.chooser.heard.add(more)
	b.Flows.add(s.Interface, more)
	if e.flags&loopback != 0 {
		d.Loopback = more
	}
	if s.Has&HasMedia != 0 {
		if e.media == nil {
			e.media = new([NumMedia]Bytes)
		}
		for i, m := range s.Media {
			d.Media[i] = m.since(e.media[i])
			e.media[i] = e.media[i].atLeast(m)
		}
	}
	return true
}

// give adds d to what the holder of e has. It waits where one may still be found.
func (b *Book) give(e *entry, d *Totals) {
	switch {
	case e.holder != nil:
		b.award(e.holder, d)
	case e.flags&nobodys != 0:
		b.award(nil, d)
	default:
		if e.owed == nil {
			e.owed = new(Totals)
		}
		e.owed.add(d)
	}
}

// award adds d to what h has, nil being nobody.
func (b *Book) award(h *Holder, d *Totals) {
	b.all.add(d)
	if h == nil {
		b.nobody.add(d)
		return
	}
	h.now.add(d)
	b.touch(h)
}

func (b *Book) touch(h *Holder) {
	if !h.dirty {
		h.dirty = true
		b.dirty = append(b.dirty, h)
	}
}

// hand makes h the holder of e from now on.
func (b *Book) hand(e *entry, h *Holder) {
	if e.flags&connection != 0 {
		if e.holder != nil {
			e.holder.open--
			b.touch(e.holder)
		}
		if h != nil {
			h.open++
			b.touch(h)
		}
	}
	e.holder = h
	if h != nil {
		e.flags = e.flags&^nobodys | held
		b.pay(e)
	}
}

// pay gives what has waited for the holder of e to it, or to nobody.
func (b *Book) pay(e *entry) {
	if e.owed != nil {
		b.award(e.holder, e.owed)
		e.owed = nil
	}
}

// end forgets a socket that has closed.
func (b *Book) end(e *entry, how Ending) {
	if e.flags&connection != 0 {
		b.count--
		b.give(e, how.counted())
	}
	if e.owed != nil && e.flags&(accepted|held) == accepted {
		b.hand(e, e.port.holder()) // it closed before anybody found whose it was
	}
	b.pay(e)
	b.hand(e, nil)
	b.leave(e)
	last := b.open[len(b.open)-1]
	b.open[e.place], last.place = last, e.place
	b.open = b.open[:len(b.open)-1]
	delete(b.byID, e.id)
	*e = entry{}
	b.free = append(b.free, e)
}

// findMissing ends the sockets that neither this list nor the one before has. The report of one that
// closed while this list was made may still come, and on a crowded machine others, too.
func (b *Book) findMissing() {
	for id, m := range b.missing {
		if b.now-m.since < mostOwing {
			continue
		}
		b.release(m)
		if b.looks-m.heard > mostLate {
			delete(b.missing, id)
			b.lost++
		}
	}
	for i := len(b.open) - 1; i >= 0; i-- {
		if e := b.open[i]; b.looks-e.heard > 1 {
			if e.flags&connection != 0 {
				b.miss(e)
			}
			b.end(e, Normal)
		}
	}
}

// Trace is what leads to the holder of a socket.
type Trace struct {
	Inode, Unique, Namespace uint64
	PID                      int32
}

func traceOf(s *Socket) Trace { return Trace{s.Inode, s.Unique, s.Namespace, s.PID} }

// Find asks for the holder of each open socket that has none, and of each that closed without
// having been listed. find returns nil if it does not know it; wait says that it may know it the
// next time. A socket that has no descriptor yet waits without being asked for.
func (b *Book) Find(find func(t Trace) (h *Holder, wait bool)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.open {
		if e.holder != nil || e.inode == 0 && e.pid == 0 {
			continue
		}
		h, wait := find(Trace{Inode: e.inode, Unique: e.unique, Namespace: e.namespace, PID: e.pid})
		switch {
		case h != nil:
			b.hand(e, h)
		case !wait:
			e.flags |= nobodys
			b.pay(e)
		}
	}
	b.settleEnded(find)
}

// Held passes the inodes of the open sockets that have a holder to each.
func (b *Book) Held(each func(inode uint64)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.open {
		if e.holder != nil && e.inode != 0 {
			each(e.inode)
		}
	}
}

// Check asks for each open socket that has a holder whether it still holds it. If it does not,
// and the next list has the socket, another one does.
func (b *Book) Check(holds func(h *Holder, inode uint64) bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.open {
		if e.holder != nil && e.inode != 0 && !holds(e.holder, e.inode) {
			e.flags |= doubted
		}
	}
}

// End says that h has ended: what its sockets transfer from now on is not its own.
func (b *Book) End(h *Holder) {
	b.mu.Lock()
	h.ended = true
	b.mu.Unlock()
}

// Settle shows what was heard until now. number must be larger each time.
func (b *Book) Settle(number uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.settleEnded(nil)
	for i, h := range b.dirty {
		h.Shown, h.Open, h.Owing, h.Changed, h.dirty = h.now, h.open, h.owing, number, false
		b.dirty[i] = nil
	}
	b.dirty = b.dirty[:0]
	b.All, b.Nobody, b.Open, b.Short, b.Lost = b.all, b.nobody, b.count, b.short, b.lost
	b.forgetPorts()
}
