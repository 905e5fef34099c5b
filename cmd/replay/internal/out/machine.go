package out

import (
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

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

func machineColumns(columns []Column) []bool {
	keep := make([]bool, len(columns))
	for i, c := range columns {
		keep[i] = c.Only == Everywhere || c.Only == InMachine
	}
	return keep
}

type csvWriter struct {
	stream
	keep []bool
	line []byte
}

func newCSV(w io.Writer, columns []Column, opt Options) *csvWriter {
	c := &csvWriter{stream: newStream(w, opt.Zone), keep: machineColumns(columns)}
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
	if _, err := c.Write(b); err != nil {
		return err
	}
	return c.wrote()
}

// cell appends one field.
func (c *csvWriter) cell(b []byte, v *Cell) []byte {
	switch v.Kind {
	case Text:
		return appendCSV(b, v.S)
	case Int:
		return strconv.AppendInt(b, v.I, 10)
	case Uint:
		return strconv.AppendUint(b, v.U, 10)
	case Float:
		return appendFloat(b, v.F, floatBits(v))
	case Time:
		return c.stamp.append(b, v.I, c.zone)
	case Detail:
		return appendCSV(b, string(v.Raw))
	}
	return b
}

// Series writes rows whose other fields are written once.
func (c *csvWriter) Series(head, tail []Cell, p *Points) error {
	var before, after []byte
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
	for i, wall := range p.Wall {
		b := append(c.line[:0], before...)
		b = c.stamp.append(b, wall, c.zone)
		b = append(b, after...)
		if p.Miss == nil || p.Miss[i] == metric.Present {
			b = appendValue(b, p, i)
		}
		b = append(b, '\n')
		c.line = b
		if _, err := c.Write(b); err != nil {
			return err
		}
		if err := c.wrote(); err != nil {
			return err
		}
	}
	return nil
}

func appendValue(b []byte, p *Points, i int) []byte {
	switch p.Type {
	case metric.String:
		return appendCSV(b, p.Strs[i])
	case metric.I32, metric.I64:
		return strconv.AppendInt(b, int64(p.Bits[i]), 10)
	case metric.F32:
		return appendFloat(b, metric.Number(p.Type, p.Bits[i]), 32)
	case metric.F64:
		return appendFloat(b, math.Float64frombits(p.Bits[i]), 64)
	}
	return strconv.AppendUint(b, p.Bits[i], 10)
}

func (c *csvWriter) Close() error { return c.Flush() }

// appendCSV quotes as RFC 4180 does, where it must.
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
	stream
	columns []Column
	keep    []bool
	line    []byte
}

func newJSON(w io.Writer, columns []Column, opt Options) *jsonWriter {
	return &jsonWriter{stream: newStream(w, opt.Zone), columns: columns, keep: machineColumns(columns)}
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
		if v.Kind == Blank && v.Reason != metric.Present {
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
	if _, err := j.Write(b); err != nil {
		return err
	}
	return j.wrote()
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
			// Json has no such numbers; a word keeps the value apart from absent.
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

// AppendJSON writes a cell that is no time as a json value.
func AppendJSON(b []byte, c *Cell) []byte { return (&jsonWriter{}).value(b, c) }

func (j *jsonWriter) Close() error { return j.Flush() }

const hexDigits = "0123456789abcdef"

// AppendQuoted writes s as a json string.
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
			case c < 0x20 || c == 0x7f:
				b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
			default:
				b = append(b, c)
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			b = append(b, `\ufffd`...)
		} else {
			b = append(b, s[i:i+n]...)
		}
		i += n
	}
	return append(b, '"')
}
