package main

import (
	"strings"
	"testing"
	"time"

	"tachograph/cmd/recorder/service"
	"tachograph/cmd/recorder/trigger"
)

func TestStatusText(t *testing.T) {
	defer func(zone *time.Location) { time.Local = zone }(time.Local)
	time.Local = time.UTC
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	r := service.Report{
		Healthy: true, Running: true, Now: now, ValuesPerSecond: 1290.4, BytesPerDay: 20 << 20, DaysKept: 3.5, DaysFit: 30,
		Status: service.Status{
			PID: 321, At: now.Add(-2 * time.Second), Started: now.Add(-26 * time.Hour), CPUPercent: 0.73, ResidentBytes: 31 << 20, Values: 120_812_345,
			Errors: 12, ErrorsLastHour: 2, TCPGate: "closed, but open to root", Notices: []string{"something to know"},
			Classes: []service.ClassStatus{
				{Class: "static", Ticks: 1, LastTick: now.Add(-12 * time.Hour), TookSeconds: 0.0021},
				{Class: "fast", IntervalSeconds: 1, Ticks: 93600, Overruns: 3, LastTick: now.Add(-700 * time.Millisecond), TookSeconds: 0.0004, MaxLateSeconds: 0.012},
				{Class: "process", IntervalSeconds: 10, Stretched: true, Ticks: 9360, LastTick: now.Add(-4 * time.Second), TookSeconds: 0.011, MaxLateSeconds: 0.2},
			},
			Sources: []service.SourceStatus{
				{Source: "quick", Reads: 10, TotalSeconds: 0.1, LastSeconds: 0.0001, MaxSeconds: 0.002},
				{Source: "proc", Reads: 100, TotalSeconds: 90, LastSeconds: 0.009, MaxSeconds: 0.05, Errors: 1},
				{Source: "smc", Reads: 1, TotalSeconds: 0, Hung: true, Timeouts: 4},
			},
			Archive: service.ArchiveStatus{
				Path: "/a/mac.live", Bytes: 10 << 20, Since: now.Add(-12 * time.Hour), Finished: 3, FinishedBytes: 60 << 20,
				AtRiskCrash: service.Seconds(800 * time.Millisecond), AtRiskPowerCut: service.Seconds(190 * time.Second),
			},
			Triggers: []trigger.Status{
				{Name: "runaway process", Holds: 1, Fired: []time.Time{now.Add(-5 * time.Hour), now.Add(-20 * time.Minute)}, PerDay: 6, All: 7, Refused: 3,
					Last: "runaway process: 002210 burn: rate(proc.psinfo.utime) > 90% for 5m, last 99.6 %", Wait: "it cools down, for another 40m"},
				{Name: "memory pressure", Idle: "this system has no such thing", PerDay: 6},
				{Name: "hang", PerDay: 6},
			},
			Owners: &service.OwnersStatus{Came: 1041, Went: 1033, Restarted: 2, Killed: 1, Last: []service.OwnerEvent{
				{At: now.Add(-3 * time.Hour), Text: "web.service was restarted"},
				{At: now.Add(-2 * time.Hour), Text: "backup.service: the kernel killed 1 process at its memory limit of 512 MB"},
			}},
			Reduction:    &service.Reduction{Path: "/a/mac-20261020T000000Z--20261021T000000Z.tacho", Since: now.Add(-time.Minute)},
			LastRotation: &service.Rotation{At: now.Add(-12 * time.Hour), Why: "schedule 0 0 * * *", Path: "/a/x.tacho"},
			LastReload:   &service.Reload{At: now.Add(-time.Hour), Error: "the old configuration stays in force: f:3: archive.place is not a key of the configuration"},
			LastShipping: &service.Shipping{At: now.Add(-11 * time.Hour), Path: "/a/x.tacho", Error: "no route", Waiting: 1},
		},
	}
	golden(t, "status.txt", statusText(&r, 0))
	for _, width := range []int{40, 80, 200} {
		for line := range strings.Lines(statusText(&r, width)) {
			if n := len(strings.TrimSuffix(line, "\n")); n > width {
				t.Errorf("%d letters in a terminal of %d: %s", n, width, line)
			}
		}
	}
	r.Healthy, r.Running, r.Problems = false, false, []string{"it is gone without having been stopped"}
	golden(t, "status-gone.txt", statusText(&r, 0))
}
