package otlp

import (
	"bytes"
	"compress/gzip"
	"errors"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"tachograph/cmd/replay/internal/push"
	"tachograph/sample/catalog"
	"tachograph/sample/metric"
	"tachograph/store/archive"
)

var update = flag.Bool("update", false, "write the golden file anew")

// a collector answers as it is told, and keeps what it was sent.
type collector struct {
	status int
	answer []byte
	most   int // bytes of a request
	bodies [][]byte
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/v1/metrics" || r.Header.Get("Content-Type") != "application/x-protobuf" || r.Header.Get("Content-Encoding") != "gzip" {
		http.Error(w, "not for me", http.StatusUnsupportedMediaType)
		return
	}
	z, err := gzip.NewReader(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	body, err := io.ReadAll(z)
	switch {
	case err != nil:
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	case c.most > 0 && len(body) > c.most:
		http.Error(w, "too large", http.StatusRequestEntityTooLarge)
		return
	}
	if len(body) > 0 && c.status < 300 {
		c.bodies = append(c.bodies, body)
	}
	w.WriteHeader(c.status)
	_, _ = w.Write(c.answer)
}

// some are two ticks: a counter and a gauge of processors, a text, and a disk that is
// not there any more.
func some() (*archive.Info, []*metric.Tick) {
	info := &archive.Info{ID: "a", BootID: "b", Recorder: "1.0", Host: metric.Host{ID: "0000", Name: "host", OS: "Darwin", Platform: "macos", Release: "24.6.0", Arch: "arm64"},
		Intervals: metric.Intervals{metric.Fast: 1e9}}
	cpu := &metric.Instance{Key: "cpu3", Name: "cpu3"}
	disks := []*metric.Instance{{Key: "disk0", Name: "disk0"}, {Key: "disk1", Name: "disk1"}}
	units := metric.Units{Time: 1, TimeScale: 2} // millisec
	percpu := &metric.Group{Name: "percpu", Indom: "cpu", Metrics: []*metric.Desc{
		{Name: "kernel.percpu.cpu.user", Type: metric.U64, Sem: metric.Counter, Units: units, Indom: "cpu", Help: "Time in user mode."}}}
	single := &metric.Group{Name: "single", Metrics: []*metric.Desc{
		{Name: "kernel.uname.release", Type: metric.String, Sem: metric.Discrete, Help: "Release."}}}
	disk := &metric.Group{Name: "disk", Indom: "disk", Metrics: []*metric.Desc{
		{Name: "disk.dev.read_bytes", Type: metric.U64, Sem: metric.Counter, Units: metric.Bytes, Indom: "disk", Help: "Data read."}}}
	var ticks []*metric.Tick
	for s := range uint64(2) {
		at := metric.Stamp{Wall: 1_800_000_000e9 + int64(s)*1e9 + 123_456_789, Cont: 100e9 + int64(s)*1e9}
		n := 2 - int(s)
		ticks = append(ticks, &metric.Tick{Class: metric.Fast, At: at, Blocks: []*metric.Block{
			{Group: disk, At: at, Rows: disks[:n], Cols: []metric.Column{{Bits: []uint64{1<<53 + 1 + s, 2000}[:n]}}},
			{Group: percpu, At: at, Rows: []*metric.Instance{cpu}, Cols: []metric.Column{{Bits: []uint64{1500 + 500*s}}}},
			{Group: single, At: at, Rows: []*metric.Instance{nil}, Cols: []metric.Column{{Bits: []uint64{0}, Words: []string{"24.6.0"}}}},
		}})
	}
	return info, ticks
}

// sent sends the ticks to a collector.
func sent(t *testing.T, c *collector) error {
	t.Helper()
	server := httptest.NewServer(c)
	defer server.Close()
	to, err := push.NewEndpoint(server.URL+"/v1/metrics", push.Access{})
	if err != nil {
		t.Fatal(err)
	}
	s := New(to, Options{})
	if err := s.Prepare(t.Context()); err != nil {
		return err
	}
	info, ticks := some()
	b := s.NewBatch(push.BatchID{Archive: info})
	for _, tick := range ticks {
		if err := b.Add(&archive.Item{Archive: info, Tick: tick}); err != nil {
			t.Fatal(err)
		}
	}
	if values, bytes := b.Size(); values < 10 || bytes == 0 {
		t.Fatalf("%d values in %d bytes", values, bytes)
	}
	return b.Send(t.Context())
}

