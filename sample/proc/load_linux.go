package proc

import (
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"tachograph/sample/metric"
	"tachograph/sample/proc/procfs"
)

func (r *reading) text(f kind) ([]byte, metric.Reason) {
	b, err := r.k.dir.read(&r.p.platform.files, r.p.pid, f)
	if err != nil {
		return nil, reasonFor(err)
	}
	return b, metric.Present
}

// activity changes whenever a process has run: without that, what status and io say of the
// process cannot have changed. Memory is part of it because others may take memory away.
type activity struct {
	ran                 int64            // of all threads; if 0, sched counts instead
	sched               procfs.SchedStat // of the only thread
	minflt, majflt      uint64
	utime, stime, vsize uint64
	rss                 int64
	state               byte
}

// activity returns a number that is another one whenever the activity of the process is another
// one, or 0 if it cannot be known.
func (r *reading) activity() uint32 {
	st, q := r.stat(), &r.p.platform
	a := activity{q.ran, procfs.SchedStat{}, st.MinFlt, st.MajFlt, st.UTime, st.STime, st.VSize, st.RSS, st.State}
	if q.ran == 0 {
		if st.Threads != 1 || st.State == 'R' || r.loadSched() != metric.Present || q.sched.Turns == 0 {
			return 0
		}
		a.sched = q.sched
	}
	if a != q.did || q.acts == 0 {
		q.did = a
		q.acts = max(1, q.acts+1)
	}
	return q.acts
}

// idle reports whether what was read at activity then still holds, and updates then.
func (r *reading) idle(then *uint32) bool {
	now := r.activity()
	same := now != 0 && now == *then
	*then = now
	return same
}

// loadStatus, like loadIO, asks for the activity before it reads the file: what the process
// does in between shows in the next sweep.
func (r *reading) loadStatus() metric.Reason {
	if !r.statusRead {
		r.statusRead, r.statusWhy = true, r.readStatus()
	}
	return r.statusWhy
}

func (r *reading) readStatus() metric.Reason {
	q := &r.p.platform
	if r.idle(&q.statusAt) {
		return metric.Present
	}
	b, why := r.text(statusFile)
	if why == metric.Present {
		q.status.Parse(b)
	} else {
		q.statusAt = 0
	}
	return why
}

func (r *reading) loadIO() metric.Reason {
	q := &r.p.platform
	if r.idle(&q.ioAt) {
		return metric.Present
	}
	b, why := r.text(ioFile)
	if why == metric.Present && !q.io.Parse(b) {
		why = metric.Unsupported
	}
	if why != metric.Present {
		q.ioAt = 0
		return why
	}
	q.separate()
	return metric.Present
}

// loadSched reads the file at most once per sweep, and only if the process has run.
func (r *reading) loadSched() metric.Reason {
	q := &r.p.platform
	if r.schedRead {
		return r.schedWhy
	}
	r.schedRead = true
	if q.ran != 0 && q.ran == q.schedAt {
		r.schedWhy = metric.Present
		return r.schedWhy
	}
	b, why := r.text(schedstatFile)
	if why == metric.Present && !q.sched.Parse(b) {
		why = metric.Unsupported
	}
	q.schedAt = 0
	if why == metric.Present {
		q.schedAt = q.ran
	}
	r.schedWhy = why
	return why
}

// idleSince reports whether the process has done nothing, and has not lost memory, since then.
func (r *reading) idleSince(then moment) bool {
	s, ran := &r.k.stillness, r.p.platform.ran
	return ran != 0 && then.ran == ran && then.reclaimed == s.reclaimed && s.now-then.at < int64(longestAlone)
}

// moment returns what idleSince needs to know of the present sweep.
func (r *reading) moment() moment {
	return moment{r.p.platform.ran, r.k.stillness.reclaimed, r.k.stillness.now}
}

// A moment is when something of a process was read.
type moment struct {
	ran       int64 // the process's CPU time
	reclaimed uint64
	at        int64
}

// footprint is the memory of a process as in smaps_rollup.
type footprint struct {
	procfs.Smaps
	at moment
}

