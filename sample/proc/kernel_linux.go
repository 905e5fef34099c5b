package proc

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"

	"tachograph/sample"
	"tachograph/sample/metric"
	"tachograph/sample/proc/cmdline"
	"tachograph/sample/proc/procfs"
)

// ticksPerSecond is USER_HZ, in which the kernel gives times: 100 on every
// processor that Go runs on, whatever the kernel's own HZ.
const ticksPerSecond = 100

// linuxProcess is what is kept of a process on Linux.
type linuxProcess struct {
	files  files
	stat   procfs.Stat // Comm is not kept: see process.name
	status procfs.Status
	io     procfs.IO // as the kernel keeps it
	sched  procfs.SchedStat
	// Of io, what children have left, and what the process did itself.
	inherited, ownIO procfs.IO
	// The activity when status and io were read, and for how many sweeps it
	// has not changed since.
	statusAt, ioAt activity
	rest           [numKinds]uint8
	startWall      int64 // nanoseconds since 1970
	exe            string
	exeWhy         metric.Reason
	args           string
	argsWhy        metric.Reason
	ttyName        string
	parent         uint64 // start of the parent, 0 if unknown
	parentPID      int32  // whom parent belongs to
	cwd            string
	wchan          string
	was            string // name before an exec that no event has told of yet
	traceable      bool   // the kernel lets us look into it
	last           *exitTotals
	lastTold       bool   // a row holds its last totals
	ghost          bool   // no sweep has met it
	row            int    // in the frames of this reading
	farewell       bool   // the event of its end has been emitted
	busy           uint64 // ticks used up to the last reading of threads
}

// startCont is the start on the continuous clock.
func startCont(ticks uint64) int64 { return int64(ticks) * (1e9 / ticksPerSecond) }

// kernel is the process table of this machine, and how it is read. The process
// and the thread source share it.
type kernel struct {
	sync.Mutex
	opt     Options
	dir     *procDir
	table   *table[linuxProcess]
	users   idNames
	groups  idNames
	counts  counts
	refused refusals
	watch   *watcher
	forks   forkCount
	last    metric.Stamp // of the sweep before
	began   metric.Stamp // the first sweep
	// The processes there are, where the walk of each class goes on, and
	// whether one has come to the end of the list by now.
	listing []int32
	next    [metric.NumClasses]int32
	opened  bool
	// finals are those who have ended and whose last totals no row holds yet.
	finals []*process[linuxProcess]
	dying  map[uint32]*exitTotals // by pid: threads that have ended
	limbo  map[int32]limbo
	unseen unseen
	// legacies is what children have left to pids that are not in the table,
	// and inheritedWhy why what was left is not known.
	legacies     map[int32]legacy
	leaving      map[int32]*process[linuxProcess] // by pid: gone, but have not left anything yet
	inheritedWhy metric.Reason
	// For descriptors and sockets.
	wantSockets bool
	inodes      []uint64
	link        [64]byte
	networks    map[uint64]map[uint64]socketKind
}

func openKernel(opt Options) (*kernel, error) {
	root := opt.Root
	if root == "" {
		root = "/"
	}
	opt.Root = root
	dir, err := openProcDir(filepath.Join(root, "proc"))
	if err != nil {
		return nil, err
	}
	k := &kernel{
		opt: opt, dir: dir, table: newTable[linuxProcess](),
		users:    idNames{path: filepath.Join(root, "etc/passwd")},
		groups:   idNames{path: filepath.Join(root, "etc/group")},
		dying:    make(map[uint32]*exitTotals),
		limbo:    make(map[int32]limbo),
		legacies: make(map[int32]legacy),
		leaving:  make(map[int32]*process[linuxProcess]),
		networks: make(map[uint64]map[uint64]socketKind),
	}
	k.users.refresh()
	k.groups.refresh()
	if dir.genuine {
		k.watch = startWatcher()
	}
	if k.watch == nil {
		k.counts.unseenWhy, k.counts.startedWhy, k.inheritedWhy = needsNetAdmin, needsNetAdmin, needsNetAdmin
	}
	k.forgetLoss()
	return k, nil
}

