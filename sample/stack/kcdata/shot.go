package kcdata

import (
	"errors"
	"math/bits"
)

// Errors of a stackshot as a whole.
var (
	errNotAShot = errors.New("this is no stackshot")
	errDelta    = errors.New("the stackshot has only what changed")
	errPacked   = errors.New("the stackshot is compressed")
	errCut      = errors.New("the stackshot is cut short")
)

// Load is the address at which an image was loaded.
type Load struct {
	Address uint64
	UUID    [16]byte
}

// Cache is a shared cache of system libraries. IDs distinguish several caches.
type Cache struct {
	ID     uint32
	UUID   [16]byte
	Slide  uint64
	Layout []Load // its images and their addresses; empty if not asked for
}

// Shot is the content of a stackshot besides its tasks.
type Shot struct {
	// Nanoseconds is for how long the processors stood still; 0 if unknown.
	Nanoseconds uint64
	// Caches are in the order of their IDs; the first is the system's own.
	Caches []Cache
	Tasks  int
}

// Task is a process.
type Task struct {
	PID     int32
	Unique  uint64
	Command string // up to 32 bytes of it
	Images  []Load // outside the shared cache
	// Cache is the ID of its shared cache, 0 for the system's.
	Cache     uint32
	Suspended bool
	Threads   []Thread
	// At is when the stackshot was taken, in nanoseconds of the kernel's own clock; 0 if unknown.
	At uint64
}

// Flags and states of threads.
const (
	FlagTruncated = 0x80 | 0x8000
	FlagOnCore    = 0x800
	StateRunning  = 0x4
)

// Thread is a thread of a process. Addresses come without the signatures of pointer
// authentication, the innermost first.
type Thread struct {
	ID          uint64
	Flags       uint64
	State       uint32
	Name, Queue string
	User        []uint64
	Kernel      []uint64
	Wait        Wait
	// Off is for how many nanoseconds no processor has run the thread; 0 if that is not known, or
	// one runs it.
	Off uint64
}

// Wait is what a thread waits for.
type Wait struct {
	Kind           uint8 // 0 if nothing is known
	Owner, Context uint64
}

// reader reads the items in order.
type reader struct {
	shot         Shot
	numer, denom uint64
	now          uint64 // in the kernel's own ticks
	inside       [maxDepth]uint32
	depth        int
	cache        *Cache // the cache whose items follow
	task         Task
	hasTask      bool
	addresses    []uint64 // of all stacks of the task
	each         func(*Task, []Cache)
}

// Read calls each with the processes of a stackshot, one after the other, and with the shared
// caches, and returns the rest of its content. The next call overwrites the Task and all that
// it refers to. If the stackshot is damaged, each gets the processes before the damage.
func Read(b []byte, each func(*Task, []Cache)) (Shot, error) {
	r := reader{numer: 1, denom: 1, each: each}
	it, rest, ok := next(b)
	switch {
	case !ok:
		return r.shot, errNotAShot
	case it.kind == beginDelta:
		return r.shot, errDelta
	case it.kind == beginCompressed:
		return r.shot, errPacked
	case it.kind != beginShot:
		return r.shot, errNotAShot
	}
	for {
		it, rest, ok = next(rest)
		if !ok {
			return r.shot, errCut
		}
		switch it.kind {
		case end:
			r.shot.Nanoseconds = r.nanoseconds(r.shot.Nanoseconds)
			return r.shot, nil
		case containerBegin:
			if r.depth == maxDepth || len(it.data) < 4 {
				return r.shot, errCut
			}
			r.begin(le.Uint32(it.data))
		case containerEnd:
			if r.depth == 0 {
				return r.shot, errCut
			}
			r.finish()
		default:
			r.take(&it)
		}
	}
}

func (r *reader) begin(kind uint32) {
	r.inside[r.depth] = kind
	r.depth++
	switch {
	case kind == inTask && r.depth == 1:
		r.task = Task{Images: r.task.Images[:0], Threads: r.task.Threads[:0], At: r.nanoseconds(r.now)}
		r.hasTask, r.addresses = false, r.addresses[:0]
	case kind == inThread && r.where() == inThread:
		r.task.Threads = append(r.task.Threads, Thread{})
	case kind == inCache && r.depth == 1:
		r.shot.Caches = append(r.shot.Caches, Cache{})
		r.cache = &r.shot.Caches[len(r.shot.Caches)-1]
	}
}

func (r *reader) finish() {
	if r.where() == inTask && r.hasTask {
		r.shot.Tasks++
		r.each(&r.task, r.shot.Caches)
	}
	r.depth--
	if r.depth == 0 {
		r.cache = nil
	}
}

// where returns the kind of the container whose items follow, if that matters here.
func (r *reader) where() uint32 {
	switch {
	case r.depth == 1:
		return r.inside[0]
	case r.depth == 2 && r.inside[0] == inTask:
		return r.inside[1]
	}
	return 0
}

