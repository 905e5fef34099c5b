package out

import (
	"io"
	"strconv"
	"strings"
	"time"

	"tachograph/cmd/internal/visible"
	"tachograph/cmd/replay/internal/human"
)

// sampleRows is how many rows a table looks at before it settles how wide its
// columns are.
const sampleRows = 100

type tableWriter struct {
	stream
	columns []Column
	keep    []int
	widths  []int
	hidden  []bool // columns without a value, or without a place
	held    [][]string
	settled bool
	began   time.Time
	opt     Options
}

func newTable(w io.Writer, columns []Column, opt Options) *tableWriter {
	t := &tableWriter{stream: newStream(w, opt.Zone), columns: columns, opt: opt}
	for i, c := range columns {
		if c.Only == Everywhere || c.Only == InTables {
			t.keep = append(t.keep, i)
		}
	}
	return t
}

func (t *tableWriter) Row(cells []Cell) error {
	if t.began.IsZero() {
		t.began = time.Now()
	}
	row := make([]string, len(t.keep))
	for k, i := range t.keep {
		row[k] = t.show(&cells[i])
	}
	if t.settled {
		t.write(row, false)
		return t.wrote()
	}
	t.held = append(t.held, row)
	if len(t.held) >= sampleRows || time.Since(t.began) > flushEvery {
		return t.settle(false)
	}
	return nil
}

func (t *tableWriter) Close() error {
	if !t.settled {
		if err := t.settle(true); err != nil {
			return err
		}
	}
	return t.Flush()
}

func (t *tableWriter) show(c *Cell) string {
	if c.Human != "" {
		return visible.Text(c.Human)
	}
	switch c.Kind {
	case Text:
		return visible.Text(c.S)
	case Time:
		at := time.Unix(0, c.I).In(t.zone)
		if at.Nanosecond() != 0 {
			return at.Format("2006-01-02 15:04:05.000")
		}
		return at.Format("2006-01-02 15:04:05")
	case Blank:
		return "-"
	}
	var x float64
	switch c.Kind {
	case Int:
		x = float64(c.I)
	case Uint:
		x = float64(c.U)
	case Float:
		x = c.F
	}
	if c.Units != nil {
		return human.Value(x, *c.Units, c.Rate)
	}
	switch c.Kind {
	case Int:
		return strconv.FormatInt(c.I, 10)
	case Uint:
		return strconv.FormatUint(c.U, 10)
	}
	return human.Figures(x)
}

// settle decides how the table looks; whole says that it has all rows.
func (t *tableWriter) settle(whole bool) error {
	t.settled = true
	t.hidden = make([]bool, len(t.keep))
	if len(t.held) == 0 {
		return nil
	}
	t.widths = make([]int, len(t.keep))
	head := make([]string, len(t.keep))
	for k, i := range t.keep {
		head[k] = t.columns[i].Title
		if head[k] == "" {
			head[k] = strings.ToUpper(t.columns[i].Name)
		}
		t.widths[k] = human.Width(head[k])
	}
	for _, row := range t.held {
		for k, s := range row {
			t.widths[k] = max(t.widths[k], human.Width(s))
		}
	}
	if whole {
		t.hideEmpty()
	}
	t.fit()
	t.write(head, true)
	for _, row := range t.held {
		t.write(row, false)
	}
	t.held = nil
	t.rows, t.shown = 1, time.Now()
	return t.Flush()
}

// hideEmpty leaves out the columns that have no value in any row; not the
// last, which the table is about.
func (t *tableWriter) hideEmpty() {
	for k := range len(t.keep) - 1 {
		t.hidden[k] = true
		for _, row := range t.held {
			if row[k] != "-" {
				t.hidden[k] = false
				break
			}
		}
	}
}

// fit takes from the flexible columns what the terminal does not have. Where
// that is not enough other columns go, from the right; the first and the last
// stay.
func (t *tableWriter) fit() {
	if t.opt.Width <= 0 {
		return
	}
	const least = 8
	total := -2
	for k, w := range t.widths {
		if !t.hidden[k] {
			total += w + 2
		}
	}
	spare := 0
	for k, w := range t.widths {
		if t.columns[t.keep[k]].Flex && !t.hidden[k] {
			spare += max(w-least, 0)
		}
	}
	for k := len(t.widths) - 2; k > 0 && total-spare > t.opt.Width; k-- {
		if !t.columns[t.keep[k]].Flex && !t.hidden[k] {
			t.hidden[k] = true
			total -= t.widths[k] + 2
		}
	}
	for k := len(t.widths) - 1; k >= 0 && total > t.opt.Width; k-- {
		if !t.columns[t.keep[k]].Flex || t.hidden[k] {
			continue
		}
		cut := min(total-t.opt.Width, t.widths[k]-least)
		if cut > 0 {
			t.widths[k] -= cut
			total -= cut
		}
	}
}

func (t *tableWriter) write(row []string, head bool) {
	var b strings.Builder
	var below []string
	first, indent, at := true, 0, 0
	for k, s := range row {
		if t.hidden[k] {
			continue
		}
		col := &t.columns[t.keep[k]]
		if k == len(row)-1 && !head {
			s, below, indent = t.wrap(col, s, at)
		}
		w := t.widths[k]
		n := human.Width(s)
		if n > w && t.opt.Width > 0 && col.Flex {
			s = human.Cut(s, w)
			n = human.Width(s)
		}
		if !first {
			b.WriteString("  ")
		}
		first = false
		at += max(w, n) + 2
		pad := strings.Repeat(" ", max(w-n, 0))
		if col.Right {
			b.WriteString(pad)
		}
		if t.opt.Color && !head && s == "-" {
			s = string(visible.Faint(s))
		}
		b.WriteString(s)
		if !col.Right && k < len(row)-1 {
			b.WriteString(pad)
		}
	}
	line := strings.TrimRight(b.String(), " ")
	if head && t.opt.Color {
		line = string(visible.Bold(line))
	}
	t.WriteString(line)
	t.WriteByte('\n')
	for _, s := range below {
		t.WriteString(strings.Repeat(" ", indent))
		t.WriteString(s)
		t.WriteByte('\n')
	}
}

// wrap breaks the text of a last column, which begins behind start columns, into
// what fits there and what stands below: where the terminal leaves little room,
// all of it.
func (t *tableWriter) wrap(col *Column, s string, start int) (text string, below []string, indent int) {
	const little = 24
	room := t.opt.Width - start
	switch {
	case t.opt.Width <= 0 || col.Flex || col.Right || human.Width(s) <= room:
		return s, nil, 0
	case room >= little:
		lines := human.Wrap(s, room)
		return lines[0], lines[1:], start
	default:
		const indent = 2
		return "", human.Wrap(s, max(t.opt.Width-indent, 12)), indent
	}
}