// setOptions changes what is read from the next reading on. The root stays.
func (k *kernel) setOptions(opt Options) error {
	if err := opt.Check(); err != nil {
		return err
	}
	k.Lock()
	defer k.Unlock()
	opt.Root = k.opt.Root
	args := opt.Args != k.opt.Args
	k.opt = opt
	if args {
		for _, p := range k.table.byPID {
			k.readArgs(p)
		}
	}
	return nil
}

func (k *kernel) close() error {
	k.Lock()
	defer k.Unlock()
	for _, p := range k.table.byPID {
		k.dir.releaseAll(&p.platform.files)
	}
	k.watch.stop()
	return k.dir.close()
}

// sweep brings the table up to date and tells of births and deaths. It hands
// each process it meets to each, if that is not nil.
func (k *kernel) sweep(c *sample.Context, now metric.Stamp, each func(*process[linuxProcess])) error {
	t := k.table
	t.begin()
	if t.first() {
		k.began = now
	}
	k.counts.restart()
	k.readForks()
	err := k.list()
	if err == nil {
		t.end() // half a listing says nothing about who has ended
	}
	k.hear(c, now)
	k.leave(t.gone)
	gone := len(t.gone)
	unmet := k.walk(c, now, each)
	k.leaveLimbo(c, now)
	k.leave(t.gone[gone:])
	k.forgetLegacies(unmet == 0)
	k.unseen.tell(now, func(e metric.Event) { emit(c, e) })
	for _, p := range t.byPID {
		k.counts.add(p.platform.stat.State)
		if p.platform.stat.VSize == 0 && p.platform.stat.State != 'Z' {
			k.counts.kernel++
		}
	}
	k.counts.processes += unmet
	k.counts.unknown += unmet
	for _, p := range t.alive {
		if p.platform.was != "" {
			emit(c, execEvent(&p.instance, p.platform.was, p.name, p.platform.exe, now))
			p.platform.was = ""
		}
		if p.platform.stat.State == 'Z' || p.platform.stat.State == 'X' {
			if e, ok := k.farewell(p, now); ok {
				emit(c, e)
			}
		}
	}
	for _, p := range t.gone {
		k.dir.releaseAll(&p.platform.files)
		delete(k.dying, uint32(p.pid))
		if e, ok := k.farewell(p, now); ok {
			emit(c, e)
		}
		k.keepFinal(p)
	}
	k.boundUnseen()
	k.counts.exited = t.exits
	k.counts.started = k.counts.seen + k.counts.unseen
	k.last = now
	return err
}

// list lists all processes, which is quick however many there are.
func (k *kernel) list() error {
	k.listing = k.listing[:0]
	err := k.dir.pids(func(pid int32) {
		k.listing = append(k.listing, pid)
		if p := k.table.lookup(pid); p != nil {
			k.table.list(p)
		}
	})
	if !slices.IsSorted(k.listing) {
		slices.Sort(k.listing) // as the kernel itself lists them
	}
	return err
}

// walk meets the listed processes, from where the walk before it had to stop,
// and goes on until it has met them all or shall stop itself. It returns how
// many have never been met so far.
func (k *kernel) walk(c *sample.Context, now metric.Stamp, each func(*process[linuxProcess])) (unmet int) {
	n := len(k.listing)
	from, _ := slices.BinarySearch(k.listing, k.next[c.Class])
	k.next[c.Class] = 0
	for i := range n {
		if i+from == n {
			k.opened = true
		}
		if i > 0 && i%walkTogether == 0 && c.Late() {
			k.next[c.Class] = k.listing[(from+i)%n]
			c.Partly(i, n)
			k.counts.unread = uint64(n - i)
			for ; i < n; i++ {
				if k.table.lookup(k.listing[(from+i)%n]) == nil {
					unmet++
				}
			}
			return unmet
		}
		p := k.visit(k.listing[(from+i)%n])
		if p == nil {
			continue
		}
		if p.instance.Name == "" {
			k.welcome(c, p, now)
		}
		if each != nil {
			each(p)
		}
	}
	k.opened = true
	return 0
}

