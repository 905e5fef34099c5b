package out

import (
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"tachograph/cmd/internal/visible"
	"tachograph/cmd/replay/internal/human"
)

// sampleRows is how many rows a table collects before it fixes the widths of its columns.
const sampleRows = 100

type tableWriter struct {
	stream
	columns []Column
	keep    []int
	widths  []int
	times   []bool // columns that hold times
	brief   bool   // times are written without the year
	hidden  []bool // columns without a value, or without room
	held    [][]string
	alarms  []uint64 // of the held rows, a bit for each column
	settled bool
	began   time.Time
	opt     Options
}

func newTable(w io.Writer, columns []Column, opt Options) *tableWriter {
	if opt.Now == nil {
		opt.Now = time.Now
	}
	t := &tableWriter{stream: newStream(w, opt.Zone), columns: columns, opt: opt}
	for i, c := range columns {
		if c.Only == Everywhere || c.Only == InTables {
			t.keep = append(t.keep, i)
		}
	}
	t.times = make([]bool, len(t.keep))
	return t
}

func (t *tableWriter) Row(cells []Cell) error {
	if t.began.IsZero() {
		t.began = t.opt.Now()
	}
	row, alarms := t.row(cells)
	if t.settled {
		t.write(row, alarms, false)
		return t.wrote()
	}
	t.held, t.alarms = append(t.held, row), append(t.alarms, alarms)
	if len(t.held) >= sampleRows || t.opt.Width > 0 && t.opt.Now().Sub(t.began) > flushEvery {
		return t.settle(false)
	}
	return nil
}

