package report

import (
	"maps"
	"slices"
	"strings"
	"time"
)

const (
	// remembered is how long before the newest report others may appear that are not older: the
	// clock may have been set back.
	remembered = 24 * time.Hour
	mostSeen   = 4096
)

// Mark says which reports were returned. Its user keeps it, as JSON, for the next start.
type Mark struct {
	Done time.Time `json:",omitzero"` // of older files none is new
	Seen []Seen    `json:",omitempty"`
}

// Seen is a file that was returned and is not older than Done.
type Seen struct {
	File     string
	Incident string `json:",omitempty"`
	Written  time.Time
}

// Mark returns which reports were returned so far.
func (f *Folder) Mark() Mark {
	return Mark{Done: f.done, Seen: slices.SortedFunc(maps.Values(f.seen), func(a, b Seen) int {
		if by := a.Written.Compare(b.Written); by != 0 {
			return by
		}
		return strings.Compare(a.File, b.File)
	})}
}

// forget drops what is older than a day before the newest file, once all files there are have been
// returned.
func (f *Folder) forget(now time.Time, all bool) {
	var newest time.Time
	for _, s := range f.seen {
		if s.Written.After(newest) && !s.Written.After(now) {
			newest = s.Written
		}
	}
	if until := newest.Add(-remembered); all && !newest.IsZero() && until.After(f.done) {
		f.done = until
	}
	if len(f.seen) > mostSeen {
		seen := f.Mark().Seen
		f.done = seen[len(seen)-mostSeen].Written
	}
	maps.DeleteFunc(f.seen, func(_ string, s Seen) bool { return !s.Written.After(f.done) })
}

// forgetGone forgets the incomplete files that are gone.
func (f *Folder) forgetGone(files []candidate) {
	if len(f.growing) == 0 {
		return
	}
	there := make(map[inode]bool, len(files))
	for i := range files {
		there[files[i].inode] = true
	}
	maps.DeleteFunc(f.growing, func(id inode, _ *growth) bool { return !there[id] })
}
