package ask

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	tachographv1 "tachograph/api/tachograph/v1"
	"tachograph/cmd/replay/internal/out"
	"tachograph/sample/metric"
)

// The most that a message holds, and how long a row waits for others.
const (
	cellsInAll = 4096
	bytesInAll = 64 << 10 // of texts
	sendEvery  = 100 * time.Millisecond
)

// A sink is a Writer that turns rows into messages. It reuses a message's memory once it has
// been sent.
type sink struct {
	ctx   context.Context
	send  func(*tachographv1.QueryResponse) error
	keep  []int // the columns that are sent
	units map[metric.Units]string

	message *tachographv1.QueryResponse
	rows    []*tachographv1.Row
	cells   []cell
	used    int // of rows
	bytes   int
	sent    time.Time
}

// A cell has room for every kind of value.
type cell struct {
	cell    tachographv1.Cell
	value   tachographv1.Value
	stamp   timestamppb.Timestamp
	integer tachographv1.Value_Integer
	natural tachographv1.Value_Natural
	number  tachographv1.Value_Number
	text    tachographv1.Value_Text
	absent  tachographv1.Value_Absent
	time    tachographv1.Value_Time
}

func newSink(ctx context.Context, send func(*tachographv1.QueryResponse) error) *sink {
	return &sink{ctx: ctx, send: send, units: make(map[metric.Units]string), message: &tachographv1.QueryResponse{}}
}

// begin takes the columns. A command that answers about several things calls it for each of
// them, with the same columns.
func (s *sink) begin(columns []out.Column) (out.Writer, error) {
	if s.keep != nil {
		return s, nil
	}
	s.keep = []int{}
	for i, c := range columns {
		if c.Only == out.Everywhere || c.Only == out.InMachine || c.Only == out.InJSON {
			s.keep = append(s.keep, i)
			s.message.Columns = append(s.message.Columns, &tachographv1.Column{Name: c.Name, Group: c.Group})
		}
	}
	width := max(len(s.keep), 1)
	s.cells = make([]cell, max(cellsInAll/width, 1)*width)
	s.rows = make([]*tachographv1.Row, len(s.cells)/width)
	for r := range s.rows {
		row := &tachographv1.Row{}
		for i := range s.keep {
			row.Cells = append(row.Cells, &s.cells[r*width+i].cell)
		}
		s.rows[r] = row
	}
	return s, nil
}

// Row adds a row, and sends the rows so far when that is due.
func (s *sink) Row(cells []out.Cell) error {
	if err := s.ctx.Err(); err != nil {
		return err
	}
	first := s.used * len(s.keep)
	for k, i := range s.keep {
		s.fill(&s.cells[first+k], &cells[i])
	}
	s.used++
	if s.used == len(s.rows) || s.bytes >= bytesInAll || s.sent.IsZero() || time.Since(s.sent) > sendEvery {
		return s.flush()
	}
	return nil
}

// fill overwrites a cell.
func (s *sink) fill(to *cell, from *out.Cell) {
	to.cell.Value, to.cell.Units, to.cell.Json = &to.value, "", ""
	switch from.Kind {
	case out.Blank:
		if from.Reason == metric.Present {
			to.cell.Value = nil
			return
		}
		to.absent.Absent = from.Reason.String()
		to.value.Kind = &to.absent
	case out.Text:
		to.text.Text = valid(from.S)
		s.bytes += len(from.S)
		to.value.Kind = &to.text
	case out.Int:
		to.integer.Integer = from.I
		to.value.Kind = &to.integer
	case out.Uint:
		to.natural.Natural = from.U
		to.value.Kind = &to.natural
	case out.Float:
		to.number.Number = from.F
		to.value.Kind = &to.number
	case out.Time:
		at := time.Unix(0, from.I)
		to.stamp.Seconds, to.stamp.Nanos = at.Unix(), int32(at.Nanosecond())
		to.time.Time = &to.stamp
		to.value.Kind = &to.time
	case out.Detail:
		to.cell.Value, to.cell.Json = nil, valid(string(from.Raw))
		s.bytes += len(from.Raw)
		return
	}
	if from.Units != nil && from.Kind != out.Text {
		text, ok := s.units[*from.Units]
		if !ok {
			text = from.Units.String()
			s.units[*from.Units] = text
		}
		to.cell.Units = text
	}
}

// valid returns s as valid UTF-8, as messages require: each invalid byte becomes U+FFFD.
func valid(s string) string {
	for _, r := range s {
		if r == '\ufffd' {
			return string([]rune(s))
		}
	}
	return s
}

func (s *sink) flush() error {
	s.message.Rows = s.rows[:s.used]
	err := s.send(s.message)
	s.message.Reset()
	s.used, s.bytes, s.sent = 0, 0, time.Now()
	return err
}

// Close is for out.Writer. It does not end the sink: a command may begin further rows.
func (s *sink) Close() error { return nil }

// end sends the remaining rows, and the aside.
func (s *sink) end(aside Aside) error {
	for _, line := range aside.Lost {
		s.message.Lost = append(s.message.Lost, valid(line))
	}
	for _, line := range aside.Notes {
		s.message.Notes = append(s.message.Notes, valid(line))
	}
	return s.flush()
}
