package store

import (
	"sync"
)

// Chunks share nothing that decoding them changes. Later ones can therefore be opened and
// decoded on other processors while the contents of an earlier one are handed out. What a
// reader or a plan notes is noted on the caller's goroutine, in the order of the chunks.

const (
	// leastAhead is the least number of chunks that are worth starting goroutines for.
	leastAhead  = 4
	mostHelpers = 3
	// window is how many pieces may be begun and not yet used.
	window = 6
)

// A crew works at pieces in order, some ahead of their use.
type crew struct {
	work    func(i int)
	helpers sync.WaitGroup

	mu          sync.Mutex
	free        sync.Cond // there is room again, or the crew has ended
	turned      sync.Cond // the awaited piece is done
	pieces      []piece
	begun, used int
	ended       bool
}

func (c *crew) help() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for !c.ended && c.begun < len(c.pieces) {
		if !c.next() {
			c.free.Wait()
		}
	}
}

// use notes that piece i is used. It wakes the helpers that wait for room only once there is
// room for more than one piece.
func (c *crew) use(i int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.used = i + 1; c.begun-c.used <= window/2 {
		c.free.Broadcast()
	}
}

// A piece is done, or failed with a panic. The panic belongs to the file being read and must
// not end the program on a goroutine that does not contain it.
type piece struct {
	done   bool
	failed any
}

// next does the next piece if there is room for it. The lock is held before and after.
func (c *crew) next() bool {
	i := c.begun
	if i == len(c.pieces) || i >= c.used+window {
		return false
	}
	c.begun++
	c.mu.Unlock()
	failed := c.do(i)
	c.mu.Lock()
	c.pieces[i] = piece{true, failed}
	if i == c.used {
		c.turned.Signal()
	}
	return true
}

func (c *crew) do(i int) (failed any) {
	defer func() { failed = recover() }()
	c.work(i)
	return nil
}

// await returns when piece i is done. Meanwhile it works at pieces that are not begun.
func (c *crew) await(i int) {
	c.mu.Lock()
	for !c.pieces[i].done {
		if !c.next() {
			c.turned.Wait()
		}
	}
	failed := c.pieces[i].failed
	c.mu.Unlock()
	if failed != nil {
		panic(failed)
	}
}

// end returns when no helper is working any more.
func (c *crew) end() {
	c.mu.Lock()
	c.ended = true
	c.mu.Unlock()
	c.free.Broadcast()
	c.helpers.Wait()
}

// schemas is a set of schemas that several goroutines use.
type schemas struct {
	mu  sync.Mutex
	set map[uint32]bool
}

func (s *schemas) has(n uint32) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.set[n]
}

func (s *schemas) add(n uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.set == nil {
		s.set = make(map[uint32]bool)
	}
	s.set[n] = true
}
