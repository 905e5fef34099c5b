// Package flat writes tables as csv or as JSON lines. Its table of values has one row per
// value; an absent value has its reason.
package flat

import (
	"cmp"
	"context"
	"io"

	"tachograph/cmd/replay/internal/export"
	"tachograph/cmd/replay/internal/out"
)

// CSV and JSONL are the formats.
var (
	CSV = export.Format{Name: "csv", Summary: "a table as comma separated values", Tables: export.TableNames(),
		Write: func(ctx context.Context, r *export.Request, t export.Target) (*export.Report, error) {
			return write(ctx, r, t, out.CSV)
		}}
	JSONL = export.Format{Name: "jsonl", Summary: "a table as one json object a line", Tables: export.TableNames(),
		Write: func(ctx context.Context, r *export.Request, t export.Target) (*export.Report, error) {
			return write(ctx, r, t, out.JSON)
		}}
)

func write(ctx context.Context, r *export.Request, t export.Target, f out.Format) (*export.Report, error) {
	report := &export.Report{}
	n, err := t.Stream(ctx, func(w io.Writer) (err error) {
		if table := export.Lookup(r.Tables[0]); table != nil {
			err = wide(ctx, r, w, f, table, report)
		} else {
			err = values(ctx, r, w, f, report)
		}
		return cmp.Or(err, report.Nothing())
	})
	report.Bytes = n
	return report, err
}

// values writes the long table: metric by metric, in each of them host by host and
// instance by instance, in the order of time.
func values(ctx context.Context, r *export.Request, w io.Writer, f out.Format, report *export.Report) error {
	columns := []out.Column{{Name: "time"}, {Name: "host"}, {Name: "metric"}, {Name: "instance"}, {Name: "key"}, {Name: "value"}}
	if f == out.CSV {
		columns = append(columns, out.Column{Name: "reason"})
	}
	rows := out.New(w, columns, out.Options{Format: f, Zone: r.Zone, Spreadsheet: r.Spreadsheet})
	bulk := rows.(out.SeriesWriter)
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

// wide writes another table.
func wide(ctx context.Context, r *export.Request, w io.Writer, f out.Format, table *export.Table, report *export.Report) error {
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