// loadSmaps reads smaps_rollup. For that the kernel goes through all pages of the process, which
// takes three times as long as its other files together: it is not read again if the process has
// not run since.
func (r *reading) loadSmaps() metric.Reason {
	q := &r.p.platform
	if q.footprint != nil && r.idleSince(q.footprint.at) {
		return metric.Present
	}
	at, now := r.moment(), footprint{}
	if why := r.readSmaps(&now.Smaps); why != metric.Present {
		q.footprint = nil
		return why
	}
	if q.footprint == nil {
		q.footprint = new(footprint)
	}
	now.at = at
	*q.footprint = now
	return metric.Present
}

func (r *reading) readSmaps(to *procfs.Smaps) metric.Reason {
	if r.stat().Flags&kernelThread != 0 {
		return noAddressSpace
	}
	b, err := r.k.dir.readAt(pidPath(r.p.pid, "smaps_rollup"))
	switch {
	case r.p.platform.headless():
		return firstEnded
	case err == unix.ESRCH && r.stat().State == 'Z':
		return noAddressSpace
	case err != nil:
		return reasonFor(err)
	case !to.Parse(b):
		return noAddressSpace
	}
	return metric.Present
}

func (r *reading) loadWchan() metric.Reason {
	if why := r.nobody(); why != metric.Present {
		return why
	}
	q := &r.p.platform
	if r.idleSince(q.wchanAt) {
		return metric.Present
	}
	q.wchanAt = moment{}
	at := r.moment()
	b, err := r.k.dir.readAt(r.threadPath("wchan"))
	if err != nil {
		return reasonFor(err)
	}
	if string(b) == "0" {
		b = nil // it is not waiting
	}
	q.wchanAt = at
	if q.wchan != string(b) {
		q.wchan = string(b)
	}
	return metric.Present
}

func (r *reading) loadCwd() metric.Reason {
	if r.stat().Flags&kernelThread != 0 {
		return noAddressSpace
	}
	q := &r.p.platform
	if r.idleSince(q.cwdAt) {
		return metric.Present
	}
	q.cwdAt = moment{}
	at := r.moment()
	b, err := r.k.dir.link(pidPath(r.p.pid, "cwd"))
	if err != nil && q.headless() {
		return firstEnded
	}
	if err != nil {
		return reasonFor(err)
	}
	q.cwdAt = at
	if q.cwd != string(b) {
		q.cwd = string(b)
	}
	return metric.Present
}

// descriptors are the open files of a process.
type descriptors struct {
	count   uint64
	numbers uint64   // a hash of them
	sockets []uint64 // inodes, in ascending order
	links   []socketLink
	linked  bool   // sockets were looked for
	known   bool   // sockets belong to the current numbers
	at      uint32 // the activity when they were looked at
	read    moment // when the numbers were read
}

// socketLink is a descriptor that is a socket.
type socketLink struct {
	number int32
	inode  uint64
}

// loadDescriptors counts the open files of a process, of which some are TCP or UDP sockets.
func (r *reading) loadDescriptors() metric.Reason {
	r.tcp, r.udp, r.socketWhy = 0, 0, metric.Present
	k, d := r.k, &r.p.platform.opened
	if r.p.platform.headless() {
		return firstEnded
	}
	if why := r.openFiles(k.wantSockets); why != metric.Present {
		return why
	}
	r.loadLimit()
	if !k.wantSockets || len(d.sockets) == 0 {
		return metric.Present
	}
	net, why := k.network(r.p.pid)
	if r.socketWhy = why; why != metric.Present {
		return metric.Present
	}
	for _, inode := range d.sockets {
		switch net[inode] {
		case tcpSocket:
			r.tcp++
		case udpSocket:
			r.udp++
		}
	}
	return metric.Present
}

// openFiles finds the open files of a process, and if sockets is set which of them are sockets.
func (r *reading) openFiles(sockets bool) metric.Reason {
	if d := &r.p.platform.opened; r.idleSince(d.read) && (!sockets || d.linked) {
		return metric.Present
	}
	return r.readDescriptors(sockets)
}

