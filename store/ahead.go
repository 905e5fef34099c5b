package store

import (
	"runtime"
	"sync"

	"tachograph/sample/metric"
	"tachograph/store/archive"
	"tachograph/store/chunk"
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

// ahead calls use for 0 to n-1 in turn, until it returns false. Where there are processors to
// run ahead, it also calls work for each number, before use's done returns for that number. If
// work panicked, done panics too. work must touch nothing that work or use of other numbers
// changes. Where there are no such processors done is nil, and use has to do the work itself.
func (r *Reader) ahead(n int, work func(i int), use func(i int, done func()) bool) {
	helpers := min(runtime.GOMAXPROCS(0)-1, mostHelpers)
	if r.twinned {
		helpers-- // the twin has that processor
	}
	if helpers < 1 || n < leastAhead {
		for i := range n {
			if !use(i, nil) {
				return
			}
		}
		return
	}
	c := &crew{work: work, pieces: make([]piece, n)}
	c.free.L, c.turned.L = &c.mu, &c.mu
	before := r.crew
	r.crew = c
	defer func() {
		c.end()
		r.crew = before
	}()
	for range helpers {
		c.helpers.Go(c.help)
	}
	for i := range n {
		if !use(i, func() { c.await(i) }) {
			return
		}
		c.use(i)
	}
}

// alone ends the helpers of a question that is interrupted by another one to the same reader.
// Their remaining work is done when its turn comes.
func (r *Reader) alone() {
	if r.crew != nil {
		r.crew.end()
	}
}

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

// A piece is done, or failed with a panic. The panic belongs to the file being read and must
// not end the program on a goroutine that does not contain it.
type piece struct {
	done   bool
	failed any
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

// apart reports whether each column, in the order of time, surely belongs to a chunk of its
// own.
func apart(cols []wantedColumn) bool {
	for i := 1; i < len(cols); i++ {
		if cols[i-1].v.Ref.Info.First.Cont >= cols[i].v.Ref.Info.First.Cont {
			return false
		}
	}
	return true
}

// warm opens a chunk and reads the times of its wanted groups, so that each finds them read. It
// leaves errors for each to report.
func (p *plan) warm(ref *archive.ChunkRef) {
	if p.without.has(ref.Info.Schema) {
		return
	}
	c, err := ref.Open()
	if err != nil {
		return
	}
	for i, g := range c.Groups {
		for k := range g.Columns {
			if n := g.Columns[k].Number; int(n) < len(p.wanted) && p.wanted[n] {
				if !p.passes(g, func(error) {}) {
					_, _ = c.View(i)
				}
				break
			}
		}
	}
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

// sift finds out ahead which rows of the columns are wanted.
func (p *plan) sift(cols []column) {
	var views []*archive.View
	var firsts []*column
	seen := make(map[*archive.ChunkRef]bool)
	for i := range cols {
		if v := cols[i].v; v.Indom != metric.NoIndom && p.filters[v] == nil {
			if seen[v.Ref] {
				return
			}
			seen[v.Ref] = true
			views, firsts = append(views, v), append(firsts, &cols[i])
			p.keys(v.Indom)
		}
	}
	found := make([][]int, len(views))
	errs := make([]error, len(views))
	p.r.ahead(len(views), func(i int) {
		v := views[i]
		if k := p.chosen[v.Indom]; p.ofCohort(v) {
			_ = v.Named(p.sel.Cohort.filter(v).rows)
		} else if k.few {
			found[i], errs[i] = k.find(v)
		} else if _, ok, _ := firsts[i].there(); !ok {
			_, _ = v.Instances()
		}
	}, func(i int, done func()) bool {
		if done == nil {
			return false
		}
		done()
		v := views[i]
		if k := p.chosen[v.Indom]; k.few && !p.ofCohort(v) {
			p.filters[v] = p.sound(p.those(v, found[i], errs[i]))
		}
		return !p.r.over()
	})
}

// fill decodes a column onto the shelf.
func (h *shelf) fill(col *wantedColumn) {
	h.Reset()
	h.rows = h.rows[:0]
	h.err = col.v.SeriesUntil(col.col, col.rows, col.until(), func(row int, s *chunk.Series) error {
		h.Keep(s)
		h.rows = append(h.rows, int32(row))
		return nil
	})
}

// A shelf has the series of one column, and the error that ended its decoding.
type shelf struct {
	chunk.Shelf
	rows []int32
	err  error
}
