package report

import (
	"cmp"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Bounds of one look at the folders.
const (
	mostNames = 4096 // that are listed of a folder
	mostFiles = 50   // that are opened
	// young is the age below which a file may still be growing.
	young = time.Minute
)

// patience is how long ago a file must have been written for each further attempt to read it. A
// machine on which programs crash may be so busy that a report takes its time.
var patience = [...]time.Duration{0, 5 * time.Second, 30 * time.Second}

// Place is a folder of reports. Base is opened as it is; no part of Below may be a link, because
// the user who owns it chooses where links lead.
type Place struct{ Base, Below string }

// SystemPlace has the reports about daemons and about the machine.
var SystemPlace = Place{"/Library/Logs", "DiagnosticReports"}

// HomePlace has the reports about the programs of a user.
func HomePlace(home string) Place { return Place{home, "Library/Logs/DiagnosticReports"} }

// Subfolders are those of a place that hold reports too: those that macOS has moved, and those of
// the T2 chip.
var Subfolders = []string{"", "Retired", "ProxiedDevice-Bridge"}

// Folder finds the reports of some places that were not returned before. Its methods are not for
// use by several goroutines at once.
type Folder struct {
	// Places may be changed between two looks.
	Places  []Place
	done    time.Time
	seen    map[string]Seen
	growing map[inode]*growth
}

type inode struct{ device, number uint64 }

// growth holds the size of a file that is not complete, and how often it was read in vain.
type growth struct {
	size     int64
	attempts int
}

// Found is what one look finds.
type Found struct {
	Reports    []Located // the newest file first
	Telemetry  int       // files that say nothing about a fault
	Unreadable int       // files that are given up, because they are not reports
	Refused    []error   // folders that exist and could not be listed
	// Again is set if more is to be expected from another look in a second or two: files that are
	// still being written, or more files than one look opens.
	Again bool
}

// Located is a report and its file.
type Located struct {
	*Report
	Path    string
	Written time.Time
	from    candidate
}

// Text returns the beginning of the file as it is, at most so many bytes, and the length of the file.
func (l *Located) Text(most int) (text string, size int64, err error) {
	file, err := l.from.open()
	if err != nil {
		return "", 0, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return "", 0, err
	}
	b, err := io.ReadAll(io.LimitReader(file, int64(most)))
	return string(b), info.Size(), err
}

// ID identifies the report among those of a machine.
func (l *Located) ID() string { return l.from.id }

// NewFolder returns a Folder that does not return what an earlier one has returned, of which mark
// is the last mark. With an empty mark it returns all reports there are.
func NewFolder(places []Place, mark Mark) *Folder {
	f := &Folder{Places: places, done: mark.Done, seen: make(map[string]Seen), growing: make(map[inode]*growth)}
	for _, s := range mark.Seen {
		f.seen[s.File] = s
	}
	return f
}

// candidate is a file that was not returned yet.
type candidate struct {
	place   Place
	folder  string // below the place's base
	name    string
	id      string
	inode   inode
	size    int64
	written time.Time
}

func (c *candidate) path() string { return path.Join(c.place.Base, c.folder, c.name) }

// Look returns the reports that are new. A file that was written just now waits until two looks find
// it with the same size and it can be read; after some attempts what it says so far is returned.
func (f *Folder) Look(now time.Time) Found {
	var found Found
	var all []candidate
	for _, place := range f.Places {
		for _, sub := range Subfolders {
			more, err := f.list(place, path.Join(place.Below, sub))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				found.Refused = append(found.Refused, fmt.Errorf("%s: %w", path.Join(place.Base, place.Below, sub), err))
				break // so are its subfolders
			}
			all = append(all, more...)
		}
	}
	slices.SortFunc(all, func(a, b candidate) int {
		return cmp.Or(b.written.Compare(a.written), cmp.Compare(a.path(), b.path()))
	})
	f.forgetGone(all)
	opened := 0
	for i := range all {
		c := &all[i]
		if _, seen := f.seen[c.id]; seen { // a copy in Retired, in the same look
			continue
		}
		var g *growth
		if age := now.Sub(c.written); age >= 0 && age < young {
			g = f.growth(c)
			if g.size != c.size || age < patience[g.attempts] {
				g.size = c.size
				found.Again = true
				continue
			}
		}
		if opened == mostFiles {
			found.Again = true
			break
		}
		opened++
		f.take(c, g, &found)
	}
	f.forget(now, !found.Again)
	return found
}

