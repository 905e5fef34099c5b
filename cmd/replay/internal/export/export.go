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
	// Summary describes the format in a line.
	Summary string
	// Many formats write several files, and cannot write to standard output.
	Many bool
	// Tables are the tables of the format, the default one first; nil if it has none. AllTables
	// formats write all of them by default.
	Tables    []string
	AllTables bool
	// Steps formats can have a value for each step instead of each reading.
	Steps bool
	// Write writes the request. It ends soon after its context does, and then its output must be
	// thrown away (see Target).
	Write func(ctx context.Context, r *Request, t Target) (*Report, error)
}

// Request says what to write.
type Request struct {
	Archive query.Archive
	// Paths are the paths that the archives were opened from.
	Paths []string
	// Window has the span and the hosts.
	Window query.Window
	// Metrics are the metrics to write, by name; nil means all.
	Metrics []*metric.Desc
	// Instance accepts the instances to write; nil accepts all. Sought is what is known about
	// these instances.
	Instance func(indom string, in *metric.Instance) bool
	Sought   *store.Sought
	// Tables are the requested tables of the format.
	Tables []string
	// Step is the length of the steps, for a format that has them, 0 for every reading; nil
	// leaves it to the format.
	Step *time.Duration
	// Zone is the time zone for formats that write times with one.
	Zone *time.Location
	// Spreadsheet keeps a spreadsheet from taking texts of csv for formulas.
	Spreadsheet bool
	// Progress, if not nil, is called with how much is done.
	Progress func(done, total int64)
}

// Report is the result of an export.
type Report struct {
	// Values is how many values were written, in Series series if the format has any. Absent of
	// them were written as absent; a format that cannot do that leaves absent values out,
	// uncounted.
	Values, Absent, Series int64
	// Rows counts the rows of tables other than the values.
	Rows int64
	// Bytes is the size of all files.
	Bytes int64
	// Notes say what was left out because the format cannot hold it, a sentence each.
	Notes []string
	// Losses are what could not be read by code that does not read through Archive, which notes
	// its own.
	Losses []store.Loss
}

// Nothing returns ErrNothing if nothing was written.
func (r *Report) Nothing() error {
	if r.Values+r.Rows == 0 {
		return ErrNothing
	}
	return nil
}

// Wanted returns the metrics to write, by name: without those that no archive can hold values of
// and, if the request names none, without the metrics of stacks.
func (r *Request) Wanted() []*metric.Desc {
	list := slices.Clone(r.Metrics)
	if r.Metrics == nil {
		list = slices.DeleteFunc(slices.Clone(r.Archive.Metrics()), func(d *metric.Desc) bool { return metric.OfStacks(d.Indom) })
	}
	slices.SortFunc(list, func(a, b *metric.Desc) int { return strings.Compare(a.Name, b.Name) })
	list = slices.CompactFunc(list, func(a, b *metric.Desc) bool { return a.Name == b.Name })
	return slices.DeleteFunc(list, func(d *metric.Desc) bool { return d.Unsupported != "" || d.Formula != "" })
}

// HostsIn returns the hosts of the request.
func (r *Request) HostsIn() []metric.Host {
	var list []metric.Host
	for _, h := range r.Archive.Hosts() {
		if r.Window.Wants(h.ID) {
			list = append(list, h)
		}
	}
	return list
}

// Done calls Progress, if there is one.
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
