package playback

import (
	"cmp"
	"context"
	"errors"
	"math"
	"strconv"
	"time"

	"tachograph/sample/catalog"
	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/follow"
	"tachograph/store/rewrite"
)

// lead is how long before From reading begins, so that rates are known at From.
const lead = 2 * time.Minute

// A course is one pass through the recording. A position is the time since its beginning.
type course struct {
	*Player
	ctx context.Context

	boot  string
	zero  int64                    // the position at which the boot's continuous clock was zero
	pos   int64                    // the position of the last tick
	wall  int64                    // its wall clock; 0: there was no tick yet
	done  [metric.NumClasses]int64 // the continuous clock of each class's last tick
	fresh bool                     // something new was played since the last look
}

// Run plays until ctx ends, which is no error.
func (p *Player) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		p.mu.Lock()
		p.forget()
		p.info, p.away = nil, true
		p.clock, p.horizon = clock{}, 0
		p.mu.Unlock()
		c := &course{Player: p, ctx: ctx}
		if err := c.run(); err != nil {
			return err
		}
		p.mu.Lock()
		p.before += p.now() // time goes on, even if the recording is played again
		p.mu.Unlock()
		if !p.opt.Loop || p.opt.Speed == 0 {
			<-ctx.Done()
		} else if ctx.Err() == nil {
			if err := c.look(); err != nil {
				return err
			}
		}
	}
	return nil
}

// run plays the recording once, and returns at its end.
func (c *course) run() error {
	if c.opt.From == 0 {
		c.read(0)
	} else {
		c.read(c.opt.From - int64(lead))
	}
	c.start()
	for c.ctx.Err() == nil && c.live() {
		// The recording is still being written: play what was added meanwhile, and if there is
		// nothing new, play each tick as it arrives.
		if err := c.look(); err != nil {
			return err
		}
		c.fresh = false
		c.read(c.wall - int64(time.Minute))
		if !c.fresh && c.ctx.Err() == nil {
			return c.present(c)
		}
	}
	if c.until(c.pos + int64(2*time.Second)) {
		c.opt.Log.Info("the recording is over", "again", c.opt.Loop)
		c.mu.Lock()
		c.away = true
		if !c.opt.Loop {
			c.horizon = math.MaxInt64
		}
		c.mu.Unlock()
	}
	return nil
}

// start starts the clock, once the state at the beginning is known.
func (c *course) start() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.clock.start.IsZero() {
		c.clock = clock{start: time.Now(), speed: c.opt.Speed}
		c.once.Do(func() {
			c.began = c.clock.start
			close(c.ready)
		})
	}
}

// live reports whether there may be more to play later. A recording that is played in a loop
// has an end, even if a recorder that was killed did not mark it.
func (c *course) live() bool {
	infos := c.infos()
	newest := infos[len(infos)-1]
	return newest.Live && c.opt.Speed > 0 && !c.opt.Loop && (c.opt.To == 0 || c.opt.To > newest.To)
}

