package export_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"tachograph/cmd/internal/visible"
	"tachograph/cmd/replay/internal/export"
	"tachograph/cmd/replay/internal/export/exporttest"
	"tachograph/cmd/replay/internal/out"
	"tachograph/sample/metric"
	"tachograph/store/query"
)

func written(t *testing.T, f *export.Format, a query.Archive, table string) (string, *export.Request, *export.Report) {
	t.Helper()
	var b bytes.Buffer
	r := &export.Request{Archive: a, Tables: []string{table}, Zone: time.UTC}
	report, err := f.Write(context.Background(), r, export.Target{Path: "-", Stdout: &b})
	if err != nil {
		t.Fatal(err)
	}
	return b.String(), r, report
}

// Every value is there, to its last digit, and every absence with its reason; names are data,
// whatever they are.
func TestValues(t *testing.T) {
	for name, a := range map[string]query.Archive{"hard": exporttest.Hard(t, false), "hostile": exporttest.Hard(t, true), "recorded": exporttest.Recorded(t)} {
		t.Run(name, func(t *testing.T) {
			text, r, report := written(t, &export.CSV, a, export.ValuesTable)
			rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
			if err != nil {
				t.Fatal(err)
			}
			lines, _, _ := written(t, &export.JSONL, a, export.ValuesTable)
			objects := strings.Split(strings.TrimSpace(lines), "\n")
			want := exporttest.Values(t, r)
			if len(rows) != len(want)+1 || len(objects) != len(want) || report.Values != int64(len(want)) {
				t.Fatalf("%d rows and %d lines of %d values, it says %d", len(rows), len(objects), len(want), report.Values)
			}
			for i, v := range want {
				shown, why := v.String(), ""
				if v.Type == metric.String {
					shown = visible.Lines(v.Str)
				}
				if v.Miss != metric.Present {
					shown, why = "", v.Miss.String()
				}
				at := time.Unix(0, v.Wall).UTC().Format("2006-01-02T15:04:05.000000000Z07:00")
				for k, w := range []string{at, visible.Lines(v.Host), v.Metric, visible.Lines(v.Instance), visible.Lines(v.Key), shown, why} {
					got := rows[i+1][k]
					if x, err := strconv.ParseFloat(got, 64); err == nil && k == 5 && v.Type.Float() {
						y, _ := strconv.ParseFloat(w, 64)
						if x == y || x != x && y != y {
							continue
						}
					}
					if got != w {
						t.Fatalf("row %d, column %d is %q, want %q", i, k, got, w)
					}
				}
				var fields map[string]json.RawMessage
				if err := json.Unmarshal([]byte(objects[i]), &fields); err != nil {
					t.Fatal(err)
				}
				for name := range fields { // both formats call a thing the same
					if !slices.Contains(rows[0], name) {
						t.Fatalf("line %d has %q, the header is %q", i, name, rows[0])
					}
				}
				var o struct {
					Time, Host, Metric, Reason string
					Value                      json.RawMessage
				}
				if err := json.Unmarshal([]byte(objects[i]), &o); err != nil || o.Time != at || o.Metric != v.Metric || o.Reason != why {
					t.Fatalf("line %d is %s: %v", i, objects[i], err)
				}
				if !v.Type.Float() && v.Type != metric.String && v.Miss == metric.Present && string(o.Value) != shown {
					t.Fatalf("line %d is %s, want %s", i, objects[i], shown)
				}
			}
		})
	}
}

// The other tables have a cell for each of their columns in every row.
func TestWide(t *testing.T) {
	for _, table := range export.Wide {
		text, _, report := written(t, &export.CSV, exporttest.Of(t, "mac.txt"), table.Name)
		rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
		if err != nil || int64(len(rows)) != report.Rows+1 || len(rows) < 2 || len(rows[0]) != len(table.Columns) {
			t.Errorf("%s has %d rows, it says %d: %v", table.Name, len(rows), report.Rows, err)
		}
	}
}

// BenchmarkCSV writes values as they come out of an archive.
func BenchmarkCSV(b *testing.B) {
	const n = 8640
	p := &out.Points{Type: metric.U64, Why: true}
	for i := range n {
		p.Wall = append(p.Wall, 1_790_000_000e9+int64(i)*10e9+int64(i*i%1000_003))
		p.Bits = append(p.Bits, uint64(i)*uint64(i)*7919)
	}
	columns := []out.Column{{Name: "time"}, {Name: "host"}, {Name: "metric"}, {Name: "instance"}, {Name: "key"}, {Name: "value"}, {Name: "reason"}}
	w := out.New(io.Discard, columns, out.Options{Format: out.CSV, Zone: time.UTC})
	tail := []out.Cell{out.Str("host-1"), out.Str("proc.psinfo.utime"), out.Str("000100 process"), out.Str("100/1")}
	values := 0
	for b.Loop() {
		if err := w.(out.SeriesWriter).Series(nil, tail, p); err != nil {
			b.Fatal(err)
		}
		values += n
	}
	b.ReportMetric(float64(values)/b.Elapsed().Seconds()/1e6, "Mvalues/s")
}
