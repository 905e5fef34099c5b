package export

import (
	"context"
	"errors"
	"iter"
	"strings"

	"tachograph/cmd/replay/internal/answer"
	"tachograph/cmd/replay/internal/out"
	"tachograph/store"
	"tachograph/store/query"
)

// The names of the tables.
const (
	// ValuesTable is the long table: a row for each recorded value.
	ValuesTable    = "values"
	ProcessesTable = "processes"
	EventsTable    = "events"
	MetricsTable   = "metrics"
	ArchivesTable  = "archives"
)

// TableNames returns the names of all tables.
func TableNames() []string {
	names := []string{ValuesTable}
	for _, t := range Wide {
		names = append(names, t.Name)
	}
	return names
}

// A Column is a column of a table. Its cells have the kind or are absent.
type Column struct {
	Name string
	Kind out.Kind
}

// A Table is a wide table: a row has everything about one thing.
type Table struct {
	Name    string
	Columns []Column
	// Rows yields the rows of a request; a row is valid until the next.
	Rows func(ctx context.Context, r *Request) iter.Seq2[[]out.Cell, error]
}

// Wide are all tables except that of values.
var Wide = []Table{
	{ProcessesTable, processColumns, processes},
	{EventsTable, []Column{{"host", out.Text}, {"boot", out.Text}, {"time", out.Time}, {"kind", out.Text}, {"text", out.Text}, {"indom", out.Text},
		{"key", out.Text}, {"labels", out.Detail}}, events},
	{MetricsTable, []Column{{"metric", out.Text}, {"type", out.Text}, {"semantics", out.Text}, {"units", out.Text}, {"indom", out.Text}, {"class", out.Text},
		{"pmid", out.Text}, {"source", out.Text}, {"help", out.Text}, {"unsupported", out.Text}}, metrics},
	{ArchivesTable, []Column{{"host", out.Text}, {"host_id", out.Text}, {"archive", out.Text}, {"boot", out.Text}, {"from", out.Time}, {"to", out.Time},
		{"time_zone", out.Text}, {"os", out.Text}, {"release", out.Text}, {"arch", out.Text}, {"model", out.Text}, {"platform", out.Text},
		{"recorder", out.Text}, {"bytes", out.Int}, {"damage", out.Text}}, archives},
}

// Lookup returns the table with a name; nil for that of values.
func Lookup(name string) *Table {
	for i := range Wide {
		if Wide[i].Name == name {
			return &Wide[i]
		}
	}
	return nil
}

// processColumns are the columns of the processes table: each row is the life of a process in the
// window, with what it used in it. Their names are those of replay top.
var processColumns = func() (list []Column) {
	for _, f := range answer.Lives {
		list = append(list, Column{f.Name, f.Kind()})
	}
	return list
}()

// errEnough ends a query whose rows are no longer taken.
var errEnough = errors.New("enough")

func processes(ctx context.Context, r *Request) iter.Seq2[[]out.Cell, error] {
	return func(yield func([]out.Cell, error) bool) {
		row := make([]out.Cell, len(answer.Lives))
		err := query.EachProcess(r.Archive, r.Window, func(p *query.Spent) error {
			if r.Instance != nil && !r.Instance("process", p.Instance) {
				return nil
			}
			for i := range answer.Lives {
				if row[i] = answer.Lives[i].Cell(p); row[i].Kind != processColumns[i].Kind {
					row[i] = out.Cell{} // too large for its column, in an archive of unknown origin
				}
			}
			if !yield(row, nil) {
				return errEnough
			}
			return ctx.Err()
		})
		if err == nil {
			err = ctx.Err()
		}
		if err != nil && err != errEnough {
			yield(nil, err)
		}
	}
}

func events(ctx context.Context, r *Request) iter.Seq2[[]out.Cell, error] {
	return func(yield func([]out.Cell, error) bool) {
		for e := range query.SortedEvents(r.Archive, r.Window) {
			row := []out.Cell{out.Str(e.Archive.Host.Name), out.Str(e.Archive.BootID), out.At(e.At.Wall), out.Str(string(e.Kind)), out.Str(e.Text), answer.Text(e.Indom), answer.Text(e.Key),
				out.Labels(e.Labels)}
			if !yield(row, nil) {
				return
			}
		}
		if err := ctx.Err(); err != nil {
			yield(nil, err)
		}
	}
}

func metrics(_ context.Context, r *Request) iter.Seq2[[]out.Cell, error] {
	return func(yield func([]out.Cell, error) bool) {
		list := r.Metrics
		if list == nil {
			list = r.Archive.Metrics()
		}
		for _, d := range list {
			row := []out.Cell{out.Str(d.Name), out.Str(d.Type.String()), out.Str(d.Sem.String()), out.Str(d.Units.String()), answer.Text(d.Indom), out.Str(d.Class.String()),
				out.Str(d.PMID.String()), answer.Text(d.Source), answer.Text(d.Help), answer.Text(d.Unsupported)}
			if !yield(row, nil) {
				return
			}
		}
	}
}

func archives(_ context.Context, r *Request) iter.Seq2[[]out.Cell, error] {
	return func(yield func([]out.Cell, error) bool) {
		_, _, list := query.Covered(r.Archive, r.Window)
		for _, a := range list {
			if !yield(archiveRow(a), nil) {
				return
			}
		}
	}
}

func archiveRow(a *store.ArchiveInfo) []out.Cell {
	h := &a.Host
	return []out.Cell{out.Str(h.Name), out.Str(h.ID), out.Str(a.ID), out.Str(a.BootID), out.At(a.From), out.At(a.To), answer.Text(a.TimeZone), answer.Text(h.OS), answer.Text(h.Release),
		answer.Text(h.Arch), answer.Text(h.Model), answer.Text(h.Platform), answer.Text(a.Recorder), out.Whole(a.Bytes), answer.Text(strings.Join(a.Damage, "; "))}
}
