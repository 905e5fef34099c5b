package store

import (
	"math"
	"slices"
	"sort"

	"tachograph/sample/metric"
	"tachograph/store/archive"
	"tachograph/store/layout"
	"tachograph/store/source"
)

// Limits narrow what an Archive shows. The zero Limits narrow nothing.
type Limits struct {
	// Archives are the archives to show; nil: all.
	Archives []*ArchiveInfo
	// Near makes a search for the last value before a window short: it covers two and a half
	// intervals before the window or, where a metric is read rarely, the whole archive.
	// Without it the search goes back to the beginning of the boot.
	Near bool
	// UpTo hides what was recorded after a mark; nil: nothing.
	UpTo *Mark
}

// A Mark is a place in a recording.
type Mark struct {
	// Archive is the ID of the archive. Later archives of its host are after the mark.
	Archive string
	// Read is, for each class, the continuous clock of its last reading before the mark.
	Read [metric.NumClasses]int64
	// Churn and Events are how many events of processes, and how many others, the archive
	// has before the mark.
	Churn, Events uint64
}

// View returns an Archive that shows what r shows now, within limits. A view of a view keeps
// the limits of both. The goroutine that uses the Reader may use its views, until the Reader
// is refreshed or closed.
func (r *Reader) View(l Limits) Archive {
	if l.Near = l.Near || r.limits.Near; l.UpTo == nil {
		l.UpTo = r.limits.UpTo // what was after a mark stays hidden
	}
	v := *r
	v.limits = l
	behind := ""
	v.archives = slices.DeleteFunc(slices.Clone(r.archives), func(a *source.Source) bool {
		if l.UpTo != nil {
			if behind == a.Info.Host.ID {
				return true
			}
			if a.Info.ID == l.UpTo.Archive {
				behind = a.Info.Host.ID
			}
		}
		return l.Archives != nil && !slices.Contains(l.Archives, &a.Info)
	})
	return &v
}

// last returns the continuous clock of the last reading of a class that r shows from an
// archive. limited is false where r shows all of them.
func (r *Reader) last(f *archive.File, class metric.Class) (cont int64, limited bool) {
	if m := r.limits.UpTo; m != nil && m.Archive == f.Info.ID {
		return m.Read[class], true
	}
	return 0, false
}

// cutsOff reports whether a chunk has ticks that r does not show.
func (r *Reader) cutsOff(ref *archive.ChunkRef) bool {
	last, limited := r.last(ref.Archive, ref.Info.Class)
	return limited && ref.Info.Last.Cont > last
}

// spans returns the blocks of a chunk's group that r shows in the window of sel; nil for none.
func (r *Reader) spans(v *archive.View, sel *Selection) []archive.Span {
	spans := v.Spans(sel.From, sel.End())
	last, limited := r.last(v.Ref.Archive, v.Ref.Info.Class)
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

// lastBefore returns the last block of a group that r shows before the window of sel, or -1.
func (r *Reader) lastBefore(v *archive.View, sel *Selection) int {
	b := v.LastBefore(sel.From, sel.End())
	if last, limited := r.last(v.Ref.Archive, v.Ref.Info.Class); limited {
		for b = min(b, blocksBy(v, last)-1); b >= 0 && v.Wall[b] >= sel.From; b-- {
		}
	}
	if b >= 0 && v.Wall[b] < r.earliest(v.Ref, sel) {
		return -1
	}
	return b
}

// earliest returns the wall clock at which the search for the last value before the window of
// sel ends.
func (r *Reader) earliest(ref *archive.ChunkRef, sel *Selection) int64 {
	class := ref.Info.Class
	every := int64(ref.Archive.Info.Intervals[class])
	if !r.limits.Near || every <= 0 || class == metric.Static || class == metric.Constrained || class == metric.Disabled {
		return math.MinInt64
	}
	return sel.From - 5*every/2
}

// eventsShown returns a function that r calls for each event of an archive in their order,
// and that reports whether r shows the event; nil where r shows all.
func (r *Reader) eventsShown(a *source.Source) func(metric.EventKind) bool {
	m := r.limits.UpTo
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
