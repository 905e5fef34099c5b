package proc

import (
	"tachograph/sample"
	"tachograph/sample/metric"
)

// counts are the numbers that a sweep finds for all processes together.
type counts struct {
	processes                          int
	runnable, blocked, sleeping        int
	stopped, defunct, swapped, unknown int
	kernel                             int
	seen                               uint64 // starts that sweeps have seen
	started, exited, unseen, unseenMax uint64
	unrecorded                         uint64 // how many of the unseen have no row
	unread                             uint64 // processes that this sweep had no time for
	// unseenWhy says why the unseen cannot be counted exactly on this machine, and unseenMaxWhy
	// why there is no upper bound either.
	startedWhy, unseenWhy, unseenMaxWhy metric.Reason
}

// restart resets the states before a sweep, and keeps the counters.
func (c *counts) restart() {
	c.processes, c.runnable, c.blocked, c.sleeping = 0, 0, 0, 0
	c.stopped, c.defunct, c.swapped, c.unknown, c.kernel = 0, 0, 0, 0, 0
	c.unread = 0
}

// add counts a process by the letter of its state.
func (c *counts) add(state byte) {
	c.processes++
	switch state {
	case 'R':
		c.runnable++
	case 'D':
		c.blocked++
	case 'S', 'I':
		c.sleeping++
	case 'T', 't':
		c.stopped++
	case 'Z', 'X':
		c.defunct++
	case 'W':
		c.swapped++
	default:
		c.unknown++
	}
}

var countColumns = []struct {
	name string
	get  func(c *counts) uint64
	miss func(c *counts) metric.Reason
}{
	{"proc.nprocs", func(c *counts) uint64 { return uint64(c.processes) }, nil},
	{"proc.runq.runnable", func(c *counts) uint64 { return uint64(c.runnable) }, nil},
	{"proc.runq.blocked", func(c *counts) uint64 { return uint64(c.blocked) }, nil},
	{"proc.runq.sleeping", func(c *counts) uint64 { return uint64(c.sleeping) }, nil},
	{"proc.runq.stopped", func(c *counts) uint64 { return uint64(c.stopped) }, nil},
	{"proc.runq.defunct", func(c *counts) uint64 { return uint64(c.defunct) }, nil},
	{"proc.runq.swapped", func(c *counts) uint64 { return uint64(c.swapped) }, nil},
	{"proc.runq.unknown", func(c *counts) uint64 { return uint64(c.unknown) }, nil},
	{"proc.runq.kernel", func(c *counts) uint64 { return uint64(c.kernel) }, nil},
	{"proc.started", func(c *counts) uint64 { return c.started }, func(c *counts) metric.Reason { return c.startedWhy }},
	{"proc.exited", func(c *counts) uint64 { return c.exited }, nil},
	{"proc.unseen", func(c *counts) uint64 { return c.unseen }, func(c *counts) metric.Reason { return c.unseenWhy }},
	{"proc.unrecorded", func(c *counts) uint64 { return c.unrecorded }, func(c *counts) metric.Reason { return c.unseenWhy }},
	{"proc.unread", func(c *counts) uint64 { return c.unread }, nil},
	{"proc.unseen_max", func(c *counts) uint64 { return c.unseenMax }, func(c *counts) metric.Reason { return c.unseenMaxWhy }},
}

func countNames() []string {
	var names []string
	for _, c := range countColumns {
		names = append(names, c.name)
	}
	return names
}

func (c *counts) fill(f *sample.Frame) {
	row := f.Row(nil)
	for i, col := range countColumns {
		if col.miss != nil {
			if why := col.miss(c); why != metric.Present {
				f.SetMissing(row, i, why)
				continue
			}
		}
		f.SetUint(row, i, col.get(c))
	}
}
