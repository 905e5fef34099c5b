package perf

import (
	"hash/maphash"

	"tachograph/sample/stack/python"
)

// interpreted says which functions of a program in Python a thread is in.
type interpreted struct {
	places []python.Place
	// lock says that it waits for the interpreter's lock, in words; "" if it does not.
	lock string
	at   uint64 // when that was read; 0: it was not
}

// forget forgets it, but for its memory.
func (i *interpreted) forget() { *i = interpreted{places: i.places[:0]} }

// hash adds it to a hash.
func (i *interpreted) hash(h *maphash.Hash) {
	for _, p := range i.places {
		maphash.WriteComparable(h, p)
	}
	h.WriteString(i.lock)
}
