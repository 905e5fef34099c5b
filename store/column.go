package store

import (
	"tachograph/sample/metric"
	"tachograph/store/archive"
	"tachograph/store/chunk"
)

// A column is one metric in one group of one chunk.
type column struct {
	v    *archive.View
	col  int
	desc *metric.Desc
	// spans are the blocks in the window.
	spans []archive.Span
}

// until returns the last block in the window.
func (c *column) until() uint32 {
	last := uint32(0)
	for _, s := range c.spans {
		last = max(last, s.To)
	}
	return last
}

// there returns the rows whose instances were present in the column's spans and whose names can
// be read. It does so only where this excludes something worth excluding: for processes and
// threads, most of which come and go. Otherwise ok is false.
func (c *column) there() (rows []int, ok bool, err error) {
	const fewRows = 256
	v := c.v
	if len(c.spans) == 0 || v.Size < fewRows || !metric.PerBoot(v.Indom) {
		return nil, false, nil
	}
	first, last := c.spans[0].From, c.spans[0].To
	for _, s := range c.spans {
		first, last = min(first, s.From), max(last, s.To)
	}
	if first == 0 && int(last) == v.Blocks-1 {
		return nil, false, nil
	}
	rows, err = v.During(first, last)
	return rows, true, err
}

// A filter says which rows of a view are wanted.
type filter struct {
	rows  []int // in rising order; nil for all
	count int
	named bool // their names have been read
}

// row returns the n-th row that the filter accepts.
func (f *filter) row(n int) int {
	if f.rows == nil {
		return n
	}
	return f.rows[n]
}

// some returns a filter that accepts rows.
func some(rows []int) *filter { return &filter{rows: rows, count: len(rows)} }

// A wantedColumn is a column with its wanted rows, nil for all.
type wantedColumn struct {
	*column
	rows []int
}

// A shelf has the series of one column, and the error that ended its decoding.
type shelf struct {
	chunk.Shelf
	rows []int32
	err  error
}

// fill decodes a column onto the shelf.
func (h *shelf) fill(col *wantedColumn) {
	h.Reset()
	h.rows = h.rows[:0]
	h.err = col.v.SeriesUntil(col.col, col.rows, col.until(), func(row int, s *chunk.Series) error {
		h.Keep(s)
		h.rows = append(h.rows, int32(row))
		return nil
	})
}

// apart reports whether each column, in the order of time, surely belongs to a chunk of its
// own.
func apart(cols []wantedColumn) bool {
	for i := 1; i < len(cols); i++ {
		if cols[i-1].v.Ref.Info.First.Cont >= cols[i].v.Ref.Info.First.Cont {
			return false
		}
	}
	return true
}