// welcome introduces a process that is met for the first time, and tells of its
// birth if it was not there before the recorder was.
func (k *kernel) welcome(c *sample.Context, p *process[linuxProcess], now metric.Stamp) {
	// As the parent of somebody it may be known, and have inherited, before.
	left := k.heir(p.pid)
	p.platform.inherit(&left)
	k.introduce(p, now)
	if k.table.first() || !k.opened && startCont(p.start) <= k.began.Cont {
		return
	}
	k.counts.seen++
	k.forks.accounted += uint64(max(1, p.platform.stat.Threads))
	emit(c, startEvent(&p.instance, p.name, sinceBoot(startCont(p.start), now)))
}

// visit reads the stat file of a pid and finds out whose it is; nil if it went
// before it could be met.
func (k *kernel) visit(pid int32) *process[linuxProcess] {
	p := k.table.lookup(pid)
	if p != nil {
		text, err := k.dir.read(&p.platform.files, pid, statFile)
		var st procfs.Stat
		if err == nil && st.Parse(text) == nil && st.StartTime == p.start {
			k.table.meet(p)
			k.update(p, &st)
			return p
		}
		if err != nil && !errors.Is(err, unix.ESRCH) && !errors.Is(err, unix.ENOENT) {
			// Unreadable for now, but not gone.
			k.table.meet(p)
			return p
		}
		k.table.bury(p) // it was listed, and is gone
	}
	fresh := noFiles()
	text, err := k.dir.read(&fresh, pid, statFile)
	if err != nil {
		return nil
	}
	var st procfs.Stat
	if st.Parse(text) != nil {
		k.dir.releaseAll(&fresh)
		return nil
	}
	p = k.table.add(pid, st.StartTime, processKey(pid, st.StartTime))
	p.platform.files = fresh
	p.name = steadyName(&st)
	k.keep(p, &st)
	return p
}

// known are all processes that have been met and have not ended; the sweep
// before may have had time to meet only some of them again.
func (k *kernel) known() []*process[linuxProcess] {
	if len(k.table.alive) == len(k.table.byPID) {
		return k.table.alive
	}
	return slices.Collect(maps.Values(k.table.byPID))
}

// processKey is what tells a process from all others of this boot.
func processKey(pid int32, start uint64) string {
	return strconv.Itoa(int(pid)) + "/" + strconv.FormatUint(start, 10)
}

// keep stores st without the name, which points into a buffer.
func (k *kernel) keep(p *process[linuxProcess], st *procfs.Stat) {
	q := &p.platform
	q.stat = *st
	q.stat.Comm = nil
	q.traceable = q.traceable || st.StartCode > 1
}

// update takes in what the stat file of a known process says now.
func (k *kernel) update(p *process[linuxProcess], st *procfs.Stat) {
	q := &p.platform
	old := &q.stat
	executed := st.StartCode > 1 && old.StartCode > 1 && (st.StartCode != old.StartCode || st.StartStack != old.StartStack)
	if executed || !sameName(p.name, st) {
		k.renamed(p, st, executed)
	}
	if st.TTY != old.TTY {
		q.ttyName = ""
	}
	if st.Threads > old.Threads {
		k.forks.accounted += uint64(st.Threads - old.Threads)
	}
	if st.State == 'Z' {
		st.StartCode, st.StartStack = old.StartCode, old.StartStack
	}
	k.keep(p, st)
}

// renamed follows a process that has called exec or given itself a new name.
func (k *kernel) renamed(p *process[linuxProcess], st *procfs.Stat, executed bool) {
	q := &p.platform
	if st.State == 'Z' {
		return
	}
	was, exe := p.name, q.exe
	p.rename(steadyName(st))
	if q.files[ioFile] == refused {
		q.files[ioFile] = closed // an exec may have changed whose it is
	}
	k.readExe(p)
	k.readArgs(p)
	if q.exe != exe {
		p.relabel("exe", q.exe)
	}
	if executed || q.exe != exe {
		q.was = was
	}
}

