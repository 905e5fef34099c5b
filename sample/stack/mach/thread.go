package mach

// thread is one that is looked at, and a right to it.
type thread struct {
	port  port
	who   identity
	round int // the last one in which it was there
	// What was seen of it: running is for the sample at hand, the rest is from when
	// it was last seen to wait.
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

// maxThreads is how many threads of a process are looked at.
const maxThreads = 4096

// threads are those of a task.
type threads struct {
	k     kernel
	all   map[port]*thread
	order []*thread // those that there are, as the kernel lists them
	list  []port
	round int
}

func newThreads(k kernel) *threads { return &threads{k: k, all: make(map[port]*thread)} }

// update asks which threads there are. Of each one right is kept, by which it is
// known the next time: a name of a right stays that of the same thread as long.
// without is told of each that cannot be looked at, and why.
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
			h.k.Close(p) // the one that is kept already is enough
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

// close gives all rights back.
func (h *threads) close() {
	for p := range h.all {
		h.k.Close(p)
	}
	clear(h.all)
}
