// Package out writes rows as an aligned table for people, as csv, or as JSON lines. The
// columns of csv and JSON are a contract: they do not depend on the terminal, the values
// or the locale.
package out

import (
	"fmt"
	"io"
	"time"

	"tachograph/cmd/replay/internal/human"
	"tachograph/sample/metric"
)

// Format is the format of rows.
type Format string

const (
	Table Format = "table"
	CSV   Format = "csv"
	JSON  Format = "json"
)

// ParseFormat reads a --format argument.
func ParseFormat(s string) (Format, error) {
	switch f := Format(s); f {
	case Table, CSV, JSON:
		return f, nil
	}
	return "", fmt.Errorf("unknown format %q: use table, csv or json", s)
}

// Column is a column of rows.
type Column struct {
	Name string
	// Title is the table's heading; Name in capitals if empty.
	Title string
	Right bool
	// Width is the least width of the column in a live table.
	Width int
	// Flex columns are cut if the table is wider than the terminal; Cut is the place where their
	// texts are cut.
	Flex bool
	Cut  human.Place
	// Keep is how much the column matters. If the terminal is too narrow, columns with the
	// lowest Keep go first, of equal ones the rightmost. The first and the last column stay, and
	// so does one of Always or more, and a flexible one whose Keep is not set.
	Keep int
	// Only restricts the column to some formats.
	Only Only
	// Group puts the field into a json object of that name.
	Group string
	// Kind is that of the cells that are not absent; Blank where the column does not say it.
	Kind Kind
}

// Always is the Keep of a column without which a row says nothing.
const Always = 100

// Metric and Instance are the columns that say which series a row is about. The end of a metric's
// name distinguishes it from others.
var (
	Metric   = Column{Name: "metric", Keep: Always, Flex: true, Cut: human.AtStart}
	Instance = Column{Name: "instance", Keep: Always, Flex: true, Cut: human.InMiddle}
)

// Only says in which formats a column appears.
type Only uint8

const (
	Everywhere Only = iota
	InTables
	InMachine // csv and json
	InJSON    // which may get new columns, while the header of csv must not change
	Nowhere
)

// Kind is the type of a cell's content.
type Kind uint8

const (
	Blank  Kind = iota // absent, for Reason if the reason is known
	Text               // S
	Int                // I
	Uint               // U
	Float              // F
	Time               // I, nanoseconds since 1970
	Detail             // Raw, json only
)

// Cell is one value. Numbers are written exactly in csv and json; tables show
// Human if it is set, else the number scaled by its units.
type Cell struct {
	Kind  Kind
	S     string
	I     int64
	U     uint64
	F     float64
	Units *metric.Units
	Rate  bool
	Alarm bool // out of the ordinary; a table shows it, if it may
	// Reason is why there is no value, or why the value cannot be trusted.
	Reason metric.Reason
	Human  string
	Raw    []byte
}

// Constructors keep rows readable.

func Str(s string) Cell         { return Cell{Kind: Text, S: s} }
func Number(x float64) Cell     { return Cell{Kind: Float, F: x} }
func Whole(n int64) Cell        { return Cell{Kind: Int, I: n} }
func Natural(n uint64) Cell     { return Cell{Kind: Uint, U: n} }
func None(why string) Cell      { return Cell{Human: why} }
func (c Cell) As(h string) Cell { c.Human = h; return c }

// If marks the cell as out of the ordinary if alarm is set.
func (c Cell) If(alarm bool) Cell { c.Alarm = alarm; return c }

// At is a cell for a time; zero is an unknown time.
func At(wall int64) Cell {
	if wall == 0 {
		return Cell{}
	}
	return Cell{Kind: Time, I: wall}
}

// Value is a cell for a recorded or computed value.
func Value(v metric.Value, u *metric.Units, rate bool) Cell {
	c := Cell{Units: u, Rate: rate}
	if v.Miss != metric.Present {
		c.Reason = v.Miss
		return c
	}
	switch v.Type {
	case metric.String:
		c.Kind, c.S = Text, v.Str
	case metric.I32, metric.I64:
		c.Kind, c.I = Int, int64(v.Bits)
	case metric.F32, metric.F64:
		c.Kind, c.F = Float, metric.Number(v.Type, v.Bits)
		if v.Type == metric.F32 {
			c.Kind, c.U = Float, 32
		}
	default:
		c.Kind, c.U = Uint, v.Bits
	}
	return c
}

// Labels is a cell with an object of labels: an object in json, its text in csv.
func Labels(labels []metric.Label) Cell {
	b := []byte{'{'}
	for i, l := range labels {
		if i > 0 {
			b = append(b, ',')
		}
		b = AppendQuoted(b, l.Name)
		b = append(b, ':')
		b = AppendQuoted(b, l.Value)
	}
	return Cell{Kind: Detail, Raw: append(b, '}')}
}

// Texts is a cell with a list of texts, absent if there are none; only json shows it.
func Texts(list []string) Cell {
	if len(list) == 0 {
		return Cell{}
	}
	b := []byte{'['}
	for i, s := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = AppendQuoted(b, s)
	}
	return Cell{Kind: Detail, Raw: append(b, ']')}
}

// Options say where and for whom to write rows.
type Options struct {
	Format Format
	Zone   *time.Location
	// Width is the terminal's; 0 if the output is no terminal.
	Width int
	Color bool
	// Live rows come one by one: a table does not wait for further ones to learn how wide its
	// columns are, and repeats its heading on each screen of Height lines.
	Live   bool
	Height int
	// Spreadsheet keeps spreadsheets from taking cells of csv for formulas.
	Spreadsheet bool
	// Now is the clock for a table on a terminal: by it the table ends its wait for more rows
	// and fixes the widths of its columns; nil: time.Now.
	Now func() time.Time
}

// Writer writes rows.
type Writer interface {
	// Row writes one row, a cell for each column.
	Row(cells []Cell) error
	// Close writes the rows that are still held back.
	Close() error
}

// Flusher is a Writer that can write at once all the rows that it has received.
type Flusher interface {
	Flush() error
}

// Points are successive values of one series.
type Points struct {
	Wall []int64
	metric.Column
	Type metric.Type
	// Why says that csv has another column after the value, with the reason why it is absent.
	// json has that in any case.
	Why bool
}

// SeriesWriter writes many rows that differ only in their time and value. The columns are those
// of head, the time, those of tail, and the value.
type SeriesWriter interface {
	Series(head, tail []Cell, p *Points) error
	// Stop returns when no row is being written any more, for callers that give up before Close.
	Stop()
}

// New begins a table, csv or json. Columns has those of all formats; the writer leaves out those
// that are not for its own.
func New(w io.Writer, columns []Column, opt Options) Writer {
	switch opt.Format {
	case CSV:
		return newCSV(w, columns, opt)
	case JSON:
		return newJSON(w, columns, opt)
	default:
		if opt.Live {
			return newLive(w, columns, opt)
		}
		return newTable(w, columns, opt)
	}
}
