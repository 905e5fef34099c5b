package out

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"tachograph/cmd/internal/visible"
	"tachograph/sample/metric"
)

var columns = []Column{{Name: "host", Only: Nowhere}, {Name: "time"}, {Name: "name", Flex: true}, {Name: "value", Right: true},
	{Name: "shown", Only: InTables}, {Name: "raw", Only: InMachine}, {Name: "a", Group: "inner", Only: InMachine}, {Name: "b", Group: "inner", Only: InMachine}, {Name: "last", Only: InMachine}}

func row(name string, value Cell) []Cell {
	return []Cell{Str("h"), At(1_700_000_000_123_456_789), Str(name), value, None("seen"), Cell{Kind: Detail, Raw: []byte("[1]")}, Whole(-1), Natural(2), Str("end")}
}

func written(t *testing.T, f Format, width int, rows ...[]Cell) string {
	t.Helper()
	var b strings.Builder
	w := New(&b, columns, Options{Format: f, Zone: time.UTC, Width: width})
	for _, r := range rows {
		if err := w.Row(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestFormats(t *testing.T) {
	rows := [][]Cell{row("plain", Number(1.5)), row(`quo"te, and comma`, Cell{Reason: metric.Permission}), row("tab\tand\x1b[31m", Natural(math.MaxUint64))}
	wantCSV := `time,name,value,raw,a,b,last
2023-11-14T22:13:20.123456789Z,plain,1.5,[1],-1,2,end
2023-11-14T22:13:20.123456789Z,"quo""te, and comma",,[1],-1,2,end
2023-11-14T22:13:20.123456789Z,tab	and\x1b[31m,18446744073709551615,[1],-1,2,end
`
	if got := written(t, CSV, 0, rows...); got != wantCSV {
		t.Errorf("csv:\n%s\nwant\n%s", got, wantCSV)
	}
	wantJSON := `{"time":"2023-11-14T22:13:20.123456789Z","name":"plain","value":1.5,"raw":[1],"inner":{"a":-1,"b":2},"last":"end"}
{"time":"2023-11-14T22:13:20.123456789Z","name":"quo\"te, and comma","value":null,"raw":[1],"inner":{"a":-1,"b":2},"last":"end","reason":"permission denied"}
{"time":"2023-11-14T22:13:20.123456789Z","name":"tab\tand\u001b[31m","value":18446744073709551615,"raw":[1],"inner":{"a":-1,"b":2},"last":"end"}
`
	if got := written(t, JSON, 0, rows...); got != wantJSON {
		t.Errorf("json:\n%s\nwant\n%s", got, wantJSON)
	}
	wantTable := `TIME                     NAME                              VALUE  SHOWN
2023-11-14 22:13:20.123  plain                               1.5  seen
2023-11-14 22:13:20.123  quo"te, and comma                     -  seen
2023-11-14 22:13:20.123  tab\tand\x1b[31m   18446744073709551615  seen
`
	if got := written(t, Table, 0, rows...); got != wantTable {
		t.Errorf("table:\n%s\nwant\n%s", got, wantTable)
	}
	narrow := written(t, Table, 66, rows...)
	for line := range strings.Lines(narrow) {
		if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > 66 {
			t.Errorf("a line of %d letters in a terminal of 66: %q", n, line)
		}
	}
}

// A spreadsheet computes what begins as a formula, also when it is quoted.
func TestSpreadsheet(t *testing.T) {
	cols := []Column{{Name: "name"}, {Name: "value"}}
	for _, c := range []struct {
		name, text, want string
		opt              bool
	}{
		{"as it is", "=1+2", "=1+2", false},
		{"equals", `=HYPERLINK("http://x","y")`, `"'=HYPERLINK(""http://x"",""y"")"`, true},
		{"plus", "+1", "'+1", true},
		{"minus", "-kworker", "'-kworker", true},
		{"at", "@SUM(A1)", "'@SUM(A1)", true},
		{"tab", "\t=1", "'\t=1", true},
		{"space", "  =1", "'  =1", true},
		{"wide", "＝1", "'＝1", true},
		{"plain", "a=1", "a=1", true},
		{"empty", "", "", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			var b strings.Builder
			w := New(&b, cols, Options{Format: CSV, Zone: time.UTC, Spreadsheet: c.opt})
			w.Row([]Cell{Str(c.text), Number(-1)})
			w.Close()
			if got := strings.TrimSuffix(strings.TrimPrefix(b.String(), "name,value\n"), ",-1\n"); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// Series must write what Row does.
func TestSeriesWritesTheSame(t *testing.T) {
	numbers := []float64{0, 0.1, 1e300, math.Copysign(0, -1), math.NaN(), math.Inf(-1)}
	floats := Points{Type: metric.F64, Column: metric.Column{Miss: []metric.Reason{0, metric.TimedOut, 0, 0, 0, 0}}}
	short := Points{Type: metric.F32}
	for _, x := range numbers {
		floats.Bits = append(floats.Bits, math.Float64bits(x))
		short.Bits = append(short.Bits, uint64(math.Float32bits(float32(x))))
	}
	whole := []uint64{0, 7, 7, math.MaxUint64, 1 << 63, 10}
	words := metric.Column{Bits: []uint64{0, 1, 1, 0, 2, 1}, Words: []string{"a", "b,\"\x1b", ""}}
	for _, p := range []*Points{&floats, &short, {Type: metric.U64, Column: metric.Column{Bits: whole}}, {Type: metric.I64, Column: metric.Column{Bits: whole}},
		{Type: metric.String, Column: words}} {
		p.Wall = []int64{1, 59_999_999_999, 60_000_000_000, 1_700_000_000_000_000_001, -1, 1_700_000_000_123_456_789}
		for _, format := range []Format{CSV, JSON} {
			for _, only := range []Only{Everywhere, Nowhere} {
				testSeries(t, p, []Column{{Name: "host", Only: only}, {Name: "time"}, {Name: "metric"}, {Name: "instance"}, {Name: "value"}}, format)
			}
		}
	}
}

func testSeries(t *testing.T, points *Points, cols []Column, format Format) {
	t.Helper()
	opt := Options{Format: format, Zone: time.FixedZone("", -3*3600-1800)}
	var one, all strings.Builder
	byRow, bulk := New(&one, cols, opt), New(visible.NewWriter(&all, false), cols, opt)
	head, tail := []Cell{Str("h,1")}, []Cell{Str("m"), Str("i j")}
	for n := range batchRows / 2 { // in several batches
		if n == batchRows/4 {
			tail[1] = Str("ä\x1b")
		}
		for i, wall := range points.Wall {
			v := Value(points.At(points.Type, i), nil, false)
			if err := byRow.Row([]Cell{head[0], At(wall), tail[0], tail[1], v}); err != nil {
				t.Fatal(err)
			}
		}
		if err := bulk.(SeriesWriter).Series(head, tail, points); err != nil {
			t.Fatal(err)
		}
		if n%(batchRows/5) == 0 {
			for _, w := range []Writer{byRow, bulk} {
				if err := w.Row([]Cell{head[0], {}, tail[0], tail[1], {}}); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	byRow.Close()
	bulk.Close()
	if one.String() != all.String() {
		t.Errorf("%s, %v: rows\n%.600s\nseries\n%.600s", format, points.Type, one.String(), all.String())
	}
}

// An error of a write on another goroutine reaches the caller, and nothing is written after it.
func TestSeriesFails(t *testing.T) {
	for _, format := range []Format{CSV, JSON} {
		full := &fullDisk{room: 2 << 20}
		w := New(full, []Column{{Name: "time"}, {Name: "value"}}, Options{Format: format, Zone: time.UTC})
		points := &Points{Type: metric.U64, Wall: make([]int64, 100), Column: metric.Column{Bits: make([]uint64, 100)}}
		var err error
		for n := 0; err == nil && n < batchRows; n++ {
			err = w.(SeriesWriter).Series(nil, nil, points)
		}
		if !errors.Is(err, errFull) {
			t.Errorf("%s: %v", format, err)
		}
		w.(SeriesWriter).Stop()
		if err := w.Close(); !errors.Is(err, errFull) {
			t.Errorf("%s: Close says %v", format, err)
		}
		if full.after {
			t.Errorf("%s: it writes after an error", format)
		}
	}
}

var errFull = errors.New("full")

// A fullDisk has room for some bytes.
type fullDisk struct {
	room          int
	failed, after bool
}

func (d *fullDisk) Write(b []byte) (int, error) {
	d.after = d.after || d.failed
	if d.room -= len(b); d.room < 0 {
		d.failed = true
		return 0, errFull
	}
	return len(b), nil
}

func TestTimesAreRFC3339(t *testing.T) {
	zones := []*time.Location{time.UTC, time.FixedZone("", 5*3600+1800), time.FixedZone("", -1)}
	for _, z := range zones {
		var c stampCache
		for _, wall := range []int64{0, -1, 1, 1_700_000_000_000_000_000, 1_700_000_059_999_999_999, 1_700_000_060_000_000_000, -62_000_000_000_000_000} {
			want := time.Unix(0, wall).In(z).Format("2006-01-02T15:04:05.000000000Z07:00")
			if got := string(c.append(nil, wall, z)); got != want {
				t.Errorf("%d is %s, want %s", wall, got, want)
			}
		}
	}
}

// Clocks change at a full hour of their own, by half an hour on Lord Howe.
func TestTimesAcrossChangesOfClocks(t *testing.T) {
	for _, name := range []string{"Europe/Berlin", "Australia/Lord_Howe", "Asia/Kathmandu", "Africa/Monrovia"} {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Skip(err)
		}
		var c stampCache
		from := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		for at := from; at.Before(from.AddDate(1, 0, 0)); at = at.Add(7*time.Minute + 11*time.Second + 1) {
			if got, want := string(c.append(nil, at.UnixNano(), zone)), at.In(zone).Format("2006-01-02T15:04:05.000000000Z07:00"); got != want {
				t.Fatalf("%s: %s, want %s", name, got, want)
			}
		}
	}
}

// Whatever a name holds, machines read it back.
func FuzzMachineFormats(f *testing.F) {
	f.Add("plain", 1.5)
	f.Add("a\"b,c\r\n\x00\xff", math.Inf(-1))
	f.Fuzz(func(t *testing.T, name string, x float64) {
		cols := []Column{{Name: "name"}, {Name: "value"}}
		var c, j strings.Builder
		for f, b := range map[Format]*strings.Builder{CSV: &c, JSON: &j} {
			w := New(b, cols, Options{Format: f, Zone: time.UTC})
			if err := w.Row([]Cell{Str(name), Number(x)}); err != nil {
				t.Fatal(err)
			}
			w.Close()
		}
		var object struct{ Name string }
		if err := json.Unmarshal([]byte(j.String()), &object); err != nil {
			t.Fatalf("%q: %v", j.String(), err)
		}
		if want := string([]rune(name)); object.Name != want {
			t.Fatalf("%q came back as %q", name, object.Name)
		}
		r := csv.NewReader(strings.NewReader(c.String()))
		rows, err := r.ReadAll()
		if err != nil || len(rows) != 2 {
			t.Fatalf("%q: %v rows, %v", c.String(), len(rows), err)
		}
		if strings.ContainsFunc(c.String()+j.String(), func(r rune) bool { return r != '\n' && r != '\t' && visible.Acts(r) }) {
			t.Fatalf("%q is written as\n%q\n%q", name, c.String(), j.String())
		}
		if got, want := rows[1][0], visible.Lines(name); got != want {
			t.Fatalf("%q came back as %q", name, got)
		}
	})
}
