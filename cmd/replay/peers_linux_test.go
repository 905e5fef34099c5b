package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"tachograph/testdata/built"
	"tachograph/testdata/patience"
)

// peers are the programs of others that these tests are about, and whoever has none
// of them runs the rest.
func needPeers(t *testing.T, names ...string) {
	if testing.Short() {
		t.Skip("runs other programs")
	}
	for _, name := range names {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("%s is not installed", name)
		}
	}
}

// begin runs a program until the test ends, and tells what it writes if that fails.
func begin(t *testing.T, name string, args ...string) (stdout io.Reader) {
	t.Helper()
	cmd := exec.Command(name, args...)
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = log
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // SIGINT may be ignored where this runs in the background
		_ = cmd.Wait()
		if b, err := os.ReadFile(log.Name()); err == nil && t.Failed() {
			t.Logf("%s: %s", name, b[max(0, len(b)-3000):])
		}
		log.Close()
	})
	return out
}

// eventually waits for what other programs take long for.
func eventually(t *testing.T, what string, fn func() bool) {
	t.Helper()
	patience.UntilFor(t, 90*time.Second, what, fn)
}

// freePort is a port that nobody listened at a moment ago.
func freePort(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// got is the body at an address, "" if there is none.
func got(address string) string {
	answer, err := http.Get(address)
	if err != nil {
		return ""
	}
	defer answer.Body.Close()
	b, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		return ""
	}
	return string(b)
}

// served begins replay serve and returns its address.
func served(t *testing.T, replay string, args ...string) string {
	t.Helper()
	args = append([]string{"serve", "--listen", "tcp:127.0.0.1:0"}, args...)
	if os.Getuid() == 0 {
		args = append(args, "--user", "root") // others may not read the archives of a test
	}
	out := bufio.NewScanner(begin(t, replay, args...))
	for out.Scan() {
		if _, address, ok := strings.Cut(out.Text(), " at "); ok {
			return strings.TrimSpace(address)
		}
	}
	t.Fatal("it does not serve")
	return ""
}

// prometheus begins one with a configuration and returns its address.
func prometheus(t *testing.T, config string) string {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "prometheus.yml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	address := freePort(t)
	begin(t, "prometheus", "--config.file="+file, "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+address, "--log.level=warn")
	eventually(t, "prometheus is ready", func() bool { return got("http://"+address+"/-/ready") != "" })
	return "http://" + address
}

// series are what an expression comes to, at each time.
type promSeries struct {
	Metric map[string]string
	Value  [2]any
	Values [][2]any
}

// promQuery asks Prometheus, or VictoriaMetrics.
func promQuery(t *testing.T, address, expression string, at time.Time) []promSeries {
	t.Helper()
	v := url.Values{"query": {expression}}
	if !at.IsZero() {
		v.Set("time", strconv.FormatFloat(float64(at.UnixMilli())/1e3, 'f', 3, 64))
	}
	answer, err := http.Get(address + "/api/v1/query?" + v.Encode())
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var a struct {
		Status, Error string
		Warnings      []string
		Data          struct{ Result []promSeries }
	}
	if err := json.NewDecoder(answer.Body).Decode(&a); err != nil || a.Status != "success" || len(a.Warnings) > 0 {
		t.Fatalf("%s: %v, %+v", expression, err, a)
	}
	return a.Data.Result
}

// replayRows are what replay answers, by instance and time.
func replayRows(t *testing.T, column string, args ...string) map[string]map[int64]float64 {
	t.Helper()
	stdout, stderr, status := replayWith(openStore, testNow, append(args, "--format", "json")...)
	if status != 0 {
		t.Fatalf("%q: %s", args, stderr)
	}
	rows := make(map[string]map[int64]float64)
	for line := range strings.Lines(stdout) {
		var row map[string]any
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatal(err)
		}
		at, err := time.Parse(time.RFC3339Nano, row["time"].(string))
		if err != nil {
			t.Fatal(err)
		}
		x, ok := row[column].(float64)
		if !ok {
			continue
		}
		name := row["instance"].(string)
		if rows[name] == nil {
			rows[name] = make(map[int64]float64)
		}
		rows[name][at.UnixMilli()] = x
	}
	return rows
}

// point is a time and a value of Prometheus.
func point(t *testing.T, p [2]any) (int64, float64) {
	t.Helper()
	x, err := strconv.ParseFloat(p[1].(string), 64)
	if err != nil {
		t.Fatal(err)
	}
	return int64(math.Round(p[0].(float64) * 1e3)), x
}

