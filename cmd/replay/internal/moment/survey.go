package moment

import (
	"cmp"
	"context"
	"iter"
	"math"
	"slices"
	"sync/atomic"

	"tachograph/store"
	"tachograph/store/query"
)

// surveyed is one archive with the courses of all lanes, which are computed when they are first
// asked for.
type surveyed struct {
	info  *store.ArchiveInfo
	lanes [][]*segment // nil: not computed yet
	to    int64        // where the archive ended then; info may grow
}

// segment is a part of a lane's course in one archive, and its values if they were read.
type segment struct {
	*query.Part
	course *query.Course
	read   *piece
}

// survey computes the courses of the archives that reach into a stretch, the latest first, until
// it is late; it reports whether it has finished.
func (r *Recording) survey(from, to int64, late func() bool) bool {
	for i := len(r.archives) - 1; i >= 0; i-- {
		s := r.archives[i]
		if s.lanes != nil || s.info.To < from || s.info.From > to {
			continue
		}
		if r.given() != nil || late != nil && late() {
			return false
		}
		lanes := r.coursesOf(s.info, s.info.From)
		if r.given() != nil {
			return false // Some of it may be missing.
		}
		s.lanes, s.to = lanes, s.info.To
	}
	return true
}

// coursesOf returns the parts of all lanes in an archive from an instant on.
func (r *Recording) coursesOf(info *store.ArchiveInfo, from int64) [][]*segment {
	lines := make([]*query.Line, len(r.lanes))
	for i, l := range r.lanes {
		lines[i] = l.line
	}
	lanes := make([][]*segment, len(lines))
	for i, c := range query.Courses(r.only(info), r.window(from, info.To), lines) {
		for _, p := range c.Parts {
			lanes[i] = append(lanes[i], &segment{Part: p, course: c})
		}
	}
	return lanes
}

// goOn surveys an archive that has grown since it was surveyed. All that is older than what may
// still change is as it was.
func (r *Recording) goOn(s, old *surveyed) {
	since := old.to - 2*block
	from := s.info.From
	for lane := range old.lanes {
		// The first of the new parts only gives the second one its beginning.
		if k := settled(old.lanes[lane], since); k > 0 && (lane == 0 || old.lanes[lane][k-1].From < from) {
			from = old.lanes[lane][k-1].From
		} else if k == 0 {
			from = s.info.From
			break
		}
	}
	s.lanes, s.to = r.coursesOf(s.info, from), s.info.To
	if from > s.info.From && !joins(s.lanes, old.lanes, since) {
		// Chunks that ended before have been merged, so the parts are different.
		from = s.info.From
		s.lanes = r.coursesOf(s.info, from)
	}
	for lane, list := range s.lanes {
		was := old.lanes[lane]
		for _, p := range list {
			if o := same(was, p); o != nil {
				p.read = o.read
			}
		}
		if from > s.info.From {
			k := settled(was, since)
			later, _ := slices.BinarySearchFunc(list, was[k-1].To+1, func(p *segment, at int64) int { return cmp.Compare(p.From, at) })
			s.lanes[lane] = append(slices.Clip(was[:k]), list[later:]...)
		}
	}
}

// same returns the part in list that is p; nil if there is none.
func same(list []*segment, p *segment) *segment {
	k, _ := slices.BinarySearchFunc(list, p.From, func(o *segment, at int64) int { return cmp.Compare(o.From, at) })
	if k < len(list) && list[k].From == p.From && list[k].To == p.To && list[k].Count == p.Count {
		return list[k]
	}
	return nil
}

// joins reports whether new parts continue where the settled ones end: the last settled part is
// among them.
func joins(lanes, old [][]*segment, since int64) bool {
	for lane := range lanes {
		k := settled(old[lane], since)
		if k == 0 || same(lanes[lane], old[lane][k-1]) == nil {
			return false
		}
	}
	return true
}

// settled returns how many parts had ended before an instant.
func settled(list []*segment, since int64) int {
	k, _ := slices.BinarySearchFunc(list, since, func(p *segment, at int64) int { return cmp.Compare(p.To, at) })
	return k
}

// parts returns the parts of a lane that reach into a stretch, as far as they are known.
func (r *Recording) parts(lane int, from, to int64) iter.Seq[*segment] {
	return func(yield func(*segment) bool) {
		for _, s := range r.archives {
			if s.lanes == nil || s.info.To < from || s.info.From > to {
				continue
			}
			list := s.lanes[lane]
			first, _ := slices.BinarySearchFunc(list, from, func(p *segment, at int64) int { return cmp.Compare(p.To, at) })
			for _, p := range list[first:] {
				if p.From > to {
					break
				}
				if !yield(p) {
					return
				}
			}
		}
	}
}

// keep stores what was read of a part. Where too much is kept, everything that was read before is
// dropped.
func (r *Recording) keep(p *segment, got *piece) {
	if r.cells += len(got.cells) + 4; r.cells > mostCells {
		r.cells = len(got.cells) + 4
		for _, s := range r.archives {
			for _, list := range s.lanes {
				for _, other := range list {
					other.read = nil
				}
			}
		}
	}
	p.read = got
}

// inherit takes over the surveys of archives that have not changed since, and for those that have
// grown, what was already read of them.
func (r *Recording) inherit(old []*surveyed) {
	r.archives = nil
	for _, info := range r.a.Archives() {
		if info.Host.ID != r.host.ID {
			continue
		}
		s := &surveyed{info: info}
		r.archives = append(r.archives, s)
		i := slices.IndexFunc(old, func(o *surveyed) bool { return o.info.ID == info.ID })
		if i < 0 || old[i].lanes == nil {
			continue
		}
		if before := old[i]; before.to == info.To {
			s.lanes, s.to = before.lanes, before.to
			continue
		}
		r.goOn(s, old[i])
	}
	slices.SortStableFunc(r.archives, func(x, y *surveyed) int { return cmp.Compare(x.info.From, y.info.From) })
}

// progress is how far a question has come, for other goroutines to read.
type progress struct{ share atomic.Uint64 }

func (p *progress) set(n, of int64) {
	p.share.Store(math.Float64bits(float64(n) / float64(max(of, 1))))
}

// Progress returns how much of a long question is done, from 0 to 1. Unlike everything else it
// may be called while the question is being answered.
func (r *Recording) Progress() float64 { return math.Float64frombits(r.progress.share.Load()) }

// Until makes all questions end soon after ctx does: they return its error, or an incomplete
// answer.
func (r *Recording) Until(ctx context.Context) {
	r.ctx = ctx
	r.a.Until(ctx)
}

// given returns why the current question was cancelled; nil if it was not.
func (r *Recording) given() error {
	if r.ctx == nil {
		return nil
	}
	return r.ctx.Err()
}
