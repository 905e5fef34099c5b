package mach

import (
	"tachograph/sample/proc/libproc"
	"tachograph/sample/stack"
	"tachograph/sample/stack/kcdata"
	"tachograph/sample/stack/macho"
)

// whereabouts turns the addresses in stackshots into frames. Stackshots have images as
// addresses and UUIDs; for those in the shared cache the rest is found in this process's own
// memory, which has the same cache at the same address.
type whereabouts struct {
	k       kernel
	self    memory
	names   *names
	kernel  *stack.Image
	laidOut bool // the caches are known
	ownUUID string
	cached  []macho.Cached // the images of our own cache
	caches  map[uint32]*images
	people  map[uint64]*person // by unique number
	all     map[kcdata.Load]*image
	task    images  // the images of the current process, outside of its cache
	cache   *images // and in it
}

// person is a process as it appears in a stackshot.
type person struct {
	key, command string
	short        string // the name in the stackshot, which an exec changes
}

// maxPeople bounds how many processes, and how many images, are remembered.
const maxPeople = 1 << 16

func newWhereabouts(k kernel) *whereabouts {
	w := &whereabouts{k: k, names: newNames(), kernel: &stack.Image{Path: "kernel"},
		caches: make(map[uint32]*images), people: make(map[uint64]*person), all: make(map[kcdata.Load]*image)}
	w.self = memory{k: k, task: k.Self()}
	w.ownUUID, w.cached, _ = macho.ReadCache(&w.self, k.Cache())
	return w
}

func (w *whereabouts) kernelAt(at kcdata.Load) {
	w.kernel = &stack.Image{Path: "kernel", ID: macho.UUID(at.UUID), Base: at.Address}
}

func (w *whereabouts) inKernel(addr uint64) stack.Frame {
	return stack.Frame{Address: addr, Image: w.kernel, Kernel: true}
}

// layOut takes in the addresses of the images of the shared caches.
func (w *whereabouts) layOut(caches []kcdata.Cache) {
	for i := range caches {
		c := &caches[i]
		if w.caches[c.ID] != nil {
			continue
		}
		m := &images{names: w.names}
		id := macho.UUID(c.UUID)
		if id == w.ownUUID && id != "" {
			for _, in := range w.cached {
				m.add(in.Load, in.Size, &image{mem: &w.self, Image: stack.Image{Path: in.Path, ID: in.UUID, Base: in.Load}})
			}
		} else {
			for _, in := range c.Layout {
				m.add(in.Address, unknownSize, &image{Image: stack.Image{ID: macho.UUID(in.UUID), Base: in.Address}})
			}
		}
		for _, in := range m.list {
			in.image.inCache(id, c.Slide)
		}
		if len(m.list) == 0 {
			continue
		}
		m.sort()
		w.caches[c.ID] = m
		if i == 0 {
			w.caches[0] = m // tasks with the system's cache have ID 0
		}
	}
}

// enter begins with the addresses of a process.
func (w *whereabouts) enter(t *kcdata.Task) *person {
	p := w.people[t.Unique]
	if p == nil || p.short != t.Command {
		if len(w.people) >= maxPeople {
			clear(w.people)
		}
		p = &person{key: libproc.Key(t.Unique), command: printable(t.Command), short: t.Command}
		if now, ok := w.same(t.PID, p); ok {
			p.command = printable(libproc.FullName([]byte(t.Command), now.path))
		}
		w.people[t.Unique] = p
	}
	w.cache = w.caches[t.Cache]
	w.task = images{names: w.names, list: w.task.list[:0]}
	for _, in := range t.Images {
		w.task.add(in.Address, unknownSize, w.outside(in, t.PID, p))
	}
	w.task.sort()
	return p
}

// same returns the process that now has a pid, and whether it is still p.
func (w *whereabouts) same(pid int32, p *person) (process, bool) {
	now, ok := w.k.Process(pid)
	return now, ok && now.key == p.key
}

// outside returns an image outside of the cache; stackshots do not have its path.
func (w *whereabouts) outside(in kcdata.Load, pid int32, p *person) *image {
	at := w.all[in]
	if at != nil {
		return at
	}
	if len(w.all) >= maxPeople {
		clear(w.all)
	}
	at = &image{Image: stack.Image{ID: macho.UUID(in.UUID), Base: in.Address}}
	path := w.k.Mapped(pid, in.Address)
	if _, ok := w.same(pid, p); ok {
		at.Path = printable(path)
	}
	w.all[in] = at
	return at
}

func (w *whereabouts) frame(addr uint64, caller bool) stack.Frame {
	f := w.task.newFrame(addr, caller)
	if f.Image == nil && w.cache != nil {
		f = w.cache.frame(addr, caller)
	}
	return f
}
