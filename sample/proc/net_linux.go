package proc

import (
	"cmp"
	"errors"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"tachograph/sample"
	"tachograph/sample/metric"
	"tachograph/sample/proc/procfs"
	"tachograph/sample/socket"
)

// Linux does not say which process holds a socket: the links of all processes' descriptors have
// to be read until one names it. That takes microseconds for each descriptor. So it is done only
// for sockets that have no holder, and the processes that most probably have them come first: new
// ones, then those that hold others, of these the youngest first. A process that shares a socket
// with its parent is thus the holder if it is new when the socket is.
//
// A socket keeps its holder until that has ended, or has been found not to have it any more. The
// latter is looked for once a minute, and in each sweep as long as a child lives that was born
// with sockets of its parent.

const (
	// searchShare is the part of one processor that the search may take in the long run, and
	// searchSaved the processor time that may be saved up for a sweep that meets many sockets.
	searchShare = 100
	searchSaved = 600 * time.Millisecond
	// checkEvery is how often all processes that hold sockets are asked whether they still do.
	checkEvery = time.Minute
	// vainAgain is when a socket is looked for again that was looked for in vain; it doubles each
	// time, up to vainMost.
	vainAgain = time.Minute
	vainMost  = time.Hour
)

// search looks for the processes that hold sockets.
type search struct {
	sought map[uint64]*sought // by inode
	order  []*process[linuxProcess]
	// left is the processor time that may still be used, as of the time at.
	left time.Duration
	at   int64
	// sharers are processes that were born with sockets of their parents, and checked is when all
	// holders were last checked.
	sharers []*process[linuxProcess]
	checked int64
	// held are the sockets that have a holder, while others are searched.
	held   map[uint64]struct{}
	spaces map[uint64]int32 // scratch: a process of each network namespace
}

// sought is a socket whose holder is not known.
type sought struct {
	first  uint64 // the sweep that had it first
	holder *process[linuxProcess]
	since  uint64        // the sweep since which it is looked for
	seen   uint64        // the last sweep in which it was open and had no holder
	vain   time.Duration // how long it is not looked for, 0 if it is
	again  int64         // when it is looked for again
}

// old reports whether a list had the socket before this sweep's: most of the others have closed
// by now, and only processes that are new or hold sockets are worth a look.
func (w *sought) old(sweep uint64) bool { return w.first < sweep || sweep == 1 }

func newSearch() search {
	return search{sought: make(map[uint64]*sought), held: make(map[uint64]struct{}), left: searchSaved, spaces: make(map[uint64]int32)}
}

// openLister returns what lists the connections of the running system, or why there is none.
func (k *linuxKernel) openLister() (l socket.Lister, lacks string) {
	if !k.dir.genuine || k.opt.Root != "/" {
		return nil, "connections can be listed of the running system only"
	}
	diag, err := socket.Open(k.net.book)
	if err != nil {
		return nil, "connections cannot be listed: " + err.Error()
	}
	k.net.spaces = func() error { return diag.Spaces(k.opt.Network.Namespaces, k.spaces) }
	if err := k.net.spaces(); err != nil {
		return nil, errors.Join(err, diag.Close()).Error()
	}
	return diag, ""
}

// spaces passes the network namespaces of all processes to each, with a process in them.
func (k *linuxKernel) spaces(each func(namespace uint64, pid int32)) {
	clear(k.search.spaces)
	for _, p := range k.table.byPID {
		if space := p.platform.space; space != 0 && !k.zombie(p) {
			k.search.spaces[space] = p.pid
		}
	}
	for space, pid := range k.search.spaces {
		each(space, pid)
	}
}

// countHolders counts the processes that have one of these sockets among the open files that were
// last seen.
func (k *linuxKernel) countHolders(inodes []uint64) (n int) {
	for _, p := range k.table.byPID {
		if slices.ContainsFunc(inodes, func(inode uint64) bool {
			_, ok := slices.BinarySearch(p.platform.opened.sockets, inode)
			return ok
		}) {
			n++
		}
	}
	return n
}

