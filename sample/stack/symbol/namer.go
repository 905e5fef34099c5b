package symbol

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"time"

	"tachograph/sample/stack"
)

// Opener opens the file of an image; or, if debug is a path, the file that processes with this
// image have there. The Namer closes r if it is an io.Closer.
type Opener func(m *stack.Image, debug string) (r io.ReaderAt, size int64, err error)

// OpenPath opens an image at its path.
func OpenPath(m *stack.Image, debug string) (io.ReaderAt, int64, error) {
	return openRegular(cmp.Or(debug, m.Path))
}

func openRegular(path string) (io.ReaderAt, int64, error) {
	f, size, err := regular(path)
	if err != nil {
		return nil, 0, err
	}
	return f, size, nil
}

// Budget is what naming may use in one session of sampling.
type Budget struct {
	// Time is for opening files: a file may be on a disk that does not answer.
	Time time.Duration
	// Bytes is for the tables that are kept at the same time.
	Bytes int
}

// Recording is the Budget of a recorder. Frames that it leaves without a name can be named when
// the archive is read, from a Directory.
var Recording = Budget{Time: 3 * time.Second, Bytes: 24 << 20}

// A Namer names the functions in samples while they are recorded. It is for one session, and
// for one goroutine.
type Namer struct {
	open   Opener
	left   time.Duration
	bytes  int // bytes of tables that may still be kept
	tables map[file]*Table
	places map[codeAt]named
	// Unnamed counts frames of images whose names were not read; Why has the last reason.
	Unnamed int
	Why     string
}

type file struct{ path, id string }

type codeAt struct {
	image  *stack.Image
	offset uint64
}

type named struct {
	name, file string
	line       int
}

// oneFile is the longest that opening one file may take: naming waits for it.
const oneFile = time.Second

// Limits of what a Namer remembers.
const (
	maxTables = 4096
	maxPlaces = 1 << 16
)

// NewNamer makes a Namer. If open is nil, it uses OpenPath.
func NewNamer(open Opener, b Budget) *Namer {
	if open == nil {
		open = OpenPath
	}
	return &Namer{open: open, left: b.Time, bytes: b.Bytes, tables: make(map[file]*Table), places: make(map[codeAt]named)}
}

// Name fills in the names that are missing in the frames of s.
func (n *Namer) Name(s *stack.Sample) {
	n.frames(s.Frames)
	if s.Waker != nil {
		n.frames(s.Waker.Frames)
	}
}

func (n *Namer) frames(frames []stack.Frame) {
	for i := range frames {
		f := &frames[i]
		if f.Name != "" || f.Image == nil || f.Image.Path == "" || f.Kernel {
			continue
		}
		at := codeAt{f.Image, f.Offset()}
		// A call may return to the beginning of the next function, so look up the byte before.
		// A frame that a signal interrupted is looked up one byte early too, which names it as
		// well.
		if i > 0 && at.offset > 0 && !frames[i-1].Kernel {
			at.offset--
		}
		v, known := n.places[at]
		if !known {
			if t := n.table(f.Image); t != nil {
				v.name, v.file, v.line, _ = t.Find(at.offset)
			} else {
				n.Unnamed++
			}
			if len(n.places) == maxPlaces {
				clear(n.places)
			}
			n.places[at] = v
		}
		f.Name, f.File, f.Line = v.name, v.file, v.line
	}
}

// table returns the table of an image; nil if there is none, or no budget for it.
func (n *Namer) table(m *stack.Image) *Table {
	key := file{m.Path, m.ID}
	t, known := n.tables[key]
	if known {
		return t
	}
	if len(n.tables) >= maxTables || n.left <= 0 || n.bytes <= 0 {
		n.Why = "the budget for names is used up"
		return nil
	}
	t, err := Within(&n.left, oneFile, func() (*Table, error) { return n.read(m) })
	if err != nil {
		n.Why = fmt.Sprintf("%s: %v", m.Path, err)
	}
	if t != nil && t.stripped {
		own, open, most := t, func(path string) (io.ReaderAt, int64, error) { return n.open(m, path) }, n.bytes
		more, _ := Within(&n.left, oneFile, func() (*Table, error) { return own.debugTable(m.Path, open, most), nil })
		if more != nil {
			t = t.joined(more)
		}
	}
	if t != nil {
		if n.bytes -= t.Bytes(); n.bytes < 0 {
			n.Why = fmt.Sprintf("%s: its symbols take %d MB, more than the budget has", m.Path, t.Bytes()>>20)
			n.bytes += t.Bytes()
			t = nil
		}
	}
	n.tables[key] = t
	return t
}

func (n *Namer) read(m *stack.Image) (*Table, error) {
	r, size, err := n.open(m, "")
	if err != nil {
		return nil, err
	}
	if c, ok := r.(io.Closer); ok {
		defer c.Close()
	}
	return Read(r, size, m.ID)
}

// ErrSlow means that a file took longer than allowed.
var ErrSlow = errors.New("it could not be read in time")

// Within calls do, which may never return, for example if it reads a file on a server that does
// not answer. It takes the time from left, and waits at most most. If do takes longer, it is
// abandoned, so it must not change what others use.
func Within[T any](left *time.Duration, most time.Duration, do func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	var r result
	if most = min(most, *left); most <= 0 {
		return r.value, ErrSlow
	}
	done := make(chan result, 1)
	go func() {
		v, err := do()
		done <- result{v, err}
	}()
	began := time.Now()
	late := time.NewTimer(most)
	defer late.Stop()
	select {
	case r = <-done:
		*left -= time.Since(began)
	case <-late.C:
		*left -= most
		r.err = ErrSlow
	}
	return r.value, r.err
}
