package boltread

import (
	"fmt"
	"sync"
)

// Damage is something in the file that its writer cannot have left so, or that could not be
// read.
type Damage struct {
	// Page and Offset are the page's number and its place in the file.
	Page   uint64
	Offset int64
	// From and To bound the keys that it may have hidden, From inclusive, To
	// exclusive; nil means unbounded.
	From, To []byte
	// What is a sentence without a full stop.
	What string
	// Err is the error of the read, if a read failed.
	Err error
}

func (d *Damage) Error() string {
	return fmt.Sprintf("page %d at offset %d: %s", d.Page, d.Offset, d.What)
}

func (d *Damage) Unwrap() error { return d.Err }

// maxDamage bounds how much damage a hostile file can make a Snapshot remember.
const maxDamage = 1000

type damageLog struct {
	mu    sync.Mutex
	list  []*Damage
	known map[string]bool
	more  int
}

func (l *damageLog) add(d *Damage) {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := d.Error()
	if l.known[text] {
		return
	}
	if len(l.list) >= maxDamage {
		l.more++
		return
	}
	if l.known == nil {
		l.known = make(map[string]bool)
	}
	l.known[text] = true
	l.list = append(l.list, d)
}

func (l *damageLog) all() []*Damage {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]*Damage(nil), l.list...)
}
