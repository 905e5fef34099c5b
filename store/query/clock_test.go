package query_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tachograph/sample/metric"
	"tachograph/store/query"
	"tachograph/store/query/querytest"
)

// In the first boot the clock is a day ahead, and corrected before the second one.
// Events are listed as they happened, and no break ends before it began.
func TestEventsOfAClockThatWasSetBack(t *testing.T) {
	parts, err := querytest.Parse(strings.NewReader(`start 2026-11-20T12:00:00Z
host web-1 os=Linux
boot b1 -1h
interval fast 1s
metric kernel.all.running u64 instant - fast
every 1s 0s 60s fast
  kernel.all.running 1
clock 24h
every 1s 61s 100s fast
  kernel.all.running 1
event 90s wake | the machine woke | seconds=20
clock -24h
event 110s clock step | the wall clock was set back by 24h0m0s | step=-86400
every 1s 110s 150s fast
  kernel.all.running 1
event 150s recorder stop | stopped
boot b2 170s
every 1s 180s 200s fast
  kernel.all.running 1
event 180s recorder start | began
event 181s gap | nothing was recorded for -9m13s | from=2026-11-20T12:12:14Z seconds=-553
`))
	if err != nil {
		t.Fatal(err)
	}
	a := querytest.New(parts...)
	var got []string
	for e := range query.SortedEvents(a, query.Window{}) {
		got = append(got, string(e.Kind))
	}
	if want := "[wake clock step recorder stop recorder start gap]"; fmt.Sprint(got) != want {
		t.Errorf("events %v, want %v", got, want)
	}
	seen := 0
	for _, b := range query.Breaks(a, query.Window{}) {
		if seen++; b.Length() < 0 || b.Kind == metric.EventWake && b.Length() != 20*time.Second {
			t.Errorf("%s of %s", b.Kind, b.Length())
		}
	}
	if seen == 0 {
		t.Error("no breaks")
	}
}
