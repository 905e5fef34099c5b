package scrape

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"tachograph/cmd/replay/internal/serve/live"
	"tachograph/sample/catalog"
	"tachograph/sample/metric"
	"tachograph/store/archive"
	"tachograph/store/follow"
	"tachograph/store/query/querytest"
)

// told is a follower that delivers what it is given.
type told struct{ items []archive.Item }

func (f *told) Next(ctx context.Context) (archive.Item, error) {
	if len(f.items) > 0 {
		it := f.items[0]
		f.items = f.items[1:]
		return it, nil
	}
	<-ctx.Done()
	return archive.Item{}, context.Cause(ctx)
}

func (f *told) Position() follow.Position { return follow.Position{} }
func (f *told) Close() error              { return nil }

// stateOf is how things stand at the end of a description.
func stateOf(t testing.TB, p *querytest.Part) *live.State {
	t.Helper()
	var items []archive.Item
	for _, tick := range p.Ticks {
		items = append(items, archive.Item{Archive: &p.Info, Tick: tick})
	}
	items = append(items, archive.Item{Archive: &p.Info, Present: true})
	hub := live.NewHub(live.Options{Open: func(follow.Position) (live.Follower, error) { return &told{items}, nil }})
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- hub.Run(ctx) }()
	defer func() { stop(); <-ended }()
	s, err := hub.Now(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func described(t testing.TB, text string) *querytest.Part {
	t.Helper()
	parts, err := querytest.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return parts[0]
}

const machine = `start 2026-11-20T03:00:00Z
host web-1 id=7 os=Linux release=6.1 arch=amd64 platform=linux
interval static 2562047h
interval constrained 1m
interval polled 10s
interval fast 1s
interval process 5s
metric kernel.percpu.cpu.user u64 counter cpu fast millisec
  help Time in user mode
metric kernel.all.load f32 instant load fast
  help Load averages
metric mem.util.free u64 instant - fast Kbyte
  help Memory that is free
metric mem.physmem u64 discrete - static Kbyte
  help Memory installed
metric hinv.pagesize u64 discrete - static byte
  help Size of a page
metric network.sockstat.tcp.mem u64 instant - polled count
  help Pages of TCP
metric network.interface.in.bytes u64 counter interface fast byte
  help Received
metric gpu.util u32 instant gpu polled percent
  help Busy share
metric disk.dev.scheduler string discrete disk constrained
  help The "scheduler", \ as it is
metric power.battery.capacity.max u32 instant - polled mA hour
  help Charge it can hold
metric thermal.cpu.die f32 instant - polled C
  help Temperature
metric proc.memory.rss u64 instant process process Kbyte
  help Resident
instance disk sda sda
instance gpu 0 0
instance gpu 1 1
instance cpu cpu0 cpu0
instance cpu cpu10 cpu10
instance load 1m 1 minute
instance load 5m 5 minute
instance interface lo lo
instance interface odd a"b\c
instance process 612/1 000612 postgres
boot b1 -1h
tick static 0s
  mem.physmem 16384
  hinv.pagesize 4096
tick constrained 0s
  disk.dev.scheduler[sda] mq-"a"-x
every 10s 0s 10s polled
  network.sockstat.tcp.mem 3
  gpu.util[0] 37
  gpu.util[1] !permission denied
  power.battery.capacity.max 5000
  thermal.cpu.die 41.5
every 1s 0s 12s fast
  kernel.percpu.cpu.user[cpu0] 12345670
  kernel.percpu.cpu.user[cpu10] 18446744073709551615
  kernel.all.load[1m] 1.5
  kernel.all.load[5m] 0.25
  mem.util.free 1024
  network.interface.in.bytes[lo] 9007199254740993
  network.interface.in.bytes[odd] 1
every 5s 0s 10s process
  proc.memory.rss[612/1] 100
`

func scraped(t testing.TB, state *live.State, now time.Time, accept, query string) (*http.Response, string) {
	t.Helper()
	server := httptest.NewServer(Handler(Options{Present: func(context.Context) (*live.State, error) { return state, nil }, Now: func() time.Time { return now }}))
	defer server.Close()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/metrics?"+query, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", accept)
	answer, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	b, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer, string(b)
}

var shortly = time.Date(2026, 11, 20, 3, 0, 13, 0, time.UTC)

