package out

import (
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"tachograph/cmd/internal/visible"
	"tachograph/sample/metric"
)

// appendFloat writes x so that reading it back gives the same bits.
func appendFloat(b []byte, x float64, bits int) []byte {
	a := math.Abs(x)
	if x == 0 || a >= 1e-6 && a < 1e17 {
		if x == math.Trunc(x) && a < 1e15 && !(x == 0 && math.Signbit(x)) {
			return strconv.AppendInt(b, int64(x), 10)
		}
		return strconv.AppendFloat(b, x, 'f', -1, bits)
	}
	return strconv.AppendFloat(b, x, 'g', -1, bits)
}

func floatBits(c *Cell) int {
	if c.U == 32 {
		return 32
	}
	return 64
}

func machineColumns(columns []Column, json bool) []bool {
	keep := make([]bool, len(columns))
	for i, c := range columns {
		keep[i] = c.Only == Everywhere || c.Only == InMachine || json && c.Only == InJSON
	}
	return keep
}

type csvWriter struct {
	bulk
	keep        []bool
	line        []byte
	spreadsheet bool

	before, after []byte // what surrounds the times of a series
}

func newCSV(w io.Writer, columns []Column, opt Options) *csvWriter {
	c := &csvWriter{bulk: newBulk(w, opt.Zone), keep: machineColumns(columns, false), spreadsheet: opt.Spreadsheet}
	c.end = c.ending
	n := 0
	for i, col := range columns {
		if !c.keep[i] {
			continue
		}
		if n > 0 {
			c.line = append(c.line, ',')
		}
		c.line = appendCSV(c.line, col.Name)
		n++
	}
	c.line = append(c.line, '\n')
	c.Write(c.line)
	return c
}

func (c *csvWriter) Row(cells []Cell) error {
	b := c.line[:0]
	first := true
	for i := range cells {
		if !c.keep[i] {
			continue
		}
		if !first {
			b = append(b, ',')
		}
		first = false
		b = c.cell(b, &cells[i])
	}
	b = append(b, '\n')
	c.line = b
	return c.row(b)
}

// cell appends one field.
func (c *csvWriter) cell(b []byte, v *Cell) []byte {
	switch v.Kind {
	case Text:
		return c.text(b, v.S)
	case Int:
		return strconv.AppendInt(b, v.I, 10)
	case Uint:
		return strconv.AppendUint(b, v.U, 10)
	case Float:
		return appendFloat(b, v.F, floatBits(v))
	case Time:
		return c.stamp.append(b, v.I, c.zone)
	case Detail:
		return c.text(b, string(v.Raw))
	}
	return b
}

// Series writes the rows. It formats the fields that they share only once.
func (c *csvWriter) Series(head, tail []Cell, p *Points) error {
	before, after := c.before[:0], c.after[:0]
	for i := range head {
		if c.keep[i] {
			before = append(c.cell(before, &head[i]), ',')
		}
	}
	for i := range tail {
		if c.keep[len(head)+1+i] {
			after = c.cell(append(after, ','), &tail[i])
		}
	}
	after = append(after, ',')
	c.before, c.after = before, after
	return c.series(before, after, p)
}

// ending appends the last fields of a row.
func (c *csvWriter) ending(b []byte, p *Points, i int) []byte {
	if p.Miss == nil || p.Miss[i] == metric.Present {
		b = c.value(b, p, i)
		if p.Why {
			b = append(b, ',')
		}
	} else if p.Why {
		b = c.text(append(b, ','), p.Miss[i].String())
	}
	return append(b, '\n')
}

func (c *csvWriter) value(b []byte, p *Points, i int) []byte {
	switch p.Type {
	case metric.String:
		return c.text(b, p.Word(i))
	case metric.I32, metric.I64:
		return strconv.AppendInt(b, int64(p.Bits[i]), 10)
	case metric.F32:
		return appendFloat(b, metric.Number(p.Type, p.Bits[i]), 32)
	case metric.F64:
		return appendFloat(b, math.Float64frombits(p.Bits[i]), 64)
	}
	return strconv.AppendUint(b, p.Bits[i], 10)
}

// text appends a field with printable letters only. Line ends and tabs stay, in quotes, as csv
// allows.
func (c *csvWriter) text(b []byte, s string) []byte {
	s = visible.Lines(s)
	if c.spreadsheet && isFormula(s) {
		s = "'" + s
	}
	return appendCSV(b, s)
}

// isFormula reports whether a spreadsheet would compute s instead of showing it.
func isFormula(s string) bool {
	r, _ := utf8.DecodeRuneInString(strings.TrimLeft(s, " "))
	return strings.ContainsRune("=+-@\t\n＝＋－＠", r) && s != ""
}

// appendCSV quotes a field as in RFC 4180, if it has to.
func appendCSV(b []byte, s string) []byte {
	if s == "" || !strings.ContainsAny(s, "\",\r\n") && s[0] != ' ' && s[len(s)-1] != ' ' {
		return append(b, s...)
	}
	b = append(b, '"')
	for i := 0; i < len(s); i++ {
		if s[i] == '"' {
			b = append(b, '"')
		}
		b = append(b, s[i])
	}
	return append(b, '"')
}

