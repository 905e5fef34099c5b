package engine

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"tachograph/sample/metric"
)

// Before says how a class is read into memory, so that the archive has more of the time before a
// Burst than the class's regular ticks. A zero For turns it off.
type Before struct {
	Every, For time.Duration
}

// ringMemory limits the memory for a class's ticks in its ring.
const ringMemory = 8 << 20

// A ring holds the last ticks of a class that were not recorded, oldest first.
type ring struct {
	mu    sync.Mutex
	ticks []*metric.Tick
	sizes []int
	size  int
}

// keep adds a copy of t, and drops ticks older than long or beyond ringMemory.
func (r *ring) keep(t *metric.Tick, long time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var before *metric.Tick
	if n := len(r.ticks); n > 0 {
		before = r.ticks[n-1]
	}
	c, size := cloned(t, before)
	r.ticks, r.sizes, r.size = append(r.ticks, c), append(r.sizes, size), r.size+size
	old := 0
	for old < len(r.ticks) && (r.size > ringMemory || t.At.Awake-r.ticks[old].At.Awake > int64(long)) {
		r.size -= r.sizes[old]
		old++
	}
	r.ticks, r.sizes = slices.Delete(r.ticks, 0, old), slices.Delete(r.sizes, 0, old)
}

// take empties the ring and returns the ticks since an instant of the awake clock.
func (r *ring) take(since int64) []*metric.Tick {
	r.mu.Lock()
	defer r.mu.Unlock()
	ticks := r.ticks
	r.ticks, r.sizes, r.size = nil, nil, 0
	return slices.DeleteFunc(ticks, func(t *metric.Tick) bool { return t.At.Awake < since })
}

// tickMemory, rowMemory and instanceMemory estimate the bytes that these take besides cells.
const (
	tickMemory     = 256
	rowMemory      = 8
	instanceMemory = 160
)

// cloned returns a copy of t and its approximate size in memory. A copy is needed because t is
// refilled at the next reading. It shares with before, the previous copy, what did not change.
func cloned(t, before *metric.Tick) (c *metric.Tick, size int) {
	c = &metric.Tick{Class: t.Class, At: t.At, Blocks: make([]*metric.Block, 0, len(t.Blocks))}
	size = tickMemory
	for _, b := range t.Blocks {
		var was *metric.Block
		if before != nil {
			if i := slices.IndexFunc(before.Blocks, func(o *metric.Block) bool { return o.Group == b.Group }); i >= 0 {
				was = before.Blocks[i]
			}
		}
		own := &metric.Block{Group: b.Group, At: b.At, Cols: make([]metric.Column, len(b.Cols))}
		size += tickMemory + 96*len(b.Cols)
		if was != nil && slices.EqualFunc(b.Rows, was.Rows, sameInstance) {
			own.Rows = was.Rows
		} else {
			own.Rows = make([]*metric.Instance, len(b.Rows))
			for i, in := range b.Rows {
				switch {
				case in == nil:
				case was != nil && i < len(was.Rows) && sameInstance(in, was.Rows[i]):
					own.Rows[i] = was.Rows[i]
				default:
					copied := *in
					own.Rows[i] = &copied
					size += instanceMemory
				}
			}
			size += rowMemory * len(b.Rows)
		}
		for i := range b.Cols {
			col := &b.Cols[i]
			if was != nil && slices.Equal(col.Bits, was.Cols[i].Bits) && slices.Equal(col.Miss, was.Cols[i].Miss) && slices.Equal(col.Words, was.Cols[i].Words) {
				own.Cols[i] = was.Cols[i]
				continue
			}
			own.Cols[i] = metric.Column{Bits: slices.Clone(col.Bits), Miss: slices.Clone(col.Miss), Words: slices.Clone(col.Words)}
			size += 8*len(col.Bits) + 2*len(col.Miss) + 16*len(col.Words)
		}
		c.Blocks = append(c.Blocks, own)
	}
	return c, size
}

// sameInstance reports whether the copy b still equals a.
func sameInstance(a, b *metric.Instance) bool {
	return a == b || a != nil && b != nil && a.ID == b.ID && a.Key == b.Key && a.Rev == b.Rev && a.Name == b.Name
}

// foresee sets what to keep in memory of c from now on. The caller holds mu.
func (c *class) foresee(b Before, now metric.Stamp) {
	if c.before == b {
		return
	}
	c.before = b
	c.ring.take(now.Awake + 1)
	c.look(b.For > 0 && c.e.opt.Late != nil, now)
}

// look begins to read c into memory, or ends that; the caller holds mu. The deadlines of
// recorded ticks stay the same.
func (c *class) look(ahead bool, now metric.Stamp) {
	was := c.ahead
	c.ahead = 0
	if ahead && c.interval != metric.Once && c.before.Every < c.usual() {
		c.ahead = c.before.Every
	}
	switch {
	case c.burst != 0 || was == c.ahead:
	case was == 0:
		c.grid = c.deadline
		c.deadline = min(c.grid, now.Awake+int64(c.ahead))
	default:
		c.deadline = c.grid
	}
	c.wake()
}

// glance sets the next deadline of a class that is also read into memory. The caller holds mu.
func (c *class) glance() {
	if c.deadline >= c.grid {
		c.grid += int64(c.effective())
		if wanders(c.id) {
			c.grid += c.wander.next(int64(c.effective()))
		}
	}
	if c.deadline += int64(c.ahead); c.deadline > c.grid-int64(c.ahead)/2 {
		c.deadline = c.grid
	}
}

// recall records the ticks in memory since an instant before a burst.
func (e *Engine) recall(c *class, since int64) {
	for _, t := range c.ring.take(since) {
		e.storing.Lock()
		if !e.closed {
			if err := e.opt.Late(t); err == nil {
				e.values += uint64(t.Values())
			} else {
				e.log.Debug("a tick of the time before a burst is not recorded", "class", c.id, "error", err)
			}
		}
		e.storing.Unlock()
	}
}

// rings turns reading into memory on and off, depending on the processor time that the budget
// has to spare; large says that the recorder uses too much memory. It reports whether any class
// is read into memory.
func (e *Engine) rings(now metric.Stamp, saved time.Duration, large bool) (any bool) {
	b := &e.budget
	var ended []string
	for _, id := range read {
		c := e.classes[id]
		c.mu.Lock()
		switch {
		case c.ahead != 0 && (large || b.maxCPU > 0 && saved <= 0):
			c.look(false, now)
			c.ring.take(now.Awake + 1)
			ended = append(ended, id.String())
		case c.ahead == 0 && c.before.For > 0 && c.e.opt.Late != nil && !large && (b.maxCPU == 0 || saved >= time.Duration(b.maxCPU*float64(thrifty))):
			c.look(true, now)
		}
		any = any || c.ahead != 0
		c.mu.Unlock()
	}
	if len(ended) > 0 {
		why := "what the recorder's budget had to spare is used up"
		if large {
			why = "the recorder used more memory than its budget"
		}
		text := fmt.Sprintf("%s: nothing is kept of the seconds before a trigger for a while: %s", strings.Join(ended, ", "), why)
		e.log.Warn(text)
		e.event(metric.Event{At: now, Kind: metric.EventBudget, Text: text})
	}
	return any
}
