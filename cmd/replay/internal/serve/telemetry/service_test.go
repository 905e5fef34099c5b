package telemetry

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"connectrpc.com/connect"

	"tachograph/api/sysctl"
	"tachograph/api/sysctl/sysctlconnect"
	"tachograph/cmd/replay/internal/serve/budget"
	"tachograph/cmd/replay/internal/serve/selection"
)

func TestGetMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, mac)
		for name, want := range map[string]string{
			"hw.cpufamily":                    "(hw.cpu) int32 -634136515",
			"hw.memsize":                      "(hw.memory) uint64 17179869184",
			"hw.pagesize":                     "(hw.memory) int64 16384",
			"hw.cachesize":                    "(hw.cache) raw 000000000400000000000100000000000000400000000000" + strings.Repeat("00", 56),
			"kern.boottime":                   "(kern.time) timeval sec=1795143600 time=2026-11-20T03:00:00Z usec=21",
			"kern.ostype":                     "(kern.identity) string Darwin",
			"kern.clockrate":                  "(kern.time) clock hz=100 profhz=99 stathz=98 tick=10000",
			"kern.maxvnodes":                  "(kern.limits) int32 263168",
			"vm.loadavg":                      "(vm.misc) loadavg load1=1.50 load15=12.00 load5=0.00",
			"vm.swapusage":                    "(vm.swap) swap avail=1241513984 total=3221225472 used=1979711488",
			"vm.pageout_inactive_used":        "(vm.pageout) uint32 4294967295",
			"vm.pages_grabbed":                "(vm.pages) int64 -3",
			"computed.memory_utilization_pct": "(computed) computed free_pages=250 total_pages=1000 unit=percent value=75.00",
			"computed.uptime_seconds":         "(computed) computed boottime=2026-11-20T03:00:00Z human=1h1m1s unit=seconds value=3661",
			"computed.swap_utilization_pct":   "(computed) computed swap_total=4096 swap_used=3072 unit=percent value=75.00",
			// What there is no value of.
			"vm.page_free_wanted":        "(vm.pressure) error permission denied",
			"kpc.pc_capture_supported":   "(kpc) error this Mac has no such counter",
			"hw.ncpu":                    "(hw.cpu) error is not in this recording",
			"computed.compression_ratio": "(computed) error is not in this recording",
			// Sysctls that the service does not know, and what is none.
			"debug.other":        "() raw feffffff",
			"kernel.all.uptime":  "() error is recorded, but is not the answer to a sysctl: ask LiveService for it",
			"mem.vmstat.pgfault": "() error exists on Linux only",
			"no.such":            "() error is no sysctl that is recorded",
			"":                   "() error is no sysctl that is recorded",
		} {
			if got := r.get(t, name)[0]; got != name+" "+want {
				t.Errorf("%s\nwant\n%s %s", got, name, want)
			}
		}
		// One for each name, in their order.
		if got := r.get(t, "vm.pages", "no.such", "vm.pages"); len(got) != 3 || got[0] != got[2] || !strings.HasPrefix(got[1], "no.such") {
			t.Errorf("%q", got)
		}
		res, err := r.GetMetricsByCategory(t.Context(), connect.NewRequest(&sysctl.GetMetricsByCategoryRequest{Category: "kern.sched"}))
		if err != nil || len(res.Msg.Metrics) != 6 {
			t.Errorf("%v %v", res, err)
		}
		res, err = r.GetMetricsByCategory(t.Context(), connect.NewRequest(&sysctl.GetMetricsByCategoryRequest{Category: "no such"}))
		if err != nil || len(res.Msg.Metrics) != 0 {
			t.Errorf("%v %v", res, err)
		}
	})
}

