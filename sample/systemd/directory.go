package systemd

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"tachograph/sample"
	"time"
)

// What a look at a directory costs at most, beyond the last entry that it takes.
const (
	maxLookEntries = 4096
	maxLookBytes   = 32 << 20 // read and unpacked
)

// ErrNoJournal is of a machine on which journald keeps nothing.
var ErrNoJournal = errors.New("no journal is kept")

// Limits say where the reading of a journal begins.
type Limits struct {
	Last  int       // entries of each stream at most, where there is no mark
	Since time.Time // nothing earlier, even behind a mark
}

// Directory follows the journal of a machine: the files of the system and of its users, on disk and
// in memory, while they are written, rotated and removed.
type Directory struct {
	limits  Limits
	since   uint64
	root    string
	folders [2]folder
	streams map[string]*stream
	marks   map[string]StreamMark // of streams without files
	memory  *memory
	fields  map[string]string
}

// folder is one of the two places of journals.
type folder struct {
	name     string // of streams
	above    string
	path     string // "" until the machine's number is known
	changed  time.Time
	settled  bool // it was listed long enough after its last change
	withheld []Withheld
	err      error
}

// Withheld is a file that cannot be read, and why.
type Withheld struct {
	Path string
	Err  error
}

// Looked is what a look has found besides entries.
type Looked struct {
	More     bool // the bound of work was reached: there may be more
	Damaged  int  // entries of which some or all could not be read
	Withheld []Withheld
}

// work is what a look has done.
type work struct {
	Looked
	entries int
	bytes   int64
}

func (w *work) done() bool { return w.entries >= maxLookEntries || w.bytes >= maxLookBytes }

// charge counts what was read of a file since it was called before.
func (w *work) charge(f *File) {
	w.bytes += f.spent - f.charged
	f.charged = f.spent
}

// NewDirectory follows the journal below a root, which is "/" but in tests. It begins behind a mark,
// and where that says nothing, at the limits.
func NewDirectory(root string, mark Mark, limits Limits) *Directory {
	d := &Directory{
		limits: limits, root: root, streams: make(map[string]*stream), marks: make(map[string]StreamMark), memory: new(memory), fields: make(map[string]string),
		folders: [2]folder{{name: "log", above: "var/log/journal"}, {name: "run", above: "run/log/journal"}},
	}
	d.limits.Last = max(limits.Last, 1)
	if !limits.Since.IsZero() {
		d.since = uint64(max(limits.Since.UnixMicro(), 0))
	}
	for _, m := range mark.Streams {
		d.marks[m.Stream] = m
	}
	return d
}

// Close closes the files.
func (d *Directory) Close() {
	for _, s := range d.streams {
		s.close()
	}
}

// Look hands over the entries that were added since the last look, in the order of time, to a
// bounded number. It fails where there is no journal or nothing of it may be read.
func (d *Directory) Look(take func(Entry)) (Looked, error) {
	var w work
	if err := d.scan(); err != nil {
		return w.Looked, err
	}
	for i := range d.folders {
		w.Withheld = append(w.Withheld, d.folders[i].withheld...)
	}
	active := d.all()
	for !w.done() {
		active = slices.DeleteFunc(active, func(s *stream) bool { return !d.advance(s, &w) })
		if len(active) == 0 {
			break
		}
		first := slices.MinFunc(active, func(a, b *stream) int { return cmp.Compare(a.ahead.Received, b.ahead.Received) })
		if e, ok := d.take(first, &w); ok {
			take(e)
		}
	}
	w.More = w.done()
	return w.Looked, nil
}

// scan lists the directories that have changed.
func (d *Directory) scan() error {
	if d.folders[0].path == "" {
		id, err := d.machine()
		if err != nil {
			return err
		}
		for i := range d.folders {
			d.folders[i].path = filepath.Join(d.root, d.folders[i].above, id.String())
		}
	}
	changed := false
	for i := range d.folders {
		changed = d.list(i) || changed
	}
	if changed {
		d.bound()
		for _, s := range d.streams {
			if len(s.files) > 0 && (!s.begun || s.mark.Received < d.since && s.file == nil) {
				d.begin(s)
			}
		}
	}
	var problems []error
	missing := 0
	for i := range d.folders {
		if err := d.folders[i].err; errors.Is(err, fs.ErrNotExist) {
			missing++
		} else if err != nil {
			problems = append(problems, err)
		}
		for _, w := range d.folders[i].withheld {
			problems = append(problems, fmt.Errorf("%s: %w", w.Path, w.Err))
		}
	}
	switch {
	case missing == len(d.folders):
		return ErrNoJournal
	case len(problems) > 0 && !slices.ContainsFunc(d.all(), func(s *stream) bool { return len(s.files) > 0 }):
		return problems[0]
	}
	return nil
}

// all are the streams by name.
func (d *Directory) all() []*stream {
	all := make([]*stream, 0, len(d.streams))
	for _, name := range slices.Sorted(maps.Keys(d.streams)) {
		all = append(all, d.streams[name])
	}
	return all
}

// machine reads the machine's number, after which its journals' directories are named.
func (d *Directory) machine() (ID, error) {
	f, err := os.Open(filepath.Join(d.root, "etc/machine-id"))
	if err != nil {
		return ID{}, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 64))
	if err != nil {
		return ID{}, err
	}
	id, ok := parseID(string(bytes.TrimSpace(text)))
	if !ok {
		return ID{}, errors.New("/etc/machine-id holds no number")
	}
	return id, nil
}