// findSpace reads which network namespace p is in. That is one link, which says the same for
// nearly all processes.
func (k *linuxKernel) findSpace(p *process[linuxProcess]) {
	if p.platform.stat.Flags&kernelThread != 0 || k.net.lister == nil {
		return
	}
	if b, err := k.dir.link(pidPath(p.pid, "ns/net")); err == nil {
		p.platform.space, _ = procfs.LinkInode(b, "net")
	}
}

// threadTime returns the processor time that this thread has used. The caller must stay on it.
func threadTime() time.Duration {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t) != nil {
		return 0
	}
	return time.Duration(t.Nano())
}

// letGo implements kernel.
func (k *linuxKernel) letGo(c *sample.Context, now metric.Stamp) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	s := &k.search
	s.left = min(searchSaved, s.left+time.Duration(max(0, now.Cont-s.at)/searchShare))
	s.at = now.Cont
	k.findSharers(c, now)
	checked := false
	for _, p := range s.sharers {
		if parent := k.parentOf(p); parent != nil && parent.held != nil {
			checked = k.lookForSockets(c, parent, now, &parent.platform.checked) || checked
		}
	}
	if now.Cont-s.checked >= int64(checkEvery) {
		s.checked = now.Cont
		for _, p := range k.table.byPID {
			if p.held != nil && p.held.Open > 0 && s.left > 0 {
				checked = k.lookForSockets(c, p, now, &p.platform.checked) || checked
			}
		}
	}
	if !checked {
		return
	}
	k.net.book.Check(func(h *socket.Holder, inode uint64) bool {
		p := h.Of.(*process[linuxProcess])
		if p.platform.checked != k.table.sweeps {
			return true
		}
		_, ok := slices.BinarySearch(p.platform.opened.sockets, inode)
		return ok
	})
}

// findSharers finds the new processes that have sockets of their parents, and forgets those that
// have ended.
func (k *linuxKernel) findSharers(c *sample.Context, now metric.Stamp) {
	s := &k.search
	s.sharers = slices.DeleteFunc(s.sharers, func(p *process[linuxProcess]) bool { return k.table.lookup(p.pid) != p })
	if k.table.first() {
		return
	}
	for _, p := range k.table.alive {
		if p.born != k.table.sweeps {
			continue
		}
		parent := k.parentOf(p)
		if parent == nil || parent.held == nil || !k.lookForSockets(c, p, now, &p.platform.searched) {
			continue
		}
		if slices.ContainsFunc(p.platform.opened.sockets, func(inode uint64) bool {
			_, ok := slices.BinarySearch(parent.platform.opened.sockets, inode)
			return ok
		}) {
			s.sharers = append(s.sharers, p)
		}
	}
}

// lookForSockets finds the sockets among the open files of p as of now, and notes the sweep. It
// reports whether they are known.
func (k *linuxKernel) lookForSockets(c *sample.Context, p *process[linuxProcess], now metric.Stamp, in *uint64) bool {
	if *in == k.table.sweeps {
		return true
	}
	if p.platform.stat.Flags&kernelThread != 0 || p.platform.headless() {
		return false
	}
	if p.met != k.table.sweeps {
		if !k.listed(p.pid) || k.meet(c, p.pid, now) != p {
			return false
		}
		p.ahead = k.table.sweeps
	}
	before := threadTime()
	why := k.reading(p).openFiles(true)
	k.search.left -= threadTime() - before
	if why == metric.Present {
		*in = k.table.sweeps
	}
	return why == metric.Present
}

