// Package out writes rows as an aligned table for people, as csv, or as JSON lines. The
// columns of csv and JSON are a contract: they do not depend on the terminal, the values
// or the locale.
package out

import (
	"bufio"
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

// stream flushes the first row at once, later rows by size and by time. So output appears as it
// is made, with few writes.
type stream struct {
	*bufio.Writer
	zone  *time.Location
	rows  int
	told  int // rows when it last checked how long they had waited
	shown time.Time
	stamp stampCache
}

func newStream(w io.Writer, zone *time.Location) stream {
	return stream{Writer: bufio.NewWriterSize(w, pieceBytes), zone: zone}
}

const (
	flushEvery = 100 * time.Millisecond
	checkRows  = 256
	pieceBytes = 64 << 10
)

func (s *stream) wrote() error {
	s.rows++
	if s.rows != 1 && s.rows%checkRows != 0 {
		return nil
	}
	return s.show()
}

// series writes n rows in large pieces. row appends them one by one. Each of them has before in
// front of the time, and after behind it.
func (s *stream) series(line *[]byte, n int, before, after []byte, row func(b []byte, i int) []byte) error {
	s.stamp.surround(before, after)
	defer s.stamp.surround(nil, nil)
	b := (*line)[:0]
	for i := range n {
		b = row(b, i)
		s.rows++
		if s.rows != 1 && i < n-1 && len(b) < pieceBytes {
			continue
		}
		checked := s.rows/checkRows != s.told/checkRows
		_, err := s.Write(b)
		if err == nil && (s.rows == 1 || checked) {
			s.told = s.rows
			err = s.show()
		}
		if err != nil {
			return err
		}
		b = b[:0]
	}
	*line = b
	return nil
}

// show flushes after the first row, and later if the last flush was long enough ago.
func (s *stream) show() error {
	if now := time.Now(); s.rows == 1 || now.Sub(s.shown) >= flushEvery {
		s.shown = now
		return s.Flush()
	}
	return nil
}

// stampCache writes RFC 3339 times with nanoseconds. Successive times are usually in the same
// hour.
type stampCache struct {
	from, to int64  // seconds since 1970 in the same hour and zone
	hour     int64  // when that hour begins
	stamp    []byte // template for the minutes and all below them
	minutes  int    // index of the minutes in stamp

	before, after []byte // text to write around each time
	text          []byte // all together
}

// surround sets the text to write around each time.
func (c *stampCache) surround(before, after []byte) {
	c.before, c.after = before, after
	c.compose()
}

func (c *stampCache) compose() {
	c.text = append(append(append(c.text[:0], c.before...), c.stamp...), c.after...)
}

// turn fills the cache with the hour of sec, if it can.
func (c *stampCache) turn(sec int64, zone *time.Location) bool {
	t := time.Unix(sec, 0).In(zone)
	_, offset := t.Zone()
	if offset%60 != 0 || t.Year() < 0 || t.Year() > 9999 {
		return false
	}
	c.hour = sec - int64(t.Minute()*60+t.Second())
	c.from, c.to = c.hour, c.hour+3600
	start, end := t.ZoneBounds()
	if !start.IsZero() {
		c.from = max(c.from, start.Unix())
	}
	if !end.IsZero() {
		c.to = min(c.to, end.Unix())
	}
	c.stamp = t.AppendFormat(c.stamp[:0], "2006-01-02T15:")
	c.minutes = len(c.stamp)
	c.stamp = t.AppendFormat(append(c.stamp, "00:00.000000000"...), "Z07:00")
	c.compose()
	return true
}

// pairs has the numbers from 00 to 99.
var pairs = func() (p [200]byte) {
	for i := range 100 {
		p[2*i], p[2*i+1] = byte('0'+i/10), byte('0'+i%10)
	}
	return p
}()

func (c *stampCache) append(b []byte, wall int64, zone *time.Location) []byte {
	sec := wall / 1e9
	ns := wall % 1e9
	if ns < 0 {
		sec, ns = sec-1, ns+1e9
	}
	if (sec < c.from || sec >= c.to) && !c.turn(sec, zone) {
		b = time.Unix(0, wall).In(zone).AppendFormat(append(b, c.before...), "2006-01-02T15:04:05.000000000Z07:00")
		return append(b, c.after...)
	}
	from := len(b) + len(c.before) + c.minutes
	b = append(b, c.text...)
	d := b[from : from+15]
	within, n := uint32(sec-c.hour), uint32(ns)
	minute, second := within/60, within%60
	d[0], d[1] = pairs[2*minute], pairs[2*minute+1]
	d[3], d[4] = pairs[2*second], pairs[2*second+1]
	d[6] = byte('0' + n/1e8)
	for i, two := range [4]uint32{n / 1e6 % 100, n / 1e4 % 100, n / 100 % 100, n % 100} {
		d[7+2*i], d[8+2*i] = pairs[2*two], pairs[2*two+1]
	}
	return b
}