// PromQL's answers over an archive are replay's.
func TestPrometheusReadsArchives(t *testing.T) {
	t.Parallel()
	needPeers(t, "prometheus")
	replay := built.Program(t, "replay")
	for _, live := range []bool{false, true} {
		dir := recordedMac(t, live)
		address := served(t, replay, dir)
		prom := prometheus(t, documented(t, "remote_read:", address))
		end := at(20*time.Minute - time.Second).AsTime()
		for _, c := range []struct {
			metric, name, label string
			scale               float64 // of replay's values to Prometheus's
			divided             bool
		}{
			{"network.interface.in.bytes", "tachograph_network_interface_in_bytes_total", "interface", 1, false},
			{"network.interface.in.bytes", "node_network_receive_bytes_total", "device", 1, false},
			{"kernel.all.cpu.user", "tachograph_kernel_all_cpu_user_seconds_total", "", 1000, true},
			{"mem.util.used", "tachograph_mem_util_used_bytes", "", 1024, false},
			{"kernel.all.load", "tachograph_kernel_all_load", "over", 1, false},
			{"gpu.util", "tachograph_gpu_util_ratio", "gpu", 100, true},
		} {
			t.Run(fmt.Sprintf("live %v %s", live, c.name), func(t *testing.T) {
				compareValues(t, prom, end, c.metric, c.name, c.label, func(x float64) float64 {
					if c.divided {
						return x / c.scale
					}
					return x * c.scale
				}, "--archive", dir)
			})
		}
		t.Run(fmt.Sprintf("live %v rates", live), func(t *testing.T) { compareRates(t, prom, end, dir) })
	}
}

func compareValues(t *testing.T, prom string, end time.Time, metric, name, label string, of func(float64) float64, args ...string) {
	want := replayRows(t, "value", append([]string{"values", metric}, args...)...)
	list := promQuery(t, prom, name+"[25m]", end)
	if len(list) == 0 || len(list) != len(want) {
		t.Fatalf("%d series, want %d", len(list), len(want))
	}
	for _, s := range list {
		values := want[s.Metric[label]]
		if len(s.Values) == 0 || s.Metric["instance"] != "mbp-anna" || s.Metric["job"] != "tachograph" {
			t.Fatalf("%v has %d values", s.Metric, len(s.Values))
		}
		n := 0
		for at := range values {
			if at <= end.UnixMilli() {
				n++
			}
		}
		if len(s.Values) != n {
			t.Errorf("%v: %d values, want %d", s.Metric, len(s.Values), n)
		}
		for _, p := range s.Values {
			at, x := point(t, p)
			if w, ok := values[at]; !ok || of(w) != x {
				t.Fatalf("%v at %d: %v, want %v", s.Metric, at, x, of(w))
			}
		}
	}
}

// compareRates holds irate, at the time of each reading, and rate, over the whole,
// against replay rates.
func compareRates(t *testing.T, prom string, end time.Time, dir string) {
	want := replayRows(t, "rate", "rates", "network.interface.in.bytes", "--archive", dir)
	if len(want) == 0 {
		t.Fatal("no rates")
	}
	v := url.Values{"query": {"irate(node_network_receive_bytes_total[10s])"}, "start": {at(10 * time.Second).AsTime().Format(time.RFC3339)},
		"end": {end.Format(time.RFC3339)}, "step": {"1s"}}
	var a struct {
		Data struct{ Result []promSeries }
	}
	if err := json.Unmarshal([]byte(got(prom+"/api/v1/query_range?"+v.Encode())), &a); err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, s := range a.Data.Result {
		for _, p := range s.Values {
			at, x := point(t, p)
			w, ok := want[s.Metric["device"]][at]
			if !ok {
				continue // between two readings irate tells the one before
			}
			compared++
			if w != x {
				t.Fatalf("%v at %d: %v, want %v", s.Metric, at, x, w)
			}
		}
	}
	if compared < 500 {
		t.Errorf("compared %d rates", compared)
	}
}

// documented is the configuration in the guide that begins so, for a server at an
// address, scraped each second.
func documented(t *testing.T, begins, address string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "CONNECT.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, config, ok := strings.Cut(string(text), "```yaml\n"+begins+"\n")
	config, _, end := strings.Cut(config, "```")
	if !ok || !end || !strings.Contains(config, "127.0.0.1:9847") {
		t.Fatalf("docs/CONNECT.md has no %s for Prometheus", begins)
	}
	return strings.NewReplacer("127.0.0.1:9847", strings.TrimPrefix(address, "http://"), "scrape_interval: 5s", "scrape_interval: 1s").Replace(begins + "\n" + config)
}

