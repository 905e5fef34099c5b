package proc

import (
	"cmp"
	"slices"
	"sync"

	"tachograph/sample"
	"tachograph/sample/metric"
)

// kernel is what a platform does its own way: who there is, what one of them
// uses, who has ended. P is what it keeps of a process, R what its columns are
// got from. Everything else about a sweep is the same everywhere.
type kernel[P, R any] interface {
	// parts are its columns, by the call or file that supplies them.
	parts() []part[R]
	// reading is p as columns see it, until the next one.
	reading(p *process[P]) *R
	// prepare is told, before a sweep, what it is for besides the wanted parts.
	prepare(f purpose)
	// list begins a sweep of the table: it lists all pids, in ascending order,
	// marks or buries those it knows, and takes in what has happened since the
	// sweep before. Nothing has begun if it fails.
	list(c *sample.Context, now metric.Stamp) error
	// meet reads one listed process; nil if it has gone.
	meet(c *sample.Context, pid int32, now metric.Stamp) *process[P]
	// walked is told that no more are met in this sweep, and how many of the
	// listed never have been.
	walked(c *sample.Context, unmet int, now metric.Stamp)
	// count adds p to the counts of states.
	count(p *process[P])
	zombie(p *process[P]) bool
	// refuses reports whether other users' processes like p are kept from us.
	refuses(p *process[P]) bool
	// ending is what is known of the end of p.
	ending(p *process[P], now metric.Stamp) ending
	// release gives back what is held of a process that is gone.
	release(p *process[P])
	// fillTotals puts the last totals of p into a row.
	fillTotals(p *process[P], row cells)
	readArgs(p *process[P])
	refresh()
	close() error
}

// purpose is what a sweep is for.
type purpose struct {
	sockets bool // which are TCP and which are UDP
	states  bool // what everybody is doing, and how much CPU time that takes
}

// census is what is known of all processes. The process and the thread source
// share it with the kernel.
type census[P any] struct {
	sync.Mutex
	opt     Options
	table   *table[P]
	counts  counts
	refused refusals
	// The processes there are, where the walk of each class goes on, and
	// whether one has come to the end of the list by now.
	listing []int32
	next    [metric.NumClasses]int32
	opened  bool
	last    metric.Stamp // of the sweep before
	// finals are those who have ended and whose last totals no row holds yet.
	finals []*process[P]
	all    []*process[P] // scratch of known
}

func newCensus[P any](opt Options, absent string) *census[P] {
	return &census[P]{opt: opt, table: newTable[P](), refused: refusals{absent: absent}}
}

// known are all processes that have been met and have not ended; the sweep
// before may have had time to meet only some of them again.
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

// sweep brings the table up to date, tells of births and deaths, and fills a
// row for each process it meets.
func (s *processes[P, R]) sweep(c *sample.Context, now metric.Stamp) error {
	s.counts.restart()
	clear(s.filled)
	s.filled = s.filled[:0]
	if err := s.k.list(c, now); err != nil {
		return err
	}
	t := s.table
	s.stamp(c.Now()) // lists may be long, and nothing has been read of anybody yet
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
		if p.final && !p.finalTold && !c.Living {
			s.finals = append(s.finals, p)
		}
	}
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

// walkTogether is how many processes are read between two looks at the clock, and
// metTogether how many are met before the rest is read of them. What a process has used
// is read when it is met: right behind the time that all rows bear, and not behind all
// that is read of those before it, which takes ten times as long.
const (
	walkTogether = 32
	metTogether  = 32 * walkTogether
)

// walk meets the listed processes, from where the walk before it had to stop,
// and goes on until it has met them all or shall stop itself. It returns how
// many have never been met so far.
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

// fillMet reads the rest of those who have been met.
func (s *processes[P, R]) fillMet() {
	for _, p := range s.met {
		s.fill(p)
	}
	clear(s.met)
	s.met = s.met[:0]
}

// farewell tells of the end of a process, once: when it is a zombie, or gone.
func (s *processes[P, R]) farewell(c *sample.Context, p *process[P], now metric.Stamp) {
	if !p.told {
		p.told = true
		emit(c, exitEvent(p.instance, p.name, s.last, s.k.ending(p, now)))
	}
}
