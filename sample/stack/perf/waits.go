package perf

import (
	"hash/maphash"

	"tachograph/sample/stack"
)

// waits follows the threads of a process from when each goes to sleep until it has a processor
// again, and adds up the waits with the same stack that the same thread ended.
type waits struct {
	pid   int32
	began uint64
	open  map[int32]*wait // of the threads that wait now
	spare []*wait
	fresh []int32 // of the threads that have begun to wait since it was emptied
	// unheard has the threads that were there when it began and have neither gone to sleep nor
	// gone on since: if one waits, it has waited all that time.
	unheard map[int32]bool
	sums    map[sumKey]*sum
	seed    maphash.Seed
	// skipped is how long, in all, the brief waits of a thread lasted that had no stack, since the
	// last that had one; and last is that one.
	skipped map[int32]uint64
	last    map[int32]*sum
	// measured counts the waits that have ended.
	measured int
	// left counts the times that a thread went to sleep.
	left int
}

// wait is a thread's wait that has not ended.
type wait struct {
	since  uint64
	asleep bool   // and not only without a processor
	chain  []byte // its stack when it began; empty if the kernel was not to say it
	end    stack.End
	// frames and what it waits for are set instead if /proc said so.
	frames []stack.Frame
	what   string
	// python is where it was in its program while it waited, if that was read.
	python interpreted
	waker  wakeup
}

// wakeup is who ended a wait.
type wakeup struct {
	known, interrupt bool
	pid, tid         int32
	chain            []byte
}

// sumKey identifies waits that are added up.
type sumKey struct {
	tid, waker   int32
	stack, woken uint64
}

// sum is waits that were added up. Its wait has the stack and the waker of them all.
type sum struct {
	tid    int32
	waited uint64
	wait
}

// Limits of what is remembered between two flushes.
const (
	mostFollowed = 1 << 16 // threads
	mostSums     = 4096
	// long is the time between two looks at a process, which find the waits that last longer. Of
	// shorter ones, those with a stack represent those without.
	long = 1e8
	// interruptFrames is how many frames of an interrupt say what it was. Those of the thread
	// that it interrupted follow them.
	interruptFrames = 6
)

// newWaits makes waits of a process that has these threads now.
func newWaits(pid int32, now uint64, threads []int32) *waits {
	w := &waits{pid: pid, began: now, open: make(map[int32]*wait), unheard: make(map[int32]bool), skipped: make(map[int32]uint64), last: make(map[int32]*sum), sums: make(map[sumKey]*sum), seed: maphash.MakeSeed()}
	for _, tid := range threads {
		w.unheard[tid] = true
	}
	return w
}

// hear takes in a record of the process's threads, in the order of time, and the stack of one
// that goes to sleep.
func (w *waits) hear(r *switched, chain []byte, end stack.End) {
	if r.pid != w.pid {
		return // inherited by a process that it started
	}
	delete(w.unheard, r.tid)
	switch {
	case r.kind == kindSample:
		x := w.begin(r.tid)
		if x == nil {
			return
		}
		x.since, x.end, x.chain = r.time, end, append(x.chain[:0], chain...)
	case r.misc&switchOut == 0:
		w.end(r.tid, r.time)
	case r.misc&switchWants == 0:
		w.left++
		x := w.open[r.tid]
		if x == nil || x.asleep {
			if x = w.begin(r.tid); x == nil {
				return
			}
			x.since = r.time
		}
		x.asleep = true
		if len(w.fresh) < mostSums {
			w.fresh = append(w.fresh, r.tid)
		}
	default:
		w.drop(r.tid)
	}
}

// begin makes a wait of a thread, in place of the one that there is; nil if there are too many.
func (w *waits) begin(tid int32) *wait {
	x := w.open[tid]
	switch {
	case x != nil:
	case len(w.open) >= mostFollowed:
		return nil
	case len(w.spare) > 0:
		x = w.spare[len(w.spare)-1]
		w.spare = w.spare[:len(w.spare)-1]
	default:
		x = new(wait)
	}
	*x = wait{chain: x.chain[:0], python: interpreted{places: x.python.places[:0]}, waker: wakeup{chain: x.waker.chain[:0]}}
	w.open[tid] = x
	return x
}

