package out

import (
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

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
	held    [][]string
	settled bool
	began   time.Time
	opt     Options
	fine    bool // times show fractions of a second
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
		return t.settle()
	}
	return nil
}

func (t *tableWriter) Close() error {
	if !t.settled {
		if err := t.settle(); err != nil {
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

func (t *tableWriter) settle() error {
	t.settled = true
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
		t.widths[k] = utf8.RuneCountInString(head[k])
	}
	for _, row := range t.held {
		for k, s := range row {
			t.widths[k] = max(t.widths[k], utf8.RuneCountInString(s))
		}
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

// fit takes from the flexible columns what the terminal does not have.
func (t *tableWriter) fit() {
	if t.opt.Width <= 0 {
		return
	}
	const least = 8
	total := 2 * (len(t.widths) - 1)
	for _, w := range t.widths {
		total += w
	}
	for k := len(t.widths) - 1; k >= 0 && total > t.opt.Width; k-- {
		if !t.columns[t.keep[k]].Flex {
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
	for k, s := range row {
		col := &t.columns[t.keep[k]]
		w := t.widths[k]
		n := utf8.RuneCountInString(s)
		if n > w && t.opt.Width > 0 && col.Flex {
			r := []rune(s)
			s, n = string(r[:w-1])+"…", w
		}
		if k > 0 {
			b.WriteString("  ")
		}
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
}
