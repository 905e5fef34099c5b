package browse

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"
)

// kind is the kind of a job. At most one job of each kind waits: a new one replaces one that has
// not begun, so that a key held down queues nothing. The first kinds are answered first.
type kind int

const (
	askMoment kind = iota
	askNetwork
	askTimeline
	askLife
	askDiff
	askStacks
	askPins
	askSeek
	askBetter  // a complete version of the shown timeline
	askMore    // more of what is shown already
	askRefresh // after what the user waits for: on a busy machine it is always due
	kinds
)

// long reports whether a question may take longer than another one should wait. It is then set
// aside for the other one, and begun again. The engine keeps what it has found.
func (k kind) long() bool { return k == askLife || k == askDiff || k == askStacks || k == askSeek }

// mostAside is how often a question may be set aside that has to begin again from the start. A
// search goes on where it was.
const mostAside = 5

// job is a question to the engine. run is called where the engine is used, its result where the
// screen is drawn.
type job struct {
	kind   kind
	run    func(context.Context) func()
	ctx    context.Context
	cancel context.CancelFunc
	aside  bool // set aside for another question
	times  int  // how often it was set aside
}

// A worker asks the engine, which answers one question at a time, so that the screen never waits
// for it. All of it but its loop belongs to the goroutine that draws the screen.
type worker struct {
	mu      sync.Mutex
	waiting [kinds]*job
	running *job
	wake    chan struct{}
	answers chan func()
	end     context.Context
	stop    context.CancelFunc
	ended   chan struct{}

	asked [kinds]int    // how many answers of each kind are pending
	whats [kinds]string // what the last question was
}

func newWorker() *worker {
	w := &worker{wake: make(chan struct{}, 1), answers: make(chan func()), ended: make(chan struct{})}
	w.end, w.stop = context.WithCancel(context.Background())
	go w.loop()
	return w
}

// ask queues a question.
func (w *worker) ask(k kind, what string, run func(context.Context) func()) {
	j := &job{kind: k, run: run}
	j.ctx, j.cancel = context.WithCancel(w.end)
	w.drop(k)
	w.mu.Lock()
	w.waiting[k] = j
	if r := w.running; r != nil && r.kind.long() && k < r.kind && (r.kind == askSeek || r.times < mostAside) && r.ctx.Err() == nil {
		r.aside = true
		r.cancel()
	}
	w.mu.Unlock()
	w.asked[k]++
	w.whats[k] = what
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// drop withdraws a waiting question.
func (w *worker) drop(k kind) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if j := w.waiting[k]; j != nil {
		j.cancel()
		w.waiting[k] = nil
		w.asked[k]--
	}
}

// busy returns what is being asked, anything before a long question, and whether anything is.
func (w *worker) busy() (what string, is bool) {
	long := false
	for k := range w.asked {
		if w.asked[k] > 0 {
			is = true
			if w.whats[k] != "" && !long {
				what, long = w.whats[k], kind(k).long()
			}
		}
	}
	return what, is
}

// askingLong reports whether a question is pending that the user can cancel.
func (w *worker) askingLong() bool {
	return w.asking(askLife) || w.asking(askDiff) || w.asking(askStacks) || w.asking(askSeek)
}

// asking reports whether a question of this kind waits or is being answered.
func (w *worker) asking(k kind) bool { return w.asked[k] > 0 }

// cancel withdraws the questions of one kind.
func (w *worker) cancel(k kind) {
	w.drop(k)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.running != nil && w.running.kind == k {
		w.running.aside = false
		w.running.cancel()
	}
}

// again queues a question that was set aside, unless another one of its kind waits. It reports
// whether it did.
func (w *worker) again(j *job) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !j.aside || w.waiting[j.kind] != nil || w.end.Err() != nil {
		return false
	}
	n := &job{kind: j.kind, run: j.run, times: j.times + 1}
	n.ctx, n.cancel = context.WithCancel(w.end)
	w.waiting[j.kind], w.running = n, nil
	return true
}

// next takes the next job from the queue, nil if there is none.
func (w *worker) next() *job {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.running = nil
	for k, j := range w.waiting {
		if j != nil {
			w.waiting[k], w.running = nil, j
			return j
		}
	}
	return nil
}

func (w *worker) loop() {
	defer close(w.ended)
	for {
		j := w.next()
		if j == nil {
			select {
			case <-w.wake:
				continue
			case <-w.end.Done():
				return
			}
		}
		apply := w.contained(j)
		if j.ctx != w.end && w.again(j) {
			continue
		}
		answer := func() {
			w.asked[j.kind]--
			given := j.ctx.Err() != nil // cancelled: the answer is no longer needed
			j.cancel()
			if !given && apply != nil {
				apply()
			}
		}
		select {
		case w.answers <- answer:
		case <-w.end.Done():
			return
		}
	}
}

// contained runs a job. It passes a panic on to where the terminal can be restored first.
func (w *worker) contained(j *job) (apply func()) {
	defer func() {
		if p := recover(); p != nil {
			stack := debug.Stack()
			j.ctx = w.end // The panic must be reported even if the answer is no longer needed.
			apply = func() { panic(fmt.Sprintf("%v (while asking)\n%s", p, stack)) }
		}
	}()
	return j.run(j.ctx)
}

// close ends the worker and waits until the engine is no longer used, but at most for patience.
// It reports whether that is so.
func (w *worker) close(patience time.Duration) bool {
	w.stop()
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case <-w.ended:
		return true
	case <-late.C:
		return false
	}
}
