package pcplive

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tachograph/cmd/internal/pcp/pcparchive/pcptest"
	"tachograph/cmd/internal/pcp/pcpserve"
	"tachograph/cmd/internal/pcp/pmcdtest"
	"tachograph/cmd/internal/peertest"
	"tachograph/cmd/replay/internal/serve"
	"tachograph/cmd/replay/internal/serve/catalogue"
	"tachograph/cmd/replay/internal/serve/live"
	"tachograph/cmd/replay/internal/serve/selection"
	"tachograph/sample/catalog"
	"tachograph/sample/metric"
	"tachograph/store/archive"
	"tachograph/store/follow"
	wait "tachograph/testdata/patience"
)

// A recorder follows itself: it reads everything that a platform has, four times a
// second.
type recorder struct {
	info   archive.Info
	groups map[metric.Class][]*metric.Group
	rows   map[string][]*metric.Instance
	began  time.Time
	queue  []archive.Item
	told   bool
	last   time.Time
	late   atomic.Int64 // the longest that two readings were apart, in nanoseconds
}

const cycle = 250 * time.Millisecond

func newRecorder(p catalog.Platform, platform, boot string) (*recorder, *catalogue.Known) {
	r := &recorder{groups: make(map[metric.Class][]*metric.Group), rows: map[string][]*metric.Instance{"": {nil}}, began: time.Now()}
	r.info = archive.Info{ID: "1", BootID: boot, TimeZone: "Europe/Berlin", Recorder: "recorder 1", To: r.began.UnixNano(),
		Host: metric.Host{ID: "0123456789abcdef", Name: "tacho-" + platform, OS: "X", Platform: platform}}
	type id struct {
		class metric.Class
		indom string
	}
	groups := make(map[id]*metric.Group)
	list := catalog.For(p)
	for _, d := range list {
		r.info.Intervals[d.Class] = cycle
		if d.Unsupported != "" || d.Formula != "" {
			continue
		}
		k := id{d.Class, d.Indom}
		if groups[k] == nil {
			groups[k] = &metric.Group{Name: d.Indom, Indom: d.Indom}
			r.groups[d.Class] = append(r.groups[d.Class], groups[k])
		}
		groups[k].Metrics = append(groups[k].Metrics, d)
		if r.rows[d.Indom] == nil {
			for n := 1; n <= 3; n++ {
				name := fmt.Sprintf("%s%d", d.Indom, n)
				if metric.PerBoot(d.Indom) {
					name = fmt.Sprintf("%06d %s", n, d.Indom)
				}
				r.rows[d.Indom] = append(r.rows[d.Indom], &metric.Instance{ID: uint64(n), Key: fmt.Sprint(n), Name: name,
					Labels: []metric.Label{{Name: "pid", Value: fmt.Sprint(n)}, {Name: "tid", Value: fmt.Sprint(n)}}})
			}
		}
	}
	return r, &catalogue.Known{Catalogue: selection.New(&r.info, list), Info: &r.info}
}

// read is what is read at a time: counters gain a thousand a second.
func (r *recorder) read(at time.Time) {
	since := at.Sub(r.began)
	if !r.last.IsZero() {
		r.late.Store(max(r.late.Load(), int64(at.Sub(r.last))))
	}
	r.last = at
	stamp := metric.Stamp{Wall: at.UnixNano(), Awake: int64(time.Hour + since), Cont: int64(time.Hour + since)}
	for _, c := range slices.Sorted(maps.Keys(r.groups)) {
		tick := &metric.Tick{Class: c, At: stamp}
		for _, g := range r.groups[c] {
			b := &metric.Block{Group: g, At: stamp, Rows: r.rows[g.Indom], Cols: make([]metric.Column, len(g.Metrics))}
			for i, d := range g.Metrics {
				for n := range b.Rows {
					v := metric.Value{Type: d.Type, Bits: uint64(n + 1)}
					switch {
					case d.Type == metric.String:
						v = metric.Value{Type: d.Type, Str: "of " + d.Name}
					case d.Type.Float():
						v.Bits = 0
					case d.Sem == metric.Counter:
						v.Bits = uint64(since.Milliseconds())
					}
					b.Cols[i].Push(v)
				}
			}
			tick.Blocks = append(tick.Blocks, b)
		}
		r.queue = append(r.queue, archive.Item{Archive: &r.info, Tick: tick})
	}
	r.queue = append(r.queue, archive.Item{Archive: &r.info, Present: true})
}

func (r *recorder) Next(ctx context.Context) (archive.Item, error) {
	if len(r.queue) == 0 {
		if r.told {
			select {
			case <-ctx.Done():
				return archive.Item{}, context.Cause(ctx)
			case <-time.After(cycle):
			}
		}
		r.told = true
		r.read(time.Now())
	}
	it := r.queue[0]
	r.queue = r.queue[1:]
	return it, nil
}
func (r *recorder) Position() follow.Position { return follow.Position{} }
func (r *recorder) Close() error              { return nil }