// look finds what has been recorded since.
func (c *course) look() error {
	if err := c.r.Refresh(); err != nil {
		return err
	}
	if len(c.infos()) == 0 {
		return errors.New("the archives are not there any more")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.describe() {
		for _, pl := range c.places {
			pl.source = nil // its descriptions may have changed
		}
	}
	return nil
}

// read plays what the Reader has, from a wall clock on.
func (c *course) read(from int64) {
	opt := rewrite.ReadOptions{
		Hosts: []string{c.opt.Host}, From: max(from, 0), To: c.opt.To,
		Complete: catalog.Complete, Note: func(l store.Loss) { c.opt.Log.Warn("a part cannot be read", "archive", l.Path, "what", l.What) },
	}
	if c.wall == 0 && c.opt.From != 0 {
		opt.Standing = func(*store.ArchiveInfo, metric.Class) bool { return c.wall == 0 }
	}
	for it := range rewrite.ReadFrom(opt, c.r) {
		if !c.take(it.Archive, it.Tick, it.Event, it.Standing) {
			return
		}
	}
}

// follow plays a recording as it is being written.
func (c *course) follow() error {
	c.mu.Lock()
	c.clock = clock{start: time.Now(), offset: c.clock.position(), speed: min(1, c.opt.Speed)}
	if c.clock.offset > time.Duration(c.pos) {
		c.clock.offset = time.Duration(c.pos) // it would run ahead of the present
	}
	c.mu.Unlock()
	f, err := follow.Open(follow.Options{Host: c.opt.Host, Standing: true, Complete: catalog.Complete}, c.paths...)
	if err != nil {
		return err
	}
	defer f.Close()
	var info *store.ArchiveInfo
	for {
		c.mu.Lock()
		c.horizon = math.MaxInt64 // what has not arrived has not been recorded
		c.mu.Unlock()
		it, err := f.Next(c.ctx)
		switch {
		case c.ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		case it.Lost != nil:
			c.opt.Log.Warn("a part cannot be read", "what", it.Lost)
		}
		if it.Archive != nil && it.Archive != info {
			if info != nil {
				if err := c.look(); err != nil {
					return err
				}
			}
			info = it.Archive
		}
		if t := it.Tick; t != nil && c.opt.To != 0 && t.At.Wall > c.opt.To || (it.Tick != nil || it.Event != nil) && !c.take(it.Archive, t, it.Event, false) {
			return nil
		}
	}
}

// take waits until an item is due and takes it in; it returns false at the end.
func (c *course) take(info *store.ArchiveInfo, t *metric.Tick, e *metric.Event, standing bool) bool {
	switch {
	case c.ctx.Err() != nil:
		return false
	case standing:
		c.apply(info, func() { c.stood(t, c.opt.From) })
	case e != nil:
		return c.event(info, e)
	case info.BootID == c.boot && t.At.Cont <= c.done[t.Class]: // It has been played already.
	default:
		c.place(info, t)
		due := c.pos
		if !c.until(due) {
			return false
		}
		c.fresh, c.done[t.Class] = true, t.At.Cont
		c.apply(info, func() { c.tick(t, time.Duration(due)) })
	}
	return true
}

// place finds the position of a tick: between boots by the wall clock, within a boot by the
// clock that cannot be set.
func (c *course) place(info *store.ArchiveInfo, t *metric.Tick) {
	if info.BootID != c.boot || c.wall == 0 {
		pos := c.pos
		switch {
		case c.wall != 0:
			pos += max(0, t.At.Wall-c.wall)
		case c.opt.From != 0:
			pos = t.At.Wall - c.opt.From
		}
		c.boot, c.zero = info.BootID, pos-t.At.Cont
		clear(c.done[:])
		c.pos = pos
	}
	c.pos, c.wall = max(c.pos, c.zero+t.At.Cont), cmp.Or(t.At.Wall, 1)
}

// event takes in that the machine was away, from the beginning of that time.
func (c *course) event(info *store.ArchiveInfo, e *metric.Event) bool {
	if c.wall == 0 || !e.Breaks() || info.BootID != c.boot {
		return true
	}
	at := c.zero + e.At.Cont
	if s, err := strconv.ParseFloat(e.Label("seconds"), 64); err == nil && s > 0 && s < 1e9 {
		at -= int64(s * 1e9)
	}
	if !c.until(max(at, c.pos)) {
		return false
	}
	c.apply(info, func() {
		c.recent.Event(info, e)
		c.away = true
	})
	return true
}

func (c *course) apply(info *store.ArchiveInfo, change func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.turn(info)
	change()
}

// late is how much later than in real time an item may be played before that is logged.
const late = 10 * time.Second

// until waits until the time of a position. It returns false if that never comes: because ctx
// has ended, or time stands still.
func (c *course) until(pos int64) bool {
	if pos <= 0 {
		return c.ctx.Err() == nil
	}
	c.start()
	for {
		c.mu.Lock()
		c.horizon = max(c.horizon, time.Duration(pos))
		rest, speed := time.Duration(pos)-c.clock.position(), c.clock.speed
		c.mu.Unlock()
		if speed == 0 {
			<-c.ctx.Done()
			return false
		}
		if rest <= 0 {
			if behind := time.Duration(float64(-rest) / speed); behind > late && !c.behind {
				c.behind = true
				c.opt.Log.Warn("play-back is late: this pace takes more reading than this machine does, or it had slept", "behind", behind.Round(time.Second))
			}
			return c.ctx.Err() == nil
		}
		// A long wait, even of a month, is split into waits of at most an hour.
		timer := time.NewTimer(time.Duration(min(float64(rest)/speed, float64(time.Hour))) + 1)
		select {
		case <-c.ctx.Done():
			timer.Stop()
			return false
		case <-timer.C:
		}
	}
}

// A clock turns time into positions.
type clock struct {
	start  time.Time // zero: time has not begun
	offset time.Duration
	speed  float64
}

// farthest is a position beyond any recording.
const farthest = float64(1 << 62)

func (c *clock) position() time.Duration {
	if c.start.IsZero() {
		return c.offset
	}
	return time.Duration(min(float64(c.offset)+float64(float64(time.Since(c.start))*c.speed), farthest))
}
