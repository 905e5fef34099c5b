package layout

import (
	"errors"
	"fmt"

	"tachograph/store/boltread"
)

// ErrForeign means that nothing in a file is like an archive, not even like a damaged one.
var ErrForeign = errors.New("it is not an archive")

// HeaderOf returns the archive's header. If that is damaged, it returns an error and the spare
// copy, or nil.
func HeaderOf(s *boltread.Snapshot) (*Header, error) {
	var h *Header
	take := func(got Header) { h = &got }
	v := Visitor{Header: take, SpareHeader: take}
	err := v.VisitOne(s, BucketMeta, MetaArchive)
	if h == nil {
		if err == nil {
			err = errors.New("the header is missing")
		}
		_ = v.VisitOne(s, BucketSpare, MetaArchive)
	}
	return h, err
}

// ReadHeader reads only the header of the archive at path.
func ReadHeader(path string) (h *Header, err error) {
	err = WithSnapshot(path, func(s *boltread.Snapshot) error {
		if h, _ = HeaderOf(s); h == nil || h.Format < 1 {
			return errors.New("it has no header that can be read")
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return h, nil
}

// ReadProgress reads how far the archive at path has taken over its journal.
func ReadProgress(path string) (p Progress, err error) {
	err = WithSnapshot(path, func(s *boltread.Snapshot) error {
		v := Visitor{Progress: func(got Progress) { p = got }}
		return v.VisitOne(s, BucketMeta, MetaJournal)
	})
	return p, err
}

// WithSnapshot calls fn with the newest transaction of the file at path.
func WithSnapshot(path string, fn func(*boltread.Snapshot) error) error {
	f, err := Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	s, err := boltread.Open(f)
	if err != nil {
		return err
	}
	return fn(s)
}
