package parquet

import (
	"math"

	"tachograph/cmd/replay/internal/naming"
	"tachograph/sample/metric"
	"tachograph/store/query"
)

// The columns of the long table.
const (
	timeColumn   = iota
	metricColumn // rows are sorted by it
	instanceColumn
	keyColumn
	valueColumn
	unsignedColumn
	signedColumn
	textColumn
	reasonColumn
)

// exactly is the bound up to which doubles hold whole numbers exactly.
const exactly = 1 << 53

// longTable returns the columns of values. A number is a double in the column value; a whole
// number that doubles do not hold exactly is also in u64 or i64.
func longTable() []*column {
	return []*column{
		metricColumn:   {name: "metric", kind: text, required: true},
		instanceColumn: {name: "instance", kind: text},
		keyColumn:      {name: "key", kind: text},
		timeColumn:     {name: "time", kind: instant, required: true},
		valueColumn:    {name: "value", kind: double},
		unsignedColumn: {name: "u64", kind: unsigned},
		signedColumn:   {name: "i64", kind: signed},
		textColumn:     {name: "text", kind: text},
		reasonColumn:   {name: "reason", kind: text},
	}
}

// long writes the long table to a file.
type long struct {
	*output
	f32 map[uint64]float64
}

// abandon closes a file that is not finished.
func (l *long) abandon() error {
	if l.output == nil {
		return nil
	}
	return l.out.Close()
}

// add writes a stretch of a series.
func (l *long) add(s *query.Series) error {
	for from := 0; from < len(s.Wall); {
		room, err := l.room()
		if err != nil {
			return err
		}
		to := min(from+room, len(s.Wall))
		l.rowsOf(s, from, to)
		from = to
	}
	return nil
}

func (l *long) rowsOf(s *query.Series, from, to int) {
	c, n := l.columns, to-from
	c[metricColumn].same(s.Name, n)
	if s.Instance == nil {
		c[instanceColumn].null(n)
		c[keyColumn].null(n)
	} else {
		c[instanceColumn].same(s.Instance.Name, n)
		c[keyColumn].same(s.Instance.Key, n)
	}
	copy(c[timeColumn].room(n), s.Wall[from:to])
	if s.Miss == nil {
		c[reasonColumn].null(n)
		l.values(s, from, to)
		return
	}
	for from < to {
		why, end := s.Miss[from], from+1
		for end < to && s.Miss[end] == why {
			end++
		}
		if why == metric.Present {
			c[reasonColumn].null(end - from)
			l.values(s, from, end)
		} else {
			c[reasonColumn].same(why.String(), end-from)
			c[valueColumn].null(end - from)
			c[unsignedColumn].null(end - from)
			c[signedColumn].null(end - from)
			c[textColumn].null(end - from)
		}
		from = end
	}
}

// values writes present values.
func (l *long) values(s *query.Series, from, to int) {
	c, n, bits := l.columns, to-from, s.Bits[from:to]
	if s.Type == metric.String {
		c[valueColumn].null(n)
		c[unsignedColumn].null(n)
		c[signedColumn].null(n)
		for i := from; i < to; i++ {
			c[textColumn].same(s.Word(i), 1)
		}
		return
	}
	c[textColumn].null(n)
	room := c[valueColumn].room(n)
	switch s.Type {
	case metric.F64:
		for i, b := range bits {
			room[i] = int64(b)
		}
	case metric.F32:
		for i, b := range bits {
			room[i] = int64(math.Float64bits(l.shortest(b)))
		}
	case metric.I32, metric.I64:
		for i, b := range bits {
			room[i] = int64(math.Float64bits(float64(int64(b))))
		}
		c[unsignedColumn].null(n)
		beyond(c[signedColumn], bits, func(b uint64) bool { return int64(b) > exactly || int64(b) < -exactly })
		return
	default:
		all := uint64(0)
		for i, b := range bits {
			room[i] = int64(math.Float64bits(float64(b)))
			all |= b
		}
		c[signedColumn].null(n)
		if all < exactly {
			c[unsignedColumn].null(n)
			return
		}
		beyond(c[unsignedColumn], bits, func(b uint64) bool { return b > exactly })
		return
	}
	c[unsignedColumn].null(n)
	c[signedColumn].null(n)
}

// beyond writes the whole numbers that doubles do not hold.
func beyond(c *column, bits []uint64, is func(uint64) bool) {
	nulls := 0
	for _, b := range bits {
		if !is(b) {
			nulls++
			continue
		}
		c.null(nulls)
		nulls = 0
		c.room(1)[0] = int64(b)
	}
	c.null(nulls)
}

// shortest returns the double that is printed like a 32-bit float.
func (l *long) shortest(bits uint64) float64 {
	if x, ok := l.f32[bits]; ok {
		return x
	}
	if l.f32 == nil || len(l.f32) > 1<<16 {
		l.f32 = make(map[uint64]float64)
	}
	x := naming.Number(metric.Value{Type: metric.F32, Bits: bits})
	l.f32[bits] = x
	return x
}