// The interface has no room for a value's age, so it does not give old ones.
func TestOldValues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, mac)
		r.pass(59 * time.Second)
		if got := r.get(t, "vm.pages")[0]; !strings.HasSuffix(got, "int32 1000") {
			t.Errorf("%s", got)
		}
		r.pass(2 * time.Second)
		got := r.get(t, "vm.pages", "kern.maxvnodes", "hw.memsize")
		if !strings.HasSuffix(got[0], "error has not been read since 2026-11-20T03:00:00Z") || strings.Contains(got[1]+got[2], "error") {
			t.Errorf("%q", got)
		}
		r.pass(20 * time.Minute)
		if got := r.get(t, "hw.memsize")[0]; !strings.Contains(got, "error has not been read since") {
			t.Errorf("long after the recording: %s", got)
		}
	})
}

func TestRegistry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, mac)
		res, err := r.GetKernelRegistry(t.Context(), connect.NewRequest(&sysctl.GetKernelRegistryRequest{}))
		if err != nil {
			t.Fatal(err)
		}
		list := res.Msg.Registry
		if res.Msg.MinIntervalNs != 100_000_000 || list.OsRegistry != "darwin-arm64" || list.OsVersion != "Darwin 24.6.0" || len(list.Metrics) != 250 {
			t.Errorf("%d ns, %s, %s, %d metrics", res.Msg.MinIntervalNs, list.OsRegistry, list.OsVersion, len(list.Metrics))
		}
		kernel, how := make(map[sysctl.AccessPattern]int), make(map[string]int)
		for _, m := range list.Metrics {
			kernel[m.KernelAccessPattern.Pattern]++
			ttl := ""
			if m.RecommendedAccessPattern.Ttl != nil {
				ttl = m.RecommendedAccessPattern.Ttl.AsDuration().String()
			}
			how[m.RecommendedAccessPattern.Pattern.String()+ttl]++
			if m.Description == "" || m.ValueType == "" || m.Category == "" {
				t.Errorf("%v", m)
			}
			for name, notes := range map[string]string{"vm.pages": "", "hw.ncpu": "is not in this recording", "kpc.pc_capture_supported": "this Mac has no such counter"} {
				if m.Name == name && m.Notes != notes {
					t.Errorf("%s: %q, want %q", name, m.Notes, notes)
				}
			}
		}
		// Those that are set by somebody are recorded every two minutes, which is less often than
		// the other service reads them.
		for what, want := range map[string]int{"STATIC": 78, "CONSTRAINED2m0s": 54, "POLLED10s": 87, "POLLED30s": 11, "POLLED1m0s": 20} {
			if how[what] != want {
				t.Errorf("%s: %d, want %d", what, how[what], want)
			}
		}
		if kernel[sysctl.AccessPattern_STATIC] != 82 || kernel[sysctl.AccessPattern_CONSTRAINED] != 54 || kernel[sysctl.AccessPattern_DYNAMIC] != 114 {
			t.Errorf("%v", kernel)
		}
		some, err := r.ListKnownMetrics(t.Context(), connect.NewRequest(&sysctl.ListKnownMetricsRequest{Category: "vm.swap"}))
		if err != nil || len(some.Msg.Registry.Metrics) != 3 || some.Msg.Registry.OsRegistry != "darwin-arm64" {
			t.Errorf("%v %v", some, err)
		}
		categories, err := r.ListCategories(t.Context(), connect.NewRequest(&sysctl.ListCategoriesRequest{}))
		if err != nil {
			t.Fatal(err)
		}
		sum, first := 0, categories.Msg.Categories[0]
		for _, c := range categories.Msg.Categories {
			sum += int(c.MetricCount)
		}
		if n := len(categories.Msg.Categories); n != 31 || sum != 250 || first.Name != "hw.cpu" || first.MetricCount != 14 {
			t.Errorf("%d categories of %d metrics, first %v", n, sum, first)
		}
	})
}

const linux = `start 2026-11-20T03:00:00Z
host web-1 id=7 os=Linux release=6.1 arch=amd64 platform=linux
interval polled 10s
metric kernel.all.uptime u64 instant - polled sec
metric computed.uptime_seconds i64 instant - polled sec
  formula kernel.all.uptime
boot boot-1 -1h
tick polled 0s
  kernel.all.uptime 77
`