func TestPage(t *testing.T) {
	state := stateOf(t, described(t, machine))
	_, text := scraped(t, state, shortly, "application/openmetrics-text", "")
	for _, line := range []string{
		`# TYPE tachograph_kernel_percpu_cpu_user_seconds counter`,
		`# UNIT tachograph_kernel_percpu_cpu_user_seconds seconds`,
		`# HELP tachograph_kernel_percpu_cpu_user_seconds Time in user mode`,
		`tachograph_kernel_percpu_cpu_user_seconds_total{cpu="0"} 12345.67`,
		`tachograph_kernel_percpu_cpu_user_seconds_total{cpu="10"} 1.844674407370955e+16`,
		`node_cpu_seconds_total{cpu="0",mode="user"} 12345.67`,
		`node_load1 1.5`,
		`tachograph_kernel_all_load{over="1 minute"} 1.5`,
		`node_memory_MemFree_bytes 1.048576e+06`,
		`node_memory_MemTotal_bytes 1.6777216e+07`,
		`node_sockstat_TCP_mem 3`,
		`node_sockstat_TCP_mem_bytes 12288`,
		`node_network_receive_bytes_total{device="lo"} 9.007199254740992e+15`,
		`tachograph_network_interface_in_bytes_total{interface="a\"b\\c"} 1`,
		`tachograph_gpu_util_ratio{gpu="0"} 0.37`,
		`# TYPE tachograph_disk_dev_scheduler info`,
		`tachograph_disk_dev_scheduler_info{device="sda",value="mq-\"a\"-x"} 1`,
		`tachograph_power_battery_capacity_max_coulombs 18000`,
		`tachograph_thermal_cpu_die_celsius 41.5`,
		`tachograph_sample_age_seconds{class="fast"} 1`,
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("there is no %s", line)
		}
	}
	if !strings.HasSuffix(text, "# EOF\n") {
		t.Error("it does not end as it should")
	}
	for _, word := range []string{`gpu="1"`, "proc_memory"} {
		if strings.Contains(text, word) {
			t.Errorf("there is %s", word)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
}

func TestFormats(t *testing.T) {
	state := stateOf(t, described(t, machine))
	for _, c := range []struct {
		accept string
		format format
	}{
		{"", plainText}, {"text/plain", plainText}, {"*/*", plainText},
		{"application/openmetrics-text;version=1.0.0;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.1", openMetrics},
		{"application/openmetrics-text; version=2.0.0, text/plain;q=0.1", plainText},
		{"application/openmetrics-text;q=0.2,text/plain;q=0.9", plainText},
		{"application/openmetrics-text;q=x", plainText},
		{"text/html", plainText},
	} {
		answer, text := scraped(t, state, shortly, c.accept, "")
		if got := answer.Header.Get("Content-Type"); got != contentTypes[c.format] || strings.Contains(text, "# EOF") != (c.format == openMetrics) {
			t.Errorf("%s: %s", c.accept, got)
		}
	}
}

func TestSelected(t *testing.T) {
	state := stateOf(t, described(t, machine))
	names := regexp.MustCompile(`(?m)^# TYPE (\S+)`)
	for _, c := range []struct{ query, want string }{
		{"name[]=node_load*", "node_load1 node_load5"},
		{"name%5B%5D=node_load1&name[]=nothing", "node_load1"},
		{"collect[]=meminfo", "node_memory_MemFree_bytes node_memory_MemTotal_bytes"},
		{"collect[]=mem", "tachograph_mem_physmem_bytes tachograph_mem_util_free_bytes"},
		{"collect[]=process", "tachograph_proc_memory_rss_bytes"},
		{"name[]=tachograph_proc_*", "tachograph_proc_memory_rss_bytes"},
		{"name[]=tachograph_p*", "tachograph_power_battery_capacity_max_coulombs"},
	} {
		answer, text := scraped(t, state, shortly, "", c.query)
		var got []string
		for _, m := range names.FindAllStringSubmatch(text, -1) {
			if m[1] != "tachograph_host_info" && m[1] != "tachograph_sample_age_seconds" {
				got = append(got, m[1])
			}
		}
		if answer.StatusCode != http.StatusOK || strings.Join(got, " ") != c.want {
			t.Errorf("%s: %d, %s, want %s", c.query, answer.StatusCode, got, c.want)
		}
	}
	for _, query := range []string{"name[]=%5B", "timestamps=maybe", "what=ever", "name[]=" + strings.Repeat("x", 300), strings.Repeat("name[]=x&", 600), strings.Repeat("x", 1<<15), "a=%zz"} {
		if answer, text := scraped(t, state, shortly, "", query); answer.StatusCode != http.StatusBadRequest || strings.Count(text, "\n") != 1 {
			t.Errorf("%.40s: %d, %s", query, answer.StatusCode, text)
		}
	}
	_, text := scraped(t, state, shortly, "", "name[]=node_load1&timestamps=true")
	if !strings.Contains(text, "node_load1 1.5 1763607612000") && !strings.Contains(text, "node_load1 1.5 1795143612000") {
		t.Errorf("no time: %s", text)
	}
}

// What was read before the recording ended does not stand for the present.
func TestOldValuesAreNotPresent(t *testing.T) {
	state := stateOf(t, described(t, machine))
	_, text := scraped(t, state, shortly.Add(30*time.Minute), "", "")
	if !strings.Contains(text, `tachograph_sample_age_seconds{class="fast"} 1801`) || strings.Contains(text, "node_") || strings.Contains(text, "tachograph_mem") {
		t.Errorf("half an hour later:\n%s", text)
	}
}

func TestNothingIsRecorded(t *testing.T) {
	server := httptest.NewServer(Handler(Options{Present: func(context.Context) (*live.State, error) { return nil, errors.New("no \x1b archive") }}))
	defer server.Close()
	answer, err := server.Client().Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	b, _ := io.ReadAll(answer.Body)
	if answer.StatusCode != http.StatusServiceUnavailable || strings.ContainsRune(string(b), 0x1b) {
		t.Errorf("%d, %q", answer.StatusCode, b)
	}
}

// Others read the page: promtool finds nothing to say about our names, and the
// client library of Python takes the rest as well.
func TestOthersReadThePage(t *testing.T) {
	parts, err := querytest.Load("../../../testdata/mac.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range append(parts, described(t, machine), everything(catalog.Linux, "linux"), everything(catalog.Darwin, "macos")) {
		state := stateOf(t, p)
		now := p.Ticks[len(p.Ticks)-1].At.Time().Add(time.Second)
		_, own := scraped(t, state, now, "text/plain", "collect[]=tachograph&collect[]=process")
		if _, err := exec.LookPath("promtool"); err == nil {
			c := exec.Command("promtool", "check", "metrics")
			c.Stdin = strings.NewReader(own)
			if out, err := c.CombinedOutput(); err != nil || len(out) > 0 {
				t.Errorf("promtool: %v\n%s", err, out)
			}
		}
		_, all := scraped(t, state, now, "application/openmetrics-text", "collect[]=tachograph&collect[]=process&collect[]=node")
		readByPython(t, all)
	}
}

// everything is a machine that has every metric of a platform, with one instance of
// each domain.
func everything(of catalog.Platform, platform string) *querytest.Part {
	p := &querytest.Part{}
	p.Info.Host.Platform = platform
	at := metric.Stamp{Wall: shortly.UnixNano(), Cont: 1, Awake: 1}
	tick := &metric.Tick{At: at}
	domains := make(map[string]*metric.Instance)
	for _, d := range catalog.For(of) {
		d.Class = metric.Fast
		rows := []*metric.Instance{nil}
		if d.Indom != metric.NoIndom {
			if domains[d.Indom] == nil {
				domains[d.Indom] = &metric.Instance{Key: d.Indom + "1", Name: d.Indom + "1"}
			}
			rows[0] = domains[d.Indom]
		}
		tick.Blocks = append(tick.Blocks, &metric.Block{Group: &metric.Group{Name: d.Name, Indom: d.Indom, Metrics: []*metric.Desc{d}}, At: at,
			Rows: rows, Cols: []metric.Column{{Bits: []uint64{0}, Words: []string{"text"}}}})
	}
	p.Ticks = []*metric.Tick{tick}
	return p
}

func readByPython(t *testing.T, text string) {
	t.Helper()
	python := ""
	for _, one := range []string{"python3", "/usr/bin/python3"} { // a distribution's packages are for its own
		if exec.Command(one, "-c", "import prometheus_client.openmetrics.parser").Run() == nil {
			python = one
		}
	}
	if python == "" {
		t.Log("python3-prometheus-client is not installed")
		return
	}
	path := filepath.Join(t.TempDir(), "page")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(python, "-c", "import sys\nfrom prometheus_client.openmetrics.parser import text_fd_to_metric_families as f\nprint(sum(len(m.samples) for m in f(open(sys.argv[1], encoding='utf-8'))))", path)
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("python: %v\n%s", err, out)
	}
	samples := 0
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "#") {
			samples++
		}
	}
	if got := strings.TrimSpace(string(out)); got != itoa(samples) {
		t.Errorf("python finds %s samples of %d", got, samples)
	}
}

