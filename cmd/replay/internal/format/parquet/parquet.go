// Package parquet writes recordings as a directory of Parquet files, which DuckDB, pandas, Spark
// and similar programs read: the values of each host and day as a long table below
// values/host=HOST/day=DAY, and the other tables (processes, events, metrics, archives) as a
// file each.
//
// The footers and headers are those of parquet-go. Its writer is not used: a column of values is
// the same for thousands of rows, and that writer makes a value of 24 bytes for each row and
// looks each up (1.5 M rows a second on a core). Here a run is counted once.
package parquet

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"

	"tachograph/cmd/replay/internal/export"
	"tachograph/sample"
)

// Format is the format for replay export.
var Format = export.Format{
	Name: "parquet", Summary: "a directory of Parquet files: values by host and day, processes, events, metrics, archives",
	Many: true, Tables: export.TableNames(), AllTables: true, Write: write,
}

func write(ctx context.Context, r *export.Request, t export.Target) (*export.Report, error) {
	w := &writer{r: r, report: &export.Report{}}
	err := t.Dir(ctx, func(dir string) error {
		w.dir = dir
		for _, name := range r.Tables {
			var err error
			if table := export.Lookup(name); table != nil {
				err = w.wide(ctx, table)
			} else {
				err = w.values(ctx)
			}
			if err != nil {
				return err
			}
		}
		return cmp.Or(w.about(), w.report.Nothing())
	})
	return w.report, err
}

// A writer writes the directory.
type writer struct {
	r      *export.Request
	dir    string
	report *export.Report
}

// about writes the file that describes the directory and marks it as made by an export.
func (w *writer) about() error {
	text, err := json.MarshalIndent(map[string]any{
		"format": "parquet", "tables": w.r.Tables, "values": w.report.Values, "rows": w.report.Rows, "writer": "tachograph replay " + sample.Version(),
	}, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(w.dir, export.Made), append(text, '\n'), 0o666)
}

// An output is a file of the directory.
type output struct {
	*file
	out *os.File
	buf *bufio.Writer
}

// create begins a file below the directory.
func (w *writer) create(path string, columns []*column, sorted ...int) (*output, error) {
	path = filepath.Join(w.dir, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return nil, err
	}
	out, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return nil, err
	}
	b := bufio.NewWriterSize(out, 256<<10)
	f, err := newFile(b, columns, sorted...)
	if err != nil {
		out.Close()
		return nil, err
	}
	return &output{f, out, b}, nil
}

// finish completes the file.
func (w *writer) finish(o *output) error {
	err := o.close()
	if err == nil {
		err = o.buf.Flush()
	}
	if err == nil {
		err = o.out.Sync()
	}
	w.report.Bytes += o.at
	return errors.Join(err, o.out.Close())
}

// values writes the long table: a file for each host and day with recorded values.
func (w *writer) values(ctx context.Context) error {
	parts, err := w.parts()
	if err != nil {
		return err
	}
	list, columns := w.r.Wanted(), longTable()
	for i, p := range parts {
		var l long
		for k, d := range list {
			w.r.Done(int64(i*len(list)+k), int64(len(parts)*len(list)))
			for s, err := range w.r.Values(ctx, p.window, d) {
				if err == nil && l.output == nil {
					l.output, err = w.create(p.path, columns, metricColumn)
				}
				if err == nil {
					err = l.add(s)
				}
				if err != nil {
					return errors.Join(err, l.abandon())
				}
				w.report.Count(s)
			}
		}
		if l.output != nil {
			if err := w.finish(l.output); err != nil {
				return err
			}
		}
	}
	return nil
}