func (w *waits) drop(tid int32) {
	if x := w.open[tid]; x != nil {
		delete(w.open, tid)
		if len(w.spare) < mostSums {
			w.spare = append(w.spare, x)
		}
	}
}

// woken takes in who woke a thread.
func (w *waits) woken(tid int32, by *switched, interrupt bool) {
	x := w.open[tid]
	if x == nil {
		return
	}
	chain := by.chain
	if interrupt {
		chain = chain[:min(len(chain), 8*(1+interruptFrames))]
		x.waker = wakeup{known: true, interrupt: true, chain: append(x.waker.chain[:0], chain...)}
		return
	}
	x.waker = wakeup{known: true, pid: by.pid, tid: by.tid, chain: append(x.waker.chain[:0], chain...)}
}

// found takes in where a look in /proc found a thread waiting of which the kernel did not say it.
// If it was there when the session began and was not heard of, it has waited since then.
func (w *waits) found(tid int32, frames []stack.Frame, what string) {
	x := w.open[tid]
	switch {
	case x == nil && w.unheard[tid]:
		if x = w.begin(tid); x == nil {
			return
		}
		x.since, x.asleep = w.began, true
	case x == nil || !x.asleep || x.known():
		return
	}
	x.frames, x.what = append([]stack.Frame(nil), frames...), what
}

// known reports whether it is known where a thread waits.
func (x *wait) known() bool { return len(x.chain) > 0 || x.frames != nil }

// waiting returns the wait of a thread that waits now; nil if it does not, or it is not known
// where.
func (w *waits) waiting(tid int32) *wait {
	if x := w.open[tid]; x != nil && x.asleep && x.known() {
		return x
	}
	return nil
}

// end ends the wait of a thread.
func (w *waits) end(tid int32, at uint64) {
	x := w.open[tid]
	if x == nil || !x.asleep || at < x.since {
		w.drop(tid)
		return
	}
	w.measured++
	lasted := at - x.since
	switch {
	case lasted >= long && x.known() || x.since == w.began:
	case len(x.chain) > 0:
		lasted += w.skipped[tid]
		delete(w.skipped, tid)
	default: // the next wait of the thread that has a stack represents it
		if len(w.skipped) < mostFollowed {
			w.skipped[tid] += lasted
		}
		w.drop(tid)
		return
	}
	if x.python.at > at {
		x.python.forget() // it had gone on already
	}
	s := w.add(tid, x, lasted)
	if len(x.chain) > 0 && (w.last[tid] != nil || len(w.last) < mostSums) {
		w.last[tid] = s
	}
}

// add adds up how long a wait lasted with others like it. It takes the wait if it is the first.
func (w *waits) add(tid int32, x *wait, lasted uint64) *sum {
	k := sumKey{tid: tid, waker: x.waker.tid, stack: w.hash(x), woken: maphash.Bytes(w.seed, x.waker.chain)}
	s := w.sums[k]
	if s == nil {
		s = &sum{tid: tid, wait: *x} // which keeps what x has
		w.sums[k] = s
		delete(w.open, tid)
	}
	s.waited += lasted
	w.drop(tid)
	return s
}

// hash identifies the stack of a wait, and where it was in a program in Python.
func (w *waits) hash(x *wait) uint64 {
	var h maphash.Hash
	h.SetSeed(w.seed)
	h.Write(x.chain)
	for i := range x.frames {
		maphash.WriteComparable(&h, x.frames[i])
	}
	x.python.hash(&h)
	return h.Sum64()
}

// full reports whether it is time to flush.
func (w *waits) full() bool { return len(w.sums) >= mostSums }

// flush gives what has been added up, and forgets it.
func (w *waits) flush(give func(*sum)) {
	for _, s := range w.sums {
		give(s)
	}
	clear(w.sums)
}

// close ends all waits, because the session ends.
func (w *waits) close(at uint64) {
	for tid := range w.open {
		w.end(tid, at)
	}
	for tid, waited := range w.skipped {
		if s := w.last[tid]; s != nil {
			w.add(tid, &s.wait, waited)
		}
	}
}

// forget forgets all waits that have not ended: records of them are lost.
func (w *waits) forget() { clear(w.open) }
