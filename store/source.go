package store

import (
	"tachograph/store/archive"
)

// A source is an archive of a Reader: its file, and for a live one what the journal holds
// beyond the file.
type source struct {
	*archive.File
	tail *tail // nil for a finished archive
	// shared says that the file belongs to another source, which closes it.
	shared bool
	began  int64 // see sinceBoot
	// unreadable sets these: whether the chunks were examined, and the times of the damaged
	// ones.
	examined bool
	damaged  []archive.Stretch

	lost   []Loss // losses that Losses has not returned yet
	missed map[string]bool
}

func openSource(path string) (*source, error) {
	a, err := archive.OpenUnread(path)
	if err != nil {
		return nil, err
	}
	s := &source{File: a}
	if err := s.load(); err != nil {
		_ = s.close()
		return nil, err
	}
	return s, nil
}

func (s *source) close() error {
	if s.shared {
		return nil
	}
	s.closeTail()
	return s.File.Close()
}

// load reads everything but chunks. It opens the journal's files before it looks at the
// archive's newest transaction, see tail.
func (s *source) load() error {
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

func (s *source) loadOnce() error {
	s.openTail()
	if err := s.File.Load(); err != nil {
		return err
	}
	if err := s.readTail(); err != nil {
		s.Hurt(err)
	}
	return nil
}

// refresh reads the index of a live archive again if it has changed.
func (s *source) refresh() error {
	if !s.Info.Live {
		return nil
	}
	changed, err := s.Snap.Changed()
	if err != nil {
		return err
	}
	if !changed {
		err := s.readTail()
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