// Prometheus and VictoriaMetrics scrape what is recorded now, and what node_exporter
// has is as node_exporter says.
func TestOthersScrape(t *testing.T) {
	t.Parallel()
	needPeers(t, "prometheus", "victoria-metrics", "prometheus-node-exporter")
	recorder, replay := built.Programs(t)
	dir := t.TempDir()
	begin(t, recorder, "run", "--archive", dir)
	eventually(t, "it records", func() bool { list, _ := filepath.Glob(filepath.Join(dir, "*.live")); return len(list) > 0 })
	address := served(t, replay, dir)
	eventually(t, "values of all classes are there", func() bool { return strings.Contains(got(address+"/metrics"), "node_filesystem_avail_bytes") })
	t.Run("Prometheus", func(t *testing.T) {
		prom := prometheus(t, documented(t, "scrape_configs:", address))
		eventually(t, "it has scraped", func() bool { return len(promQuery(t, prom, "node_load1", time.Time{})) == 1 })
		scrapedAll(t, prom)
	})
	t.Run("VictoriaMetrics", func(t *testing.T) {
		data := t.TempDir()
		config := filepath.Join(data, "scrape.yml")
		if err := os.WriteFile(config, []byte(documented(t, "scrape_configs:", address)), 0o600); err != nil {
			t.Fatal(err)
		}
		vm := freePort(t)
		begin(t, "victoria-metrics", "-storageDataPath="+filepath.Join(data, "data"), "-httpListenAddr="+vm, "-search.latencyOffset=1ms", "-promscrape.config="+config)
		eventually(t, "it is ready", func() bool { return got("http://"+vm+"/health") != "" })
		eventually(t, "it has scraped", func() bool {
			got("http://" + vm + "/internal/force_flush")
			return len(promQuery(t, "http://"+vm, "node_load1", time.Time{})) == 1
		})
		scrapedAll(t, "http://"+vm)
	})
	t.Run("node_exporter", func(t *testing.T) { compareNodeExporter(t, address) })
}

// scrapedAll checks that a scrape was whole: what scrapes may show a part of it first.
func scrapedAll(t *testing.T, prom string) {
	t.Helper()
	for expression, least := range map[string]float64{"up": 1, `count({__name__=~"tachograph_.*"})`: 500, `count({__name__=~"node_.*"})`: 150} {
		eventually(t, fmt.Sprintf("%s is %v at least", expression, least), func() bool {
			list := promQuery(t, prom, expression, time.Time{})
			if len(list) != 1 {
				return false
			}
			_, x := point(t, list[0].Value)
			return x >= least
		})
	}
}

// nodeSamples are the samples of node_exporter's names on a page, and the types of
// their families.
func nodeSamples(t *testing.T, page string) (samples map[string]float64, types map[string]string) {
	samples, types = make(map[string]float64), make(map[string]string)
	for line := range strings.Lines(page) {
		line = strings.TrimSuffix(line, "\n")
		if words := strings.Fields(line); len(words) == 4 && words[1] == "TYPE" {
			types[words[2]] = words[3]
		}
		if !strings.HasPrefix(line, "node_") {
			continue
		}
		i := strings.LastIndexByte(line, ' ')
		x, err := strconv.ParseFloat(line[i+1:], 64)
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		samples[line[:i]] = x
	}
	return samples, types
}

var familyName = regexp.MustCompile(`^\w+`)

// compareNodeExporter compares a page with those of a real node_exporter before and
// after it: of what only grows the value lies between theirs, of what stays it is
// theirs. What moves up and down has its name, type and labels compared.
func compareNodeExporter(t *testing.T, address string) {
	theirs := freePort(t)
	begin(t, "prometheus-node-exporter", "--web.listen-address="+theirs)
	eventually(t, "node_exporter answers", func() bool { return got("http://"+theirs+"/metrics") != "" })
	before, types := nodeSamples(t, got("http://"+theirs+"/metrics"))
	// What is read again and again has been read since once its age is less than that.
	age := func(class string) float64 {
		for line := range strings.Lines(got(address + "/metrics?name[]=none")) {
			if text, ok := strings.CutPrefix(line, `tachograph_sample_age_seconds{class="`+class+`"} `); ok {
				x, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
				if err != nil {
					t.Fatal(err)
				}
				return x
			}
		}
		return math.Inf(1)
	}
	began := time.Now()
	eventually(t, "everything has been read again", func() bool {
		since := time.Since(began).Seconds()
		return age("polled") < since && age("fast") < since && age("process") < since
	})
	ours, ourTypes := nodeSamples(t, got(address+"/metrics"))
	after, _ := nodeSamples(t, got("http://"+theirs+"/metrics"))
	compared, grown := 0, 0
	for series, x := range ours {
		low, ok := before[series]
		high, still := after[series]
		family := familyName.FindString(series)
		if !ok || !still {
			continue
		}
		compared++
		if types[family] != ourTypes[family] {
			t.Errorf("%s is %s, theirs %s", family, ourTypes[family], types[family])
		}
		// Of what node_exporter does not say, this is the one that moves up and down.
		counter := types[family] == "counter" || types[family] == "untyped" && family != "node_netstat_Tcp_CurrEstab"
		// It multiplies with a thousandth, which no float is, where a division is exact.
		slack := 4e-16 * high
		switch {
		case counter && (x < low-slack || x > high+slack):
			t.Errorf("%s is %v, theirs from %v to %v", series, x, low, high)
		case counter:
			grown++
		}
	}
	for _, name := range []string{"node_memory_MemTotal_bytes", "node_boot_time_seconds", "node_memory_SwapTotal_bytes"} {
		if ours[name] != before[name] {
			t.Errorf("%s is %v, theirs %v", name, ours[name], before[name])
		}
	}
	if compared < 150 || grown < 80 {
		t.Errorf("compared %d series, %d of which are counters", compared, grown)
	}
	t.Logf("compared %d series, %d of which are counters", compared, grown)
}