func (r *reader) take(it *item) {
	switch where := r.where(); {
	case r.depth == 0 || where == inCache:
		r.general(it)
	case where == inTask:
		r.ofTask(it)
	case where == inThread:
		r.ofThread(it, &r.task.Threads[len(r.task.Threads)-1])
	}
}

func (r *reader) general(it *item) {
	switch {
	case it.kind == timebase && len(it.data) >= 8:
		if n, d := le.Uint32(it.data), le.Uint32(it.data[4:]); n > 0 && d > 0 {
			r.numer, r.denom = uint64(n), uint64(d)
		}
	case it.kind == machTime && len(it.data) >= 8 && r.depth == 0:
		r.now = le.Uint64(it.data)
	case it.kind == duration && len(it.data) >= 8:
		r.shot.Nanoseconds = le.Uint64(it.data)
	case it.kind == cacheInfoNew && len(it.data) >= 44 && r.cache != nil:
		r.cache.ID = le.Uint32(it.data[40:])
		r.cache.Slide, r.cache.UUID = le.Uint64(it.data), [16]byte(it.data[8:24])
	case it.kind == cacheInfo && len(it.data) >= cacheInfoSize && r.depth == 0 && len(r.shot.Caches) == 0:
		// Releases with only one cache report it like this, and later ones report it again.
		r.shot.Caches = append(r.shot.Caches, Cache{Slide: le.Uint64(it.data), UUID: [16]byte(it.data[8:24])})
	case it.kind == cacheLayout && it.each > 0:
		c := r.cache
		if c == nil && len(r.shot.Caches) > 0 {
			c = &r.shot.Caches[0]
		}
		if c != nil && len(c.Layout) == 0 {
			c.Layout = it.loads(nil)
		}
	}
}

func (r *reader) ofTask(it *item) {
	t := &r.task
	switch {
	case it.kind == taskSnapshot && len(it.data) > 88:
		t.Unique, t.PID = le.Uint64(it.data), int32(le.Uint32(it.data[84:]))
		t.Suspended = le.Uint32(it.data[56:]) > 0
		name := *it
		name.data = it.data[88:min(len(it.data), 88+32)]
		t.Command, r.hasTask = name.text(), true
	case it.kind == loadInfo && it.each > 0:
		t.Images = it.loads(t.Images)
	case it.kind == kernelLoad && len(it.data) >= loadInfoSize:
		t.Images = append(t.Images, Load{le.Uint64(it.data), [16]byte(it.data[8:24])})
	case it.kind == taskCache && len(it.data) >= 4:
		t.Cache = le.Uint32(it.data)
	case it.kind == waitInfo && it.each >= waitInfoSize:
		at := 0
		for b := it.data; len(b) >= it.each; b = b[it.each:] {
			at = t.waits(at, le.Uint64(b[8:]), Wait{Kind: b[24], Owner: le.Uint64(b), Context: le.Uint64(b[16:])})
		}
	}
}

// waits sets what a thread waits for, and returns where to begin the search for the next one:
// the kernel lists them in the order of the threads.
func (t *Task) waits(from int, id uint64, w Wait) (next int) {
	for i := from; i < len(t.Threads); i++ {
		if t.Threads[i].ID == id {
			t.Threads[i].Wait = w
			return i + 1
		}
	}
	return from
}

func (r *reader) ofThread(it *item, t *Thread) {
	switch {
	case it.kind == thread && it.each == 0 && len(it.data) >= 92:
		t.ID, t.Flags, t.State = le.Uint64(it.data), le.Uint64(it.data[64:]), le.Uint32(it.data[88:])
		if last := le.Uint64(it.data[72:]); last > 0 && last < r.now && t.Flags&FlagOnCore == 0 {
			t.Off = r.nanoseconds(r.now - last)
		}
	case it.kind == threadName && it.each == 0:
		t.Name = it.text()
	case it.kind == queueLabel && it.each == 0:
		t.Queue = it.text()
	case it.kind == userStack && it.each > 0:
		t.User = r.keep(it)
	case it.kind == kernelStack && it.each > 0:
		t.Kernel = r.keep(it)
	}
}

// nanoseconds returns how long so many of the kernel's ticks are.
func (r *reader) nanoseconds(ticks uint64) uint64 {
	whole, rest := bits.Mul64(ticks, r.numer)
	if whole >= r.denom {
		return 0 // no clock has run for so long
	}
	n, _ := bits.Div64(whole, rest, r.denom)
	return n
}

// keep stores the addresses of a stack with those of the task's other stacks.
func (r *reader) keep(it *item) []uint64 {
	from := len(r.addresses)
	r.addresses = it.words(r.addresses)
	return r.addresses[from:len(r.addresses):len(r.addresses)]
}