// introduce finds out what stands still about a new process.
func (k *kernel) introduce(p *process[linuxProcess], now metric.Stamp) {
	p.platform.startWall = now.Wall - now.Cont + startCont(p.start)
	k.readExe(p)
	k.readArgs(p)
	f := facts{start: p.platform.startWall, exe: p.platform.exe, parent: k.parentKey(p)}
	if text, err := k.dir.read(&p.platform.files, p.pid, statusFile); err == nil {
		var s procfs.Status
		s.Parse(text)
		f.uid = strconv.FormatUint(s.UID, 10)
	}
	p.rename(p.name)
	p.describe(f)
}

// parentOf returns the parent of p if it is known, at the current ppid.
func (k *kernel) parentOf(p *process[linuxProcess]) *process[linuxProcess] {
	if p.platform.stat.PPID <= 0 {
		return nil
	}
	q := k.table.lookup(p.platform.stat.PPID)
	if q == nil || q.start > p.start {
		return nil // the pid belongs to a later process
	}
	return q
}

func (k *kernel) parentKey(p *process[linuxProcess]) string {
	if ppid := p.platform.stat.PPID; k.table.lookup(ppid) == nil {
		if _, listed := slices.BinarySearch(k.listing, ppid); listed {
			k.visit(ppid) // it comes later in the list
		}
	}
	if q := k.parentOf(p); q != nil {
		return q.instance.Key
	}
	return ""
}

const kernelThread = 0x00200000 // PF_KTHREAD

// steadyName is the name of a process without what a kernel worker appends
// while it works on something: that would be a new name in every sweep.
func steadyName(st *procfs.Stat) string { return string(steady(st)) }

var (
	worker  = []byte("kworker/")
	rescuer = []byte("kworker/R-") // the name of its work is part of its own
)

func steady(st *procfs.Stat) []byte {
	if st.Flags&kernelThread != 0 && bytes.HasPrefix(st.Comm, worker) && !bytes.HasPrefix(st.Comm, rescuer) {
		if i := bytes.IndexAny(st.Comm, "+-"); i > 0 {
			return st.Comm[:i]
		}
	}
	return st.Comm
}

func sameName(name string, st *procfs.Stat) bool { return name == string(steady(st)) }

func (k *kernel) readExe(p *process[linuxProcess]) {
	q := &p.platform
	q.exe, q.exeWhy = "", metric.Present
	if q.stat.Flags&kernelThread != 0 {
		q.exeWhy = noAddressSpace
		return
	}
	text, err := k.dir.link(pidPath(p.pid, "exe"))
	if err != nil {
		q.exeWhy = reasonFor(err)
		return
	}
	q.exe = string(text)
}

// readArgs reads the command line, as far as the options allow it.
func (k *kernel) readArgs(p *process[linuxProcess]) {
	q := &p.platform
	q.args, q.argsWhy = "", metric.Present
	if k.opt.Args == cmdline.Off {
		q.argsWhy = argsOff
		return
	}
	text, err := k.dir.readAt(pidPath(p.pid, "cmdline"))
	if err != nil {
		q.argsWhy = reasonFor(err)
		return
	}
	q.args = cmdline.Render(k.opt.Args, cmdline.Split(text))
}

func (k *kernel) tty(p *process[linuxProcess]) string {
	q := &p.platform
	if q.ttyName == "" {
		q.ttyName = ttyName(k.opt.Root, q.stat.TTY)
	}
	return q.ttyName
}

// ttyName names a terminal by its device number, as ps does; "?" is none.
func ttyName(root string, dev uint32) string {
	if dev == 0 {
		return "?"
	}
	major, minor := dev>>8&0xfff, dev&0xff|dev>>12&0xfff00
	if major >= 136 && major <= 143 {
		return "pts/" + strconv.FormatUint(uint64((major-136)<<20+minor), 10)
	}
	text, err := os.ReadFile(filepath.Join(root, fmt.Sprintf("sys/dev/char/%d:%d/uevent", major, minor)))
	if err == nil {
		for l := range bytes.Lines(text) {
			if name, ok := bytes.CutPrefix(bytes.TrimSpace(l), []byte("DEVNAME=")); ok {
				return string(name)
			}
		}
	}
	return fmt.Sprintf("%d:%d", major, minor)
}