// readDescriptors lists the open files of a process. The link of a descriptor shows whether it
// is a socket, and the tables of the process's network whether it is TCP or UDP. Links are
// expensive to read, and some processes have thousands: they are not read again if the process
// has not run since and has the same descriptor numbers.
func (r *reading) readDescriptors(sockets bool) metric.Reason {
	k, d := r.k, &r.p.platform.opened
	d.read = moment{}
	at := r.moment()
	now := r.activity() // before the numbers: what happens in between shows in the next sweep
	fd, err := unix.Openat(k.dir.fd, pidPath(r.p.pid, "fd"), unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return reasonFor(err)
	}
	defer unix.Close(fd)
	k.fds = k.fds[:0]
	numbers := uint64(0)
	err = k.dir.list(fd, func(n int32) {
		k.fds = append(k.fds, n)
		numbers = (numbers ^ uint64(n)) * 0x9e3779b97f4a7c15
	})
	if err != nil {
		return reasonFor(err)
	}
	d.count, d.read, d.linked = uint64(len(k.fds)), at, sockets
	if !sockets {
		return metric.Present
	}
	if now == 0 || !d.known || now != d.at || numbers != d.numbers {
		k.links = append(k.links[:0], d.links...)
		d.look(fd, k.fds, k.link[:], k.links, k.search.held)
	}
	d.known, d.at, d.numbers = now != 0, now, numbers
	return metric.Present
}

// loadLimit finds how many files the process may have open. It is one system call; if pids
// belong to another namespace, it reads the file in /proc instead.
func (r *reading) loadLimit() {
	r.limitWhy = metric.Present
	if r.k.stillness.clocks {
		var limit unix.Rlimit
		if err := unix.Prlimit(int(r.p.pid), unix.RLIMIT_NOFILE, nil, &limit); err != nil {
			r.limitWhy = reasonFor(err)
		}
		r.mayOpen = limit.Cur
		return
	}
	text, err := r.k.dir.readAt(pidPath(r.p.pid, "limits"))
	if err != nil {
		r.limitWhy = reasonFor(err)
		return
	}
	var ok bool
	if r.mayOpen, ok = procfs.OpenFiles(text); !ok {
		r.limitWhy = metric.Unsupported
	}
}

// look reads the links of these descriptors in a directory, except of those that were sockets
// before which are held.
func (d *descriptors) look(dir int, numbers []int32, link []byte, before []socketLink, held map[uint64]struct{}) {
	d.sockets, d.links = d.sockets[:0], d.links[:0]
	for _, n := range numbers {
		for len(before) > 0 && before[0].number < n {
			before = before[1:]
		}
		if len(before) > 0 && before[0].number == n {
			if _, same := held[before[0].inode]; same {
				d.add(n, before[0].inode)
				continue
			}
		}
		var name [12]byte
		size, err := unix.Readlinkat(dir, string(strconv.AppendInt(name[:0], int64(n), 10)), link)
		if err != nil {
			continue
		}
		if inode, ok := procfs.LinkInode(link[:size], "socket"); ok {
			d.add(n, inode)
		}
	}
	slices.Sort(d.sockets)
}

func (d *descriptors) add(number int32, inode uint64) {
	d.sockets, d.links = append(d.sockets, inode), append(d.links, socketLink{number, inode})
}

type socketKind uint8

const (
	otherSocket socketKind = iota
	tcpSocket
	udpSocket
)

// network returns the sockets of a process's network namespace, by inode. Each namespace is
// read once per sweep.
func (k *linuxKernel) network(pid int32) (map[uint64]socketKind, metric.Reason) {
	var space uint64
	if b, err := k.dir.link(pidPath(pid, "ns/net")); err == nil {
		space, _ = procfs.LinkInode(b, "net")
	} else if why := reasonFor(err); why == metric.Permission {
		return nil, why
	}
	if net := k.networks[space]; net != nil {
		return net, metric.Present
	}
	net := make(map[uint64]socketKind)
	for _, t := range []struct {
		file string
		kind socketKind
	}{{"net/tcp", tcpSocket}, {"net/tcp6", tcpSocket}, {"net/udp", udpSocket}, {"net/udp6", udpSocket}} {
		b, err := k.dir.readAt(pidPath(pid, t.file))
		if err == unix.ENOENT {
			continue // no IPv6
		}
		if err != nil {
			return nil, reasonFor(err)
		}
		procfs.Sockets(b, func(inode uint64) { net[inode] = t.kind })
	}
	k.networks[space] = net
	return net, metric.Present
}

// findParent keeps the identity of the parent up to date.
func (k *linuxKernel) findParent(p *process[linuxProcess]) metric.Reason {
	q := &p.platform
	if q.parentPID == q.stat.PPID && q.parent != 0 {
		return metric.Present
	}
	q.parentPID, q.parent = q.stat.PPID, 0
	parent := k.parentOf(p)
	if parent == nil {
		return noParent
	}
	q.parent = parent.start
	return metric.Present
}
