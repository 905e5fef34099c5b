package client

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	tachographv1 "tachograph/api/tachograph/v1"
)

// A Value is the present value of a series.
type Value struct {
	// Bits are the bits of a number: integers in two's complement, floats in IEEE format
	// (TYPE_F32 in the low 32).
	Bits uint64
	Text string
	// Absent says why there is no value; empty if there is one.
	Absent string
}

// A Metric is a metric of a table.
type Metric struct {
	Name      string
	Type      tachographv1.Type
	Semantics tachographv1.Semantics
	Units     string
}

// Number returns a value of m as a float; NaN if it is text or absent.
func (m *Metric) Number(v Value) float64 {
	if v.Absent != "" {
		return math.NaN()
	}
	switch m.Type {
	case tachographv1.Type_TYPE_I32, tachographv1.Type_TYPE_I64:
		return float64(int64(v.Bits))
	case tachographv1.Type_TYPE_U32, tachographv1.Type_TYPE_U64:
		return float64(v.Bits)
	case tachographv1.Type_TYPE_F32:
		return float64(math.Float32frombits(uint32(v.Bits)))
	case tachographv1.Type_TYPE_F64:
		return math.Float64frombits(v.Bits)
	}
	return math.NaN()
}

// Format returns a value of m exactly; empty if it is absent.
func (m *Metric) Format(v Value) string {
	if v.Absent != "" {
		return ""
	}
	switch m.Type {
	case tachographv1.Type_TYPE_I32, tachographv1.Type_TYPE_I64:
		return strconv.FormatInt(int64(v.Bits), 10)
	case tachographv1.Type_TYPE_F32:
		return strconv.FormatFloat(m.Number(v), 'g', -1, 32)
	case tachographv1.Type_TYPE_F64:
		return strconv.FormatFloat(m.Number(v), 'g', -1, 64)
	case tachographv1.Type_TYPE_STRING:
		return v.Text
	}
	return strconv.FormatUint(v.Bits, 10)
}

// A Table is a set of metrics that are read together.
type Table struct {
	Number  uint32
	Metrics []Metric
	Domain  string // the domain of their instances; empty if there are none
	Absent  string // why they are not recorded; empty if they are
	Rows    []*Row // the present rows, in the order in which they came
}

// A Row is an instance in a table, with the present values of its metrics.
type Row struct {
	Number   uint32
	Table    *Table
	Instance *tachographv1.Instance // nil where the table has no domain
	Values   []Value                // parallel to Table.Metrics
	first    uint32                 // its first series
}

// A Change is a series whose value has changed.
type Change struct {
	Row    *Row
	Metric int // index in the table's Metrics
}

// A Reading is the time when a table was read, with all of its rows.
type Reading struct {
	Table *Table
	Time  time.Time
}

// A Frame holds the changes of all values. Its rows have the values after it; they belong to the
// decoder, and change with the next frame.
type Frame struct {
	Snapshot, CatchingUp bool
	// Position is the position to resume from.
	Position string
	// Time is when the latest value was read.
	Time                  time.Time
	Changes               []Change
	Appeared, Gone        []*Row
	Renamed               []*Row
	Tables                []*Table // that were announced
	Readings              []Reading
	Events                []*tachographv1.Event
	Merged, EventsLeftOut uint32
	Archive               *tachographv1.Archive // set if another archive begins
	Lost                  []string
	Errors                []*tachographv1.ItemError
}

// A Decoder turns the messages of one stream into frames.
type Decoder struct {
	tables   []*Table
	rows     []*Row // in the order of their numbers
	numbered uint32 // the last row
	series   uint32 // the last series
	time     int64
	base     string // the last position that was sent in full
	advances [8]uint64
	position string
	frame    *Frame
}

// Rows returns the present rows, in the order of their numbers.
func (d *Decoder) Rows() []*Row { return d.rows }

// Add adds a message. It returns a frame with the frame's last message, and nil before. An error
// means that the stream is invalid.
func (d *Decoder) Add(m *tachographv1.SubscribeResponse) (*Frame, error) {
	if d.frame == nil {
		d.frame = &Frame{}
	}
	f := d.frame
	if err := d.apply(f, m); err != nil {
		return nil, err
	}
	if m.More {
		return nil, nil
	}
	switch {
	case m.Position != "":
		d.base, d.position, d.advances = m.Position, m.Position, [8]uint64{}
	case m.Advance != 0:
		d.advances[m.Advance%8] = m.Advance
		d.position = d.base
		for _, n := range d.advances {
			if n != 0 {
				d.position += "." + strconv.FormatUint(n, 10)
			}
		}
	}
	f.Position, f.CatchingUp = d.position, m.CatchingUp
	d.time += m.ElapsedNs
	f.Time = time.Unix(0, d.time)
	at := uint32(0)
	for i, gap := range m.Read {
		at += gap + 1
		if i >= len(m.ReadNs) || at == 0 || int(at) > len(d.tables) {
			return nil, errors.New("a table was read that was not announced")
		}
		f.Readings = append(f.Readings, Reading{d.tables[at-1], time.Unix(0, d.time+m.ReadNs[i])})
	}
	d.frame = nil
	return f, nil
}

