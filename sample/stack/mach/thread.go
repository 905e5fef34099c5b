package mach

// thread is a thread of the task, and a right to it.
type thread struct {
	port  port
	who   identity
	round int // the last round in which it existed
	// What was seen of it: running is for the current sample, the rest is from when it was last
	// seen waiting.
	running   bool
	known     bool
	described description
	last      glance
}

func (t *thread) remember(g *glance) {
	frames := append(t.last.frames[:0], g.frames...)
	t.known, t.last = true, *g
	t.last.frames = frames
}

func (t *thread) name() string {
	b := t.described.name[:]
	for i, c := range b {
		if c == 0 {
			b = b[:i]
			break
		}
	}
	return printable(string(b))
}

// maxThreads is how many threads of a process are sampled.
const maxThreads = 4096

// threads are the threads of a task.
type threads struct {
	k     kernel
	all   map[port]*thread
	order []*thread // the existing threads, as the kernel lists them
	list  []port
	round int
}

func newThreads(k kernel) *threads { return &threads{k: k, all: make(map[port]*thread)} }

// update lists the threads. It keeps one right to each thread and recognises the thread by it
// the next time: while a right is held, its name stays that of the same thread. It calls
// without for each thread that cannot be sampled, with the reason.
func (h *threads) update(task port, without func(code)) (c code) {
	h.list, c = h.k.Threads(task, h.list[:0])
	if c != 0 {
		return c
	}
	h.round++
	h.order = h.order[:0]
	for _, p := range h.list {
		t := h.all[p]
		switch {
		case t != nil:
			h.k.Close(p) // the right that is kept already is enough
		case len(h.order) >= maxThreads:
			h.k.Close(p)
			without(resourceShortage)
			continue
		default:
			t = &thread{port: p}
			if c := h.k.Identify(p, &t.who); c != 0 {
				h.k.Close(p)
				without(c)
				continue
			}
			h.all[p] = t
		}
		t.round = h.round
		h.order = append(h.order, t)
	}
	for p, t := range h.all {
		if t.round != h.round {
			h.k.Close(p)
			delete(h.all, p)
		}
	}
	return 0
}

// named returns the name of the thread with an identity; "" if it has none or does not exist.
func (h *threads) named(id uint64) string {
	for _, t := range h.order {
		if t.who.id == id {
			return t.name()
		}
	}
	return ""
}

// close gives all rights back.
func (h *threads) close() {
	for p := range h.all {
		h.k.Close(p)
	}
	clear(h.all)
}
