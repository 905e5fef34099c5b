package openmetrics

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"tachograph/cmd/internal/peertest"
	"tachograph/cmd/replay/internal/export"
	"tachograph/cmd/replay/internal/export/exporttest"
	"tachograph/cmd/replay/internal/naming"
	"tachograph/sample/metric"
	"tachograph/store/query"
)

// exported writes a recording, processes as well, and says what samples there must be: by series,
// without what tells alike ones apart, in milliseconds.
func exported(t testing.TB, a query.Archive) (path string, report *export.Report, want map[string]map[int64]float64) {
	t.Helper()
	r := &export.Request{Archive: a, Metrics: a.Metrics()}
	path = filepath.Join(t.TempDir(), "out.om")
	report, err := Format.Write(context.Background(), r, export.Target{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	want = make(map[string]map[int64]float64)
	for _, v := range exporttest.Values(t, r) {
		d := a.Lookup(v.Metric)
		f := naming.Own(d)
		if v.Miss != metric.Present {
			continue
		}
		x := f.Sources[0].Scale(d).Of(naming.Number(v.Value))
		labels := map[string]string{"__name__": f.Name, "host": v.Host}
		if d.Indom != metric.NoIndom {
			for _, l := range naming.InstanceLabels(d.Indom, &metric.Instance{Name: v.Instance, Key: v.Key, Labels: v.Labels}) {
				labels[l.Name] = l.Value
			}
		}
		if v.Type == metric.String {
			x, labels["value"] = 1, v.Str
		}
		id := identity(labels)
		if want[id] == nil {
			want[id] = make(map[int64]float64)
		}
		want[id][v.Wall/1e6] = x
		if d.Class == metric.Static {
			lasting(a, v, want[id], x)
		}
	}
	return path, report, want
}

// lasting adds that what was read once is there every four minutes until it is read again, or
// nothing is recorded any more.
func lasting(a query.Archive, v exporttest.Value, samples map[int64]float64, x float64) {
	var host metric.Host
	for _, h := range a.Hosts() {
		if h.Name == v.Host {
			host = h
		}
	}
	w := query.Window{Hosts: []string{host.ID}}
	_, end, _ := query.Covered(a, w)
	for s := range query.Read(a, query.Request{Window: w, Metrics: []string{v.Metric}, Mode: query.Raw}) {
		for _, wall := range s.Wall {
			if (s.Instance == nil || s.Instance.Key == v.Key) && wall > v.Wall {
				end = min(end, wall)
			}
		}
	}
	breaks := query.Breaks(a, w)
	for at := v.Wall + int64(4*time.Minute); at < end; at += int64(4 * time.Minute) {
		if !slices.ContainsFunc(breaks, func(b query.Break) bool { return b.From < at && at < b.To }) {
			samples[at/1e6] = x
		}
	}
}

// identity is a series without the labels that are the same for all, or only tell alike ones apart.
func identity(labels map[string]string) string {
	var parts []string
	for name, value := range labels {
		switch name {
		case "host_id", "instance", "job", "key":
		default:
			if value != "" {
				parts = append(parts, name+"="+strings.ToValidUTF8(value, "\ufffd"))
			}
		}
	}
	slices.Sort(parts)
	return strings.Join(parts, "\x00")
}

// same compares what a reader found with what there must be.
func same(t *testing.T, got, want map[string]map[int64]float64) {
	t.Helper()
	for id, samples := range want {
		for at, x := range samples {
			if y, ok := got[id][at]; !ok || y != x && (y == y || x == x) {
				t.Errorf("%q at %d is %v (%v), want %v", id, at, y, ok, x)
				return
			}
		}
	}
	for id, samples := range got {
		if len(samples) != len(want[id]) {
			t.Errorf("%q has %d samples, want %d", id, len(samples), len(want[id]))
		}
	}
}

var recordings = []struct {
	name string
	of   func(testing.TB) query.Archive
}{
	{"hard", func(t testing.TB) query.Archive { return exporttest.Hard(t, false) }},
	{"hostile", func(t testing.TB) query.Archive { return exporttest.Hard(t, true) }},
	{"mac", func(t testing.TB) query.Archive { return exporttest.Of(t, "mac.txt") }},
	{"fleet", func(t testing.TB) query.Archive { return exporttest.Of(t, "fleet.txt") }},
	{"recorded", func(t testing.TB) query.Archive { return exporttest.Recorded(t) }},
	{"renamed", func(t testing.TB) query.Archive { return exporttest.Of(t, "renamed.txt") }},
}

// python has the parser of prometheus_client, which is strict.
func python() (string, bool) {
	for _, one := range []string{"python3", "/usr/bin/python3"} { // a distribution's packages are for its own
		if exec.Command(one, "-c", "import prometheus_client.openmetrics.parser").Run() == nil {
			return one, true
		}
	}
	return "python3", false
}

// The strict parser accepts the file, and finds in it what was recorded.
func TestStrictParserAgrees(t *testing.T) {
	const program = `
import json, sys
from prometheus_client.openmetrics.parser import text_fd_to_metric_families as parse
from prometheus_client.samples import Timestamp
# As it is it compares the fractions of two times even where the seconds tell them apart.
Timestamp.__gt__ = lambda a, b: (a.sec, a.nsec) > (b.sec, b.nsec)
for family in parse(open(sys.argv[1], encoding='utf-8', newline='\n')):
    for s in family.samples:
        print(json.dumps([s.name, s.labels, repr(float(s.value)), str(s.timestamp)]))
`
	parser, there := python()
	for _, c := range recordings {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			path, report, want := exported(t, c.of(t))
			got := make(map[string]map[int64]float64)
			n := int64(0)
			for line := range strings.Lines(exporttest.Asked(t, there, "parser of prometheus_client", exec.Command(parser, "-c", program, path))) {
				var name, value, at string
				labels := make(map[string]string)
				if err := json.Unmarshal([]byte(line), &[]any{&name, &labels, &value, &at}); err != nil {
					t.Fatal(err)
				}
				labels["__name__"] = name
				x, err := strconv.ParseFloat(value, 64)
				seconds, wrong := strconv.ParseFloat(at, 64)
				if err != nil || wrong != nil {
					t.Fatal(line, err, wrong)
				}
				id := identity(labels)
				if got[id] == nil {
					got[id] = make(map[int64]float64)
				}
				got[id][int64(math.Round(seconds*1000))] = x
				n++
			}
			if n != report.Values {
				t.Errorf("it says that it wrote %d samples, and there are %d", report.Values, n)
			}
			same(t, got, want)
		})
	}
}

