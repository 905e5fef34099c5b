package socket

import "sync"

// Flows are the bytes of all connections by the interface that carried them, as of the last list.
// They begin with the connections, so only their increase says something. A nil Flows has none.
type Flows struct {
	mu    sync.Mutex
	of    map[uint32]Bytes
	lists uint64
}

func (f *Flows) add(index uint32, more Bytes) {
	if f == nil || index == 0 {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.of == nil {
		f.of = make(map[uint32]Bytes)
	}
	b := f.of[index]
	b.add(more)
	f.of[index] = b
}

func (f *Flows) listed() {
	if f == nil {
		return
	}
	f.mu.Lock()
	f.lists++
	f.mu.Unlock()
}

// Of returns the bytes of an interface, and how many lists there have been.
func (f *Flows) Of(index uint32) (b Bytes, lists uint64) {
	if f == nil {
		return b, 0
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.of[index], f.lists
}
