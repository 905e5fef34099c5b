package export

import (
	"cmp"
	"context"
	"io"

	"tachograph/cmd/replay/internal/out"
)

// CSV and JSONL are tables as text. Their table of values has one row per value; an absent value
// has a reason instead.
var (
	CSV = Format{Name: "csv", Summary: "a table as comma separated values", Tables: TableNames(),
		Write: func(ctx context.Context, r *Request, t Target) (*Report, error) {
			return writeFlat(ctx, r, t, out.CSV)
		}}
	JSONL = Format{Name: "jsonl", Summary: "a table as one json object a line", Tables: TableNames(),
		Write: func(ctx context.Context, r *Request, t Target) (*Report, error) {
			return writeFlat(ctx, r, t, out.JSON)
		}}
)

func writeFlat(ctx context.Context, r *Request, t Target, f out.Format) (*Report, error) {
	report := &Report{}
	n, err := t.Stream(ctx, func(w io.Writer) (err error) {
		if table := Lookup(r.Tables[0]); table != nil {
			err = flatRows(ctx, r, w, f, table, report)
		} else {
			err = flatValues(ctx, r, w, f, report)
		}
		return cmp.Or(err, report.Nothing())
	})
	report.Bytes = n
	return report, err
}

// flatValues writes the table of values: metric by metric, in each of them host by host and
// instance by instance, in the order of time.
func flatValues(ctx context.Context, r *Request, w io.Writer, f out.Format, report *Report) error {
	columns := []out.Column{{Name: "time"}, {Name: "host"}, {Name: "metric"}, {Name: "instance"}, {Name: "key"}, {Name: "value"}}
	if f == out.CSV {
		columns = append(columns, out.Column{Name: "reason"})
	}
	rows := out.New(w, columns, out.Options{Format: f, Zone: r.Zone, Spreadsheet: r.Spreadsheet})
	bulk := rows.(out.SeriesWriter)
	defer bulk.Stop()
	tail := make([]out.Cell, 4)
	list := r.Wanted()
	for i, d := range list {
		r.Done(int64(i), int64(len(list)))
		for s, err := range r.Values(ctx, r.Window, d) {
			if err != nil {
				return err
			}
			tail[0], tail[1], tail[2], tail[3] = out.Str(s.Archive.Host.Name), out.Str(s.Name), out.Cell{}, out.Cell{}
			if s.Instance != nil {
				tail[2], tail[3] = out.Str(s.Instance.Name), out.Str(s.Instance.Key)
			}
			if err := bulk.Series(nil, tail, &out.Points{Wall: s.Wall, Column: s.Column, Type: s.Type, Why: true}); err != nil {
				return err
			}
			report.Count(s)
		}
	}
	return rows.Close()
}

// flatRows writes another table.
func flatRows(ctx context.Context, r *Request, w io.Writer, f out.Format, table *Table, report *Report) error {
	var columns []out.Column
	for _, c := range table.Columns {
		columns = append(columns, out.Column{Name: c.Name})
	}
	rows := out.New(w, columns, out.Options{Format: f, Zone: r.Zone, Spreadsheet: r.Spreadsheet})
	for cells, err := range table.Rows(ctx, r) {
		if err != nil {
			return err
		}
		if err := rows.Row(cells); err != nil {
			return err
		}
		report.Rows++
	}
	return rows.Close()
}