func (d *Decoder) apply(f *Frame, m *tachographv1.SubscribeResponse) error {
	f.Snapshot = f.Snapshot || m.Snapshot
	f.Events, f.Lost, f.Errors = append(f.Events, m.Events...), append(f.Lost, m.Lost...), append(f.Errors, m.Errors...)
	f.Merged, f.EventsLeftOut = f.Merged+m.Merged, f.EventsLeftOut+m.EventsLeftOut
	if m.Archive != nil {
		f.Archive = m.Archive
	}
	for _, number := range m.Gone {
		i, ok := d.find(number)
		if !ok {
			return fmt.Errorf("row %d is gone and was not there", number)
		}
		r := d.rows[i]
		f.Gone = append(f.Gone, r)
		d.rows = slices.Delete(d.rows, i, i+1)
		r.Table.Rows = slices.DeleteFunc(r.Table.Rows, func(o *Row) bool { return o == r })
	}
	for _, t := range m.Tables {
		now := &Table{Number: uint32(len(d.tables) + 1), Domain: t.InstanceDomain, Absent: t.Absent}
		for _, a := range t.Metrics {
			now.Metrics = append(now.Metrics, Metric{a.Name, a.Type, a.Semantics, a.Units})
		}
		d.tables, f.Tables = append(d.tables, now), append(f.Tables, now)
	}
	for _, a := range m.Rows {
		if a.Table == 0 || int(a.Table) > len(d.tables) {
			return fmt.Errorf("a row is of table %d, which was not announced", a.Table)
		}
		t := d.tables[a.Table-1]
		d.numbered++
		r := &Row{Number: d.numbered, Table: t, Instance: a.Instance, Values: make([]Value, len(t.Metrics)), first: d.series + 1}
		d.series += uint32(len(t.Metrics))
		d.rows, t.Rows, f.Appeared = append(d.rows, r), append(t.Rows, r), append(f.Appeared, r)
	}
	for _, n := range m.Renamed {
		i, ok := d.find(n.Row)
		if !ok {
			return fmt.Errorf("row %d is renamed and is not there", n.Row)
		}
		d.rows[i].Instance = n.Instance
		f.Renamed = append(f.Renamed, d.rows[i])
	}
	return d.values(f, m)
}

func (d *Decoder) find(number uint32) (int, bool) {
	return slices.BinarySearchFunc(d.rows, number, func(r *Row, n uint32) int { return cmp.Compare(r.Number, n) })
}

// cell finds a series, from the row at i on.
func (d *Decoder) cell(series uint32, i int) (Change, int, error) {
	if i >= len(d.rows) || series < d.rows[i].first || series >= d.rows[i].first+uint32(len(d.rows[i].Values)) {
		n, ok := slices.BinarySearchFunc(d.rows, series, func(r *Row, n uint32) int { return cmp.Compare(r.first, n) })
		if !ok {
			n--
		}
		if i = n; i < 0 || series >= d.rows[i].first+uint32(len(d.rows[i].Values)) {
			return Change{}, 0, fmt.Errorf("series %d is not there", series)
		}
	}
	return Change{d.rows[i], int(series - d.rows[i].first)}, i, nil
}

func (d *Decoder) values(f *Frame, m *tachographv1.SubscribeResponse) error {
	if len(m.Gaps) != len(m.By) {
		return fmt.Errorf("%d series change by %d numbers", len(m.Gaps), len(m.By))
	}
	series, i := uint32(0), 0
	var c Change
	var err error
	for n, gap := range m.Gaps {
		series += gap + 1
		if c, i, err = d.cell(series, i); err != nil {
			return err
		}
		v := &c.Row.Values[c.Metric]
		v.Absent = ""
		v.Bits += uint64(m.By[n])
		if c.Row.Table.Metrics[c.Metric].Type == tachographv1.Type_TYPE_F32 {
			v.Bits = uint64(uint32(v.Bits))
		}
		f.Changes = append(f.Changes, c)
	}
	for _, t := range m.Texts {
		if c, _, err = d.cell(t.Series, 0); err != nil {
			return err
		}
		v := Value{Text: t.Text}
		if len(t.NotUtf8) > 0 {
			v.Text = string(t.NotUtf8)
		}
		c.Row.Values[c.Metric] = v
		f.Changes = append(f.Changes, c)
	}
	for _, a := range m.Absences {
		series, i = 0, 0
		for _, gap := range a.Gaps {
			series += gap + 1
			if c, i, err = d.cell(series, i); err != nil {
				return err
			}
			c.Row.Values[c.Metric] = Value{Absent: a.Reason}
			f.Changes = append(f.Changes, c)
		}
	}
	return nil
}
