package store

import (
	"runtime"
	"slices"
	"sync/atomic"
	"testing"

	"tachograph/store/archive"
	"tachograph/store/fault"
	"tachograph/store/source"
)

// onProcessors runs the rest of a test as if there were so many processors.
func onProcessors(t *testing.T, n int) {
	before := runtime.GOMAXPROCS(n)
	t.Cleanup(func() { runtime.GOMAXPROCS(before) })
}

// What is done ahead is used in turn, done before it is used, and not far ahead; of
// a few chunks, or where there is one processor, nothing is.
func TestAheadInTurn(t *testing.T) {
	for _, c := range []struct {
		processors, n int
		helped        bool
	}{{1, 100, false}, {4, leastAhead - 1, false}, {2, leastAhead, true}, {4, 200, true}} {
		onProcessors(t, c.processors)
		r := &scope{shared: new(shared)}
		made := make([]atomic.Bool, c.n)
		var begun atomic.Int32
		var order []int
		r.ahead(c.n, func(i int) {
			begun.Add(1)
			made[i].Store(true)
		}, func(i int, done func()) bool {
			if (done != nil) != c.helped {
				t.Fatalf("%d processors, %d chunks: helped %v", c.processors, c.n, done != nil)
			}
			if done != nil {
				done()
				if !made[i].Load() {
					t.Fatalf("piece %d is used before it is done", i)
				}
			}
			if int(begun.Load()) > i+window {
				t.Fatalf("%d begun when %d is used", begun.Load(), i)
			}
			order = append(order, i)
			return true
		})
		if len(order) != c.n || !slices.IsSorted(order) || r.crew != nil {
			t.Errorf("%d processors: used %v", c.processors, order)
		}
	}
}

// Nobody works on when the answer has ended, nor while another question is asked.
func TestNobodyWorksOn(t *testing.T) {
	onProcessors(t, 4)
	r := &scope{shared: new(shared)}
	var working atomic.Int32
	work := func(int) {
		working.Add(1)
		runtime.Gosched()
		working.Add(-1)
	}
	r.ahead(100, work, func(i int, done func()) bool {
		done()
		return i < 10
	})
	if n := working.Load(); n != 0 || r.crew != nil {
		t.Errorf("%d work on after the end", n)
	}
	used := 0
	r.ahead(100, work, func(i int, done func()) bool {
		done()
		if i == 10 {
			r.alone()
			outer := r.crew
			r.ahead(50, work, func(_ int, done func()) bool { done(); return true })
			if n := working.Load(); n != 0 || r.crew != outer {
				t.Errorf("%d work on in the midst of another question", n)
			}
		}
		used++
		return true
	})
	if used != 100 {
		t.Errorf("%d used after another question was asked", used)
	}
}

// A panic on another goroutine is told when its turn comes, as the loss of the file
// whose answer it ends.
func TestPanicAhead(t *testing.T) {
	for _, processors := range []int{1, 4} {
		onProcessors(t, processors)
		r, a := &scope{shared: new(shared)}, &source.Source{File: new(archive.File)}
		used, out := 0, false
		work := func(i int) {
			if i == 20 {
				panic("hostile")
			}
		}
		goOn := a.Contain(&out, func() bool {
			r.ahead(100, work, func(i int, done func()) bool {
				if done == nil {
					work(i)
				} else {
					done()
				}
				used++
				return true
			})
			return false
		})
		if !goOn || used != 20 || r.crew != nil {
			t.Errorf("%d processors: used %d, goes on %v", processors, used, goOn)
		}
		if lost := a.TakeLosses(); len(lost) != 1 || lost[0].Kind != fault.Bug {
			t.Errorf("%d processors: losses %+v", processors, lost)
		}
	}
}