// served is where PCP's tools may ask about everything that a platform has.
func served(t testing.TB, listen string, p catalog.Platform, platform, boot string) (door *serve.Door, m *Machine, r *recorder) {
	t.Helper()
	var known *catalogue.Known
	r, known = newRecorder(p, platform, boot)
	hub := live.NewHub(live.Options{Open: func(follow.Position) (live.Follower, error) { return r, nil }})
	ctx, stop := context.WithCancel(context.Background())
	door, err := serve.OpenDoor(serve.DoorOptions{Option: "--pcp", Listen: listen, Use: hub.Use, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	m = New(Options{Hub: hub, Known: func() (*catalogue.Known, error) { return known, nil }, Version: "1"})
	ended := make(chan error, 2)
	go func() { ended <- hub.Run(ctx) }()
	go func() {
		if err := pcpserve.NewServer(m, pcpserve.Options{AllAccess: true}).Clients(ctx, door); err != nil {
			t.Error(err)
		}
		ended <- nil
	}()
	t.Cleanup(func() {
		stop()
		<-ended
		<-ended
	})
	return door, m, r
}

// PCP's own tools are told everything that either platform has, without a pmcd.
func TestToolsAskTheServer(t *testing.T) {
	pmcdtest.Need(t, "pminfo", "pmval", "pmrep", "pmlogger", "pmlogcheck", "pmlogsummary", "pmie")
	t.Setenv("PCP_DERIVED_CONFIG", "") // Debian's are for the instance domains of PCP's Linux agent
	for _, c := range []struct {
		platform catalog.Platform
		name     string
	}{{catalog.Linux, "linux"}, {catalog.Darwin, "macos"}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			door, m, r := served(t, "unix:"+filepath.Join(short(t), "s"), c.platform, c.name, "boot-1")
			host := "local:" + door.Path()
			all := pcptest.Run(t, "pminfo", "-h", host, "-dfmtTl")
			formulas := make(map[string]bool)
			for _, d := range m.Catalog().Descs {
				formulas[d.Name] = d.Formula != ""
			}
			for _, one := range strings.Split(all, "\n\n") {
				name, _, _ := strings.Cut(strings.TrimSpace(one), " ")
				// What is computed of rates needs two readings; events are libpcp's own.
				if (strings.Contains(one, "Error:") || strings.Contains(one, "No value")) && !formulas[name] && !strings.HasPrefix(name, "event.") {
					t.Errorf("pminfo: %s", one)
				}
			}
			names := strings.Fields(pcptest.Run(t, "pminfo", "-h", host))
			if want := len(m.Catalog().Descs); len(names) < want || !slices.Contains(names, "kernel.all.cpu.user") {
				t.Errorf("pminfo lists %d of %d metrics", len(names), want)
			}
			toolsAsk(t, host, "tacho-"+c.name, r)
		})
	}
}

