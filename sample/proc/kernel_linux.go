package proc

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"tachograph/sample"
	"tachograph/sample/catalog"
	"tachograph/sample/metric"
	"tachograph/sample/proc/cmdline"
	"tachograph/sample/proc/procfs"
)

// ticksPerSecond is USER_HZ, in which the kernel gives times: 100 on every
// processor that Go runs on, whatever the kernel's own HZ.
const ticksPerSecond = 100

// linuxProcess holds the last readings of a process on Linux. There may be many thousands, so
// small fields are beside each other, and what few processes have is a pointer.
type linuxProcess struct {
	files  files
	stat   procfs.StatNumbers
	status procfs.Status
	io     procfs.IO // as the kernel keeps it
	sched  procfs.SchedStat
	// Of io: what ended children have left (nil: nothing), and what the process did itself.
	inherited *procfs.IO
	ownIO     procfs.IO
	// ran is the CPU time when stat was read, 0 if unknown; readAt is when it was read.
	ran, readAt int64
	schedAt     int64 // CPU time when sched was read
	// What the clock showed when the listing was made, and the sweep that it was for.
	clock   int64
	clockIn uint64
	changed uint64 // the last sweep that may have changed anything of this
	// did is the last activity that is known. It has the number acts; status and io were read at
	// the activities of these numbers, 0 if unknown.
	did                  activity
	acts, statusAt, ioAt uint32
	quiet                uint32 // sweeps since it ran
	opened               descriptors
	footprint            *footprint // nil if it has not been read
	startWall            int64      // nanoseconds since 1970
	exe, args            string
	exeWhy, argsWhy      metric.Reason
	groupsWhy            metric.Reason
	groups               *groups // nil if they could not be read
	ownerAt              int64   // continuous clock: when its control groups were read
	parentPID            int32   // the ppid that parent was found for
	parent               uint64  // start of the parent, 0 if unknown
	ttyName              string
	cwd, wchan           string
	cwdAt, wchanAt       moment // when they were read
	last                 *exitTotals
	acting               *acting // nil unless the first thread has ended
	// switches are the context switches last reported, ended those of threads that ended before
	// notices were lost, and switchesAt the CPU time when switches was read.
	switches, ended switches
	switchesAt      int64
	// searched is the last sweep that looked for sockets among the open files, and checked the
	// last one that compared them with the sockets that the process is known to hold.
	searched, checked uint64
	space             uint64 // the network namespace, 0 if unknown
	// several: the process has or had several threads. askedOnce: the kernel was asked, and
	// knew of no more than one.
	several, askedOnce bool
	ghost              bool // no sweep has met it
	ownerSettled       bool // it has been met twice, or was old when met
	traceable          bool // the kernel lets us look into it
}

// Sources opens the sources of this package: "proc" and "threads".
func Sources(opt Options) ([]sample.Source, error) {
	if err := opt.Check(); err != nil {
		return nil, err
	}
	k, err := openKernel(opt)
	if err != nil {
		return nil, err
	}
	k.refused.privileged = os.Geteuid() == 0
	k.sees = k.dir.genuine && k.refused.privileged
	s := newProcesses(catalog.Linux, k, k.census)
	return []sample.Source{s, newThreads(catalog.Linux, s, k, threadColumns)}, nil
}

// startCont converts a start time in ticks to the continuous clock.
func startCont(ticks uint64) int64 { return int64(ticks) * (1e9 / ticksPerSecond) }

// linuxKernel reads /proc and takes in the exits that the watcher hears of.
type linuxKernel struct {
	*census[linuxProcess]
	columns   []supply[reading]
	now       reading
	dir       *procDir
	stillness stillness
	users     idNames
	groups    idNames
	watch     *watcher
	forks     forkCount
	asker     *groupAsker  // nil where the kernel does not answer such questions
	began     metric.Stamp // the first sweep
	// complete says that every process in the listing exists and has been met, and sees that no
	// process can come into sight except by being born.
	complete, sees bool
	left           int                    // how many of the processes gone in this sweep have passed on what they leave
	dying          map[uint32]*exitTotals // by pid: threads that have ended
	over           map[uint32]over        // by pid
	limbo          map[int32]limbo
	unseen         unseen
	belong         belongings
	// legacies holds what children have left to pids that are not in the table, and
	// inheritedWhy why that is not known.
	legacies     map[int32]legacy
	leaving      map[int32]*process[linuxProcess] // by pid: gone, but have not passed on anything yet
	inheritedWhy metric.Reason
	// inheritedWas is inheritedWhy as of the sweep changed.
	inheritedWas metric.Reason
	changed      uint64
	// For descriptors and sockets.
	wantSockets bool
	fds         []int32
	link        [64]byte
	links       []socketLink // scratch
	networks    map[uint64]map[uint64]socketKind
	search      search
}