// A decoder of others reads what is sent, finds nothing in it that it does not know,
// and the names, units, attributes and times that were meant.
func TestReadByProtoc(t *testing.T) {
	protoc, err := exec.LookPath("protoc")
	if err != nil {
		t.Skip("protoc is not installed")
	}
	c := &collector{status: 200}
	if err := sent(t, c); err != nil || len(c.bodies) != 1 {
		t.Fatalf("%v, %d requests", err, len(c.bodies))
	}
	cmd := exec.Command(protoc, "--decode=otlp.ExportMetricsServiceRequest", "--proto_path=testdata", "metrics.proto")
	cmd.Stdin = bytes.NewReader(c.bodies[0])
	var wrong bytes.Buffer
	cmd.Stderr = &wrong
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, wrong.String())
	}
	if unknown := regexp.MustCompile(`(?m)^\s*\d+[ :].*`).Find(out); unknown != nil {
		t.Errorf("a field that is none: %s", unknown)
	}
	out = regexp.MustCompile(`(name: "tachograph"\s+version: )".*"`).ReplaceAll(out, []byte(`$1"VERSION"`))
	path := filepath.Join("testdata", "request.golden")
	if *update {
		if err := os.WriteFile(path, out, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(out, want) {
		t.Errorf("%v: it reads\n%s", err, out)
	}
}

func TestAnswers(t *testing.T) {
	// partial_success { rejected_data_points: 3 error_message: "odd" }
	inner := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 3)
	inner = protowire.AppendString(protowire.AppendTag(inner, 2, protowire.BytesType), "odd\x1b[31m")
	success := protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), inner)
	var partial *push.Partial
	if err := sent(t, &collector{status: 200, answer: success}); !errors.As(err, &partial) || partial.Values != 3 || !strings.Contains(partial.Error(), "odd") || strings.Contains(partial.Error(), "\x1b") {
		t.Errorf("partial success: %v", err)
	}
	for _, odd := range []string{"\x0a", "\x0a\x05\x08", "\x0a\x02\x08\x00", "\xff\xff", "{}"} {
		if err := sent(t, &collector{status: 200, answer: []byte(odd)}); err != nil {
			t.Errorf("%q: %v", odd, err)
		}
	}
	var retry *push.Retry
	if err := sent(t, &collector{status: 503}); !errors.As(err, &retry) || retry.Slow {
		t.Errorf("503: %v", err)
	}
	if err := sent(t, &collector{status: 404}); !errors.As(err, &retry) || !retry.Slow {
		t.Errorf("404: %v", err)
	}
	var refused *push.Refused
	if err := sent(t, &collector{status: 400}); !errors.As(err, &refused) {
		t.Errorf("400: %v", err)
	}
	c := &collector{status: 200, most: 900}
	if err := sent(t, c); err != nil || len(c.bodies) < 2 {
		t.Errorf("in parts: %v, %d requests", err, len(c.bodies))
	}
}

// What the conventions are made of are metrics of some platform, in units of which
// their own are made.
func TestConventions(t *testing.T) {
	known := make(map[string]*metric.Desc)
	for _, of := range []catalog.Platform{catalog.Linux, catalog.Darwin} {
		for _, d := range catalog.For(of) {
			if d.Unsupported == "" {
				known[d.Name] = d
			}
		}
	}
	for _, c := range conventions {
		for _, s := range c.sources {
			d := known[s[0]]
			switch f, _ := own(&metric.Desc{}); {
			case d == nil:
				t.Errorf("%s: there is no %s", c.name, s[0])
			case c.counter != (d.Sem == metric.Counter):
				t.Errorf("%s: %s is a counter: %v", c.name, s[0], !c.counter)
			default:
				if f, _ = own(d); f.Unit != c.unit {
					t.Errorf("%s is in %q, %s in %q", c.name, c.unit, s[0], f.Unit)
				}
			}
		}
	}
	for unit, want := range map[string]string{"": "1", "bytes": "By", "bytes_per_second": "By/s", "per_second": "1/s", "odd": "{odd}", "watts": "W"} {
		if got := ucum(unit); got != want {
			t.Errorf("%s is %s, want %s", unit, got, want)
		}
	}
}