func itoa(n int) string { return string(appendInt(nil, n)) }

func appendInt(b []byte, n int) []byte {
	if n >= 10 {
		b = appendInt(b, n/10)
	}
	return append(b, byte('0'+n%10))
}

// Whatever names and words a stranger's archive has, a page has a sample a line.
func FuzzPage(f *testing.F) {
	f.Add("a.b", "h\nelp", "in\"st\\an\x00ce", "dom ain", "w\xffrd")
	f.Fuzz(func(t *testing.T, name, help, instance, domain, word string) {
		d := &metric.Desc{Name: name, Help: help, Indom: domain, Type: metric.String, Sem: metric.Discrete, Class: metric.Fast}
		if d.Indom == metric.NoIndom {
			d.Indom = "x"
		}
		p := &querytest.Part{}
		p.Info.Intervals[metric.Fast] = time.Second
		at := metric.Stamp{Wall: shortly.UnixNano(), Cont: 1, Awake: 1}
		in := &metric.Instance{Key: "k", Name: instance}
		p.Ticks = []*metric.Tick{{Class: metric.Fast, At: at, Blocks: []*metric.Block{{Group: &metric.Group{Name: "g", Indom: d.Indom, Metrics: []*metric.Desc{d}}, At: at,
			Rows: []*metric.Instance{in, {Key: "l", Name: instance}}, Cols: []metric.Column{{Bits: []uint64{0, 0}, Words: []string{word}}}}}}}
		for _, accept := range []string{"", "application/openmetrics-text"} {
			_, text := scraped(t, stateOf(t, p), shortly, accept, "collect[]=tachograph&collect[]=process")
			for line := range strings.Lines(text) {
				if !sampleLine.MatchString(line) {
					t.Fatalf("%q", line)
				}
			}
		}
	})
}

