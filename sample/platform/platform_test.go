package platform

import (
	"strings"
	"testing"
	"time"

	"tachograph/sample/metric"
)

func TestClocks(t *testing.T) {
	a := Now()
	b := Now()
	if a.Awake <= 0 || b.Awake < a.Awake || b.Cont < a.Cont || a.Cont < a.Awake-int64(time.Second) {
		t.Errorf("clocks: %+v, then %+v", a, b)
	}
	if d := time.Since(a.Time()); d < 0 || d > time.Minute {
		t.Errorf("the wall clock is %v off", d)
	}
}

func TestThisMachine(t *testing.T) {
	h := ThisHost()
	if len(h.ID) != 32 || h.Name == "" || h.OS == "" || h.Release == "" || h.Arch == "" {
		t.Errorf("host: %+v", h)
	}
	if BootID() == "" {
		t.Error("no boot id")
	}
	if Zone() == "" {
		t.Error("no time zone")
	}
	u := Usage()
	if u.Resident < 1<<20 || u.Virtual < u.Resident || u.User+u.System <= 0 {
		t.Errorf("usage: %+v", u)
	}
	OnBattery()
	TCPGate()
	Slept()
	if events := History(time.Time{}, false); len(events) == 0 || events[len(events)-1].Kind != metric.EventBoot {
		t.Errorf("history: %+v", events)
	}
}

// A metric is in one group only, so that its name identifies its values.
func TestAMetricStandsInOneGroup(t *testing.T) {
	sources, err := Sources(Options{})
	if err != nil {
		t.Fatal(err)
	}
	in := make(map[string]string)
	for _, s := range sources {
		for _, g := range s.Groups() {
			for _, d := range g.Metrics {
				if first, ok := in[d.Name]; ok {
					t.Errorf("%s stands in %s and in %s of %s", d.Name, first, g.Name, s.Name())
				}
				in[d.Name] = g.Name + " of " + s.Name()
			}
		}
		s.Close()
	}
}

func TestIdentityHidesTheNumber(t *testing.T) {
	id := identity("8d9d1b6c0e9f4f3c\n")
	if id != identity("8d9d1b6c0e9f4f3c") || strings.Contains(id, "8d9d1b6c") || id == identity("other") {
		t.Errorf("identity: %s", id)
	}
	if identity("") != identity(" ") || identity("") == id {
		t.Error("a machine without number has no stable identity")
	}
}

func TestZones(t *testing.T) {
	for tz, want := range map[string]string{
		"": "UTC", "Europe/Berlin": "Europe/Berlin", ":/usr/share/zoneinfo/Asia/Tokyo": "Asia/Tokyo", "CET-1": "CET-1",
	} {
		t.Setenv("TZ", tz)
		if got := Zone(); got != want {
			t.Errorf("TZ=%q is the zone %q, want %q", tz, got, want)
		}
	}
	if Location("no such zone") != time.Local {
		t.Error("an unknown zone is not the local one")
	}
}

func TestHistory(t *testing.T) {
	boot := time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)
	past := boot.Add(-10 * time.Minute)
	events := history(past, boot, "panic")
	var got []string
	for _, e := range events {
		got = append(got, string(e.Kind)+" "+e.At.Time().UTC().Format("15:04"))
	}
	if want := "shutdown 07:50|boot 08:00"; strings.Join(got, "|") != want {
		t.Errorf("events %q, want %q", strings.Join(got, "|"), want)
	}
	if s := events[1].Label("seconds"); s != "600.000" {
		t.Errorf("down for %s s", s)
	}
	if first := history(time.Time{}, boot, ""); len(first) != 1 {
		t.Errorf("without a past: %+v", first)
	}
}

// After a clock was set back, no period may end before it began.
func TestHistoryOfAClockThatWasSetBack(t *testing.T) {
	boot := time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)
	events := history(boot.Add(9*time.Minute), boot, "")
	if len(events) != 1 || events[0].Label("seconds") != "" || events[0].Label("from") != "" || strings.Contains(events[0].Text, "-") {
		t.Errorf("history %+v", events)
	}
}