// short is a directory whose path leaves room for the name of a socket.
func short(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "p")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func toolsAsk(t *testing.T, host, name string, r *recorder) {
	t.Helper()
	look := func(what, out string, want ...string) {
		t.Helper()
		for _, w := range want {
			if !regexp.MustCompile(w).MatchString(out) {
				t.Errorf("%s: %q is not in\n%s", what, w, out)
			}
		}
	}
	// A thousand milliseconds a second is one processor; a reading more or less is a quarter,
	// or what a busy machine makes of that.
	out := pcptest.Run(t, "pmval", "-h", host, "-s", "2", "-t", "1", "kernel.all.cpu.user")
	look("pmval", out, "host: +"+name)
	off := max(0.7, 2*time.Duration(r.late.Load()).Seconds())
	if lines := strings.Fields(out); len(lines) == 0 {
		t.Error("pmval says nothing")
	} else if rate, err := strconv.ParseFloat(lines[len(lines)-1], 64); err != nil || rate < 1-off || rate > 1+off {
		t.Errorf("pmval: %q is not within %v of 1 in\n%s", lines[len(lines)-1], off, out)
	}
	look("pmval -z", pcptest.Run(t, "pmval", "-z", "-h", host, "-s", "1", "-i", "5", "kernel.all.uptime"), "uptime|instance")
	look("pmrep", pcptest.Run(t, "pmrep", "-h", host, "-s", "1", "-t", "0.2", "kernel.all.load", "mem.util.free"), "load1")
	dir := t.TempDir()
	base, conf, rule := filepath.Join(dir, "log"), filepath.Join(dir, "conf"), filepath.Join(dir, "rule")
	for file, text := range map[string]string{
		conf: "log mandatory on 250 msec { kernel.all.cpu.user\nkernel.all.load\ndisk.dev.read\nproc.psinfo.utime\nhinv.ncpu }\n",
		rule: "some_inst disk.dev.read > 100 count/sec -> print \"busy %i\";\n",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	logger := exec.Command("pmlogger", "-h", host, "-c", conf, "-T", "2sec", "-V", "3", "-l", base+".out", base)
	logger.Env = append(os.Environ(), "PCP_TMP_DIR="+dir, "PCP_RUN_DIR="+dir)
	if out, err := logger.CombinedOutput(); err != nil {
		said, _ := os.ReadFile(base + ".out")
		t.Fatalf("pmlogger: %v\n%s%s", err, out, said)
	}
	pcptest.Checked(t, base)
	look("pmdumplog", pcptest.Run(t, "pmdumplog", "-l", base), "host "+name)
	look("pmlogsummary", pcptest.Run(t, "pmlogsummary", base), `disk.dev.read \["disk1"\]`, `kernel.all.cpu.user`, "hinv.ncpu")
	said, err := exec.Command("pmie", "-h", host, "-t", "0.5sec", "-T", "4sec", "-v", rule).CombinedOutput() // which says on stderr that it ends
	if err != nil {
		t.Errorf("pmie: %v", err)
	}
	look("pmie", string(said), "busy disk1", "expr_1: true")
}

// What pmproxy serves Grafana with comes from the server, its labels with it.
func TestPmproxyAsksTheServer(t *testing.T) {
	const pmproxy = "/usr/lib/pcp/bin/pmproxy"
	pmcdtest.Need(t, pmproxy)
	door, _, _ := served(t, "tcp:127.0.0.1:0", catalog.Linux, "linux", "boot-1")
	later, _, _ := served(t, "tcp:127.0.0.1:0", catalog.Linux, "linux", "boot-2")
	dir := short(t)
	at := peertest.Addresses(t, 1)[0]
	ip, port, _ := net.SplitHostPort(at)
	conf := filepath.Join(dir, "conf")
	if err := os.WriteFile(conf, []byte("[pmproxy]\npcp.enabled = true\nhttp.enabled = true\nredis.enabled = false\n[discover]\nenabled = false\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(pmproxy, "-f", "-A", "-U", pmcdtest.Me(), "-i", ip, "-p", port, "-s", filepath.Join(dir, "s"), "-l", filepath.Join(dir, "log"), "-c", conf, "-x", filepath.Join(dir, "fatal"))
	c.Env = append(os.Environ(), "PCP_RUN_DIR="+dir, "PCP_LOG_DIR="+dir, "PCP_TMP_DIR="+dir, "PCP_DERIVED_CONFIG=")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		c.Process.Kill()
		c.Wait()
	}()
	wait.Until(t, "pmproxy listens", func() bool {
		try, err := net.Dial("tcp", at)
		if err == nil {
			try.Close()
		}
		return err == nil
	})
	ask := func(what string, into any, parameters ...string) {
		t.Helper()
		q := make(url.Values)
		for i := 0; i < len(parameters); i += 2 {
			q.Set(parameters[i], parameters[i+1])
		}
		answer, err := http.Get("http://" + at + "/pmapi/" + what + "?" + q.Encode())
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		b, err := io.ReadAll(answer.Body)
		if err != nil || json.Unmarshal(b, into) != nil {
			t.Fatalf("%s: %v\n%s", what, err, b)
		}
	}
	var about struct {
		Context int
		Labels  map[string]string
	}
	ask("context", &about, "hostspec", door.Addr().String())
	if about.Context == 0 || about.Labels["hostname"] != "tacho-linux" || about.Labels["machineid"] != "0123456789abcdef" {
		t.Fatalf("%+v", about)
	}
	context := fmt.Sprint(about.Context)
	type description struct {
		Metrics []struct {
			Name, Series, Sem, Units, Type string
			Labels                         map[string]string
		}
	}
	var described, again description
	ask("metric", &described, "context", context, "names", "kernel.all.cpu.user,disk.dev.read")
	if len(described.Metrics) != 2 || described.Metrics[0].Sem != "counter" || described.Metrics[0].Units != "millisec" || described.Metrics[1].Labels["hostname"] != "tacho-linux" {
		t.Fatalf("%+v", described)
	}
	// After a boot they are the same series.
	ask("metric", &again, "hostspec", later.Addr().String(), "names", "kernel.all.cpu.user,disk.dev.read")
	if len(again.Metrics) != 2 || again.Metrics[0].Series != described.Metrics[0].Series || again.Metrics[1].Series != described.Metrics[1].Series {
		t.Errorf("%+v\n%+v", described, again)
	}
	var values struct {
		Values []struct {
			Name      string
			Instances []struct {
				Instance *int
				Value    float64
			}
		}
	}
	ask("fetch", &values, "context", context, "names", "kernel.all.cpu.user,disk.dev.read")
	if len(values.Values) != 2 || len(values.Values[0].Instances) != 1 || len(values.Values[1].Instances) != 3 {
		t.Errorf("%+v", values)
	}
}
