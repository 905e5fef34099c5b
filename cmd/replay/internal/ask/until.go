package ask

import (
	"context"
	"iter"

	"tachograph/sample/metric"
	"tachograph/store"
)

// Archive is a Reader whose iterators end when a context does: what is asked of it
// then comes to its end soon, with an answer that is to be thrown away. It has no
// twin, so that each question is read for on one goroutine, and many clients leave
// something of the machine to others.
type Archive struct {
	ctx    context.Context
	reader *store.Reader
}

// Until is a Reader until the context ends.
func Until(ctx context.Context, r *store.Reader) *Archive {
	r.Until(ctx)
	return &Archive{ctx, r}
}

// until ends an iterator with the context.
func until[T any](ctx context.Context, seq iter.Seq[T]) iter.Seq[T] {
	return func(yield func(T) bool) {
		if ctx.Err() != nil {
			return
		}
		for v := range seq {
			if ctx.Err() != nil || !yield(v) {
				return
			}
		}
	}
}

func (a *Archive) Select(sel store.Selection) iter.Seq[*store.Run] {
	return until(a.ctx, a.reader.Select(sel))
}

func (a *Archive) Summarize(sel store.Selection) iter.Seq[*store.Summary] {
	return until(a.ctx, a.reader.Summarize(sel))
}

func (a *Archive) SummarizeByChunk(sel store.Selection) iter.Seq[[]store.Summary] {
	return until(a.ctx, a.reader.SummarizeByChunk(sel))
}

func (a *Archive) Total(sel store.Selection, decode func(*store.Totals) bool) iter.Seq[store.Part] {
	return until(a.ctx, a.reader.Total(sel, decode))
}

func (a *Archive) Lives(indom string, from, to int64, keys ...string) iter.Seq[*store.Life] {
	return until(a.ctx, a.reader.Lives(indom, from, to, keys...))
}

func (a *Archive) Events(from, to int64, kinds ...metric.EventKind) iter.Seq[*store.Event] {
	return until(a.ctx, a.reader.Events(from, to, kinds...))
}

func (a *Archive) Cohorts(sel store.Selection, size int) iter.Seq[store.Selection] {
	return until(a.ctx, a.reader.Cohorts(sel, size))
}

func (a *Archive) CohortLives(c *store.Cohort, indom string, from, to int64) iter.Seq[*store.Life] {
	return until(a.ctx, a.reader.CohortLives(c, indom, from, to))
}

func (a *Archive) Readings(sel store.Selection) iter.Seq2[*metric.Instance, []int64] {
	return func(yield func(*metric.Instance, []int64) bool) {
		if a.ctx.Err() != nil {
			return
		}
		for in, walls := range a.reader.Readings(sel) {
			if a.ctx.Err() != nil || !yield(in, walls) {
				return
			}
		}
	}
}

func (a *Archive) Keys(indom string, from, to int64, s *store.Sought, accept func(in *metric.Instance) bool) ([]string, bool) {
	return a.reader.Keys(indom, from, to, s, accept)
}

func (a *Archive) Values(places []store.Place, fn func(n int, values []store.Repeated)) {
	if a.ctx.Err() == nil {
		a.reader.Values(places, fn)
	}
}

func (a *Archive) Hosts() []metric.Host            { return a.reader.Hosts() }
func (a *Archive) Archives() []*store.ArchiveInfo  { return a.reader.Archives() }
func (a *Archive) Metrics() []*metric.Desc         { return a.reader.Metrics() }
func (a *Archive) Lookup(name string) *metric.Desc { return a.reader.Lookup(name) }
func (a *Archive) LookupIn(info *store.ArchiveInfo, name string) *metric.Desc {
	return a.reader.LookupIn(info, name)
}
func (a *Archive) LastRead(sel store.Selection) int64 { return a.reader.LastRead(sel) }
func (a *Archive) Seams(hosts []string, from, to int64) []int64 {
	return a.reader.Seams(hosts, from, to)
}
func (a *Archive) Losses() []store.Loss { return a.reader.Losses() }
func (a *Archive) Close() error         { return a.reader.Close() }
