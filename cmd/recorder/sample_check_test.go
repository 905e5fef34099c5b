package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"tachograph/sample/metric"
	"tachograph/sample/stack"
)

// A process that stood still for too long is the answer no.
func TestSuspensionsAreJudged(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lengths []time.Duration
		want    error
		texts   []string
	}{
		"soon":    {[]time.Duration{9, 90, 100, 700}, nil, []string{"1            at most 10µs\n2            at most 100µs\n1            at most 1ms\n", "within 100µs, which is soon enough"}},
		"late":    {[]time.Duration{9, 101, 102, 60000}, errNo, []string{"longer", "stopped for 60.212ms in all and for 60ms at most; half of the suspensions ended within 102µs, which is too late: 100µs is the limit"}},
		"nothing": {nil, nil, []string{"nothing was stopped"}},
	} {
		stats := stack.Statistics{Rounds: 4, Samples: 4, Failed: 1, Why: "reading a thread: \x1b[31m", How: "mach"}
		for i, d := range c.lengths {
			d *= time.Microsecond
			stats.Suspensions++
			stats.Suspended += int64(d)
			stats.Longest = max(stats.Longest, int64(d))
			stats.Spread.Add(d)
			if i == len(c.lengths)/2 {
				stats.Median = int64(d)
			}
		}
		var out bytes.Buffer
		e := stats.Event(metric.Stamp{}, metric.Stamp{Cont: 1e9}, stack.Wish{PID: 7, Rate: 4}, "worker (pid 7)", "asked for by hand")
		if err := (&app{out: &out}).judge(&stats, &e); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
		for _, text := range append(c.texts, "by mach\n", "4      taken        samples\n", "1      unread       threads that could not be read: reading a thread: ") {
			if !strings.Contains(out.String(), text) {
				t.Errorf("%s lacks %q:\n%s", name, text, out.String())
			}
		}
		if strings.Contains(out.String(), "\x1b") {
			t.Errorf("%s writes %q", name, out.String())
		}
	}
}
