package export

import (
	"context"
	"errors"
	"iter"
	"math"
	"strings"

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

// processFields are the columns of the processes table: each row is the life of a process in the
// window, with what it used in it. Their names are those of replay top.
var processFields = []struct {
	Column
	of func(*query.Spent) out.Cell
}{
	{Column{"host", out.Text}, func(p *query.Spent) out.Cell { return out.Str(p.Archive.Host.Name) }},
	{Column{"boot", out.Text}, func(p *query.Spent) out.Cell { return out.Str(p.Archive.BootID) }},
	{Column{"key", out.Text}, func(p *query.Spent) out.Cell { return out.Str(p.Instance.Key) }},
	{Column{"pid", out.Int}, func(p *query.Spent) out.Cell { return positive(p.PID) }},
	{Column{"name", out.Text}, func(p *query.Spent) out.Cell { return word(p.Name) }},
	{Column{"user", out.Text}, func(p *query.Spent) out.Cell { return word(p.User) }},
	{Column{"ppid", out.Int}, func(p *query.Spent) out.Cell { return positive(p.PPID) }},
	{Column{"parent", out.Text}, func(p *query.Spent) out.Cell { return word(p.Instance.Label("parent")) }},
	{Column{"start", out.Time}, func(p *query.Spent) out.Cell { return out.At(p.Start) }},
	{Column{"from", out.Time}, func(p *query.Spent) out.Cell { return out.At(p.From) }},
	{Column{"to", out.Time}, func(p *query.Spent) out.Cell { return out.At(p.To) }},
	{Column{"end", out.Time}, func(p *query.Spent) out.Cell {
		switch {
		case p.Exit != nil:
			return out.At(p.Exit.At.Wall)
		case p.Ended:
			return out.At(p.To)
		}
		return out.Cell{}
	}},
	{Column{"exit", out.Text}, func(p *query.Spent) out.Cell {
		if p.Exit == nil {
			return out.Cell{}
		}
		return word(p.Exit.Label("how"))
	}},
	{Column{"cpu_seconds", out.Float}, func(p *query.Spent) out.Cell { return number(p.CPUTime()) }},
	{Column{"user_seconds", out.Float}, func(p *query.Spent) out.Cell { return number(p.Gains[query.UserTime]) }},
	{Column{"system_seconds", out.Float}, func(p *query.Spent) out.Cell { return number(p.Gains[query.SystemTime]) }},
	{Column{"memory_peak", out.Int}, func(p *query.Spent) out.Cell { return whole(p.Peak) }},
	{Column{"memory_mean", out.Int}, func(p *query.Spent) out.Cell { return whole(p.Mean) }},
	{Column{"read_bytes", out.Int}, func(p *query.Spent) out.Cell { return whole(p.Gains[query.ReadBytes]) }},
	{Column{"write_bytes", out.Int}, func(p *query.Spent) out.Cell { return whole(p.Gains[query.WrittenBytes]) }},
	{Column{"energy_joules", out.Float}, func(p *query.Spent) out.Cell { return number(p.Gains[query.Energy]) }},
	{Column{"wakeups", out.Int}, func(p *query.Spent) out.Cell { return whole(p.Wakeups()) }},
	{Column{"faults", out.Int}, func(p *query.Spent) out.Cell { return whole(p.Gains[query.Faults]) }},
	{Column{"major_faults", out.Int}, func(p *query.Spent) out.Cell { return whole(p.Gains[query.MajorFaults]) }},
	{Column{"switches", out.Int}, func(p *query.Spent) out.Cell { return whole(p.Gains[query.Switches]) }},
}

var processColumns = func() (list []Column) {
	for _, f := range processFields {
		list = append(list, f.Column)
	}
	return list
}()

// errEnough ends a query whose rows are no longer taken.
var errEnough = errors.New("enough")

func processes(ctx context.Context, r *Request) iter.Seq2[[]out.Cell, error] {
	return func(yield func([]out.Cell, error) bool) {
		row := make([]out.Cell, len(processFields))
		err := query.EachProcess(r.Archive, r.Window, func(p *query.Spent) error {
			if r.Instance != nil && !r.Instance("process", p.Instance) {
				return nil
			}
			for i := range processFields {
				row[i] = processFields[i].of(p)
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
			row := []out.Cell{out.Str(e.Archive.Host.Name), out.Str(e.Archive.BootID), out.At(e.At.Wall), out.Str(string(e.Kind)), out.Str(e.Text), word(e.Indom), word(e.Key),
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
			row := []out.Cell{out.Str(d.Name), out.Str(d.Type.String()), out.Str(d.Sem.String()), out.Str(d.Units.String()), word(d.Indom), out.Str(d.Class.String()),
				out.Str(d.PMID.String()), word(d.Source), word(d.Help), word(d.Unsupported)}
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
	return []out.Cell{out.Str(h.Name), out.Str(h.ID), out.Str(a.ID), out.Str(a.BootID), out.At(a.From), out.At(a.To), word(a.TimeZone), word(h.OS), word(h.Release),
		word(h.Arch), word(h.Model), word(h.Platform), word(a.Recorder), out.Whole(a.Bytes), word(strings.Join(a.Damage, "; "))}
}

// word returns a text, absent if it is unknown.
func word(s string) out.Cell {
	if s == "" {
		return out.Cell{}
	}
	return out.Str(s)
}

// positive returns a number, absent if it is unknown.
func positive(n int) out.Cell {
	if n <= 0 {
		return out.Cell{}
	}
	return out.Whole(int64(n))
}

func number(x float64) out.Cell {
	if math.IsNaN(x) {
		return out.Cell{}
	}
	return out.Number(x)
}

// whole returns a count, absent if it is unknown; in an archive of unknown origin it may be too
// large for a count.
func whole(x float64) out.Cell {
	if !(math.Abs(x) < 1<<63) {
		return out.Cell{}
	}
	return out.Whole(int64(math.Round(x)))
}
