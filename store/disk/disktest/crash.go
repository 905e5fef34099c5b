package disktest

import (
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
)

// Mode is a kind of crash.
type Mode uint8

const (
	Panic Mode = iota
	PowerCut
)

func (m Mode) String() string {
	if m == Panic {
		return "panic"
	}
	return "power cut"
}

// sector is what a drive writes whole or not at all.
const sector = 512

// flavours of what becomes of the operations that no sync covered.
const (
	nothing = iota
	everything
	aBeginning
	someWrites
	someSectors
	flavours
)

// Crash rebuilds in dst, an empty directory, what a crash may leave that comes
// while operation at of the log is under way. at may be Len. What is left to
// chance is taken from rnd.
func (d *FS) Crash(dst string, at int, mode Mode, rnd *rand.Rand) error {
	ops := d.Ops()
	c := newCrash(ops, at, mode, rnd)
	files := make(map[int][]byte)
	lost := make(map[int]bool) // files of which a truncation was lost
	for i, op := range ops[:c.end] {
		switch {
		case op.Kind != Write && op.Kind != Truncate:
		case i < c.sure[op.file]:
			files[op.file] = apply(files[op.file], op)
		case lost[op.file] || !c.kept(i):
			lost[op.file] = lost[op.file] || op.Kind == Truncate
			if op.Kind == Write && c.flavour == someSectors && !lost[op.file] && rnd.Intn(4) == 0 {
				files[op.file] = extend(files[op.file], op.Off+int64(len(op.Data)))
			}
		case op.Kind == Write && c.flavour == someSectors:
			files[op.file] = tear(files[op.file], op, rnd)
		default:
			files[op.file] = apply(files[op.file], op)
		}
	}
	return c.place(dst, ops, files)
}

// crash is what is sure and what is possible at a crash.
type crash struct {
	rnd     *rand.Rand
	flavour int
	// sure[f] is the first operation of file f that no sync covered.
	sure map[int]int
	// end is the first operation that cannot have reached the drive.
	end int
	// names is the first operation on names that SyncDir did not cover.
	names int
	// prefix is where aBeginning ends.
	prefix int
}

func newCrash(ops []Op, at int, mode Mode, rnd *rand.Rand) *crash {
	c := &crash{rnd: rnd, flavour: rnd.Intn(flavours), sure: make(map[int]int), end: min(at+1, len(ops))}
	cut := at // syncs before this operation are effective
	if mode == PowerCut {
		cut = 0
		var barriers []int
		for i, op := range ops[:at] {
			switch op.Kind {
			case Sync, SyncDir:
				cut, barriers = i+1, nil
			case Barrier:
				barriers = append(barriers, i)
			}
		}
		if n := rnd.Intn(len(barriers) + 1); n < len(barriers) {
			c.end = barriers[n] + 1
			if n > 0 {
				cut = barriers[n-1] + 1
			}
		} else if n > 0 {
			cut = barriers[n-1] + 1
		}
	}
	for i, op := range ops[:cut] {
		switch op.Kind {
		case Barrier, Sync:
			c.sure[op.file] = i
		case SyncDir:
			c.names = i
		}
	}
	c.prefix = cut + rnd.Intn(c.end-cut+1)
	return c
}

// kept decides about an operation that no sync covered.
func (c *crash) kept(i int) bool {
	switch c.flavour {
	case nothing:
		return false
	case everything:
		return true
	case aBeginning:
		return i < c.prefix
	}
	return c.rnd.Intn(2) == 0
}

// place gives the files the names that survived.
func (c *crash) place(dst string, ops []Op, files map[int][]byte) error {
	names := make(map[string]int)
	dirs := []string{}
	last := c.names
	switch c.flavour {
	case nothing:
	case everything:
		last = c.end
	default:
		last += c.rnd.Intn(c.end - c.names + 1)
	}
	for _, op := range ops[:last] {
		switch op.Kind {
		case Create:
			names[op.Name] = op.file
		case Rename:
			if id, ok := names[op.Name]; ok {
				names[op.To] = id
				delete(names, op.Name)
			}
		case Remove:
			delete(names, op.Name)
		case Mkdir:
			dirs = append(dirs, op.Name)
		}
	}
	for _, dir := range dirs {
		if err := os.MkdirAll(filepath.Join(dst, dir), 0o700); err != nil {
			return fmt.Errorf("disktest: %w", err)
		}
	}
	for name, id := range names {
		if err := os.WriteFile(filepath.Join(dst, name), files[id], 0o600); err != nil {
			return fmt.Errorf("disktest: %w", err)
		}
	}
	return nil
}

func extend(b []byte, size int64) []byte {
	if int64(len(b)) < size {
		b = append(b, make([]byte, size-int64(len(b)))...)
	}
	return b
}

func apply(b []byte, op Op) []byte {
	if op.Kind == Truncate {
		return extend(b[:min(int64(len(b)), op.Off)], op.Off)
	}
	b = extend(b, op.Off+int64(len(op.Data)))
	copy(b[op.Off:], op.Data)
	return b
}

// tear applies some sectors of a write.
func tear(b []byte, op Op, rnd *rand.Rand) []byte {
	for from := int64(0); from < int64(len(op.Data)); {
		to := min(from+sector-(op.Off+from)%sector, int64(len(op.Data)))
		if rnd.Intn(2) == 0 {
			b = apply(b, Op{Kind: Write, Off: op.Off + from, Data: op.Data[from:to]})
		}
		from = to
	}
	return b
}
