// Package source shows a Reader one archive: its file, and for a live one what the journal holds
// beyond the file. It also decides which of several archives shows what all of them hold.
package source

import (
	"tachograph/store/archive"
)

// A Source is an archive of a Reader: its file, and for a live one what the journal holds
// beyond the file.
type Source struct {
	*archive.File
	tail *tail // nil for a finished archive
	// shared says that the file belongs to another source, which closes it.
	shared bool
	began  int64 // see sinceBoot
	// unreadable sets these: whether the chunks were examined, and the times of the damaged
	// ones.
	examined bool
	damaged  []archive.Stretch

	lost   []Loss // that TakeLosses has not returned yet
	missed map[string]bool
}

// Open opens an archive.
func Open(path string) (*Source, error) {
	a, err := archive.OpenUnread(path)
	if err != nil {
		return nil, err
	}
	s := &Source{File: a}
	if err := s.load(); err != nil {
		_ = s.Close()
		return nil, err
	}
	return s, nil
}

// Close releases the files.
func (s *Source) Close() error {
	if s.shared {
		return nil
	}
	s.tail.close()
	return s.File.Close()
}

// load reads everything but chunks. It opens the journal's files before it looks at the
// archive's newest transaction, see tail.
func (s *Source) load() error {
	for try := 1; ; try++ {
		err := s.loadOnce()
		if try == archive.LoadTries || s.tail == nil || s.Snap == nil {
			return err
		}
		// The writer reuses the pages of a transaction two transactions later.
		if changed, e := s.Snap.Changed(); e != nil || !changed {
			return err
		}
		s.Forgive()
	}
}

func (s *Source) loadOnce() error {
	s.tail.close()
	s.tail = openTail(s.File)
	if err := s.File.Load(); err != nil {
		return err
	}
	if err := s.tail.read(s.File); err != nil {
		s.Hurt(err)
	}
	return nil
}

// Refresh reads the index of a live archive again if it has changed.
func (s *Source) Refresh() error {
	if !s.Info.Live {
		return nil
	}
	changed, err := s.Snap.Changed()
	if err != nil {
		return err
	}
	if !changed {
		err := s.tail.read(s.File)
		// A commit meanwhile may have removed what was to be read.
		if changed, e := s.Snap.Changed(); e != nil || !changed {
			if err != nil {
				s.Hurt(err)
			}
			return nil
		}
	}
	s.Forgive()
	return s.load()
}

// Twin returns a Source for a second goroutine. The first one closes the file.
func (s *Source) Twin() *Source { return &Source{File: s.File.Twin(), shared: true} }
