package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"tachograph/sample/metric"
	"tachograph/store/query/querytest"
	"tachograph/store/recording"
	"tachograph/store/storetest/proof"
	"tachograph/store/storetest/recorded"
	"tachograph/testdata/built"
	"tachograph/testdata/patience"
)

// book is a Mac that is recorded now, with a sysctl of each kind. It is read so seldom that its
// values are not old before a slow machine has run the test.
const book = `host book id=7 os=Darwin release=24.6.0 arch=arm64 platform=macos
interval static 2562047h
interval polled 5m
metric hw.cpufamily i32 discrete - static
metric hw.pagesize i64 discrete - static byte
metric kern.boottime u64 discrete - static microsec
metric kern.ostype string discrete - static
metric kern.clockrate i32 discrete field static
metric vm.swapusage u64 instant field polled byte
metric vm.compressor_input_bytes u64 counter - polled byte
metric vm.page_free_count i32 instant - polled
metric vm.page_free_wanted i32 instant - polled
metric vm.pageout_inactive_used u32 counter - polled
instance field total total
instance field avail avail
instance field used used
instance field hz hz
instance field tick tick
instance field tickadj tickadj
instance field stathz stathz
instance field profhz profhz
boot boot-1 -1h
tick static 0s
  hw.cpufamily -634136515
  hw.pagesize 16384
  kern.boottime 1795143600000021
  kern.ostype "Darwin"
  kern.clockrate[hz] 100
  kern.clockrate[tick] 10000
  kern.clockrate[tickadj] 1
  kern.clockrate[profhz] 99
  kern.clockrate[stathz] 98
tick polled 0s
  vm.swapusage[total] 3221225472
  vm.swapusage[avail] 1241513984
  vm.swapusage[used] 1979711488
  vm.compressor_input_bytes 18446744073709551615
  vm.page_free_count 250
  vm.page_free_wanted !permission denied
  vm.pageout_inactive_used 4294967295
tick polled 10s
  vm.swapusage[total] 3221225472
  vm.swapusage[avail] 1241513983
  vm.swapusage[used] 1979711489
  vm.compressor_input_bytes 18446744073709551615
  vm.page_free_count 250
  vm.page_free_wanted 0
  vm.pageout_inactive_used 4294967295
`

// A client of the telemetry service whose interface this is, in another language, gets the values
// that were recorded, as values and as the kernel's bytes, and then what changes.
func TestPythonTelemetryClient(t *testing.T) {
	t.Parallel()
	stubs := pythonStubs(t)
	built.Program(t, "replay") // which takes its time, once
	parts, err := querytest.Parse(strings.NewReader("start " + time.Now().UTC().Format(time.RFC3339) + "\n" + book))
	if err != nil {
		t.Fatal(err)
	}
	mac := parts[0]
	clock := proof.NewClock(mac.Ticks[0].At)
	opt := recorded.ProofOptions(t.TempDir(), 1, clock.Now)
	opt.Host, opt.Catalog, opt.Intervals = mac.Info.Host, mac.Catalog, mac.Info.Intervals
	w, err := recording.Create(opt)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	record := func(ticks ...*metric.Tick) {
		t.Helper()
		for _, tick := range ticks {
			clock.Set(tick.At)
			if err := w.Append(tick); err != nil {
				t.Fatal(err)
			}
		}
	}
	record(mac.Ticks[:2]...)
	socket, end := startServer(t, opt.Dir)
	cmd := exec.CommandContext(patience.Context(t, time.Minute), python, "testdata/peers/sysctls.py", socket)
	cmd.Env = append(os.Environ(), "PYTHONPATH="+stubs)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var errs bytes.Buffer
	cmd.Stderr = &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said := make(map[string]string)
	var changed []string
	for lines := bufio.NewScanner(out); lines.Scan(); {
		what, rest, _ := strings.Cut(lines.Text(), " ")
		name, rest, _ := strings.Cut(rest, " ")
		switch what {
		case "begun":
			if name != fmt.Sprint(mac.Ticks[1].At.Wall) {
				t.Errorf("the first response is of %s", name)
			}
			record(mac.Ticks[2])
		case "changed":
			if changed = append(changed, name+" "+rest); len(changed) == 2 {
				go end()
			}
		default:
			said[strings.TrimSuffix(what+" "+name, ":")] += rest
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, errs.String())
	}
	end()
	for what, want := range map[string]string{
		"registry darwin-arm64":           "Darwin 24.6.0 250 100000000",
		"refused INVALID_ARGUMENT":        "",
		"ended UNAVAILABLE":               "",
		"value hw.cpufamily":              "-634136515",
		"first hw.cpufamily":              "-634136515",
		"value hw.pagesize":               "16384",
		"first hw.pagesize":               "16384",
		"value kern.boottime":             "timeval sec=1795143600 time=2026-11-20T03:00:00Z usec=21",
		"first kern.boottime":             "sec=1795143600 usec=21",
		"value kern.ostype":               "Darwin",
		"bytes kern.ostype":               "44617277696e00",
		"value kern.clockrate":            "clock hz=100 profhz=99 stathz=98 tick=10000",
		"first kern.clockrate":            "hz=100 tick=10000 tickadj=1 stathz=98 profhz=99",
		"value vm.swapusage":              "swap avail=1241513984 total=3221225472 used=1979711488",
		"first vm.swapusage":              "total=3221225472 avail=1241513984 used=1979711488 pagesize=16384 encrypted=1",
		"value vm.compressor_input_bytes": "18446744073709551615",
		"first vm.compressor_input_bytes": "18446744073709551615",
		"value vm.page_free_count":        "250",
		"bytes vm.page_free_count":        "fa000000",
		"value vm.page_free_wanted":       "error permission denied",
		"lacks vm.page_free_wanted":       "permission denied",
		"first vm.pageout_inactive_used":  "4294967295",
		"value hw.ncpu":                   "error is not in this recording",
		"lacks hw.ncpu":                   "is not in this recording",
		"value no.such":                   "error is no sysctl that is recorded",
		"lacks no.such":                   "unknown metric",
	} {
		if got, ok := said[what]; !ok || got != want {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
	if got := strings.Join(changed, "; "); got != "vm.page_free_wanted 0; vm.swapusage total=3221225472 avail=1241513983 used=1979711489 pagesize=16384 encrypted=1" {
		t.Errorf("what changed: %s", got)
	}
}
