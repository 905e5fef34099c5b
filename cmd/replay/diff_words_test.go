package main

import (
	"testing"
	"time"

	"tachograph/sample/metric"
	"tachograph/store/query"
)

// TestDiffSaysWhoInWords puts changes of the machine into words, with who made them.
func TestDiffSaysWhoInWords(t *testing.T) {
	threads := &metric.Desc{Name: "kernel.all.nthreads", Help: "Threads that exist."}
	flight := &metric.Desc{Name: "disk.dev.inflight", Help: "Requests under way."}
	perSecond, _ := query.RateUnits(metric.Counts)
	for _, c := range []struct {
		name   string
		change query.Change
		want   string
	}{
		{"a name has most of it", query.Change{Kind: query.SystemChange, Subject: threads.Name, Metric: threads, Before: 300, After: 1300,
			By: &query.Share{Name: "server", Before: 4, After: 1004}},
			"Threads that exist rose from 300 to 1300 (4.3 times as much)  [kernel.all.nthreads]: most of it server (4 before, 1004 after)"},
		{"its parent matters", query.Change{Kind: query.SystemChange, Subject: threads.Name, Metric: threads, Before: 300, After: 400,
			By: &query.Share{Name: "sh", Parent: "builder", Before: 1, After: 90}},
			"Threads that exist rose from 300 to 400  [kernel.all.nthreads]: most of it sh, started by builder (1 before, 90 after)"},
		{"what it did besides", query.Change{Kind: query.SystemChange, Subject: threads.Name, Metric: threads, Before: 300, After: 400, By: &query.Share{Name: "sh", Before: 1, After: 90},
			Also: []*query.Change{{Kind: query.ProcessChange, Subject: "sh", Aspect: "cpu", Before: 0.4, After: 0.1, Rate: true}}},
			"Threads that exist rose from 300 to 400  [kernel.all.nthreads]: most of it sh (1 before, 90 after); with it sh uses less CPU: 40 % of a core before, 10 % of a core after"},
		{"a disk hangs", query.Change{Kind: query.SystemChange, Subject: flight.Name, Instance: "sdb", Metric: flight, Aspect: query.Hung, After: 7, Seconds: 90, Related: 3},
			"Disk sdb hung: it completed no request for 1m 30s, with 7 under way  [disk.dev.inflight[sdb]] and 3 related"},
		{"a service fails", query.Change{Kind: query.ProcessChange, Subject: "api", Aspect: query.EndsBadly, Times: 30, NewText: "signal 11", Before: 0, After: 0.05, Units: perSecond, Rate: true},
			"api ended badly 30 times, mostly with signal 11: 0 /s before, 0.05 /s after"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := sentence(&c.change, sides{clock: func(int64) string { return time.Time{}.String() }}); got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}