var sampleLine = regexp.MustCompile(`^(# (HELP|TYPE|UNIT) [a-z_:][a-z0-9_:]*( .*)?|# EOF|[a-z_:][a-z0-9_:]*(\{([a-zA-Z_][a-zA-Z0-9_]*="([^"\\\n]|\\["\\n])*",?)*\})? \S+)\n$`)

// A scrape of all that Linux has takes less than 20 ms of a processor.
func BenchmarkScrape(b *testing.B) {
	state := stateOf(b, everything(catalog.Linux, "linux"))
	for b.Loop() {
		p := &page{format: openMetrics, now: shortly, state: state, wanted: &wanted{}}
		if err := p.write(); err != nil {
			b.Fatal(err)
		}
	}
}

// What the processes of an owner use together has a series for each owner, and only so many.
func TestOwners(t *testing.T) {
	var text strings.Builder
	text.WriteString("start 2026-11-20T03:00:00Z\nhost web-1 id=7 os=Linux release=6.1 arch=amd64 platform=linux\ninterval process 5s\n" +
		"metric proc.memory.rss u64 instant process process Kbyte\nmetric proc.psinfo.utime u64 counter process process millisec\nmetric proc.psinfo.stime u64 counter process process millisec\n" +
		"instance process 9/1 000009 nobody\n")
	const services = 250
	for i := range services {
		fmt.Fprintf(&text, "instance process %d/1 %06d worker service=w%d.service\ninstance process %d/2 %06d helper service=w%d.service\n", 1000+i, 1000+i, i, 2000+i, 2000+i, i)
	}
	text.WriteString("boot b1 -1h\n")
	for tick := range 3 {
		fmt.Fprintf(&text, "tick process %ds\n  proc.memory.rss[9/1] 77\n  proc.psinfo.utime[9/1] 0\n  proc.psinfo.stime[9/1] 0\n", 5*tick)
		for i := range services {
			fmt.Fprintf(&text, "  proc.memory.rss[%d/1] %d\n  proc.memory.rss[%d/2] 1\n", 1000+i, i, 2000+i)
			fmt.Fprintf(&text, "  proc.psinfo.utime[%d/1] %d\n  proc.psinfo.stime[%d/1] 0\n  proc.psinfo.utime[%d/2] %d\n  proc.psinfo.stime[%d/2] 0\n", 1000+i, 2500*tick, 1000+i, 2000+i, i*tick, 2000+i)
		}
	}
	_, page := scraped(t, stateOf(t, described(t, text.String())), shortly, "application/openmetrics-text", "")
	for _, line := range []string{
		`tachograph_owner_memory_rss_bytes{kind="service",owner="w249.service"} 256000`,
		`tachograph_owner_cpu_util{kind="service",owner="w240.service"} 0.548`,
		`tachograph_owner_processes{kind="service",owner="w199.service"} 2`,
	} {
		if !strings.Contains(page, line+"\n") {
			t.Errorf("there is no %s", line)
		}
	}
	if n := strings.Count(page, "\ntachograph_owner_memory_rss_bytes{"); n != mostShown {
		t.Errorf("%d owners have a series, want %d", n, mostShown)
	}
	if strings.Contains(page, `{kind="service",owner="w49.service"} 51200`) {
		t.Error("an owner that has little has a series")
	}
	if t.Failed() {
		lines := strings.Split(page, "\n")
		t.Log(strings.Join(lines[:min(len(lines), 60)], "\n"))
	}
}