func (f *Folder) growth(c *candidate) *growth {
	g := f.growing[c.inode]
	if g == nil {
		g = new(growth)
		f.growing[c.inode] = g
	}
	return g
}

// take reads a file. g is nil if it does not grow any more.
func (f *Folder) take(c *candidate, g *growth, found *Found) {
	r, err := c.read()
	if errors.Is(err, fs.ErrNotExist) { // it was moved since the folder was listed
		found.Again = true
		return
	}
	if err != nil && g != nil && !errors.Is(err, ErrTooLarge) {
		if g.attempts++; g.attempts < len(patience) {
			found.Again = true
			return
		}
	}
	delete(f.growing, c.inode)
	s := Seen{File: c.id, Written: c.written}
	switch {
	case r == nil:
		found.Unreadable++
	case r.Kind == Telemetry:
		found.Telemetry++
	default:
		s.Incident = r.Incident
		if !f.knows(r.Incident) {
			found.Reports = append(found.Reports, Located{r, c.path(), c.written, *c})
		}
	}
	f.seen[c.id] = s
}

// knows reports whether a report with this identifier was returned, from whatever file.
func (f *Folder) knows(incident string) bool {
	if incident == "" {
		return false
	}
	for _, s := range f.seen {
		if s.Incident == incident {
			return true
		}
	}
	return false
}

// list returns the files of a folder that may be new reports.
func (f *Folder) list(place Place, folder string) ([]candidate, error) {
	dir, err := openBelow(place.Base, folder)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(mostNames)
	if err != nil && err != io.EOF {
		return nil, err
	}
	var files []candidate
	for _, name := range names {
		if !mayBeReport(name) {
			continue
		}
		c := candidate{place: place, folder: folder, name: name, id: fileID(place, name)}
		if _, seen := f.seen[c.id]; seen {
			continue
		}
		var st unix.Stat_t
		if unix.Fstatat(int(dir.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil || !acceptable(&st) {
			continue
		}
		c.inode, c.size, c.written = inodeOf(&st), st.Size, time.Unix(st.Mtim.Unix()).UTC()
		if c.written.After(f.done) {
			files = append(files, c)
		}
	}
	return files, nil
}

func inodeOf(st *unix.Stat_t) inode { return inode{uint64(st.Dev), uint64(st.Ino)} }

// acceptable reports whether a file may be read: an ordinary one without another name. That of a
// file elsewhere would lead out of the folder as a link does.
func acceptable(st *unix.Stat_t) bool {
	return st.Mode&unix.S_IFMT == unix.S_IFREG && st.Nlink == 1 && st.Size > 0
}

// read reads the report.
func (c *candidate) read() (*Report, error) {
	file, err := c.open()
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return Parse(file, c.name)
}

// open opens the file, which must still be the one that was listed.
func (c *candidate) open() (*os.File, error) {
	dir, err := openBelow(c.place.Base, c.folder)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	fd, err := unix.Openat(int(dir.Fd()), c.name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	file := os.NewFile(uintptr(fd), c.name)
	var st unix.Stat_t
	err = unix.Fstat(fd, &st)
	if err == nil && (!acceptable(&st) || inodeOf(&st) != c.inode) {
		err = fs.ErrNotExist
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

// openBelow opens a folder below another one without following links.
func openBelow(base, below string) (*os.File, error) {
	const flags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC
	fd, err := unix.Open(base, flags, 0)
	if err != nil {
		return nil, err
	}
	for part := range strings.SplitSeq(below, "/") {
		next, err := unix.Openat(fd, part, flags|unix.O_NOFOLLOW, 0)
		unix.Close(fd)
		if err != nil {
			return nil, err
		}
		fd = next
	}
	return os.NewFile(uintptr(fd), path.Join(base, below)), nil
}

// mayBeReport reports whether a name is like those of reports. Names that begin with a dot are of
// files that are not finished.
func mayBeReport(name string) bool {
	return !strings.HasPrefix(name, ".") &&
		slices.Contains([]string{".ips", ".panic", ".crash", ".diag", ".hang", ".spin", ".shutdownStall"}, path.Ext(name))
}

// fileID identifies a file of a place, wherever in the place it is moved. Names of reports have
// their time in them; that of the computer too, so the name itself is not kept.
func fileID(place Place, name string) string {
	h := fnv.New64a()
	io.WriteString(h, path.Join(place.Base, place.Below, name))
	return fmt.Sprintf("%016x", h.Sum64())
}
