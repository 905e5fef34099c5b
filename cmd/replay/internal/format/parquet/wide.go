package parquet

import (
	"context"
	"errors"
	"math"

	"tachograph/cmd/replay/internal/export"
	"tachograph/cmd/replay/internal/out"
)

// kinds maps the kinds of cells to those of columns.
var kinds = map[out.Kind]kind{out.Text: text, out.Detail: text, out.Time: instant, out.Float: double, out.Int: signed, out.Uint: unsigned}

// wide writes a table to a file of its own.
func (w *writer) wide(ctx context.Context, table *export.Table) error {
	var columns []*column
	for _, c := range table.Columns {
		columns = append(columns, &column{name: c.Name, kind: kinds[c.Kind]})
	}
	o, err := w.create(table.Name+".parquet", columns)
	if err != nil {
		return err
	}
	for cells, err := range table.Rows(ctx, w.r) {
		if err == nil {
			_, err = o.room()
		}
		if err != nil {
			return errors.Join(err, o.out.Close())
		}
		for i, c := range columns {
			c.cell(&cells[i])
		}
		w.report.Rows++
	}
	return w.finish(o)
}

// cell adds a row.
func (c *column) cell(v *out.Cell) {
	switch v.Kind {
	case out.Blank:
		c.null(1)
	case out.Text:
		c.same(v.S, 1)
	case out.Detail:
		c.same(string(v.Raw), 1)
	case out.Float:
		c.room(1)[0] = int64(math.Float64bits(v.F))
	case out.Uint:
		c.room(1)[0] = int64(v.U)
	default:
		c.room(1)[0] = v.I
	}
}
