package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"tachograph/sample/metric"
	"tachograph/store/rewrite"
)

// distrusted makes an archive of one process over ten minutes. After five of them it
// uses more, and a witness contradicts proc.psinfo.faults.
func distrusted(t *testing.T) string {
	t.Helper()
	faults := &metric.Desc{Name: "proc.psinfo.faults", Type: metric.U64, Sem: metric.Counter, Units: metric.Counts, Indom: "process", Class: metric.Process}
	utime := &metric.Desc{Name: "proc.psinfo.utime", Type: metric.U64, Sem: metric.Counter, Units: metric.Milliseconds, Indom: "process", Class: metric.Process}
	g := &metric.Group{Name: "proc", Indom: "process", Metrics: []*metric.Desc{faults, utime}}
	path := filepath.Join(t.TempDir(), "m.tacho")
	iv := metric.Intervals{}
	iv[metric.Process] = 5e9
	w, err := rewrite.Create(path, rewrite.About{Host: metric.Host{ID: "m", Name: "m", Platform: "macos"}, Boot: "b", TimeZone: "UTC", Intervals: iv})
	if err != nil {
		t.Fatal(err)
	}
	one := &metric.Instance{ID: 1, Key: "7", Name: "000007 busy"}
	for i := range int64(120) {
		at := metric.Stamp{Wall: 1795168800e9 + i*5e9, Cont: i*5e9 + 1, Awake: i*5e9 + 1}
		b := &metric.Block{Group: g, At: at, Rows: []*metric.Instance{one}, Cols: []metric.Column{{Bits: []uint64{uint64(i * 3)}}, {Bits: []uint64{uint64(i*500 + max(i-60, 0)*3500)}}}}
		if err := w.Append(&metric.Tick{Class: metric.Process, At: at, Blocks: []*metric.Block{b}}); err != nil {
			t.Fatal(err)
		}
		if i == 60 {
			e := metric.Event{At: at, Kind: metric.EventDistrustBegin, Text: "faults", Labels: []metric.Label{{Name: "metrics", Value: "proc.psinfo.faults"},
				{Name: "because", Value: "the machine's are fewer"}, {Name: "pair", Value: "faults: processes, machine"}}}
			if err := w.Event(&e); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Finish(); err != nil {
		t.Fatal(err)
	}
	return path
}

// Who follows a metric reads when a witness begins to contradict it, and nothing of others.
func TestWhatIsDistrustedIsSaidToFollowers(t *testing.T) {
	t.Parallel()
	begins := toldEvent(2, metric.EventDistrustBegin, "load")
	begins.Event.Labels = []metric.Label{{Name: "metrics", Value: "k.load"}, {Name: "because", Value: "two sources differ"}}
	for line, want := range map[string]string{
		"values k.load -f":  "replay: k.load: distrusted since 2026-11-20 03:30:02 UTC: two sources differ\n",
		"values n.bytes -f": "",
		"events -f":         "",
	} {
		if _, stderr, _ := follows(t, line, load(1), begins, load(3)); stderr != want {
			t.Errorf("%s: %q, want %q", line, stderr, want)
		}
	}
}

// Whatever shows a value that a witness contradicts says so, and nothing else does.
func TestWhatIsDistrustedIsSaid(t *testing.T) {
	path := distrusted(t)
	const sentence = "proc.psinfo.faults: distrusted since 2026-11-20 10:05:00 UTC: the machine's are fewer"
	for _, c := range []struct {
		line string
		said bool
	}{
		{"", true},
		{"values proc.psinfo.faults", true},
		{"values proc.psinfo.utime", false},
		{"rates proc.psinfo.faults --format csv", true},
		{"ranges proc.psinfo", true},
		{"top", true},
		{"top --format json", true},
		{"top --from 10:00 --to 10:04", false},
		{"ps", true},
		{"ps 7 --from 10:00", true},
		{"at 10:06", true},
		{"at 10:06 --format csv", true},
		{"at 10:04", false},
		{"export --format csv -o -", true},
		{"export proc.psinfo.utime --format csv -o -", false},
		{"plot proc.psinfo.faults", true},
		{"plot proc.psinfo.utime", false},
		{"find proc.psinfo.faults>=0 --format csv", true},
		{"find proc.psinfo.utime>=0", false},
		{"diff 10:00..10:04 10:05..10:09", true},
		{"diff 10:00..10:02 10:02..10:04", false},
		{"info", true},
	} {
		stdout, stderr, status := replay(openReal, append(strings.Fields(c.line), "--archive", path)...)
		text := strings.Join(strings.Fields(stdout+stderr), " ")
		if said := strings.Contains(text, sentence); said != c.said || status != 0 {
			t.Errorf("replay %s: exit %d, said: %v\n%s%s", c.line, status, said, stdout, stderr)
		}
	}
}

// The server says three times that a value is distrusted: beside it in GetValues, as a series
// of /metrics, and in the first frame that it sends to a subscriber of events.
func TestWhatIsDistrustedIsServed(t *testing.T) {
	t.Parallel()
	socket, _ := startServer(t, distrusted(t))
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}}
	ask := func(r *http.Request, until string) string {
		t.Helper()
		answer, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		var text strings.Builder
		for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
			text.WriteString(lines.Text() + "\n")
			if until != "" && strings.Contains(lines.Text(), until) {
				break
			}
		}
		return text.String()
	}
	get := func(url string) *http.Request {
		r, err := http.NewRequestWithContext(t.Context(), "GET", "http://server"+url, nil)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	values := get("/tachograph.v1.LiveService/GetValues")
	values.Method, values.Body = "POST", io.NopCloser(strings.NewReader(`{"selection": {"metrics": ["proc.psinfo"]}}`))
	values.Header.Set("Content-Type", "application/json")
	var got struct {
		Metrics []struct {
			Name   string
			Values []struct{ Distrusted map[string]string }
		}
	}
	if err := json.Unmarshal([]byte(ask(values, "")), &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"since": "2026-11-20T10:05:00Z", "because": "the machine's are fewer"}
	for _, m := range got.Metrics {
		if m.Name == "proc.psinfo.utime" {
			want = nil
		}
		if len(m.Values) != 1 || !maps.Equal(m.Values[0].Distrusted, want) {
			t.Errorf("%+v, want %v", m, want)
		}
	}
	if want != nil || len(got.Metrics) != 2 {
		t.Errorf("%+v", got)
	}
	const sample = `tachograph_distrusted_since_seconds{because="the machine's are fewer",instance_key="",instance_name="",metric="proc.psinfo.faults"} 1.7951691e+09`
	if page := ask(get("/metrics"), ""); !strings.Contains(page, sample+"\n") {
		t.Errorf("%s", page)
	}
	for query, said := range map[string]bool{"&events=true": true, "": false} {
		frame := ask(get("/v1/subscribe?metrics=proc.psinfo.utime"+query), `"position"`)
		if strings.Contains(frame, `"event":"distrust begin"`) != said {
			t.Errorf("%q: %s", query, frame)
		}
	}
}
