// Package export contains what all export formats share: the request, the target and the
// result. A format reads and writes piece by piece, so that its memory does not grow with
// the window.
//
// The output appears under its name when it is complete, or not at all. It replaces an
// existing file only on request.
package export

import (
	"context"
	"slices"
	"strings"
	"time"

	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/query"
)

// Format is a format that recordings are written in.
type Format struct {
	Name string
	// Summary is what it is, in a line.
	Summary string
	// Many formats write several files, and cannot go to standard output.
	Many bool
	// Tables are the tables that the format has, the one that is written where none is
	// asked for first; nil where it has no tables. AllTables formats then write all.
	Tables    []string
	AllTables bool
	// Steps formats can have a value for each step instead of each reading.
	Steps bool
	// Write writes what is asked for. It ends soon after its context does, and what it
	// has written then is to be thrown away (see Target).
	Write func(ctx context.Context, r *Request, t Target) (*Report, error)
}

// Request is what is to be written.
type Request struct {
	Archive query.Archive
	// Paths are those that the archives were opened from.
	Paths []string
	// Window has the span and the hosts.
	Window query.Window
	// Metrics are those that are wanted, by name; nil means all.
	Metrics []*metric.Desc
	// Instance accepts the instances that are wanted; nil accepts all. Sought is what
	// is known of these.
	Instance func(indom string, in *metric.Instance) bool
	Sought   *store.Sought
	// Tables are those that are asked for, of those that the format has.
	Tables []string
	// Step is how long steps are, of a format that has them, 0 for every reading; nil
	// leaves it to the format.
	Step *time.Duration
	// Zone is the one that times are written in, where a format writes them with one.
	Zone *time.Location
	// Spreadsheet keeps texts of csv from being taken for formulas.
	Spreadsheet bool
	// Progress is told how far it is; nil is not.
	Progress func(done, total int64)
}

// Report is what came of it.
type Report struct {
	// Values were written, in so many series where the format has such. Absent of them
	// are said to be so; a format that cannot say it leaves them out, uncounted.
	Values, Absent, Series int64
	// Rows counts those of tables that do not hold values.
	Rows int64
	// Bytes are those of all files.
	Bytes int64
	// Notes say what the format could not hold and was left out, a sentence each.
	Notes []string
	// Losses are what could not be read by whoever reads past Archive, which notes its own.
	Losses []store.Loss
}

// Nothing is ErrNothing if nothing was written.
func (r *Report) Nothing() error {
	if r.Values+r.Rows == 0 {
		return ErrNothing
	}
	return nil
}

// Wanted are the metrics that are to be written, by name: without those that no
// archive can hold values of, and where nothing is named without what stacks are made of.
func (r *Request) Wanted() []*metric.Desc {
	list := slices.Clone(r.Metrics)
	if r.Metrics == nil {
		list = slices.DeleteFunc(slices.Clone(r.Archive.Metrics()), func(d *metric.Desc) bool { return metric.OfStacks(d.Indom) })
	}
	slices.SortFunc(list, func(a, b *metric.Desc) int { return strings.Compare(a.Name, b.Name) })
	list = slices.CompactFunc(list, func(a, b *metric.Desc) bool { return a.Name == b.Name })
	return slices.DeleteFunc(list, func(d *metric.Desc) bool { return d.Unsupported != "" || d.Formula != "" })
}

// Chosen reports whether only some of what was recorded is wanted.
func (r *Request) Chosen() bool { return r.Metrics != nil || r.Instance != nil }

// HostsIn are the hosts that the request is about.
func (r *Request) HostsIn() []metric.Host {
	var list []metric.Host
	for _, h := range r.Archive.Hosts() {
		if r.Window.Wants(h.ID) {
			list = append(list, h)
		}
	}
	return list
}

// Done tells how far it is, if somebody wants to know.
func (r *Request) Done(done, total int64) {
	if r.Progress != nil {
		r.Progress(done, total)
	}
}

// Count counts the values of a stretch as written.
func (r *Report) Count(s *query.Series) {
	r.Values += int64(len(s.Wall))
	for _, why := range s.Miss {
		if why != metric.Present {
			r.Absent++
		}
	}
}