func openKernel(opt Options) (*linuxKernel, error) {
	root := opt.Root
	if root == "" {
		root = "/"
	}
	opt.Root = root
	dir, err := openProcDir(filepath.Join(root, "proc"))
	if err != nil {
		return nil, err
	}
	k := &linuxKernel{
		census: newCensus[linuxProcess](opt, "I/O, proportional memory and open files"), dir: dir,
		users:    idNames{path: filepath.Join(root, "etc/passwd")},
		groups:   idNames{path: filepath.Join(root, "etc/group")},
		dying:    make(map[uint32]*exitTotals),
		over:     make(map[uint32]over),
		limbo:    make(map[int32]limbo),
		legacies: make(map[int32]legacy),
		leaving:  make(map[int32]*process[linuxProcess]),
		networks: make(map[uint64]map[uint64]socketKind),
		search:   newSearch(),
		belong:   newBelongings(root),
	}
	k.columns, k.now.k = k.allParts(), k
	k.net.cpu, k.net.holders = threadTime, k.countHolders
	k.stillness.clocks = clocksOf(dir)
	k.users.refresh()
	k.groups.refresh()
	if dir.genuine {
		k.watch = startWatcher()
	}
	if k.watch == nil {
		k.counts.unseenWhy, k.counts.startedWhy, k.inheritedWhy = needsNetAdmin, needsNetAdmin, needsNetAdmin
	}
	if k.watch != nil && k.watch.named == nil && k.stillness.clocks {
		k.asker = openGroupAsker(k.watch.family)
	}
	k.net.lister, k.net.lacks = k.openLister()
	k.forgetLoss()
	return k, nil
}

func (k *linuxKernel) parts() []supply[reading] { return k.columns }

func (k *linuxKernel) reading(p *process[linuxProcess]) *reading {
	k.now.p, k.now.schedRead, k.now.statusRead = p, false, false
	return &k.now
}

func (k *linuxKernel) refresh() {
	k.users.refresh()
	k.groups.refresh()
	k.belong.refresh(k.opt.Root)
	k.forgetLoss()
}

func (k *linuxKernel) close() error {
	for _, p := range k.table.byPID {
		k.dir.releaseAll(&p.platform.files)
	}
	k.watch.stop()
	k.asker.close()
	return k.dir.close()
}

func (k *linuxKernel) prepare(f purpose) {
	clear(k.networks)
	k.wantSockets = f.sockets
}

// list reads the names in /proc, unless they must be the same as in the previous listing.
func (k *linuxKernel) list(c *sample.Context, now metric.Stamp) error {
	k.dir.trim()
	k.readForks()
	k.stillness.begin(k.dir, now)
	known := k.complete && k.counts.unseenMaxWhy == metric.Present
	if followed := k.follow(); !known || !followed && !k.forks.nobodySince() {
		k.stillness.listed = now.Cont
		k.listing = k.listing[:0]
		if err := k.dir.pids(func(pid int32) { k.listing = append(k.listing, pid) }); err != nil {
			k.complete = false
			return err // half a listing says nothing about who has ended
		}
		if !slices.IsSorted(k.listing) {
			slices.Sort(k.listing) // as the kernel itself lists them
		}
	}
	k.forks.listed = k.forks.now
	k.complete = k.sees // until the walk finds otherwise
	t := k.table
	t.begin()
	if t.first() {
		k.began = now
	}
	for _, pid := range k.listing {
		if p := t.lookup(pid); p != nil {
			t.list(p)
		}
	}
	t.end()
	k.hear(c, now)
	k.left = 0
	k.leave()
	return nil
}

