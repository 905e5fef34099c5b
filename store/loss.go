package store

import (
	"errors"
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

// Losses returns what could not be read for the answers since the last call, each once: files
// that could not be opened at all, and stretches of those that could. Damage found when an
// archive was opened is in ArchiveInfo.Damage. A loss concerns only the file at its Path.
func (r *Reader) Losses() []Loss {
	losses := r.refused
	r.refused = nil
	for _, s := range r.archives {
		losses = append(losses, s.lost...)
		s.lost, s.missed = nil, nil
	}
	return losses
}

// refusal returns the loss of a whole file.
func refusal(path string, err error) Loss {
	return Loss{Loss: fault.Loss{What: oneLine(err)}, Path: path, Kind: fault.Of(err)}
}

// lose notes that a part of s is missing in an answer.
func (s *source) lose(err error) {
	l := Loss{Loss: fault.Loss{What: oneLine(err)}, Path: s.Info.Path, Archive: &s.Info, Kind: fault.Of(err)}
	if c := (*archive.ChunkError)(nil); errors.As(err, &c) {
		l.From, l.To = c.From, c.To
	}
	if l.Kind == fault.Other {
		l.Kind = fault.Damaged
	}
	s.note(l)
}

// note records a loss once.
func (s *source) note(l Loss) {
	if s.missed[l.What] {
		return
	}
	if s.missed == nil {
		s.missed = make(map[string]bool)
	}
	s.missed[l.What] = true
	s.lost = append(s.lost, l)
}

// oneLine returns the message of err on one line.
func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }
