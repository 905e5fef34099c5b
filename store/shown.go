package store

import (
	"math"
	"sort"

	"tachograph/sample/metric"
	"tachograph/store/archive"
	"tachograph/store/layout"
	"tachograph/store/source"
)

// last returns the continuous clock of the last reading of a class that s shows from an
// archive. limited is false where s shows all of them.
func (s *scope) last(f *archive.File, class metric.Class) (cont int64, limited bool) {
	if m := s.limits.UpTo; m != nil && m.Archive == f.Info.ID {
		return m.Read[class], true
	}
	return 0, false
}

// cutsOff reports whether a chunk has ticks that s does not show.
func (s *scope) cutsOff(ref *archive.ChunkRef) bool {
	last, limited := s.last(ref.Archive, ref.Info.Class)
	return limited && ref.Info.Last.Cont > last
}

// spans returns the blocks of a chunk's group that s shows in the window of sel; nil for none.
func (s *scope) spans(v *archive.View, sel *Selection) []archive.Span {
	spans := v.Spans(sel.From, sel.End())
	last, limited := s.last(v.Ref.Archive, v.Ref.Info.Class)
	if !limited {
		return spans
	}
	end := uint32(blocksBy(v, last))
	var out []archive.Span
	for _, s := range spans {
		if s.From < end {
			out = append(out, archive.Span{From: s.From, To: min(s.To, end-1)})
		}
	}
	return out
}

// blocksBy returns how many blocks of a group the recorder had read by a continuous clock.
func blocksBy(v *archive.View, last int64) int {
	return sort.Search(len(v.Cont), func(i int) bool { return v.Cont[i] > last })
}

// lastBefore returns the last block of a group that s shows before the window of sel, or -1.
func (s *scope) lastBefore(v *archive.View, sel *Selection) int {
	b := v.LastBefore(sel.From, sel.End())
	if last, limited := s.last(v.Ref.Archive, v.Ref.Info.Class); limited {
		for b = min(b, blocksBy(v, last)-1); b >= 0 && v.Wall[b] >= sel.From; b-- {
		}
	}
	if b >= 0 && v.Wall[b] < s.earliest(v.Ref, sel) {
		return -1
	}
	return b
}

// earliest returns the wall clock at which the search for the last value before the window of
// sel ends.
func (s *scope) earliest(ref *archive.ChunkRef, sel *Selection) int64 {
	class := ref.Info.Class
	every := int64(ref.Archive.Info.Intervals[class])
	if !s.limits.Near || every <= 0 || class == metric.Static || class == metric.Constrained || class == metric.Disabled {
		return math.MinInt64
	}
	return sel.From - 5*every/2
}

// eventsShown returns a function that s calls for each event of an archive in their order,
// and that reports whether s shows the event; nil where s shows all.
func (s *scope) eventsShown(a *source.Source) func(metric.EventKind) bool {
	m := s.limits.UpTo
	if m == nil || m.Archive != a.Info.ID {
		return nil
	}
	churn, rest := m.Churn, m.Events
	return func(kind metric.EventKind) bool {
		left := &rest
		if layout.IsChurn(kind) {
			left = &churn
		}
		if *left == 0 {
			return false
		}
		*left--
		return true
	}
}
