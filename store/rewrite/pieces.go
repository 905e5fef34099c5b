package rewrite

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"tachograph/store/disk"
	"tachograph/store/fault"
	"tachograph/store/layout"
)

// pieces are archives that appear in a directory together. They are made in a folder below it,
// which is renamed once all of them are made. If the process is killed, the next one removes the
// folder if it still has its first name, and moves the pieces into place if it has the second.
type pieces struct {
	dir    string
	at     string // where they are made
	remove func() // removes at and its contents
	names  []string
}

const (
	// piecesName begins the name of the folder in which pieces are made.
	piecesName = "tachograph-pieces"
	// madeSuffix is appended to the folder's name when all pieces are made.
	madeSuffix = ".made"
)

// newPieces prepares to make pieces in dir, which is made if it does not exist.
func newPieces(dir string) (*pieces, error) {
	if err := os.Mkdir(dir, 0o750); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, &fault.Error{Op: "split", Path: dir, Err: err}
	}
	place := filepath.Join(dir, piecesName)
	disk.Abandoned(place, func(left disk.Leftover) {
		if left.Final != place || !left.IsDir {
			return
		}
		p := &pieces{dir: dir, at: left.Path}
		end := p.undo
		if strings.HasSuffix(left.Rest, madeSuffix) {
			end = p.move
		}
		if end() == nil {
			_ = os.RemoveAll(left.Path)
		}
	})
	at, remove, err := disk.MkdirNaming(place)
	if err != nil {
		return nil, &fault.Error{Op: "split", Path: dir, Err: err}
	}
	return &pieces{dir: dir, at: at, remove: remove}, nil
}

// scratch returns the path at which the next piece is made.
func (p *pieces) scratch() string { return filepath.Join(p.at, "piece") }

// made names the finished piece after its contents, with another name if that is taken, and
// returns its size.
func (p *pieces) made(written *Written) (size int64, err error) {
	for n := 0; ; n++ {
		written.Name = layout.FinishedName(written.Host.Name, written.From, written.To, n)
		if missing(filepath.Join(p.dir, written.Name)) && missing(filepath.Join(p.at, written.Name)) {
			break
		}
	}
	path := filepath.Join(p.at, written.Name)
	if err := os.Rename(p.scratch(), path); err != nil {
		return 0, err
	}
	p.names = append(p.names, written.Name)
	st, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	return st.Size(), nil
}

// missing reports whether no file has that path.
func missing(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, fs.ErrNotExist)
}

// publish puts all pieces into the directory. Each also keeps its name in the folder until all
// are there.
func (p *pieces) publish() error {
	defer p.remove()
	for _, name := range p.names {
		err := os.Link(filepath.Join(p.at, name), filepath.Join(p.dir, name))
		if errors.Is(err, fs.ErrExist) {
			_ = p.undo()
			return exists(filepath.Join(p.dir, name))
		}
		if err != nil { // Without hard links, the pieces are moved when all are made.
			if err := p.undo(); err != nil {
				return err
			}
			break
		}
	}
	whole := p.at + madeSuffix
	if err := os.Rename(p.at, whole); err != nil {
		return errors.Join(&fault.Error{Op: "split", Path: p.dir, Err: err}, p.undo())
	}
	p.at = whole
	err := errors.Join(p.move(), disk.OS.SyncDir(p.dir))
	if err == nil {
		err = os.RemoveAll(p.at)
	}
	return err
}

// undo removes the pieces that are already in the directory.
func (p *pieces) undo() error {
	return p.each(func(here, there string, same bool) error {
		if same {
			return os.Remove(there)
		}
		return nil
	})
}

// move moves the pieces that are not there yet into the directory.
func (p *pieces) move() error {
	return p.each(func(here, there string, same bool) error {
		if same {
			return nil
		}
		return rename(here, there)
	})
}

// each calls fn for each piece with its path in the folder, its path in the directory, and
// whether it is there already.
func (p *pieces) each(fn func(here, there string, same bool) error) error {
	entries, err := os.ReadDir(p.at)
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), layout.FinishedSuffix) {
			continue
		}
		here, there := filepath.Join(p.at, e.Name()), filepath.Join(p.dir, e.Name())
		a, errA := os.Lstat(here)
		b, errB := os.Lstat(there)
		err = errors.Join(err, errA)
		if errA == nil {
			err = errors.Join(err, fn(here, there, errB == nil && os.SameFile(a, b)))
		}
	}
	return err
}