// A recording of Linux has three of the computed metrics; the others are not there, with the
// reason.
func TestLinux(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, linux)
		got := r.get(t, "vm.pages", "computed.uptime_seconds")
		if got[0] != "vm.pages (vm.pages) error exists on macOS only" || got[1] != "computed.uptime_seconds (computed) computed human=1m17s unit=seconds value=77" {
			t.Errorf("%q", got)
		}
		list, err := r.ListKnownMetrics(t.Context(), connect.NewRequest(&sysctl.ListKnownMetricsRequest{Category: "vm.misc"}))
		if err != nil || list.Msg.Registry.OsRegistry != "linux-amd64" || len(list.Msg.Registry.Metrics) != 8 || list.Msg.Registry.Metrics[0].Notes != "exists on macOS only" {
			t.Errorf("%v %v", list, err)
		}
	})
}

func TestNothingRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "")
		got := r.get(t, "vm.pages", "no.such")
		if got[0] != "vm.pages (vm.pages) error nothing has been recorded yet" || got[1] != "no.such () error is no sysctl that is recorded" {
			t.Errorf("%q", got)
		}
		res, err := r.GetKernelRegistry(t.Context(), connect.NewRequest(&sysctl.GetKernelRegistryRequest{}))
		if err != nil || res.Msg.Registry.OsRegistry != "" || len(res.Msg.Registry.Metrics) != 250 {
			t.Errorf("%v %v", res, err)
		}
	})
}

func TestLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, mac)
		names := make([]string, selection.MostItems+1)
		_, err := r.GetMetrics(t.Context(), connect.NewRequest(&sysctl.GetMetricsRequest{Names: names}))
		if connect.CodeOf(err) != connect.CodeInvalidArgument {
			t.Errorf("%v", err)
		}
		if got := r.get(t, names[1:]...); len(got) != selection.MostItems {
			t.Errorf("%d metrics", len(got))
		}
		err = r.stream(t.Context(), &sysctl.SubscribeRequest{Names: names}, nil)
		if connect.CodeOf(err) != connect.CodeInvalidArgument {
			t.Errorf("%v", err)
		}
		account := budget.New(1000).Open(budget.Client{})
		defer account.Close()
		ctx := account.In(t.Context())
		if _, err := r.GetMetrics(ctx, connect.NewRequest(&sysctl.GetMetricsRequest{Names: names[:100]})); connect.CodeOf(err) != connect.CodeResourceExhausted {
			t.Errorf("without memory: %v", err)
		}
		if _, err := r.GetKernelRegistry(ctx, connect.NewRequest(&sysctl.GetKernelRegistryRequest{})); connect.CodeOf(err) != connect.CodeResourceExhausted {
			t.Errorf("without memory: %v", err)
		}
		if err := r.stream(ctx, &sysctl.SubscribeRequest{Names: names[:100]}, nil); connect.CodeOf(err) != connect.CodeResourceExhausted {
			t.Errorf("without memory: %v", err)
		}
	})
}

// A name that is not UTF-8 is refused before any method sees it.
func TestBadText(t *testing.T) {
	_, handler := sysctlconnect.NewSysctlServiceHandler(New(Options{}))
	for path, body := range map[string]string{"GetMetrics": "\x0a\x02\xff\xfe", "GetMetricsByCategory": "\x0a\x02\xff\xfe", "ListKnownMetrics": "\x0a\x01\x80", "GetKernelRegistry": "\x0a"} {
		w, req := httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/sysctl.SysctlService/"+path, bytes.NewReader([]byte(body)))
		req.Header.Set("Content-Type", "application/proto")
		handler.ServeHTTP(w, req)
		if !strings.Contains(w.Body.String(), `"code":"invalid_argument"`) {
			t.Errorf("%s: %d %s", path, w.Code, w.Body.String())
		}
	}
}
