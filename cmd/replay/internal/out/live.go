package out

import (
	"io"

	"tachograph/cmd/replay/internal/human"
)

// liveWriter is a table whose rows are shown as they come. The widths of its columns are
// estimates. On a terminal, wider texts are cut if the column is flexible; otherwise the column
// is wider from then on.
type liveWriter struct {
	*tableWriter
	head    []string
	natural []int // widths before they are fitted to the terminal
	lines   int   // since the heading
}

func newLive(w io.Writer, columns []Column, opt Options) *liveWriter {
	t := &liveWriter{tableWriter: newTable(w, columns, opt)}
	t.settled = true
	t.head = t.heading()
	for k, i := range t.keep {
		t.widths[k] = max(t.widths[k], columns[i].Width)
		t.times[k] = columns[i].Name == "time" // before there is a value
	}
	t.natural = append([]int(nil), t.widths...)
	t.Resize(opt.Width, opt.Height)
	t.lines = t.write(t.head, 0, true)
	return t
}

// Resize fits the table to another terminal.
func (t *liveWriter) Resize(width, height int) {
	t.opt.Width, t.opt.Height, t.lines = width, height, 0
	t.hidden = make([]bool, len(t.keep))
	copy(t.widths, t.natural)
	t.fit()
}

// leastScreen is the least height of a terminal on which every screen gets a heading.
const leastScreen = 5

// Row writes a row. It appears when Flush says that the rows that belong together are complete.
func (t *liveWriter) Row(cells []Cell) error {
	row, alarms := t.row(cells)
	for k, i := range t.keep {
		last := k == len(t.keep)-1 && !t.columns[i].Right
		if n := human.Width(row[k]); n > t.natural[k] && !last && !(t.columns[i].Flex && t.opt.Width > 0) {
			t.natural[k] = n
			lines := t.lines
			t.Resize(t.opt.Width, t.opt.Height)
			t.lines = lines
		}
	}
	if t.lines == 0 || t.opt.Height >= leastScreen && t.lines >= t.opt.Height-1 {
		t.lines = t.write(t.head, 0, true)
	}
	t.lines += t.write(row, alarms, false)
	return nil
}

// Close writes the rows that are still held back.
func (t *liveWriter) Close() error { return t.Flush() }
