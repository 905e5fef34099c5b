package proc

import (
	"cmp"
	"slices"
	"sync"

	"tachograph/sample"
	"tachograph/sample/metric"
	"tachograph/sample/owner"
)

// kernel is what differs between platforms: which processes there are, what each uses, and
// which have ended. P is what the platform keeps of a process, R what its columns read from.
// Everything else about a sweep is the same on every platform.
type kernel[P, R any] interface {
	// parts returns the platform's columns, by the call or file that supplies them.
	parts() []supply[R]
	// reading returns p as columns see it, valid until the next call.
	reading(p *process[P]) *R
	// prepare says, before a sweep, what it is for besides the wanted parts.
	prepare(f purpose)
	// list begins a sweep of the table: it lists all pids, in ascending order, marks or buries
	// the processes in the table, and takes in what has happened since the previous sweep. If
	// it fails, no sweep has begun.
	list(c *sample.Context, now metric.Stamp) error
	// meet reads one listed process; it returns nil if the process has gone.
	meet(c *sample.Context, pid int32, now metric.Stamp) *process[P]
	// walked is called after the last meet of a sweep, with the number of listed processes that
	// no sweep has met yet.
	walked(c *sample.Context, unmet int, now metric.Stamp)
	// letGo is called before sockets are listed: it takes those that a process does not hold any
	// more from it.
	letGo(c *sample.Context, now metric.Stamp)
	// findHolders finds whose the sockets are that no process is known for.
	findHolders(c *sample.Context, now metric.Stamp)
	// unchanged reports whether no column of p, of parts that are not restless, has changed after
	// a sweep.
	unchanged(p *process[P], since uint64) bool
	// count adds p to the counts of states.
	count(p *process[P])
	zombie(p *process[P]) bool
	// refuses reports whether the kernel keeps other users' processes like p from us.
	refuses(p *process[P]) bool
	// foundBy returns how an owner of p was found, or "" if the metric's description says that.
	foundBy(p *process[P], f owner.Field) string
	// ending returns what is known of the end of p.
	ending(p *process[P], now metric.Stamp) ending
	// release frees what is held for a process that is gone.
	release(p *process[P])
	// fillTotals writes the last totals of p into a row.
	fillTotals(p *process[P], row cells)
	readArgs(p *process[P])
	refresh()
	close() error
}

// purpose is what a sweep is for.
type purpose struct {
	sockets bool // tell TCP sockets from UDP sockets
	states  bool // get the state of every process, and the CPU time of each
}

// census is all that is known of processes. The process source and the thread source share it
// with the kernel.
type census[P any] struct {
	sync.Mutex
	opt     Options
	table   *table[P]
	owners  owner.Set
	counts  counts
	refused refusals
	net     network
	// listing holds the pids of the current sweep, next the pid at which each class's walk goes
	// on. opened is set once a walk has reached the end of the list.
	listing []int32
	next    [metric.NumClasses]int32
	opened  bool
	last    metric.Stamp // of the sweep before
	stamped metric.Stamp // the time of the rows of this sweep
	late    lately
	// finals are the ended processes whose last totals no row holds yet.
	finals []*process[P]
	all    []*process[P] // scratch of known
}

func newCensus[P any](opt Options, absent string) *census[P] {
	return &census[P]{opt: opt, table: newTable[P](), refused: refusals{absent: absent}, net: newNetwork()}
}

// known returns all processes that have been met and have not ended. The last sweep may have
// had time for only some of them.
func (s *census[P]) known() []*process[P] {
	if len(s.table.alive) == len(s.table.byPID) {
		return s.table.alive
	}
	s.all = s.all[:0]
	for _, p := range s.table.byPID {
		s.all = append(s.all, p)
	}
	return s.all
}

// listed reports whether a pid was in the listing of this sweep.
func (s *census[P]) listed(pid int32) bool {
	_, ok := slices.BinarySearch(s.listing, pid)
	return ok
}

