package remote

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"tachograph/cmd/internal/peertest"
	"tachograph/cmd/replay/internal/naming"
	"tachograph/sample/metric"
	"tachograph/store"
	tquery "tachograph/store/query"
	"tachograph/store/recording"
	"tachograph/store/storetest/proof"
	"tachograph/store/storetest/recorded"
	"tachograph/testdata/built"
	"tachograph/testdata/seed"
)

// A peer is a receiver that others wrote, which can be killed and comes back with what
// it has kept.
type peer struct {
	*peertest.Peer
	t       *testing.T
	address string
	args    []string
	ready   string
}

func startPeer(t *testing.T, ready string, args func(dir, address string) []string) *peer {
	t.Helper()
	at := peertest.Addresses(t, 1)[0]
	p := &peer{t: t, address: "http://" + at, ready: ready, args: args(t.TempDir(), at)}
	p.start()
	return p
}

func (p *peer) start() {
	p.t.Helper()
	p.Peer = peertest.Start(p.t, p.address+p.ready, p.args[0], p.args[1:]...)
}

// kill ends it as it is; VictoriaMetrics is told to end, as it acknowledges what it
// has in memory only.
func (p *peer) kill() {
	if p.args[0] == "victoria-metrics" {
		p.End(syscall.SIGTERM)
		return
	}
	p.End(os.Kill)
}

func prometheus(t *testing.T, config string) *peer {
	return startPeer(t, "/-/ready", func(dir, address string) []string {
		file := filepath.Join(dir, "prometheus.yml")
		if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
			t.Fatal(err)
		}
		return []string{"prometheus", "--config.file=" + file, "--storage.tsdb.path=" + filepath.Join(dir, "data"), "--web.listen-address=" + address,
			"--web.enable-remote-write-receiver", "--log.level=error"}
	})
}

func victoria(t *testing.T) *peer {
	return startPeer(t, "/health", func(dir, address string) []string {
		return []string{"victoria-metrics", "-storageDataPath=" + dir, "-httpListenAddr=" + address, "-retentionPeriod=100y", "-dedup.minScrapeInterval=1ms", "-loggerLevel=ERROR"}
	})
}

// A road leads to a peer, and is not a good one.
type road struct {
	t     *testing.T
	to    string
	mu    sync.Mutex
	rng   *rand.Rand
	calm  bool
	kill  func() // who pushes
	did   map[string]int
	moved chan struct{} // a request came
}

func (r *road) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	body, err := io.ReadAll(q.Body)
	if err != nil {
		return // it was killed while it sent
	}
	r.mu.Lock()
	what, kill := r.rng.IntN(12), r.kill
	if r.calm {
		what = -1
	}
	names := []string{"killed before", "killed after", "no answer", "half an answer", "429", "503", "500 although taken", "killed amid"}
	if what >= 0 && what < len(names) {
		r.did[names[what]]++
	}
	r.mu.Unlock()
	select {
	case r.moved <- struct{}{}:
	default:
	}
	if what == 7 { // while the answer comes
		go kill()
	}
	forward := func() (int, []byte) {
		n, err := http.NewRequest(q.Method, r.to+q.URL.Path, strings.NewReader(string(body)))
		if err != nil {
			r.t.Error(err)
			return 500, nil
		}
		n.Header = q.Header.Clone()
		answer, err := http.DefaultClient.Do(n)
		if err != nil {
			return http.StatusBadGateway, nil
		}
		defer answer.Body.Close()
		text, _ := io.ReadAll(answer.Body)
		return answer.StatusCode, text
	}
	switch what {
	case 0:
		kill()
		return
	case 4:
		w.Header().Set("Retry-After", "0.01")
		http.Error(w, "slowly", http.StatusTooManyRequests)
		return
	case 5:
		http.Error(w, "not now", http.StatusServiceUnavailable)
		return
	}
	status, text := forward()
	switch what {
	case 1:
		kill()
	case 2, 3:
		if c, _, err := w.(http.Hijacker).Hijack(); err == nil {
			if what == 3 {
				fmt.Fprint(c, "HTTP/1.1 204 No Content\r\nContent-Le")
			}
			c.Close()
		}
	case 6:
		http.Error(w, "it went wrong", http.StatusInternalServerError)
	default:
		w.WriteHeader(status)
		_, _ = w.Write(text)
	}
}

// A tape is a recording that goes on item by item.
type tape struct {
	t     *testing.T
	dir   string
	list  []proof.Item
	next  int
	clock *proof.Clock
	w     *recording.Writer
}