// Prometheus answers out of the blocks that promtool makes of the file, with as many samples as
// were written and the values that were recorded.
func TestPrometheusAgrees(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	for _, c := range recordings {
		t.Run(c.name, func(t *testing.T) {
			path, report, want := exported(t, c.of(t))
			data := filepath.Join(t.TempDir(), "data")
			exporttest.Asked(t, err == nil, "promtool", exec.Command(promtool, "tsdb", "create-blocks-from", "openmetrics", path, data))
			// What is written at its end is a table of blocks, with their samples in the fifth column.
			blocks := exporttest.Asked(t, true, "promtool", exec.Command(promtool, "tsdb", "list", data))
			n := int64(0)
			for line := range strings.Lines(blocks) {
				if fields := strings.Fields(line); len(fields) > 4 && fields[0] != "BLOCK" {
					samples, err := strconv.ParseInt(fields[4], 10, 64)
					if err != nil {
						t.Fatal(line, err)
					}
					n += samples
				}
			}
			if n != report.Values {
				t.Errorf("%d samples were written, and the blocks hold %d\n%s", report.Values, n, blocks)
			}
			address := prometheus(t, data)
			same(t, queried(t, address, want), want)
			if c.name == "hard" {
				// A counter that begins anew, in a boot or with one, is seen to do so.
				if a := asked(t, address, `resets(tachograph_t_unsigned_bytes_total{device="sda"}[1h])`, 1_795_219_230_000); len(a) != 1 || a[0].Value[1] != "2" {
					t.Errorf("resets: %v", a)
				}
			}
		})
	}
}

// prometheus begins one over some blocks and returns its address.
func prometheus(t *testing.T, data string) string {
	t.Helper()
	peertest.Need(t, "prometheus")
	config := filepath.Join(t.TempDir(), "prometheus.yml")
	if err := os.WriteFile(config, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	at := peertest.Addresses(t, 1)[0]
	peertest.Start(t, "http://"+at+"/-/ready", "prometheus", "--config.file="+config, "--storage.tsdb.path="+data, "--storage.tsdb.retention.time=100y", "--web.listen-address="+at, "--log.level=warn")
	return "http://" + at
}

// queried are all samples that Prometheus has.
func queried(t *testing.T, address string, want map[string]map[int64]float64) map[string]map[int64]float64 {
	t.Helper()
	first, last := int64(math.MaxInt64), int64(math.MinInt64)
	for _, samples := range want {
		for at := range samples {
			first, last = min(first, at), max(last, at)
		}
	}
	list := asked(t, address, fmt.Sprintf(`{job=%q}[%dms]`, Job, last-first+1000), last)
	got := make(map[string]map[int64]float64)
	for _, s := range list {
		id := identity(s.Metric)
		if got[id] == nil {
			got[id] = make(map[int64]float64)
		}
		for _, p := range s.Values {
			x, err := strconv.ParseFloat(p[1].(string), 64)
			if err != nil {
				t.Fatal(err)
			}
			got[id][int64(math.Round(p[0].(float64)*1000))] = x
		}
	}
	return got
}

// found is a series that Prometheus answers with.
type found struct {
	Metric map[string]string
	Value  [2]any
	Values [][2]any
}

// asked puts a question to Prometheus, of a time in milliseconds.
func asked(t *testing.T, address, question string, at int64) []found {
	t.Helper()
	v := url.Values{"query": {question}, "time": {strconv.FormatFloat(float64(at)/1e3, 'f', 3, 64)}}
	answer, err := http.Get(address + "/api/v1/query?" + v.Encode())
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var a struct {
		Status, Error string
		Data          struct{ Result []found }
	}
	if err := json.NewDecoder(answer.Body).Decode(&a); err != nil || a.Status != "success" {
		t.Fatalf("%v: %s %s", err, a.Status, a.Error)
	}
	return a.Data.Result
}