// findHolders implements kernel.
func (k *linuxKernel) findHolders(c *sample.Context, now metric.Stamp) {
	s := &k.search
	if newest := k.seek(now); newest != 0 {
		runtime.LockOSThread()
		k.searchAll(c, now, newest)
		runtime.UnlockOSThread()
	}
	if len(s.sought) == 0 {
		return
	}
	k.net.book.Find(func(t socket.Trace) (*socket.Holder, bool) {
		w := s.sought[t.Inode]
		switch {
		case t.Inode == 0:
			return k.whoBegan(t), false
		case w.holder == nil:
			return nil, w.vain == 0
		}
		return k.hold(w.holder), false
	})
	for inode, w := range s.sought {
		if w.holder != nil {
			delete(s.sought, inode)
		}
	}
}

// whoBegan returns the holder of a socket that closed before it was listed: the kernel names the
// process that began the connection, where it may be asked.
func (k *linuxKernel) whoBegan(t socket.Trace) *socket.Holder {
	if p := k.table.lookup(t.PID); p != nil {
		return k.hold(p)
	}
	for _, p := range k.table.gone {
		if p.pid == t.PID {
			return k.hold(p)
		}
	}
	return nil
}

// seek notes which sockets have no holder. It returns the last sweep in which one came to those
// that are looked for now, or 0 if there are none.
func (k *linuxKernel) seek(now metric.Stamp) (newest uint64) {
	s, sweep := &k.search, k.table.sweeps
	k.net.book.Find(func(t socket.Trace) (*socket.Holder, bool) {
		if t.Inode == 0 {
			return k.whoBegan(t), false
		}
		w := s.sought[t.Inode]
		switch {
		case w == nil:
			w = &sought{first: sweep, since: sweep}
			s.sought[t.Inode] = w
		case w.vain != 0 && now.Cont >= w.again:
			w.since = sweep
		}
		if w.seen = sweep; w.vain == 0 || w.since == sweep {
			newest = max(newest, w.since)
		}
		return nil, w.vain == 0
	})
	for inode, w := range s.sought {
		if w.seen != sweep {
			delete(s.sought, inode)
		}
	}
	return newest
}

// searchAll looks for the holders of sockets among the processes that have not been looked at
// since the sweep newest.
func (k *linuxKernel) searchAll(c *sample.Context, now metric.Stamp, newest uint64) {
	s, sweep := &k.search, k.table.sweeps
	left, old := 0, 0
	for _, w := range s.sought {
		if w.vain == 0 || w.since == sweep {
			if left++; w.old(sweep) {
				old++
			}
		}
	}
	k.net.book.Held(func(inode uint64) { s.held[inode] = struct{}{} })
	defer clear(s.held)
	s.order = s.order[:0]
	for _, p := range k.known() {
		if p.platform.searched < newest || p.platform.searched == sweep {
			s.order = append(s.order, p)
		}
	}
	rank := func(p *process[linuxProcess]) int {
		switch {
		case p.born+1 >= sweep:
			return 0
		case p.held != nil:
			return 1
		}
		return 2
	}
	slices.SortFunc(s.order, func(a, b *process[linuxProcess]) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(b.start, a.start), cmp.Compare(b.pid, a.pid))
	})
	defer clear(s.order)
	for i, p := range s.order {
		if old == 0 && rank(p) == 2 {
			return
		}
		if s.left <= 0 || i%walkTogether == walkTogether-1 && c.Late() {
			return // the rest is for the next sweep
		}
		if !k.lookForSockets(c, p, now, &p.platform.searched) {
			p.platform.searched = sweep
			continue
		}
		for _, inode := range p.platform.opened.sockets {
			if w := s.sought[inode]; w != nil && w.holder == nil {
				w.holder = p
				if w.old(sweep) {
					old--
				}
				if left--; left == 0 {
					return
				}
			}
		}
	}
	for _, w := range s.sought {
		if w.holder == nil && (w.vain == 0 || w.since == sweep) && w.old(sweep) {
			w.vain = min(vainMost, max(vainAgain, 2*w.vain))
			w.again = now.Cont + int64(w.vain)
		}
	}
}