func newTape(t *testing.T, seed uint64, n int) *tape {
	p := &tape{t: t, dir: t.TempDir(), list: proof.Items(seed, n)}
	p.clock = proof.NewClock(p.list[0].At())
	w, err := recording.Create(recorded.ProofOptions(p.dir, seed, p.clock.Now))
	if err != nil {
		t.Fatal(err)
	}
	p.w = w
	t.Cleanup(func() { _ = w.Close() })
	return p
}

// record records the next n items, and begins another archive now and then.
func (p *tape) record(n int) {
	p.t.Helper()
	for ; n > 0 && p.next < len(p.list); n-- {
		it := p.list[p.next]
		p.clock.Set(it.At())
		if err := it.Append(p.w); err != nil {
			p.t.Fatal(err)
		}
		if p.next++; p.next%700 == 0 {
			if _, err := p.w.Rotate("test"); err != nil {
				p.t.Fatal(err)
			}
		}
	}
}

// Whatever happens on the way, and wherever replay push is killed while a recorder
// writes, a receiver has each value once, and it is the one that was recorded.
func TestKilled(t *testing.T) {
	const window = "storage:\n  tsdb:\n    out_of_order_time_window: 2h\n"
	for _, c := range []struct {
		name, program string
		kills         int
		start         func(t *testing.T) *peer
		samples       func(t *testing.T, p *peer, name string) map[string]map[int64]string
	}{
		{"prometheus", "prometheus", 35, func(t *testing.T) *peer { return prometheus(t, "") }, prometheusSamples},
		{"prometheus with a window", "prometheus", 30, func(t *testing.T) *peer { return prometheus(t, window) }, prometheusSamples},
		{"victoria-metrics", "victoria-metrics", 35, victoria, victoriaSamples},
	} {
		t.Run(c.name, func(t *testing.T) {
			peertest.Need(t, c.program)
			t.Parallel()
			replay := built.Program(t, "replay")
			seed := seed.Of(t, 1)
			rng := rand.New(rand.NewPCG(seed, 2))
			p := c.start(t)
			tape := newTape(t, seed%1000, 60*c.kills)
			r := &road{t: t, to: p.address, rng: rng, did: make(map[string]int), moved: make(chan struct{}, 1)}
			front := httptest.NewServer(r)
			defer front.Close()
			state := filepath.Join(t.TempDir(), "x.push")
			args := func(more ...string) []string {
				return append([]string{"push", "--archive", tape.dir, "--to", front.URL + "/api/v1/write", "--state", state, "--every", "30ms", "--batch", "150"}, more...)
			}
			tape.record(20)
			for kill := range c.kills {
				cmd := exec.Command(replay, args("--follow")...)
				stderr := &strings.Builder{}
				cmd.Stderr = stderr
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				r.mu.Lock()
				r.kill = func() { _ = cmd.Process.Kill() }
				lucky := time.Duration(rng.IntN(400)) * time.Millisecond
				r.mu.Unlock()
				ended := make(chan error, 1)
				go func() { ended <- cmd.Wait() }()
				timer := time.After(lucky + 100*time.Millisecond)
				for alive := true; alive; {
					select {
					case err := <-ended:
						var exit *exec.ExitError
						if !errors.As(err, &exit) || exit.Exited() {
							t.Fatalf("it ended by itself: %v: %s", err, stderr)
						}
						alive = false
					case <-r.moved:
						tape.record(15)
					case <-timer:
						tape.record(15)
						_ = cmd.Process.Kill()
					}
				}
				if kill%15 == 14 { // the receiver has its turn
					p.kill()
					p.start()
				}
			}
			r.mu.Lock()
			r.calm = true
			r.mu.Unlock()
			tape.record(len(tape.list))
			out, err := exec.Command(replay, args()...).CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			t.Logf("%d items, %v: %s", tape.next, r.did, strings.TrimSpace(string(out)))
			compare(t, tape.dir, c.program == "victoria-metrics", func(name string) map[string]map[int64]string { return c.samples(t, p, name) })
		})
	}
}

