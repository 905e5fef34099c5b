package follow

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tachograph/store/fault"
	"tachograph/store/layout"
)

// A shelf lists the archives in the followed paths. It reads the header of each file once, as a
// header never changes.
type shelf struct {
	paths []string
	books map[string]*book // by path
	order []*book          // in the order of time

	// The archives up to the one being read, when it was last in its place, and the host of
	// that one.
	before map[string]bool
	host   string
}

// A book is the file of an archive, or a file that cannot be recognized as one.
type book struct {
	path string
	file fs.FileInfo
	head *layout.Header // nil: it cannot be read, err says why
	err  error
	told bool // its error has been reported

	passed bool // it cannot be opened, and later archives follow it
}

func newShelf(paths []string) shelf {
	return shelf{paths: paths, books: make(map[string]*book), before: make(map[string]bool)}
}

// dirs returns the directories of the followed archives.
func (s *shelf) dirs() []string {
	var dirs []string
	for _, p := range s.paths {
		if layout.IsArchiveName(p) {
			if st, err := os.Stat(p); err != nil || !st.IsDir() {
				p = filepath.Dir(p)
			}
		}
		if !slices.Contains(dirs, p) {
			dirs = append(dirs, p)
		}
	}
	return dirs
}

// scan finds the files that there are.
func (s *shelf) scan() error {
	var errs []error
	seen := make(map[string]bool)
	for _, p := range s.paths {
		if err := s.scanPath(p, seen); err != nil {
			errs = append(errs, err)
		}
	}
	for path := range s.books {
		if !seen[path] {
			delete(s.books, path)
		}
	}
	s.sort()
	return errors.Join(errs...)
}

func (s *shelf) scanPath(path string, seen map[string]bool) error {
	st, err := os.Stat(path)
	if err != nil {
		// An archive that is followed by name goes on under the name of the finished one.
		return &fault.Error{Op: "follow", Path: path, Err: err}
	}
	if !st.IsDir() {
		s.lookAt(path, seen)
		return nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return &fault.Error{Op: "follow", Path: path, Err: err}
	}
	for _, e := range entries {
		if e.Type()&fs.ModeType == 0 && layout.IsArchiveName(e.Name()) {
			s.lookAt(filepath.Join(path, e.Name()), seen)
		}
	}
	return nil
}

// lookAt looks at the file at path, or if it is a bundle at the archives in it.
func (s *shelf) lookAt(path string, seen map[string]bool) {
	members, isBundle, err := layout.BundleAt(path)
	for _, m := range members {
		s.look(m, seen)
	}
	if !isBundle || err != nil {
		s.look(path, seen)
	}
}

// look reads the header of the file at path, if it is not known yet.
func (s *shelf) look(path string, seen map[string]bool) {
	st, err := layout.Stat(path)
	if err != nil {
		return // it has just been renamed
	}
	seen[path] = true
	b := s.books[path]
	if b != nil && os.SameFile(b.file, st) && (b.head != nil || b.file.Size() == st.Size() && b.file.ModTime().Equal(st.ModTime())) {
		return
	}
	n := &book{path: path, file: st}
	if err := fault.Contain(func() (err error) {
		n.head, err = layout.ReadHeader(path)
		return err
	}); err != nil {
		n.head, n.err = nil, err
		if errors.Is(err, fs.ErrNotExist) {
			return
		}
		n.told = b != nil && b.told
	} else if err := layout.CheckFormat(n.head.Format); err != nil {
		n.head, n.err = nil, &fault.Error{Path: path, Kind: fault.OtherFormat, Err: err}
	}
	s.books[path] = n
}

// sort sorts the archives by time: those of a directory as they were begun, whatever the clock
// said, and those of several directories by the clock.
func (s *shelf) sort() {
	byDir := make(map[string][]*book)
	var dirs []string
	for _, b := range s.books {
		if b.head == nil {
			continue
		}
		dir := filepath.Dir(b.path)
		if byDir[dir] == nil {
			dirs = append(dirs, dir)
		}
		byDir[dir] = append(byDir[dir], b)
	}
	slices.Sort(dirs)
	for _, d := range dirs {
		slices.SortFunc(byDir[d], func(a, b *book) int {
			return cmp.Or(cmp.Compare(a.head.Serial, b.head.Serial), cmp.Compare(a.head.Created, b.head.Created), strings.Compare(b.path, a.path))
		})
	}
	s.order = s.order[:0]
	for {
		var first *book
		from := ""
		for _, d := range dirs {
			if l := byDir[d]; len(l) > 0 && (first == nil || l[0].head.Created < first.head.Created) {
				first, from = l[0], d
			}
		}
		if first == nil {
			return
		}
		s.order = append(s.order, first)
		byDir[from] = byDir[from][1:]
	}
}

// find returns the archive with an ID. If it is there both live and finished, find returns the
// finished one.
func (s *shelf) find(id string) (found *book) {
	for _, b := range s.order {
		if b.head.ID == id && (found == nil || layout.IsLiveName(found.path)) {
			found = b
		}
	}
	return found
}

// latest returns the archive of a host that was begun last.
func (s *shelf) latest(host string) *book {
	for _, b := range slices.Backward(s.order) {
		if host == "" || b.head.Host.ID == host {
			return s.find(b.head.ID)
		}
	}
	return nil
}

// open records where the archive with an ID, which is being read, is in the order. at is its
// index, or -1 if it is gone.
func (s *shelf) open(id string) (at int) {
	at = slices.IndexFunc(s.order, func(b *book) bool { return b.head.ID == id })
	if at < 0 {
		return at
	}
	for at+1 < len(s.order) && s.order[at+1].head.ID == id {
		at++ // live and finished
	}
	s.host = s.order[at].head.Host.ID
	clear(s.before)
	for _, b := range s.order[:at+1] {
		s.before[b.head.ID] = true
	}
	return at
}

// after returns the archive of the same host that was begun after the one with an ID. If that
// one is gone, it returns the first archive that was not before it.
func (s *shelf) after(id string) *book {
	at := s.open(id)
	for _, b := range s.order[at+1:] {
		if b.head.Host.ID == s.host && b.head.ID != id && !b.passed && !s.before[b.head.ID] {
			return s.find(b.head.ID)
		}
	}
	return nil
}

// pass skips an archive that cannot be opened, provided that a later one has begun, and reports
// whether it does.
func (s *shelf) pass(b *book) bool {
	i := slices.Index(s.order, b)
	b.passed = slices.ContainsFunc(s.order[i+1:], func(o *book) bool {
		return o.head.Host.ID == b.head.Host.ID && o.head.ID != b.head.ID
	})
	return b.passed
}

// prior returns the archive of the same boot before b, nil if there is none.
func (s *shelf) prior(b *book) *book {
	i := slices.IndexFunc(s.order, func(o *book) bool { return o.head.ID == b.head.ID })
	for _, o := range slices.Backward(s.order[:max(i, 0)]) {
		if o.head.Host.ID == b.head.Host.ID {
			if o.head.BootID == b.head.BootID {
				return s.find(o.head.ID)
			}
			return nil
		}
	}
	return nil
}

// untold returns the errors of unreadable files that have not been reported yet.
func (s *shelf) untold() (errs []error) {
	for _, b := range s.books {
		if b.err != nil && !b.told {
			b.told = true
			errs = append(errs, b.err)
		}
	}
	return errs
}
