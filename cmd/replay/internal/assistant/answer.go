package assistant

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"tachograph/cmd/internal/visible"
	"tachograph/cmd/replay/internal/out"
	"tachograph/cmd/replay/internal/serve/ask"
	"tachograph/sample/metric"
	"tachograph/sample/proc/cmdline"
)

// roomOfText is how many bytes a text of a row has, unless its field says otherwise.
const roomOfText = 200

// rows collects those rows of a command that an answer has room for, and counts the others.
type rows struct {
	*part
	skip    int
	columns []out.Column
	at      []int // the column of each field; -1: there is none
	host    bool  // the first column says which host a row is about
	name    int   // the column that part.drop is about

	seen   int // rows that are counted
	kept   [][]out.Cell
	by     map[string]int // how many rows were kept, by the first field
	byMost bool           // rows were left out because of part.per
}

func newRows(p *part, skip int) *rows { return &rows{part: p, skip: skip, by: make(map[string]int)} }

func (r *rows) begin(columns []out.Column) (out.Writer, error) {
	r.columns = columns
	r.at = r.at[:0]
	for i := range r.fields {
		r.at = append(r.at, r.fields[i].take(columns))
	}
	r.host = columns[0].Only == out.Everywhere
	r.name = (&field{name: "name"}).take(columns)
	return r, nil
}

func (r *rows) Row(cells []out.Cell) error {
	if r.drop != "" && r.name >= 0 && strings.HasPrefix(cells[r.name].S, r.drop) {
		return nil
	}
	if r.per > 0 && r.at[0] >= 0 {
		of := cells[r.at[0]].S
		if r.by[of]++; r.by[of] > r.per && of != "system" {
			r.byMost = true
			return nil
		}
	}
	r.seen++
	most := r.most
	if most == 0 {
		most = mostRows
	}
	if r.seen <= r.skip || len(r.kept) >= most {
		return nil
	}
	kept := slices.Clone(cells)
	for i := range kept {
		kept[i].Raw = bytes.Clone(kept[i].Raw)
	}
	r.kept = append(r.kept, kept)
	return nil
}

func (r *rows) Close() error { return nil }

// row returns a row as JSON. What could not be read is in its field absent, with the reason.
func (r *rows) row(cells []out.Cell, zone *time.Location) []byte {
	o := newObject()
	if r.host && cells[0].S != "" {
		o.add("host", safe(cells[0].S, roomOfText))
	}
	absent := newObject()
	hasUnits := false
	for i := range r.fields {
		if r.at[i] < 0 {
			continue
		}
		f, c := &r.fields[i], &cells[r.at[i]]
		hasUnits = hasUnits || f.name == "units"
		v, why := f.value(c, zone)
		if v != nil {
			o.add(f.name, v)
		} else if why != "" {
			absent.add(f.name, why)
		}
		if c.Units != nil && c.Kind != out.Text && !hasUnits {
			o.add("units", c.Units.String())
			hasUnits = true
		}
	}
	if absent.n > 0 {
		o.add("absent", absent.close())
	}
	return o.close()
}

// value returns the value of a field, or nil, and why there is none if that is known.
func (f *field) value(c *out.Cell, zone *time.Location) (v any, why string) {
	room := f.room
	if room == 0 {
		room = roomOfText
	}
	switch c.Kind {
	case out.Text:
		if c.S == "" {
			return nil, ""
		}
		return safe(c.S, room), ""
	case out.Int:
		return c.I, ""
	case out.Uint:
		return c.U, ""
	case out.Float:
		if math.IsNaN(c.F) || math.IsInf(c.F, 0) {
			return nil, "no finite number"
		}
		return rounded(c.F), ""
	case out.Time:
		return moment(c.I, zone), ""
	case out.Detail:
		if f.of != nil {
			return f.of(c.Raw), ""
		}
		return json.RawMessage(c.Raw), ""
	}
	if c.Reason != metric.Present {
		return nil, safe(c.Reason.String(), roomOfText)
	}
	return nil, ""
}

// safe returns a stranger's text with printable letters only, and not too long.
func safe(s string, room int) string { return cmdline.Bounded(visible.Text(s), room) }

// rounded returns a number with six digits.
func rounded(x float64) json.Number {
	y, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 6, 64), 64)
	b, _ := json.Marshal(y)
	return json.Number(b)
}

func moment(wall int64, zone *time.Location) string {
	return time.Unix(0, wall).In(zone).Format(time.RFC3339Nano)
}

// metricsOf returns the metrics that the claims of a line of why are about.
func metricsOf(claims []byte) any {
	var all []struct{ Metric string }
	if json.Unmarshal(claims, &all) != nil {
		return nil
	}
	var names []string
	for _, c := range all {
		if name := safe(c.Metric, roomOfText); !slices.Contains(names, name) && len(names) < 4 {
			names = append(names, name)
		}
	}
	if names == nil {
		return nil
	}
	return names
}

// basis adds to an answer what it was made from.
func (o *objectWriter) basis(b *ask.Basis) {
	const mostIDs = 6
	o.add("archives", b.Archives[:min(len(b.Archives), mostIDs)])
	if n := len(b.Archives); n > mostIDs {
		o.add("archives_in_all", n)
	}
	o.add("zone", b.Zone.String())
	o.add("from", moment(b.From, b.Zone))
	o.add("to", moment(b.To, b.Zone))
}

// absent adds the times in which nothing was recorded.
func (o *objectWriter) absent(b *ask.Basis) {
	const most = 8
	if len(b.Absent) == 0 {
		return
	}
	var spans []json.RawMessage
	for _, a := range b.Absent[:min(len(b.Absent), most)] {
		span := newObject()
		span.add("from", moment(a.From, b.Zone))
		span.add("to", moment(a.To, b.Zone))
		span.add("reason", safe(a.Reason, roomOfText))
		spans = append(spans, span.close())
	}
	o.add("absent", spans)
	if n := len(b.Absent); n > most {
		o.add("absent_in_all", n)
	}
}

// An objectWriter writes a JSON object whose fields have an order.
type objectWriter struct {
	b []byte
	n int
}

func newObject() *objectWriter { return &objectWriter{b: []byte{'{'}} }

func (o *objectWriter) add(name string, v any) {
	if o.n++; o.n > 1 {
		o.b = append(o.b, ',')
	}
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		text.Reset()
		text.WriteString("null")
	}
	o.b = append(strconv.AppendQuote(o.b, name), ':')
	o.b = append(o.b, bytes.TrimSpace(text.Bytes())...)
}

func (o *objectWriter) close() json.RawMessage { return append(o.b, '}') }