// compare compares what a receiver has of each metric with what replay values says.
func compare(t *testing.T, dir string, loose bool, samples func(name string) map[string]map[int64]string) {
	t.Helper()
	r, err := store.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	total := 0
	for _, d := range r.Metrics() {
		if naming.PerProcess(d.Indom) {
			continue
		}
		f := naming.Own(d)
		want := make(map[string]map[int64]string)
		for s, err := range tquery.ReadTarget(r, tquery.Target{Metric: d}, tquery.Request{Mode: tquery.Raw}) {
			if err != nil {
				t.Fatal(err)
			}
			for i, wall := range s.Wall {
				v := s.Value(i)
				if v.Miss != metric.Present {
					continue
				}
				instance := ""
				if s.Instance != nil {
					instance = s.Instance.Name
				}
				x := 1.0
				if d.Type == metric.String {
					instance += "/" + v.Str
				} else {
					x = f.Sources[0].Scale(d).Of(naming.Number(v))
				}
				if loose && x != x {
					continue // to VictoriaMetrics what is no number is none
				}
				if want[instance] == nil {
					want[instance] = make(map[int64]string)
				}
				want[instance][wall/1e6] = fmt.Sprint(x)
				total++
			}
		}
		got := samples(f.Name)
		for instance, list := range want {
			within := 0.0
			for _, x := range list {
				if y, err := strconv.ParseFloat(x, 64); loose && err == nil && !math.IsInf(y, 0) {
					within = max(within, math.Abs(y)*4e-15) // its powers of ten are rounded as well
				}
			}
			for at, x := range list {
				if !same(got[instance][at], x, within) {
					t.Fatalf("%s %q at %d is %q, want %q; there are %d of %d", f.Name, instance, at, got[instance][at], x, len(got[instance]), len(list))
				}
			}
			if len(got[instance]) != len(list) {
				t.Fatalf("%s %q has %d samples, want %d", f.Name, instance, len(got[instance]), len(list))
			}
		}
		if len(got) != len(want) {
			t.Fatalf("%s has %d series, want %d", f.Name, len(got), len(want))
		}
	}
	if total == 0 {
		t.Fatal("nothing was compared")
	}
	t.Logf("%d values are the same", total)
}

// same compares numbers; within what a receiver gives away that keeps the values of a
// series as decimals of one exponent.
func same(got, want string, within float64) bool {
	if got == want {
		return true
	}
	x, err := strconv.ParseFloat(got, 64)
	y, wrong := strconv.ParseFloat(want, 64)
	return err == nil && wrong == nil && math.Abs(x-y) <= within
}

// instanceOf is how compare calls a series.
func instanceOf(labels map[string]string) string {
	name := labels["disk"] + labels["device"]
	if value, ok := labels["value"]; ok || strings.HasSuffix(labels["__name__"], "_info") {
		name += "/" + value
	}
	return name
}

func prometheusSamples(t *testing.T, p *peer, name string) map[string]map[int64]string {
	t.Helper()
	query := url.Values{"query": {`{__name__="` + name + `"}[48h]`}, "time": {strconv.FormatInt(1749988800+36*3600, 10)}}
	answer, err := http.PostForm(p.address+"/api/v1/query", query)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var result struct {
		Data struct {
			Result []struct {
				Metric map[string]string
				Values [][2]any
			}
		}
	}
	d := json.NewDecoder(answer.Body)
	d.UseNumber()
	if err := d.Decode(&result); err != nil {
		t.Fatal(err)
	}
	list := make(map[string]map[int64]string)
	for _, s := range result.Data.Result {
		values := make(map[int64]string)
		for _, v := range s.Values {
			seconds, err := v[0].(json.Number).Float64()
			if err != nil {
				t.Fatal(err)
			}
			x, err := strconv.ParseFloat(v[1].(string), 64)
			if err != nil {
				t.Fatal(err)
			}
			values[int64(math.Round(seconds*1000))] = fmt.Sprint(x)
		}
		list[instanceOf(s.Metric)] = values
	}
	return list
}

func victoriaSamples(t *testing.T, p *peer, name string) map[string]map[int64]string {
	t.Helper()
	if answer, err := http.Get(p.address + "/internal/force_flush"); err == nil {
		answer.Body.Close()
	}
	answer, err := http.PostForm(p.address+"/api/v1/export", url.Values{"match[]": {`{__name__="` + name + `"}`}, "reduce_mem_usage": {"0"}})
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	list := make(map[string]map[int64]string)
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var s struct {
			Metric     map[string]string
			Values     []any
			Timestamps []int64
		}
		if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
			t.Fatal(err)
		}
		values := make(map[int64]string)
		for i, v := range s.Values {
			if x, ok := v.(float64); ok { // else it is a mark
				if _, twice := values[s.Timestamps[i]]; twice {
					t.Fatalf("%s has two samples at %d", name, s.Timestamps[i])
				}
				values[s.Timestamps[i]] = fmt.Sprint(x)
			}
		}
		list[instanceOf(s.Metric)] = values
	}
	return list
}
