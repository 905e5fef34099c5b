package store

import (
	"tachograph/store/archive"
)

// A source is an archive of a Reader: its file, and what the journal of a live
// one holds beyond it.
type source struct {
	*archive.File
	tail *tail // nil of a finished one
	// shared says that it is a part of another one's file, and closed with that.
	shared bool
	began  int64 // see sinceBoot
	// Once it was examined, when chunks were recorded that cannot be read.
	examined bool
	damaged  []archive.Stretch

	lost   []Loss // of answers, since they were asked for
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

// load reads everything but chunks. The journal's files are opened before the
// archive's newest transaction is looked at, see tail.
func (s *source) load() error {
	for try := 1; ; try++ {
		err := s.loadOnce()
		if try == archive.LoadTries || s.tail == nil || s.Snap == nil {
			return err
		}
		// Pages of a transaction are reused by the next but one.
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
		// A commit meanwhile may have taken away what was to be read.
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
