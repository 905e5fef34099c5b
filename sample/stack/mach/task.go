package mach

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"tachograph/sample/stack"
	"tachograph/sample/stack/chain"
	"tachograph/sample/stack/macho"
)

// reopened is how often a process may call exec while it is sampled.
const reopened = 4

// task is a session with one process that the recorder may open.
type task struct {
	k        kernel
	process  process
	right    port
	threads  *threads
	moving   []*thread
	eye      *eye
	mem      memory
	images   images
	python   interpreter
	queues   map[uint64]string // labels of dispatch queues, in this round
	statuses stack.Statistics
	sample   stack.Sample
	give     func(*stack.Sample)
}

func newTask(k kernel, p process, right port, asked int, give func(*stack.Sample)) *task {
	t := &task{k: k, process: p, threads: newThreads(k), eye: newEye(k), queues: make(map[uint64]string), give: give}
	t.statuses = stack.Statistics{How: "mach", Tasks: asked}
	t.images.names = newNames()
	t.enter(right)
	t.sample.Thread = stack.Thread{PID: p.pid, Process: p.key, Command: printable(p.command)}
	t.sample.Count = 1
	return t
}

// enter begins with a task; after an exec the process has another task.
func (t *task) enter(right port) {
	t.right = right
	t.eye.task, t.eye.translated = right, t.process.translated
	t.mem = memory{k: t.k, task: right}
	t.images = images{mem: &t.mem, names: t.images.names}
	t.eye.rules.images = &t.images
	t.python = interpreter{}
}

func (t *task) leave() {
	t.threads.close()
	if t.right != 0 {
		t.k.Close(t.right)
		t.right = 0
	}
}

// run samples the process whenever it is due.
func (t *task) run(ctx context.Context, p *pace) stack.Statistics {
	t.eye.guard.watch(func(token port) {
		if t.k.Resume(token) != 0 {
			t.k.Close(token)
		}
	})
	defer t.eye.guard.dismiss()
	again := 0
	for p.due(ctx) {
		begin, before := time.Now(), t.eye.lengths.sum
		if !t.round() {
			t.leave()
			if again++; again > reopened || !t.open() {
				t.statuses.Gone++
				break
			}
		}
		p.done(begin, time.Now(), time.Duration(t.eye.lengths.sum-before))
	}
	t.leave()
	s := &t.statuses
	s.Rounds, s.Missed = p.rounds, p.missed
	t.eye.lengths.count(s)
	return *s
}

// open opens the process again, if it still exists: a process that calls exec gets another
// task.
func (t *task) open() bool {
	now, ok := t.k.Process(t.process.pid)
	if !ok || now.key != t.process.key {
		return false
	}
	right, asked, err := t.k.Open(now.pid)
	t.statuses.Tasks += asked
	if err != nil {
		t.statuses.Why = err.Error()
		return false
	}
	t.process = now
	t.sample.Thread.Command = printable(now.command)
	t.enter(right)
	return true
}

// round samples each thread once; it returns false if the task is gone.
func (t *task) round() bool {
	switch c := t.threads.update(t.right, t.without); {
	case c.gone():
		return false
	case c != 0:
		t.failed("task_threads", c)
		return true
	}
	t.images.update(t.k.Dyld(t.right))
	clear(t.queues)
	t.moving = t.moving[:0]
	for _, h := range t.threads.order {
		switch ok, c := t.eye.look(h); {
		case c != 0:
			t.without(c)
		case ok:
			t.tell(h, &t.eye.seen[0])
		default:
			t.moving = append(t.moving, h)
		}
	}
	// By now everything that a window needs has been used once and is in memory.
	again := 0
	for rest := t.moving; len(rest) > 0; {
		n, c := t.eye.window(rest)
		if c == 0 && again < relearn && t.eye.rules.learn() {
			again++
			continue
		}
		if c != 0 {
			for range rest {
				t.without(c)
			}
			break
		}
		for i, h := range rest[:n] {
			if s := &t.eye.seen[i]; s.failed != 0 {
				t.without(s.failed)
			} else {
				t.tell(h, s)
			}
		}
		rest = rest[n:]
	}
	return true
}

// without counts a thread that cannot be sampled.
func (t *task) without(c code) {
	switch {
	case c.gone():
		t.statuses.Gone++
	case c == resourceShortage && len(t.threads.order) >= maxThreads:
		t.statuses.Failed++
		t.statuses.Why = fmt.Sprintf("only %d threads of a process are looked at", maxThreads)
	default:
		t.failed("reading a thread", c)
	}
}

func (t *task) failed(what string, c code) {
	t.statuses.Failed++
	t.statuses.Why = what + ": " + t.k.Message(c)
}

// tell gives the sample of what was seen of a thread.
func (t *task) tell(h *thread, seen *glance) {
	t.statuses.Samples++
	s := &t.sample
	s.Thread.TID, s.Thread.Name, s.Thread.Queue = h.who.id, h.name(), t.queue(seen.queue)
	s.State, s.Wait, s.End = stack.Waiting, "", seen.end
	if h.running {
		s.State = stack.Running
	}
	s.Frames = s.Frames[:0]
	for i, addr := range seen.frames {
		s.Frames = append(s.Frames, t.images.frame(addr, i > 0))
		if i == 0 && len(seen.frames) < stack.MaxDepth {
			if caller := t.leaf(seen); caller != 0 {
				s.Frames = append(s.Frames, t.images.frame(caller, true))
			}
		}
	}
	t.interpret(s)
	t.give(s)
}

// leaf returns the caller of an innermost function that has no frame, or has none yet; 0 if it
// has one, as far as that can be found out.
func (t *task) leaf(seen *glance) uint64 {
	r, frames := &seen.registers, seen.frames
	if seen.ruled {
		return 0 // the walk has found it
	}
	if caller, ok := t.images.saved(seen); ok {
		return caller
	}
	inner, ok := t.images.function(frames[0])
	if !ok {
		return 0
	}
	caller := r.LR
	if caller == 0 {
		// Intel's processors push it. A function then pushes the frame pointer, which still
		// belongs to its caller, and makes it point there.
		switch {
		case frames[0] == inner:
			caller = seen.top[0]
		case seen.top[0] == r.FP:
			caller = seen.top[1]
		}
	}
	// Other processors have it in a register. Once a function has called another, that register
	// points back into the function itself.
	caller &= chain.Plain
	if caller == 0 || len(frames) > 1 && frames[1] == caller {
		return 0
	}
	if outer, ok := t.images.function(caller - 1); !ok || inner == outer {
		return 0
	}
	return caller
}

// Offset of the label in a dispatch queue.
const (
	queueLabel = 72
	maxLabel   = 128
)

// queue returns the label of the dispatch queue at an address.
func (t *task) queue(at uint64) string {
	if at == 0 {
		return ""
	}
	label, ok := t.queues[at]
	if ok {
		return label
	}
	var b [8]byte
	if t.mem.Read(at+queueLabel, b[:]) {
		text, _ := macho.Text(&t.mem, binary.LittleEndian.Uint64(b[:]), maxLabel)
		label = printable(text)
	}
	t.queues[at] = label
	return label
}
