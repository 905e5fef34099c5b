package openmetrics

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tachograph/cmd/replay/internal/export"
	"tachograph/cmd/replay/internal/export/exporttest"
	"tachograph/sample/metric"
	"tachograph/store/query/querytest"
)

func written(t *testing.T, script string, choose func(*export.Request)) (string, *export.Report) {
	t.Helper()
	parts, err := querytest.Parse(strings.NewReader(script))
	if err != nil {
		t.Fatal(err)
	}
	r := &export.Request{Archive: querytest.New(parts...)}
	if choose != nil {
		choose(r)
	}
	var out bytes.Buffer
	report, err := Format.Write(context.Background(), r, export.Target{Path: "-", Stdout: &out})
	if err != nil {
		t.Fatal(err)
	}
	return out.String(), report
}

const head = `start 2026-11-20T03:00:00Z
host h id=H
interval fast 10s
interval process 10s
`

// What cannot be told in the format is left out, and said.
func TestLeftOut(t *testing.T) {
	text, report := written(t, head+`metric a.negative i64 counter - fast
metric a.b u64 instant - fast
metric a_b u64 instant - fast
metric a.nothing u64 instant - fast
metric proc.memory.rss u64 instant process process Kbyte
instance process 1/1 000001 init
boot b -1h
tick fast 0s
  a.negative -1
  a.b 1
  a_b 2
  a.nothing !timed out
tick fast 10s
  a.negative 5
  a.b 3
  a_b 4
  a.nothing !timed out
tick process 0s
  proc.memory.rss[1/1] 1
clock -5s
tick fast 11s
  a.b 7
`, nil)
	const labels = `{host="h",host_id="H",instance="h",job="tachograph"}`
	want := `# HELP tachograph_a_b 
# TYPE tachograph_a_b gauge
tachograph_a_b` + labels + ` 1 1795143600.000
tachograph_a_b` + labels + ` 3 1795143610.000
# HELP tachograph_a_negative 
# TYPE tachograph_a_negative counter
tachograph_a_negative_total` + labels + ` 5 1795143610.000
# EOF
`
	if text != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
	if report.Values != 3 || report.Series != 2 {
		t.Errorf("%+v", report)
	}
	for _, note := range []string{
		"a_b left out: another metric is called tachograph_a_b as well", "1 value left out: a series goes forward in time",
		"1 value of counters left out", "1 metric of processes and threads left out",
	} {
		if !slices.ContainsFunc(report.Notes, func(s string) bool { return strings.HasPrefix(s, note) }) {
			t.Errorf("nobody says %q: %q", note, report.Notes)
		}
	}
}

// Processes are told where they are asked for: those that had the same number and name one after
// the other are one series, those that had it at the same time are not.
func TestAlike(t *testing.T) {
	text, _ := written(t, head+`metric proc.memory.rss u64 instant process process byte
instance process 7/1 000007 sh
instance process 7/2 000007 sh
instance process 7/3 000007 sh
boot b -1h
tick process 0s
  proc.memory.rss[7/1] 1
  proc.memory.rss[7/3] 30
tick process 10s
  proc.memory.rss[7/2] 2
  proc.memory.rss[7/3] 31
`, func(r *export.Request) { r.Metrics = r.Archive.Metrics() })
	const name, rest = `tachograph_proc_memory_rss_bytes{host="h",host_id="H",instance="h",job="tachograph",name="sh",pid="7"`, `} `
	want := name + rest + "1 1795143600.000\n" + name + rest + "2 1795143610.000\n" +
		name + `,key="7/3"` + rest + "30 1795143600.000\n" + name + `,key="7/3"` + rest + "31 1795143610.000\n"
	if !strings.Contains(text, want) {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
}

// A series stands together although its instance comes back in another boot, and was another's
// name in between; and whatever does not fit into memory is read piece by piece.
func TestTogether(t *testing.T) {
	var script strings.Builder
	script.WriteString(head + "metric disk.dev.read u64 counter disk fast\n")
	for i := range 20 {
		fmt.Fprintf(&script, "instance disk disk%d sd%c\n", i, 'a'+i%7)
	}
	for boot := range 3 {
		fmt.Fprintf(&script, "boot b%d %dm\n", boot, 10*boot-1)
		for tick := range 5 {
			fmt.Fprintf(&script, "tick fast %ds\n", 600*boot+10*tick)
			for i := range 20 {
				if (i+boot)%3 > 0 {
					fmt.Fprintf(&script, "  disk.dev.read[disk%d] %d\n", i, i+boot+tick)
				}
			}
		}
	}
	all, _ := written(t, script.String(), nil)
	parts, err := querytest.Parse(strings.NewReader(script.String()))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	report := &export.Report{}
	e := newExporter(context.Background(), &export.Request{Archive: querytest.New(parts...)}, &out, report)
	e.batch = 1
	if err := e.all(); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	if len(text) != len(all) {
		t.Errorf("%d bytes piece by piece, %d at once", len(text), len(all))
	}
	over := make(map[string]bool)
	last, at := "", ""
	n := int64(0)
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		n++
		fields := strings.Fields(line)
		if fields[0] != last {
			if over[fields[0]] {
				t.Fatalf("%s stands in two places", fields[0])
			}
			over[last], last, at = true, fields[0], ""
		}
		if fields[2] <= at {
			t.Fatalf("%s goes back in time", line)
		}
		at = fields[2]
	}
	if n != report.Values || int(report.Series) != len(over) {
		t.Errorf("%d samples of %d series, it says %d of %d", n, len(over), report.Values, report.Series)
	}
}

func TestGrouping(t *testing.T) {
	var g grouping
	g.add("1", 10, []string{"a"})
	g.add("2", 10, []string{"b"})
	g.add("3", 10, []string{"c"})
	g.add("4", 10, []string{"d", "b"})
	g.add("5", 10, []string{"d"})
	g.add("1", 20, []string{"a"})
	list := g.groups()
	if len(list) != 3 {
		t.Fatalf("%+v", list)
	}
	for i, want := range []group{{[]string{"1"}, true, 30}, {[]string{"2", "4", "5"}, false, 30}, {[]string{"3"}, true, 10}} {
		if got := list[i]; !slices.Equal(got.keys, want.keys) || got.single != want.single || got.length != want.length {
			t.Errorf("group %d is %+v, want %+v", i, got, want)
		}
	}
}

func TestEnded(t *testing.T) {
	dir := t.TempDir()
	ctx, end := context.WithCancel(context.Background())
	r := &export.Request{Archive: exporttest.Of(t, "mac.txt"), Progress: func(done, _ int64) {
		if done == 2 {
			end()
		}
	}}
	if _, err := Format.Write(ctx, r, export.Target{Path: filepath.Join(dir, "out")}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if list, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(list) > 0 {
		t.Errorf("there is %v", list)
	}
}

// BenchmarkSamples writes samples of a series.
func BenchmarkSamples(b *testing.B) {
	e := &exporter{w: io.Discard, report: &export.Report{}}
	h := &host{exporter: e, Host: metric.Host{Name: "host-1", ID: "H"}}
	t := &track{}
	for i := range 8640 {
		t.at, t.x = append(t.at, 1_790_000_000e9+int64(i)*10e9), append(t.x, float64(i*i)*1e-3)
	}
	n := 0
	for b.Loop() {
		h.series([]byte(`{host="host-1",host_id="H",instance="host-1",job="tachograph"}`))
		if err := h.track(t); err != nil {
			b.Fatal(err)
		}
		n += len(t.at)
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds()/1e6, "Mvalues/s")
}
