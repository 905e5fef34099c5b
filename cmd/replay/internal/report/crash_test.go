package report

import (
	"testing"
	"time"

	"tachograph/store/query/querytest"
)

// twoBoots is a machine that ran twice, with so many minutes between, and what was
// told of the time between.
func twoBoots(t *testing.T, events string) *querytest.Archive {
	t.Helper()
	return described(t, `start 2026-11-20T03:00:00Z
host box id=h1 os=Linux release=6.18 arch=amd64 platform=linux cpus=2 memory=1073741824
interval fast 1s
metric kernel.all.cpu.user u64 counter - fast millisec
  help user
boot b1 -1h
every 1s 0s 10m fast
  kernel.all.cpu.user rate=800 from=1000
event 0s recorder start | recorder 1.0 started
event 4m sleep | the machine slept | from=2026-11-20T03:03:00Z seconds=60
`+events+`boot b2 13m
event 13m boot | booted
event 13m5s recorder start | recorder 1.0 started
every 1s 13m5s 20m fast
  kernel.all.cpu.user rate=300 from=100
`)
}

func TestLastCrash(t *testing.T) {
	const (
		cut    = "the last crash, an end without a shutdown"
		panics = "the last crash, a panic"
		killed = "no crash of the machine was recorded, the recorder was killed or crashed"
	)
	stopped := "event 10m recorder stop | stopped\nevent 10m shutdown | shut down\n"
	for _, c := range []struct {
		name, events, text string
		last               time.Duration
	}{
		{"power cut", "", cut, 10 * time.Minute},
		{"shutdown", stopped, "", 0},
		{"panic", "event 10m1s panic | the kernel left a panic report\n", panics, 10 * time.Minute},
		{"recorder killed, then a power cut", "event 5m30s recorder start | started\n", cut, 10 * time.Minute},
		{"recorder killed, then a shutdown", "event 5m30s recorder start | started\n" + stopped, killed, 5*time.Minute + 29*time.Second},
		{"recorder killed twice", "event 5m30s recorder start | started\nevent 6m0s recorder start | started\n" + stopped, killed, 5*time.Minute + 59*time.Second},
		{"recorder restarted", "event 5m recorder stop | stopped\nevent 5m30s recorder start | started\n" + stopped, "", 0},
	} {
		got, ok := LastCrash(twoBoots(t, c.events), "h1")
		if ok != (c.text != "") || got.Text != c.text {
			t.Errorf("%s: %v %+v", c.name, ok, got)
			continue
		}
		if last := time.Date(2026, 11, 20, 3, 0, 0, 0, time.UTC).Add(c.last).UnixNano(); ok && got.Last != last {
			t.Errorf("%s: last sample %s", c.name, time.Unix(0, got.Last).UTC())
		}
	}
}

// Breaks are shaded and never drawn over.
func TestBreaks(t *testing.T) {
	u := unpack(t, collect(t, twoBoots(t, ""), Request{}))
	if len(u.Breaks) != 2 {
		t.Fatalf("breaks %v", u.Breaks)
	}
	means := u.numbers(u.plot("cpu").Series[0].Mean)
	for _, b := range u.Breaks[1:] {
		for k, x := range means {
			end := u.First + float64(k+1)*u.Step
			if x == x && end > b.From+u.Step && end < b.To {
				t.Errorf("a value in the break at %s", time.UnixMilli(int64(end)).UTC())
			}
		}
	}
}
