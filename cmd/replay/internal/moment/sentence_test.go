package moment_test

import (
	"strings"
	"testing"
	"time"

	"tachograph/cmd/replay/internal/moment"
	"tachograph/store/query"
	"tachograph/store/query/querytest"
)

// head is of a machine that is sampled every ten seconds.
const head = `
start 2026-11-20T22:00:00Z
host h
interval fast 10s
metric kernel.all.load f32 instant load fast
metric mem.physmem u64 instant - fast Kbyte
instance load 1 1_minute
`

// span is a boot that is recorded from one time to another.
func span(boot, began, from, to string) string {
	s := ""
	if boot != "" {
		s = "boot " + boot + " " + began + "\n"
	}
	return s + "every 10s " + from + " " + to + " fast\n  kernel.all.load[1] level=1\n  mem.physmem 1000\n"
}

func TestSentence(t *testing.T) {
	slept := span("b1", "-1h", "0s", "29m50s") +
		"event 30m sleep | the machine went to sleep\nevent 5h wake | the machine woke after 4h30m | from=2026-11-20T22:30:00Z seconds=16200\n" +
		span("", "", "5h2s", "6h")
	doze := span("b1", "-1h", "0s", "10m") +
		"event 601s sleep | the machine went to sleep\nevent 10m40s wake | woke | from=2026-11-20T22:10:01Z seconds=39\n" + span("", "", "10m42s", "20m")
	shut := span("b1", "-1h", "0s", "10m") + span("b2", "40m", "41m", "50m") + "event 10m5s shutdown | the machine went down: power button | reason=power_button\n" +
		"event 40m boot | the machine was started, 30m0s after the last that was recorded | from=2026-11-20T22:10:00Z seconds=1800\n" +
		"event 41m gap | the machine was restarted, and nothing was recorded for 31m0s | from=2026-11-20T22:10:00Z seconds=1860\n"
	crash := strings.Replace(shut, "shutdown | the machine went down: power button | reason=power_button", "panic | the kernel left a panic report: x | report=x", 1)
	died := span("b1", "-1h", "0s", "10m") + "event 10m1s sleep | the machine went to sleep\n" + span("b2", "40m", "41m", "50m") +
		"event 40m boot | the machine was started, 30m0s after the last that was recorded | from=2026-11-20T22:10:00Z seconds=1800\n"
	idle := span("b1", "-1h", "0s", "10m") + "event 30m gap | the recorder did not run for 20m0s | from=2026-11-20T22:10:00Z seconds=1200\n" + span("", "", "30m", "40m")
	silent := span("b1", "-1h", "0s", "10m") + span("", "", "30m", "40m")
	for _, c := range []struct{ name, text, at, want string }{
		{"asleep", slept, "2026-11-20T22:45:00Z", "asleep 22:30 to 2026-11-21 03:00; last sample 22:29:50, next 2026-11-21 03:00:02"},
		{"asleep, the next day", slept, "2026-11-21T01:00:00Z", "asleep 2026-11-20 22:30 to 03:00; last sample 2026-11-20 22:29:50, next 03:00:02"},
		{"just before the sleep", slept, "2026-11-20T22:29:55Z", "asleep 22:30 to 2026-11-21 03:00; last sample 22:29:50, next 2026-11-21 03:00:02"},
		{"awake before", slept, "2026-11-20T22:29:45Z", ""},
		{"awake after", slept, "2026-11-21T03:00:02Z", ""},
		{"asleep for seconds", doze, "2026-11-20T22:10:20Z", "asleep 22:10:01 to 22:10:40; last sample 22:10:00, next 22:10:42"},
		{"off", shut, "2026-11-20T22:20:00Z", "off 22:10 to 22:40; last sample 22:10:00, next 22:41:00"},
		{"panicked", crash, "2026-11-20T22:20:00Z", "down after a panic 22:10 to 22:40; last sample 22:10:00, next 22:41:00"},
		{"never woke", died, "2026-11-20T22:20:00Z", "off 22:10 to 22:40; last sample 22:10:00, next 22:41:00"},
		{"two boots without an event", span("b1", "-1h", "0s", "10m") + span("b2", "40m", "41m", "50m"), "2026-11-20T22:20:00Z", "off 22:10 to 22:41; last sample 22:10:00, next 22:41:00"},
		{"the recorder did not run", idle, "2026-11-20T22:20:00Z", "not recorded 22:10 to 22:30 (the recorder did not run); last sample 22:10:00, next 22:30:00"},
		{"nothing says why", silent, "2026-11-20T22:20:00Z", "not recorded 22:10 to 22:30; last sample 22:10:00, next 22:30:00"},
		{"before", slept, "2026-11-20T21:00:00Z", "before the recording: its first sample is of 22:00:00"},
		{"after", slept, "2026-11-21T05:00:00Z", "after the recording; last sample 03:59:52, none after it"},
		{"at the end", slept, "2026-11-21T03:59:52Z", ""},
		{"just after the end", slept, "2026-11-21T04:00:02Z", ""},
		{"asleep at the end", span("b1", "-1h", "0s", "10m") + "event 10m4s sleep | the machine went to sleep\n", "2026-11-20T22:30:00Z", "asleep since 22:10:04; last sample 22:10:00, none after it"},
		{"the end of what was stopped", span("b1", "-1h", "0s", "10m") + "event 10m1s recorder stop | the recorder stopped\n", "2026-11-20T22:10:01Z", ""},
		{"stopped at the end", span("b1", "-1h", "0s", "10m") + "event 10m4s recorder stop | the recorder stopped\n", "2026-11-20T22:30:00Z", "not recorded since 22:10:00; last sample 22:10:00, none after it"},
	} {
		t.Run(c.name, func(t *testing.T) {
			at, err := time.Parse(time.RFC3339, c.at)
			if err != nil {
				t.Fatal(err)
			}
			parts, err := querytest.Parse(strings.NewReader(head + c.text))
			if err != nil {
				t.Fatal(err)
			}
			a := querytest.New(parts...)
			s := query.StanceAt(a, a.Hosts()[0].ID, at.UnixNano())
			if got := moment.Sentence(&s, time.UTC); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// In the night in which clocks are set back, times say which clock they are of.
func TestSentenceAcrossChangesOfClocks(t *testing.T) {
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	of := func(text string) int64 {
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		return at.UnixNano()
	}
	s := query.Stance{At: of("2026-10-25T00:10:00Z"), State: query.Asleep, Before: of("2026-10-25T00:00:00Z"), After: of("2026-10-25T03:00:02Z")}
	s.Break = &query.Break{From: of("2026-10-25T00:00:00Z"), To: of("2026-10-25T03:00:00Z")}
	const want = "asleep 02:00 to 04:00 CET; last sample 02:00:00, next 04:00:02 CET"
	if got := moment.Sentence(&s, zone); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