// row returns the texts of a row, and which of its columns are out of the ordinary.
func (t *tableWriter) row(cells []Cell) (row []string, alarms uint64) {
	row = make([]string, len(t.keep))
	for k, i := range t.keep {
		row[k] = t.show(&cells[i])
		t.times[k] = t.times[k] || cells[i].Kind == Time
		if cells[i].Alarm && k < 64 {
			alarms |= 1 << k
		}
	}
	return row, alarms
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

// settle fixes how the table looks; whole says that it has all rows.
func (t *tableWriter) settle(whole bool) error {
	t.settled = true
	t.hidden = make([]bool, len(t.keep))
	if len(t.held) == 0 {
		return nil
	}
	head := t.heading()
	for _, row := range t.held {
		for k, s := range row {
			t.widths[k] = max(t.widths[k], human.Width(s))
		}
	}
	if whole {
		t.hideEmpty()
	}
	t.fit()
	t.write(head, 0, true)
	for i, row := range t.held {
		t.write(row, t.alarms[i], false)
	}
	t.held, t.alarms = nil, nil
	t.rows, t.shown = 1, time.Now()
	return t.Flush()
}

// heading returns the first line, and initializes the widths from it.
func (t *tableWriter) heading() []string {
	t.widths = make([]int, len(t.keep))
	head := make([]string, len(t.keep))
	for k, i := range t.keep {
		head[k] = t.columns[i].Title
		if head[k] == "" {
			head[k] = strings.ToUpper(t.columns[i].Name)
		}
		t.widths[k] = human.Width(head[k])
	}
	return head
}

// hideEmpty leaves out the columns that have no value in any row, but not the last one, which
// the table is about, unless its Keep is negative.
func (t *tableWriter) hideEmpty() {
	for k := range t.keep {
		if k == len(t.keep)-1 && t.columns[t.keep[k]].Keep >= 0 {
			break
		}
		t.hidden[k] = true
		for _, row := range t.held {
			if row[k] != "-" {
				t.hidden[k] = false
				break
			}
		}
	}
}

// flexible are the widths to cut flexible columns to: before other columns go, before times lose
// their year, and if nothing else helps.
var flexible = []int{16, 8, 3}

// yearWidth is the width of the year in times.
const yearWidth = len("2026-")

// fit makes the table fit the terminal: it cuts flexible columns, leaves out those that matter
// least and, if that is not enough, leaves the year out of times.
func (t *tableWriter) fit() {
	t.brief = false
	if t.opt.Width <= 0 {
		return
	}
	for t.least(flexible[0]) > t.opt.Width {
		k := t.leastWanted()
		if k < 0 {
			break
		}
		t.hidden[k] = true
	}
	if t.least(flexible[1]) > t.opt.Width {
		t.brief = true
		for k, w := range t.widths {
			if t.times[k] && w > yearWidth {
				t.widths[k] -= yearWidth
			}
		}
	}
	for _, least := range flexible {
		t.cut(least)
	}
}

// least returns the least width of the table if flexible columns are cut to flexible.
func (t *tableWriter) least(flexible int) int {
	total := -2
	for k, w := range t.widths {
		switch {
		case t.hidden[k]:
		case t.columns[t.keep[k]].Flex:
			total += min(w, flexible) + 2
		default:
			total += w + 2
		}
	}
	return total
}

// leastWanted returns the column to leave out first; -1 if there is none.
func (t *tableWriter) leastWanted() int {
	found := -1
	for k := 1; k < len(t.keep)-1; k++ {
		c := &t.columns[t.keep[k]]
		if t.hidden[k] || c.Flex && c.Keep == 0 || c.Keep >= Always {
			continue
		}
		if found < 0 || c.Keep <= t.columns[t.keep[found]].Keep {
			found = k
		}
	}
	return found
}

// cut shortens the widest flexible columns until the table fits, or each is down to least.
func (t *tableWriter) cut(least int) {
	for over := t.least(math.MaxInt32) - t.opt.Width; over > 0; over-- {
		widest := -1
		for k, w := range t.widths {
			if t.columns[t.keep[k]].Flex && !t.hidden[k] && w > least && (widest < 0 || w >= t.widths[widest]) {
				widest = k
			}
		}
		if widest < 0 {
			return
		}
		t.widths[widest]--
	}
}

// room returns the widths of the columns for one row: if a text that cannot be cut is wider than
// expected, flexible columns give way.
func (t *tableWriter) room(row []string) []int {
	over := 0
	for k, s := range row {
		if !t.hidden[k] && !t.columns[t.keep[k]].Flex {
			over += max(human.Width(s)-t.widths[k], 0)
		}
	}
	if over == 0 || t.opt.Width <= 0 {
		return t.widths
	}
	widths := slices.Clone(t.widths)
	for k := range widths {
		if t.columns[t.keep[k]].Flex && !t.hidden[k] {
			take := min(over, max(widths[k]-flexible[2], 0))
			widths[k], over = widths[k]-take, over-take
		}
	}
	return widths
}

// write writes a row and returns how many lines it took.
func (t *tableWriter) write(row []string, alarms uint64, head bool) int {
	var b strings.Builder
	var below []string
	first, indent, at := true, 0, 0
	if t.brief && !head {
		row = slices.Clone(row)
		for k, s := range row {
			if t.times[k] && len(s) > yearWidth && s[yearWidth-1] == '-' {
				row[k] = s[yearWidth:]
			}
		}
	}
	widths := t.widths
	if !head {
		widths = t.room(row)
	}
	for k, s := range row {
		if t.hidden[k] {
			continue
		}
		col := &t.columns[t.keep[k]]
		if k == len(row)-1 && !head {
			s, below, indent = t.wrap(col, s, at)
		}
		w := widths[k]
		n := human.Width(s)
		if n > w && t.opt.Width > 0 && col.Flex {
			s = human.CutAt(s, w, col.Cut)
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
		switch {
		case !t.opt.Color || head:
		case s == "-":
			s = string(visible.Faint(s))
		case k < 64 && alarms&(1<<k) != 0:
			s = string(visible.Alarm(s))
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
	return 1 + len(below)
}

// wrap breaks the text of a last column, which begins in column start, into the part that fits
// there and the lines below. If there is little room there, or a word would have to be broken
// that fits below, all of the text goes below.
func (t *tableWriter) wrap(col *Column, s string, start int) (text string, below []string, indent int) {
	const little = 24
	room := t.opt.Width - start
	switch {
	case t.opt.Width <= 0 || col.Flex || col.Right || human.Width(s) <= room:
		return s, nil, 0
	case room >= little && (longest(s) <= room || longest(s) > t.opt.Width-2):
		lines := human.Wrap(s, room)
		return lines[0], lines[1:], start
	default:
		const indent = 2
		return "", human.Wrap(s, max(t.opt.Width-indent, 12)), indent
	}
}

// longest returns the width of the widest word of a text.
func longest(text string) int {
	wide := 0
	for _, w := range strings.Fields(text) {
		wide = max(wide, human.Width(w))
	}
	return wide
}
