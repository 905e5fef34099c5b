package simulation

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"tachograph/sample/metric"
)

const slowClasses = `fast = "5m"
polled = "10m"
process = "15m"
costly = "2h"
constrained = "1h"
`

const otherClasses = `fast = "5m"
polled = "20m"
process = "30m"
costly = "1h"
constrained = "1h"
`

// TestSomeDays is the short form: two boots with a sleep in each.
func TestSomeDays(t *testing.T) {
	if testing.Short() {
		t.Skip("needs some seconds")
	}
	live(t, plan{
		name: "some days", awake: 12 * time.Hour, speed: 3_000, day: 5 * time.Hour, night: 9 * time.Hour,
		ends: []string{"panic", "reboot"}, classes: slowClasses, others: otherClasses,
		fast: 5 * time.Minute, sync: "10m", seal: "2h",
	})
}

// TestThirtyDays lives through thirty days with long intervals.
func TestThirtyDays(t *testing.T) {
	if os.Getenv("TACHO_LONG") == "" {
		t.Skip("a long test: TACHO_LONG=1")
	}
	live(t, plan{
		name: "thirty days", awake: 30 * 15 * time.Hour, speed: 10_000, day: 15 * time.Hour, night: 9 * time.Hour,
		ends:    []string{"reboot", "panic", "powercut", "reboot", "panic", "reboot", "powercut", "reboot"},
		classes: slowClasses, others: otherClasses, fast: 5 * time.Minute, sync: "10m", seal: "2h",
	})
}

// TestOneDay lives through a day at the default intervals.
func TestOneDay(t *testing.T) {
	if os.Getenv("TACHO_LONG") == "" {
		t.Skip("a long test: TACHO_LONG=1")
	}
	classes := "fast = \"1s\"\n"
	live(t, plan{
		name: "one day", awake: 16 * time.Hour, speed: 300, day: 5 * time.Hour, night: 4 * time.Hour,
		ends: []string{"reboot", "panic", "reboot"}, classes: classes, others: classes + "polled = \"20s\"\n",
		fast: time.Second, sync: "1s", seal: "5m",
	})
}

// live lives through a plan and accounts for every tick.
func live(t *testing.T, p plan) {
	var m *machine
	began := time.Now()
	for attempt := 1; ; attempt++ {
		m = newMachine(t, p)
		if m.run() {
			break
		}
		if attempt == 3 {
			t.Fatal("the simulated Mac stood still three times")
		}
		t.Log("the simulated Mac stood still; once more")
	}
	all := m.gather()
	l := read(t, all)
	if len(l.boots) != len(p.ends) {
		t.Errorf("%d boots in the archives, %d were lived through", len(l.boots), len(p.ends))
	}
	var ticks, missed int
	for _, b := range l.boots {
		ticks += len(b.ticks)
		missed += b.check(t, p.fast)
	}
	l.checkRotations(20 * p.fast)
	m.checkLeaks()
	m.checkMemory()
	m.checkDescriptors()
	l.checkNights(p.night)
	checkArchives(t, all, filepath.Join(m.path("root"), archives), 20*p.fast+p.night)
	checkGrowth(t, all)
	checkCollections(t, all)
	t.Logf("%s lived through in %v: %d archives of %d boots, %d ticks stored and %d told as missed", l.days(), time.Since(began).Round(time.Second), l.archives, len(l.boots), ticks, missed)
	for _, kind := range []metric.EventKind{
		metric.EventBoot, metric.EventStart, metric.EventStop, metric.EventSleep, metric.EventWake, metric.EventClockStep,
		metric.EventGap, metric.EventOverrun, metric.EventRotate, metric.EventConfig, metric.EventErrorBegin, metric.EventErrorEnd, metric.EventShip,
	} {
		t.Logf("%5d events: %s", l.count(kind), kind)
	}
	if sleeps, wakes := l.count(metric.EventSleep), l.count(metric.EventWake); sleeps != wakes || sleeps == 0 {
		t.Errorf("%d sleeps, %d wakes", sleeps, wakes)
	}
	// A step that comes while the machine is down or the recorder starts is
	// none.
	for kind, least := range map[metric.EventKind]int{
		metric.EventBoot: len(p.ends), metric.EventStart: len(p.ends), metric.EventClockStep: 1, metric.EventConfig: 1,
	} {
		if n := l.count(kind); n < least {
			t.Errorf("%d events: %s, want at least %d", n, kind, least)
		}
	}
	// The recorder's own work is never a reason to read less often.
	if n := l.count(metric.EventBudget); n > 0 {
		t.Errorf("%d changes of an interval because of what the recorder itself uses", n)
	}
	t.Logf("values withheld by a failing source: %v", l.withheld)
	// On a busy machine the source may have been given up as hanging just while
	// its calls failed; then that is what the archive tells.
	if len(l.withheld) == 0 && l.count(metric.EventErrorBegin) == 0 {
		t.Error("the source that failed for a while left no trace")
	}
	// Retention: what is left in the directory is not older than it may be.
	left, err := filepath.Glob(filepath.Join(m.path("root"), archives, "*.tacho"))
	if err != nil || len(left) > 5+len(p.ends)+2 {
		t.Errorf("%d archives are left: %v", len(left), err)
	}
}
