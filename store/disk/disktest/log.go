package disktest

import "path/filepath"

// Kind is what an operation does.
type Kind uint8

const (
	Create Kind = iota
	Open        // of an existing file: changes nothing, but can be made to fail
	Read
	Write
	Truncate
	Barrier
	Sync
	Rename
	Remove
	Mkdir
	ReadDir
	SyncDir
	BoltOpen
	BoltCommit // only for faults: what a commit writes is logged as writes
)

var kindNames = []string{"create", "open", "read", "write", "truncate", "barrier", "sync", "rename", "remove",
	"mkdir", "readdir", "syncdir", "bolt open", "bolt commit"}

func (k Kind) String() string { return kindNames[k] }

// changes reports whether operations of kind k are in the log.
func (k Kind) changes() bool {
	switch k {
	case Open, Read, ReadDir, BoltOpen, BoltCommit:
		return false
	}
	return true
}

// Op is one operation.
type Op struct {
	Kind Kind
	// Name is the path below the directory; To is that of a rename.
	Name, To string
	// Off and Data are a write's; Off is also a truncation's size.
	Off  int64
	Data []byte
	// file tells files apart whatever their names.
	file int
}

// Counts is what was done so far.
type Counts struct {
	Writes, Bytes, Barriers, Syncs, DirSyncs int64
}

// Len is the number of operations in the log.
func (d *FS) Len() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.ops)
}

// Ops returns the log.
func (d *FS) Ops() []Op {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.ops[:len(d.ops):len(d.ops)]
}

// Counts adds up the log.
func (d *FS) Counts() Counts {
	var c Counts
	for _, op := range d.Ops() {
		switch op.Kind {
		case Write:
			c.Writes++
			c.Bytes += int64(len(op.Data))
		case Barrier:
			c.Barriers++
		case Sync:
			c.Syncs++
		case SyncDir:
			c.DirSyncs++
		}
	}
	return c
}

// log appends op. The caller holds mu.
func (d *FS) log(op Op) { d.ops = append(d.ops, op) }

// rel is name below the directory.
func (d *FS) rel(name string) string {
	r, err := filepath.Rel(d.dir, name)
	if err != nil {
		return name
	}
	return r
}
