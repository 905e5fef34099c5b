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
	// unheard has the threads that were there when it began and have neither gone to sleep nor
	// gone on since: if one waits, it has waited all that time.
	unheard map[int32]bool
	sums    map[sumKey]*sum
	seed    maphash.Seed
	// measured counts the waits that have ended; briefly is whether some of them were left out.
	measured int
	briefly  bool
	// second is when the current second began, and inSecond how many waits have ended in it.
	second   uint64
	inSecond int
}

// wait is a thread's wait that has not ended.
type wait struct {
	since  uint64
	asleep bool   // and not only without a processor
	chain  []byte // its stack when it began
	// frames and what it waits for are set instead if /proc said so.
	frames []stack.Frame
	what   string
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
	// mostWaits is how many waits are added up in a second; of more, only those that are not
	// brief.
	mostWaits, brief = 20_000, 1e6
	// interruptFrames is how many frames of an interrupt say what it was. Those of the thread
	// that it interrupted follow them.
	interruptFrames = 6
)

// newWaits makes waits of a process that has these threads now.
func newWaits(pid int32, now uint64, threads []int32) *waits {
	w := &waits{pid: pid, began: now, open: make(map[int32]*wait), unheard: make(map[int32]bool), sums: make(map[sumKey]*sum), seed: maphash.MakeSeed()}
	for _, tid := range threads {
		w.unheard[tid] = true
	}
	return w
}

// hear takes in a record of the process's threads, in the order of time.
func (w *waits) hear(r *switched) {
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
		x.since, x.chain = r.time, append(x.chain[:0], r.chain...)
	case r.misc&switchOut == 0:
		w.end(r.tid, r.time)
	case r.misc&switchWants == 0:
		if x := w.open[r.tid]; x != nil {
			x.asleep = true
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
	*x = wait{chain: x.chain[:0], waker: wakeup{chain: x.waker.chain[:0]}}
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

// found takes in that a look in /proc found a thread waiting. If it was there when the session
// began and was not heard of, it has waited since then.
func (w *waits) found(tid int32, frames []stack.Frame, what string) {
	if !w.unheard[tid] || w.open[tid] != nil {
		return
	}
	if x := w.begin(tid); x != nil {
		x.since, x.asleep, x.frames, x.what = w.began, true, append([]stack.Frame(nil), frames...), what
	}
}

// waiting returns the wait of a thread that waits now; nil if it does not, or nothing is known.
func (w *waits) waiting(tid int32) *wait {
	if x := w.open[tid]; x != nil && x.asleep {
		return x
	}
	return nil
}

// end ends the wait of a thread.
func (w *waits) end(tid int32, at uint64) {
	x := w.waiting(tid)
	if x == nil || at < x.since {
		w.drop(tid)
		return
	}
	w.measured++
	if at-w.second >= 1e9 {
		w.second, w.inSecond = at, 0
	}
	if w.inSecond++; w.inSecond > mostWaits && at-x.since < brief {
		w.briefly = true
		w.drop(tid)
		return
	}
	k := sumKey{tid: tid, waker: x.waker.tid, stack: w.hash(x), woken: maphash.Bytes(w.seed, x.waker.chain)}
	if s := w.sums[k]; s != nil {
		s.waited += at - x.since
		w.drop(tid)
		return
	}
	w.sums[k] = &sum{tid: tid, waited: at - x.since, wait: *x} // which keeps what x has
	delete(w.open, tid)
}

// hash identifies the stack of a wait. One that was found in /proc has no other like it: each
// thread has at most one.
func (w *waits) hash(x *wait) uint64 {
	if x.frames != nil {
		return 0
	}
	return maphash.Bytes(w.seed, x.chain)
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
}

// forget forgets all waits that have not ended: records of them are lost.
func (w *waits) forget() { clear(w.open) }