type jsonWriter struct {
	bulk
	columns []Column
	keep    []bool
	line    []byte

	before, after []byte // what surrounds the times of a series
}

func newJSON(w io.Writer, columns []Column, opt Options) *jsonWriter {
	j := &jsonWriter{bulk: newBulk(w, opt.Zone), columns: columns, keep: machineColumns(columns, true)}
	j.end = j.ending
	return j
}

func (j *jsonWriter) Row(cells []Cell) error {
	b := append(j.line[:0], '{')
	group := ""
	var why metric.Reason
	comma := false
	for i := range cells {
		if !j.keep[i] {
			continue
		}
		col := &j.columns[i]
		if col.Group != group {
			if group != "" {
				b = append(b, '}')
				comma = true
			}
			if group = col.Group; group != "" {
				if comma {
					b = append(b, ',')
				}
				b = AppendQuoted(b, group)
				b = append(b, ':', '{')
				comma = false
			}
		}
		if comma {
			b = append(b, ',')
		}
		comma = true
		b = append(b, '"')
		b = append(b, col.Name...)
		b = append(b, '"', ':')
		v := &cells[i]
		if v.Reason != metric.Present {
			why = v.Reason
		}
		b = j.value(b, v)
	}
	if group != "" {
		b = append(b, '}')
	}
	if why != metric.Present {
		b = append(b, `,"reason":`...)
		b = AppendQuoted(b, why.String())
	}
	b = append(b, '}', '\n')
	j.line = b
	return j.row(b)
}

// Series writes the rows. It formats the fields that they share only once.
func (j *jsonWriter) Series(head, tail []Cell, p *Points) error {
	field := func(b []byte, i int) []byte {
		b = append(b, '"')
		b = append(b, j.columns[i].Name...)
		return append(b, '"', ':')
	}
	before, after := append(j.before[:0], '{'), append(j.after[:0], '"')
	for i := range head {
		if j.keep[i] {
			before = append(j.value(field(before, i), &head[i]), ',')
		}
	}
	before = append(field(before, len(head)), '"')
	for i := range tail {
		if j.keep[len(head)+1+i] {
			after = j.value(field(append(after, ','), len(head)+1+i), &tail[i])
		}
	}
	after = field(append(after, ','), len(head)+1+len(tail))
	j.before, j.after = before, after
	return j.series(before, after, p)
}

// ending appends the value of a row.
func (j *jsonWriter) ending(b []byte, p *Points, i int) []byte {
	if p.Miss == nil || p.Miss[i] == metric.Present {
		b = j.point(b, p, i)
	} else {
		b = append(b, `null,"reason":`...)
		b = AppendQuoted(b, p.Miss[i].String())
	}
	return append(b, '}', '\n')
}

func (j *jsonWriter) point(b []byte, p *Points, i int) []byte {
	switch p.Type {
	case metric.String:
		return AppendQuoted(b, p.Word(i))
	case metric.I32, metric.I64:
		return strconv.AppendInt(b, int64(p.Bits[i]), 10)
	case metric.F32:
		return j.value(b, &Cell{Kind: Float, F: metric.Number(p.Type, p.Bits[i]), U: 32})
	case metric.F64:
		return j.value(b, &Cell{Kind: Float, F: metric.Number(p.Type, p.Bits[i])})
	}
	return strconv.AppendUint(b, p.Bits[i], 10)
}

func (j *jsonWriter) value(b []byte, v *Cell) []byte {
	switch v.Kind {
	case Text:
		return AppendQuoted(b, v.S)
	case Int:
		return strconv.AppendInt(b, v.I, 10)
	case Uint:
		return strconv.AppendUint(b, v.U, 10)
	case Float:
		if math.IsNaN(v.F) || math.IsInf(v.F, 0) {
			// Json has no such numbers; a word distinguishes the value from an absent one.
			return AppendQuoted(b, strconv.FormatFloat(v.F, 'g', -1, 64))
		}
		return appendFloat(b, v.F, floatBits(v))
	case Time:
		b = append(b, '"')
		b = j.stamp.append(b, v.I, j.zone)
		return append(b, '"')
	case Detail:
		return append(b, v.Raw...)
	}
	return append(b, "null"...)
}

// AppendJSON writes a cell other than a time as a json value.
func AppendJSON(b []byte, c *Cell) []byte { return (&jsonWriter{}).value(b, c) }

// AppendQuoted writes s as a json string, and escapes what a terminal would obey.
func AppendQuoted(b []byte, s string) []byte {
	b = append(b, '"')
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			switch {
			case c == '"' || c == '\\':
				b = append(b, '\\', c)
			case c == '\n':
				b = append(b, '\\', 'n')
			case c == '\t':
				b = append(b, '\\', 't')
			case visible.Acts(rune(c)):
				b = visible.AppendJSON(b, rune(c))
			default:
				b = append(b, c)
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			b = append(b, `\ufffd`...)
		case visible.Acts(r):
			b = visible.AppendJSON(b, r)
		default:
			b = append(b, s[i:i+n]...)
		}
		i += n
	}
	return append(b, '"')
}