func (k *linuxKernel) walked(c *sample.Context, unmet int, now metric.Stamp) {
	k.complete = k.complete && k.next[c.Class] == 0
	k.leaveLimbo(c, now)
	k.leave()
	k.forgetLegacies(unmet == 0)
	k.forgetGroups()
	k.unseen.tell(now, func(e metric.Event) { emit(c, e) })
	k.boundUnseen()
	k.counts.started = k.counts.seen + k.counts.unseen
}

func (k *linuxKernel) count(p *process[linuxProcess]) {
	st := &p.platform.stat
	k.counts.add(p.platform.state())
	if st.VSize == 0 && st.State != 'Z' {
		k.counts.kernel++
	}
}

func (k *linuxKernel) zombie(p *process[linuxProcess]) bool {
	return (p.platform.stat.State == 'Z' || p.platform.stat.State == 'X') && !p.platform.headless()
}

// headless reports whether the first thread has ended and others have not: the process lives,
// but the kernel shows its memory and its files only by the first thread.
func (q *linuxProcess) headless() bool { return q.stat.State == 'Z' && q.stat.Threads > 1 }

func (k *linuxKernel) refuses(p *process[linuxProcess]) bool {
	return p.platform.files[ioFile] == refused
}

func (k *linuxKernel) release(p *process[linuxProcess]) {
	k.dir.releaseAll(&p.platform.files)
	delete(k.dying, uint32(p.pid))
}

// meet reads the process with a pid, and introduces it if no sweep has met it before.
func (k *linuxKernel) meet(c *sample.Context, pid int32, now metric.Stamp) *process[linuxProcess] {
	p := k.visit(pid)
	if p == nil {
		k.complete = false
	}
	if p == nil {
		return nil
	}
	if p.instance.Labels == nil {
		k.welcome(c, p, now)
	} else {
		k.lookAgain(p, now)
	}
	return p
}

// welcome introduces a process that is met for the first time, and emits its birth if it began
// after the recorder.
func (k *linuxKernel) welcome(c *sample.Context, p *process[linuxProcess], now metric.Stamp) {
	// As another process's parent it may have been known, and have inherited, before.
	left := k.heir(p.pid)
	p.platform.inherit(&left)
	k.introduce(p, now)
	if k.table.first() || !k.opened && startCont(p.start) <= k.began.Cont {
		return
	}
	k.counts.seen++
	k.forks.accounted += uint64(max(1, p.threads))
	emit(c, startEvent(p.instance, p.name, sinceBoot(startCont(p.start), now)))
}

// visit reads the stat file of a pid and finds its process; it returns nil if the process has
// gone already.
func (k *linuxKernel) visit(pid int32) *process[linuxProcess] {
	p := k.table.lookup(pid)
	if p != nil {
		q := &p.platform
		ran, was, name, changed := q.ran, q.stat, p.name, q.changed
		if k.still(p) {
			k.table.meet(p)
			return p
		}
		q.changed = k.table.sweeps
		text, err := k.dir.read(&p.platform.files, pid, statFile)
		var st procfs.Stat
		if err == nil && st.Parse(text) == nil && st.StartTime == p.start {
			k.table.meet(p)
			k.update(p, &st)
			if ran != 0 && q.ran == ran && q.stat == was && p.name == name && q.acting == nil {
				q.changed = changed // it was read because of what others might have done to it
			}
			return p
		}
		if err != nil && !errors.Is(err, unix.ESRCH) && !errors.Is(err, unix.ENOENT) {
			// It cannot be read for now, but it is not gone.
			q.ran = 0
			k.table.meet(p)
			return p
		}
		k.table.bury(p) // it was listed, and has gone since
	}
	fresh, ran := noFiles(), int64(0)
	if k.stillness.clocks {
		ran, _ = ranFor(pid)
	}
	text, err := k.dir.read(&fresh, pid, statFile)
	if err != nil {
		return nil
	}
	var st procfs.Stat
	if st.Parse(text) != nil {
		k.dir.releaseAll(&fresh)
		return nil
	}
	p = k.table.add(pid, st.StartTime, procfs.Key(pid, st.StartTime))
	p.platform.files, p.platform.ran, p.platform.readAt = fresh, ran, k.stillness.now
	p.platform.changed = k.table.sweeps
	p.name = steadyName(&st)
	k.keep(p, &st)
	return p
}

