//go:build linux && amd64

package e2e

import (
	"fmt"
	"math"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"tachograph/sample"
	"tachograph/sample/catalog"
	"tachograph/sample/darwin/darwintest"
)

// reading is a value as replay printed it.
type reading struct {
	at            time.Time
	value, absent string
}

// recorded is everything that the archives hold.
type recorded map[darwintest.Series][]reading

func (s *session) values(patterns ...string) recorded {
	s.t.Helper()
	all := make(recorded)
	for _, r := range s.rows(append([]string{"values"}, patterns...)...) {
		at, err := time.Parse(time.RFC3339Nano, r.text("time"))
		if err != nil {
			s.t.Fatal(err)
		}
		x := reading{at: at, value: r.text("value")}
		if r["value"] == nil {
			x.absent = r.text("reason")
		}
		k := darwintest.Series{Metric: r.text("metric"), Instance: r.text("instance")}
		all[k] = append(all[k], x)
	}
	return all
}

// same reports whether two printed values are one; JSON and the oracle may
// print a float differently.
func same(got, want string) bool {
	if got == want {
		return true
	}
	if !strings.ContainsAny(got+want, ".eE") {
		return false
	}
	a, err1 := strconv.ParseFloat(got, 64)
	b, err2 := strconv.ParseFloat(want, 64)
	return err1 == nil && err2 == nil && a == b
}

// aboutTheRecorder are the metrics whose values are not the machine's.
func aboutTheRecorder(metric string) bool {
	return strings.HasPrefix(metric, "process.") || strings.HasPrefix(metric, "recorder.") || metric == "platform" || metric == "sample_window_ms"
}

// complaints collects what is wrong, and says only the beginning of it.
type complaints struct {
	list []string
}

func (c *complaints) add(format string, args ...any) {
	c.list = append(c.list, fmt.Sprintf(format, args...))
}

func (c *complaints) tell(t *testing.T) {
	t.Helper()
	slices.Sort(c.list)
	for i, text := range c.list {
		if i == 40 {
			t.Errorf("and %d more", len(c.list)-i)
			return
		}
		t.Error(text)
	}
}

// everything has all classes read, the threads of one process as well.
const everything = `
[process]
args = "full"
threads = ["A process*"]
[classes]
constrained = "10s"
polled = "5s"
costly = "5s"
[budget]
max_cpu = "off"
max_memory = "off"
`

// TestFrozen records machines on which time stands still, and expects every
// value of every metric, at every tick, to be what the scenario defines.
func TestFrozen(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"whole-laptop", "whole-intel", "mac-mini", "lacking", "wraps"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := mac(t, name+".scn")
			s.config = everything
			s.speed = pace(20)
			s.record("25s")
			world, err := darwintest.Load(s.scenario, s.p.Shipped)
			if err != nil {
				t.Fatal(err)
			}
			judgeFrozen(t, s, world.Expect(), world.ExpectProcesses(true))
		})
	}
}

func judgeFrozen(t *testing.T, s *session, system, processes *darwintest.Expectation) {
	t.Helper()
	got := s.values("*")
	why := unsupported(s)
	var wrong complaints
	checked := make(map[string]bool)
	values := 0
	for _, want := range []*darwintest.Expectation{system, processes} {
		for series, v := range want.Values {
			readings := got[series]
			if len(readings) == 0 {
				if why[series.Metric] == "" {
					wrong.add("%s[%s] was not recorded; the scenario says %s", series.Metric, series.Instance, v)
				}
				continue
			}
			checked[series.Metric] = true
			for i, r := range readings {
				values++
				// Where nothing moves, a second answer looks like a repeated one.
				if !same(r.value, v) && (i == 0 || r.absent != "stale") {
					wrong.add("%s[%s] = %q (%s); the scenario says %q", series.Metric, series.Instance, r.value, r.absent, v)
					break
				}
			}
		}
		for metric := range want.Lacking {
			if text, known := why[metric]; known && text == "" {
				wrong.add("%s is lacking in the scenario, but not marked so", metric)
			}
		}
	}
	recorder := processName(got, "recorder")
	for series, readings := range got {
		_, a := system.Values[series]
		_, b := processes.Values[series]
		if a || b || system.Free[series.Metric] || processes.Free[series.Metric] || aboutTheRecorder(series.Metric) ||
			series.Instance == recorder || isComputed(series.Metric) {
			continue
		}
		for _, r := range readings {
			if r.absent == "" {
				wrong.add("%s[%s] = %q; the scenario does not have it", series.Metric, series.Instance, r.value)
				break
			}
		}
	}
	judgeComputed(&wrong, got, system)
	judgeRest(&wrong, got)
	wrong.tell(t)
	account(t, s, got, checked, why, values)
}

// processName finds the instance of a process.
func processName(got recorded, name string) string {
	for series := range got {
		if series.Metric == "proc.psinfo.pid" && strings.HasSuffix(series.Instance, " "+name) {
			return series.Instance
		}
	}
	return ""
}

// unsupported tells for every metric of the archive's catalogue why this Mac
// does not have it; "" for those that it has.
func unsupported(s *session) map[string]string {
	why := make(map[string]string)
	for _, r := range s.rows("metrics", "--all") {
		why[r.text("metric")] = r.text("unsupported")
	}
	return why
}

func isComputed(metric string) bool {
	d := catalog.Find(catalog.Darwin, metric)
	return d != nil && d.Formula != ""
}