// sweep brings the table up to date, emits the births and deaths as events, and fills a row for
// each process it meets.
func (s *processes[P, R]) sweep(c *sample.Context, now metric.Stamp) error {
	s.counts.restart()
	clear(s.filled)
	s.filled = s.filled[:0]
	if err := s.k.list(c, now); err != nil {
		return err
	}
	t := s.table
	if s.sockets {
		s.listSockets(c, now)
	}
	s.stamped = c.Now() // lists may be long, and no process has been read yet
	s.stamp(s.stamped)
	s.meetBusiest(c, now)
	unmet := s.walk(c, now)
	c.Now()
	s.k.walked(c, unmet, now)
	s.findBusiest()
	for _, p := range t.byPID {
		s.k.count(p)
	}
	s.counts.processes += unmet
	s.counts.unknown += unmet
	for _, p := range t.alive {
		if p.executed {
			emit(c, execEvent(p.instance, p.was, p.name, cmp.Or(p.execAt, now)))
			p.executed, p.execAt = false, metric.Stamp{}
		}
		if s.k.zombie(p) {
			s.farewell(c, p, now)
		}
	}
	for _, p := range t.gone {
		s.k.release(p)
		s.farewell(c, p, now)
		if (p.final || p.held != nil) && !p.toldAll() && !c.Living {
			s.finals = append(s.finals, p)
		}
	}
	s.forgetOwners()
	s.counts.exited = t.exits
	s.last = now
	return nil
}

// busiestFirst is how many processes are met ahead of the others.
const busiestFirst = 16

// meetBusiest reads the processes that used most processor time before the last sweep
// ahead of all others. A process that is read late seems to have used more than it had:
// what it used while others were read is counted as well.
func (s *processes[P, R]) meetBusiest(c *sample.Context, now metric.Stamp) {
	for _, p := range s.busiest {
		if s.table.lookup(p.pid) == p && s.listed(p.pid) && s.k.meet(c, p.pid, now) == p {
			p.ahead = s.table.sweeps
		}
	}
}

// findBusiest finds the processes that the next sweep reads first.
func (s *processes[P, R]) findBusiest() {
	clear(s.busiest)
	s.busiest = s.busiest[:0]
	for _, p := range s.table.alive {
		if p.swept.look(p.cpu); p.swept.used > 0 && p.born < s.table.sweeps {
			s.busiest = append(s.busiest, p)
		}
	}
	sortByUse(s.busiest, func(p *process[P]) *use { return &p.swept })
	clear(s.busiest[min(busiestFirst, len(s.busiest)):])
	s.busiest = s.busiest[:min(busiestFirst, len(s.busiest))]
}

// walkTogether is how many processes are read between two looks at the clock, and metTogether
// how many are met before the rest of their data is read. The CPU time of a process is read
// when it is met: soon after the time stamp that all rows share, and not after all the data of
// the processes before it, which takes ten times as long to read.
const (
	walkTogether = 32
	metTogether  = 32 * walkTogether
)

// walk meets the listed processes, starting where the previous walk stopped, until it has met
// them all or is out of time. It returns how many no sweep has met yet.
func (s *processes[P, R]) walk(c *sample.Context, now metric.Stamp) (unmet int) {
	n := len(s.listing)
	from, _ := slices.BinarySearch(s.listing, s.next[c.Class])
	s.next[c.Class] = 0
	s.met = s.met[:0]
	for i := range n {
		if i+from == n {
			s.opened = true
		}
		if i > 0 && i%walkTogether == 0 && c.Late() {
			s.fillMet()
			s.next[c.Class] = s.listing[(from+i)%n]
			c.Partly(i, n)
			s.counts.unread = uint64(n - i)
			for ; i < n; i++ {
				if s.table.lookup(s.listing[(from+i)%n]) == nil {
					unmet++
				}
			}
			return unmet
		}
		pid := s.listing[(from+i)%n]
		p := s.table.lookup(pid)
		if p == nil || p.ahead != s.table.sweeps {
			p = s.k.meet(c, pid, now)
		}
		if p != nil {
			s.met = append(s.met, p)
		}
		if len(s.met) == metTogether {
			s.fillMet()
		}
	}
	s.fillMet()
	s.opened = true
	return 0
}

// fillMet reads the rest of the data of the processes met so far.
func (s *processes[P, R]) fillMet() {
	for _, p := range s.met {
		s.fill(p)
	}
	clear(s.met)
	s.met = s.met[:0]
}

// farewell emits the end of a process, once: when it is a zombie, or gone.
func (s *processes[P, R]) farewell(c *sample.Context, p *process[P], now metric.Stamp) {
	if !p.told {
		p.told = true
		s.late.add(p.pid, p.begin, p.instance)
		emit(c, exitEvent(p.instance, p.name, s.last, s.k.ending(p, now)))
		if p.held != nil {
			s.net.mourned = append(s.net.mourned, p.held)
		}
	}
}
