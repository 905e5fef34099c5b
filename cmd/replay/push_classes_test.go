package main

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/klauspost/compress/s2"

	"tachograph/cmd/internal/cli"
	"tachograph/sample/metric"
	"tachograph/store/recording"
	"tachograph/store/storetest/proof"
)

// A push tells of each metric of the machine, in whatever class that is read, and of
// processes only what was asked for.
func TestPushTellsOfTheMachineInEachClass(t *testing.T) {
	t.Parallel()
	path := everyClass(t)
	for protocol, to := range map[string]string{"remote-write": "/api/v1/write", "otlp": "/v1/metrics"} {
		for _, processes := range []string{"0", "5"} {
			var lock sync.Mutex
			var sent bytes.Buffer
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				if err != nil {
					return
				}
				if r.Header.Get("Content-Encoding") == "gzip" {
					z, err := gzip.NewReader(bytes.NewReader(body))
					if err != nil {
						return
					}
					body, _ = io.ReadAll(z)
				} else {
					body, _ = s2.Decode(nil, body)
				}
				lock.Lock()
				sent.Write(body)
				lock.Unlock()
			}))
			code, out, errs := runReplay("push", path, "--to", server.URL+to, "--state", filepath.Join(t.TempDir(), "s.push"), "--processes", processes)
			server.Close()
			if code != cli.Yes {
				t.Fatalf("%s: %d\n%s%s", protocol, code, out, errs)
			}
			text := strings.ReplaceAll(sent.String(), ".", "_")
			for c := metric.Class(0); c < metric.Disabled; c++ {
				if want := "test_machine_" + c.String(); !strings.Contains(text, want) {
					t.Errorf("%s, --processes %s: %s is not told", protocol, processes, want)
				}
				if one := "test_each_" + c.String(); strings.Contains(text, one) {
					t.Errorf("%s, --processes %s: %s is told", protocol, processes, one)
				}
			}
			if got := strings.Contains(text, "tachograph_processes"); got != (processes != "0") {
				t.Errorf("%s, --processes %s: totals of processes: %v", protocol, processes, got)
			}
		}
	}
}

// everyClass records in each class a metric of the machine and one of each process.
func everyClass(t *testing.T) string {
	t.Helper()
	var catalog []*metric.Desc
	var intervals metric.Intervals
	one := &metric.Instance{ID: 7, Key: "7@1", Name: "7", Labels: []metric.Label{{Name: "comm", Value: "one"}}}
	var ticks []*metric.Tick
	for c := metric.Class(0); c < metric.Disabled; c++ {
		machine := &metric.Desc{Name: "test.machine." + c.String(), PMID: metric.PMID(1000 + 2*int(c)), Type: metric.U64, Class: c}
		each := &metric.Desc{Name: "test.each." + c.String(), PMID: metric.PMID(1001 + 2*int(c)), Type: metric.U64, Class: c, Indom: "process"}
		catalog = append(catalog, machine, each)
		intervals[c] = 1e9
		ticks = append(ticks, &metric.Tick{Class: c, Blocks: []*metric.Block{
			{Group: &metric.Group{Name: "machine", Metrics: []*metric.Desc{machine}}, Rows: []*metric.Instance{nil}, Cols: []metric.Column{{Bits: []uint64{1}}}},
			{Group: &metric.Group{Name: "each", Indom: "process", Metrics: []*metric.Desc{each}}, Rows: []*metric.Instance{one}, Cols: []metric.Column{{Bits: []uint64{1}}}},
		}})
	}
	at := func(n int) metric.Stamp {
		return metric.Stamp{Wall: 1_800_000_000e9 + int64(n)*1e9, Awake: int64(n+1) * 1e9, Cont: int64(n+1) * 1e9}
	}
	clock := proof.NewClock(at(0))
	w, err := recording.Create(recording.Options{Dir: t.TempDir(), Host: metric.Host{ID: "1", Name: "mac"}, BootID: "b", TimeZone: "UTC",
		Catalog: catalog, Intervals: intervals, Now: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	for n := range 3 {
		clock.Set(at(n))
		for _, tick := range ticks {
			tick.At = at(n)
			for _, b := range tick.Blocks {
				b.At = tick.At
			}
			if err := w.Append(tick); err != nil {
				t.Fatal(err)
			}
		}
	}
	path, err := w.Rotate("test")
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}