// tick is longer than the steps of any file system's times: a directory that has changed that
// shortly before it was listed may have changed after it as well, and shows the same time.
const tick = 3 * time.Second

// list lists a directory if it has changed.
func (d *Directory) list(i int) bool {
	p := &d.folders[i]
	info, err := os.Lstat(p.path)
	if err == nil && !info.IsDir() {
		err = syscall.ENOTDIR
	}
	if err != nil {
		changed := p.err == nil
		p.err, p.changed, p.withheld = err, time.Time{}, nil
		if changed {
			d.forget(i)
		}
		return changed
	}
	if p.err == nil && p.settled && info.ModTime().Equal(p.changed) {
		return false
	}
	p.changed, p.settled = info.ModTime(), time.Since(info.ModTime()).Abs() > tick
	names, err := namesIn(p.path)
	if err != nil {
		p.err, p.withheld = err, nil
		d.forget(i)
		return true
	}
	before := make(map[string]known)
	for _, s := range d.streams {
		for _, k := range s.files {
			before[k.path] = k
		}
	}
	found, withheld := d.heads(p.path, names, before)
	// What was rotated meanwhile is missing.
	if again, err := namesIn(p.path); err != nil || !slices.Equal(again, names) {
		p.settled = false
		return false
	}
	p.err, p.withheld = nil, withheld
	d.forget(i)
	for _, k := range found {
		s := d.stream(i, p.name+"/"+k.journal, k.journal)
		s.files = append(s.files, k)
	}
	for _, s := range d.streams {
		slices.SortFunc(s.files, order)
	}
	return true
}

// heads reads the headers of journal files, but of those that are known and that nobody writes any
// more.
func (d *Directory) heads(dir string, names []string, before map[string]known) (found []known, withheld []Withheld) {
	for _, name := range names {
		journal, done, ok := parseName(name)
		if !ok {
			continue
		}
		path := filepath.Join(dir, name)
		k, met := before[path]
		if !met || !k.done {
			f, handle, err := d.open(path)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				withheld = append(withheld, Withheld{path, err})
				continue
			}
			handle.Close()
			k = known{path: path, journal: journal, head: f.head, done: done}
		}
		k.refused = false
		found = append(found, k)
	}
	return found, withheld
}

// forget drops the files that are known of a directory.
func (d *Directory) forget(i int) {
	for _, s := range d.streams {
		if s.folder == i {
			s.files = nil
		}
	}
}

func (d *Directory) stream(folder int, name, journal string) *stream {
	s := d.streams[name]
	if s == nil {
		s = &stream{name: name, journal: journal, folder: folder}
		if m, ok := d.marks[name]; ok {
			s.mark, s.begun = m, true
			delete(d.marks, name)
		}
		d.streams[name] = s
	}
	return s
}

// bound drops streams whose files are gone, but for that of the system in memory, whose mark says
// what was read before it was moved to disk, and those that are too many.
func (d *Directory) bound() {
	newest := func(s *stream) (at uint64) {
		if s.journal == "system" {
			return ^uint64(0)
		}
		for _, k := range s.files {
			at = max(at, k.head.lastTime)
		}
		return at
	}
	all := d.all()
	slices.SortStableFunc(all, func(a, b *stream) int { return cmp.Compare(newest(b), newest(a)) })
	for n, s := range all {
		if len(s.files) == 0 {
			s.close()
		}
		if len(s.files) == 0 && s.journal != "system" || n >= maxStreams {
			s.close()
			delete(d.streams, s.name)
			if s.begun && len(d.marks) < maxStreams {
				d.marks[s.name] = s.mark
			}
		}
	}
}

// open opens a journal file, never by a link.
func (d *Directory) open(path string) (*File, *os.File, error) {
	handle, _, err := sample.OpenRegular(path)
	if err != nil {
		return nil, nil, err
	}
	f, err := newFile(handle, wanted, d.memory)
	if err != nil {
		handle.Close()
		return nil, nil, err
	}
	return f, handle, nil
}

func openDirectory(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW|syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0)
}

// parseName reads the name of a journal file: "system.journal", "user-1000.journal", one that was
// rotated away, "system@….journal", or one that was not closed, "system@….journal~".
func parseName(name string) (journal string, done, ok bool) {
	base, ok := strings.CutSuffix(name, ".journal")
	if !ok {
		if base, ok = strings.CutSuffix(name, ".journal~"); !ok {
			return "", false, false
		}
		done = true
	}
	journal, _, at := strings.Cut(base, "@")
	if uid, user := strings.CutPrefix(journal, "user-"); user {
		n, err := strconv.ParseUint(uid, 10, 32)
		return journal, done || at, err == nil && strconv.FormatUint(n, 10) == uid
	}
	return journal, done || at, journal == "system"
}

// maxNames is how many names of a directory are read.
const maxNames = 16384

// namesIn returns names of a directory, none where it does not exist.
func namesIn(dir string) ([]string, error) {
	f, err := openDirectory(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names, err := f.Readdirnames(maxNames)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	slices.Sort(names)
	return names, err
}