// keep stores st without the name, which points into a buffer that is reused.
func (k *linuxKernel) keep(p *process[linuxProcess], st *procfs.Stat) {
	q := &p.platform
	q.stat = st.StatNumbers
	p.cpu, p.threads = st.UTime+st.STime, int(st.Threads)
	q.traceable = q.traceable || st.StartCode > 1
	k.standIn(p)
}

// update takes in what the stat file of a known process says now.
func (k *linuxKernel) update(p *process[linuxProcess], st *procfs.Stat) {
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
func (k *linuxKernel) renamed(p *process[linuxProcess], st *procfs.Stat, executed bool) {
	q := &p.platform
	if st.State == 'Z' {
		return
	}
	was, exe := p.name, q.exe
	p.rename(steadyName(st))
	if q.files[ioFile] == refused {
		q.files[ioFile] = closed // an exec may have changed its owner
	}
	k.readExe(p)
	k.readArgs(p)
	if q.exe != exe {
		p.relabel("exe", q.exe)
	}
	if executed || q.exe != exe {
		q.ownerSettled = false // it may have been moved just before
		p.executed, p.was = true, was
	}
}

// introduce finds out what never changes about a new process.
func (k *linuxKernel) introduce(p *process[linuxProcess], now metric.Stamp) {
	p.platform.startWall = now.Wall - now.Cont + startCont(p.start)
	k.readExe(p)
	k.readArgs(p)
	k.findOwner(p, now)
	p.platform.ownerSettled = now.Cont-startCont(p.start) > int64(ownerSettled)
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
func (k *linuxKernel) parentOf(p *process[linuxProcess]) *process[linuxProcess] {
	if p.platform.stat.PPID <= 0 {
		return nil
	}
	q := k.table.lookup(p.platform.stat.PPID)
	if q == nil || q.start > p.start {
		return nil // the pid belongs to a later process
	}
	return q
}

func (k *linuxKernel) parentKey(p *process[linuxProcess]) string {
	if ppid := p.platform.stat.PPID; k.table.lookup(ppid) == nil {
		if k.listed(ppid) {
			k.visit(ppid) // it comes later in the list
		}
	}
	if q := k.parentOf(p); q != nil {
		return q.instance.Key
	}
	return ""
}

const kernelThread = 0x00200000 // PF_KTHREAD

// steadyName returns the name of a process without what a kernel worker appends while it works
// on something: with that, it would have a new name in every sweep.
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

func (k *linuxKernel) readExe(p *process[linuxProcess]) {
	q := &p.platform
	q.exe, q.exeWhy = "", metric.Present
	if q.stat.Flags&kernelThread != 0 {
		q.exeWhy = noAddressSpace
		return
	}
	text, err := k.dir.link(pidPath(p.pid, "exe"))
	if err != nil && q.headless() {
		q.exeWhy = firstEnded
		return
	}
	if err != nil {
		q.exeWhy = reasonFor(err)
		return
	}
	q.exe = string(text)
}

// readArgs reads the command line, as far as the options allow it.
func (k *linuxKernel) readArgs(p *process[linuxProcess]) {
	q := &p.platform
	q.args, q.argsWhy = "", metric.Present
	if k.opt.Args == cmdline.Off {
		q.argsWhy = argsOff
		return
	}
	text, err := k.dir.readStart(pidPath(p.pid, "cmdline"), mostArgs)
	if err != nil {
		q.argsWhy = reasonFor(err)
		return
	}
	cut := len(text) >= mostArgs
	if last := bytes.LastIndexByte(text, 0); cut && last >= mostArgs/2 {
		text = text[:last] // half an argument may lack the part that shows that it is a secret
	}
	q.args = cmdline.Render(k.opt.Args, cmdline.Split(text))
	if cut && !strings.HasSuffix(q.args, "…") {
		q.args += "…"
	}
}

// mostArgs is how much of a command line is read. Compilers are started with megabytes of
// arguments, of which a few thousand characters are kept.
const mostArgs = 32 << 10

func (k *linuxKernel) tty(p *process[linuxProcess]) string {
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