// judgeComputed works the computed metrics out from the scenario's values.
func judgeComputed(wrong *complaints, got recorded, system *darwintest.Expectation) {
	in := func(metric, instance string) float64 {
		v, err := strconv.ParseFloat(system.Values[darwintest.Series{Metric: metric, Instance: instance}], 64)
		if err != nil {
			return math.NaN()
		}
		return v
	}
	share := func(a, b float64) float64 {
		if b == 0 {
			return 0
		}
		return a / b
	}
	v := func(metric string) float64 { return in(metric, "") }
	for metric, want := range map[string]float64{
		"computed.compression_ratio":       share(v("vm.compressor_input_bytes"), v("vm.compressor_compressed_bytes")),
		"computed.compressor_pressure_pct": share(100*v("vm.compressor_bytes_used"), v("vm.compressor_pool_size")),
		"computed.memory_utilization_pct":  share(100*(v("vm.pages")-v("vm.page_free_count")), v("vm.pages")),
		"computed.swap_utilization_pct":    share(100*v("swap.used"), v("swap.length")),
		"computed.total_connections":       v("net.inet.tcp.pcbcount") + v("net.inet.udp.pcbcount") + v("net.local.pcbcount"),
		"computed.vfs_reclamation_pct":     share(100*v("vfs.vnstats.num_recycledvnodes"), v("vfs.vnstats.num_vnodes")),
	} {
		readings := got[darwintest.Series{Metric: metric}]
		if len(readings) == 0 && !math.IsNaN(want) {
			wrong.add("%s has no values; the scenario makes it %v", metric, want)
		}
		for _, r := range readings {
			x, err := strconv.ParseFloat(r.value, 64)
			if math.IsNaN(want) && r.absent == "" || !math.IsNaN(want) && (err != nil || math.Abs(x-want) > 1e-12*math.Abs(want)) {
				wrong.add("%s = %q (%s); the scenario makes it %v", metric, r.value, r.absent, want)
				break
			}
		}
	}
}

// judgeRest looks at what no scenario defines: names that this machine has, and
// what the recorder says about itself.
func judgeRest(wrong *complaints, got recorded) {
	for series, readings := range got {
		id, isName := strings.CutSuffix(series.Metric, "_nm")
		if !isName {
			continue
		}
		number := got[darwintest.Series{Metric: id, Instance: series.Instance}][0].value
		want := number
		if u, err := user.LookupId(number); err == nil && !strings.HasSuffix(id, "gid") {
			want = u.Username
		}
		if g, err := user.LookupGroupId(number); err == nil && strings.HasSuffix(id, "gid") {
			want = g.Name
		}
		for _, r := range readings {
			if r.value != want {
				wrong.add("%s[%s] = %q; %s is called %q here", series.Metric, series.Instance, r.value, number, want)
			}
		}
	}
	for metric, want := range map[string]string{"platform": "macos", "sample_window_ms": "1000", "pmda.version": sample.Version()} {
		if r := got[darwintest.Series{Metric: metric}]; len(r) == 0 || r[0].value != want {
			wrong.add("%s is %v, want %q", metric, r, want)
		}
	}
	boot := got[darwintest.Series{Metric: "kern.boottime"}]
	if len(boot) == 0 {
		wrong.add("kern.boottime was not recorded")
		return
	}
	micros, _ := strconv.ParseInt(boot[0].value, 10, 64)
	for _, metric := range []string{"kernel.all.uptime", "computed.uptime_seconds"} {
		readings := got[darwintest.Series{Metric: metric}]
		for _, r := range readings {
			if up, err := strconv.ParseInt(r.value, 10, 64); err != nil || math.Abs(float64(up)-r.at.Sub(time.UnixMicro(micros)).Seconds()) > 1.1 {
				wrong.add("%s = %q at %v, booted at %v", metric, r.value, r.at, time.UnixMicro(micros))
			}
		}
		if len(readings) == 0 {
			wrong.add("%s has no values", metric)
		}
	}
	for _, metric := range []string{
		"process.resident_size", "process.virtual_size", "process.user_time_us", "process.uptime_secs", "process.rss_kb", "process.vm_size_kb",
		"recorder.memory.resident", "recorder.values", "recorder.goroutines",
	} {
		readings := got[darwintest.Series{Metric: metric}]
		if n := len(readings); n < 2 || readings[n-1].value == "" || readings[n-1].value == "0" {
			wrong.add("%s: %v", metric, readings)
		}
	}
}

// account says what the check of a scenario came to: which rows of the
// catalogue were held against it, and which could not be.
func account(t *testing.T, s *session, got recorded, checked map[string]bool, why map[string]string, values int) {
	t.Helper()
	metrics := make(map[string]bool)
	for series := range got {
		metrics[series.Metric] = true
	}
	var lacking, unjudged []string
	computed, sysctls := 0, 0
	for _, d := range catalog.For(catalog.Darwin) {
		text, known := why[d.Name]
		switch {
		case !known:
			t.Errorf("%s is in no archive's catalogue", d.Name)
		case checked[d.Name]:
		case d.Formula != "":
			computed++
		case text != "":
			lacking = append(lacking, d.Name)
		default:
			unjudged = append(unjudged, d.Name)
		}
	}
	for name := range checked {
		if catalog.Find(catalog.Darwin, name) == nil {
			sysctls++
		}
	}
	slices.Sort(unjudged)
	slices.Sort(lacking)
	t.Logf("%d values of %d metrics are what the scenario defines, %d of them sysctls outside the catalogue; %d computed; not on this Mac, with a reason: %d",
		values, len(checked), sysctls, computed, len(lacking))
	for _, name := range lacking {
		t.Logf("not on this Mac: %s: %s", name, why[name])
	}
	t.Logf("recorded, but not the scenario's to define: %s", strings.Join(unjudged, " "))
}
