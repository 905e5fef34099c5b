package source

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"tachograph/store/archive"
	"tachograph/store/fault"
)

// A Loss is something that an answer lacks because it could not be read.
type Loss struct {
	fault.Loss
	// Path is the file that it should have come from. Archive describes that file; nil if not
	// even its header can be read.
	Path    string
	Archive *archive.Info
	Kind    fault.Kind
}

// Refused returns the loss of a whole file.
func Refused(path string, err error) Loss {
	return Loss{Loss: fault.Loss{What: oneLine(err)}, Path: path, Kind: fault.Of(err)}
}

// Lose notes that a part of s is missing in an answer.
func (s *Source) Lose(err error) {
	l := Loss{Loss: fault.Loss{What: oneLine(err)}, Path: s.Info.Path, Archive: &s.Info, Kind: fault.Of(err)}
	if c := (*archive.ChunkError)(nil); errors.As(err, &c) {
		l.From, l.To = c.From, c.To
	}
	if l.Kind == fault.Other {
		l.Kind = fault.Damaged
	}
	s.Note(l)
}

// Note records a loss once.
func (s *Source) Note(l Loss) {
	if s.missed[l.What] {
		return
	}
	if s.missed == nil {
		s.missed = make(map[string]bool)
	}
	s.missed[l.What] = true
	s.lost = append(s.lost, l)
}

// TakeLosses returns the losses since the last call.
func (s *Source) TakeLosses() []Loss {
	lost := s.lost
	s.lost, s.missed = nil, nil
	return lost
}

// NoteAll records losses of a copy of s, and brings all losses into the order of time: which of
// the two found one first is chance.
func (s *Source) NoteAll(list []Loss) {
	for _, l := range list {
		l.Archive = &s.Info
		s.Note(l)
	}
	if len(list) > 0 {
		slices.SortFunc(s.lost, func(x, y Loss) int { return cmp.Or(cmp.Compare(x.From, y.From), cmp.Compare(x.What, y.What)) })
	}
}

// oneLine returns the message of err on one line.
func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

// Contain runs fn, which reads s and yields what it finds, and records a panic with s. While
// *out is true the program is not reading but in the consumer's code; a panic there is the
// consumer's, and Contain lets it pass.
func (s *Source) Contain(out *bool, fn func() bool) (goOn bool) {
	defer func() {
		if *out {
			return
		}
		if p := recover(); p != nil {
			s.Lose(fault.Failed{Cause: p})
			goOn = true
		}
	}()
	return fn()
}
