package when

import (
	"testing"
	"time"
)

func TestBeside(t *testing.T) {
	ref := Reference{
		Now: time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC), Zone: time.UTC,
		Start: time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC), End: time.Date(2026, 11, 21, 6, 0, 0, 0, time.UTC),
	}
	at := time.Date(2026, 11, 10, 14, 30, 0, 0, time.UTC)
	for text, want := range map[string]string{
		"03:12": "2026-11-10T03:12:00Z", "3:12 pm": "2026-11-10T15:12:00Z", "noon": "2026-11-10T12:00:00Z", "23:59:59": "2026-11-10T23:59:59Z",
		"-5m": "2026-11-10T14:25:00Z", "+1d": "2026-11-11T14:30:00Z", "end-5m": "2026-11-21T05:55:00Z", "start": "2026-11-01T00:00:00Z",
		"2026-11-12 03:12": "2026-11-12T03:12:00Z", "yesterday 03:12": "2026-11-21T03:12:00Z", "@1793000000": "2026-10-26T07:33:20Z",
	} {
		got, err := ref.Beside(text, at)
		if err != nil || got.UTC().Format(time.RFC3339) != want {
			t.Errorf("%q is %s (%v), want %s", text, got.UTC().Format(time.RFC3339), err, want)
		}
	}
	for _, text := range []string{"", "+", "-x", "25:00", "elevenses"} {
		if got, err := ref.Beside(text, at); err == nil {
			t.Errorf("%q is %s", text, got)
		}
	}
	// In a zone, the day is that of its clock.
	zone := time.FixedZone("", 3600*5)
	ref.Zone = zone
	if got, err := ref.Beside("01:00", time.Date(2026, 11, 10, 22, 0, 0, 0, time.UTC)); err != nil || got.UTC().Format(time.RFC3339) != "2026-11-10T20:00:00Z" {
		t.Errorf("01:00 in another zone is %s (%v)", got.UTC(), err)
	}
}

// A time of day that the looked at day's part of the recording lacks is that of the day
// beside it which has it, as the command line would take it.
func TestBesideTheEndOfADay(t *testing.T) {
	ref := Reference{
		Now: time.Date(2026, 11, 22, 0, 30, 0, 0, time.UTC), Zone: time.UTC,
		Start: time.Date(2026, 11, 20, 15, 0, 0, 0, time.UTC), End: time.Date(2026, 11, 22, 0, 10, 0, 0, time.UTC),
	}
	for _, c := range []struct{ text, at, want string }{
		{"16:39", "2026-11-22T00:05:00Z", "2026-11-21T16:39:00Z"},
		{"00:05", "2026-11-20T15:30:00Z", "2026-11-21T00:05:00Z"},
		{"16:39", "2026-11-20T15:30:00Z", "2026-11-20T16:39:00Z"},
		{"00:09", "2026-11-21T23:00:00Z", "2026-11-21T00:09:00Z"},
		{"16:39", "2026-11-25T00:00:00Z", "2026-11-21T16:39:00Z"}, // looked at from far behind the end
	} {
		at, err := time.Parse(time.RFC3339, c.at)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ref.Beside(c.text, at)
		if err != nil || got.Format(time.RFC3339) != c.want {
			t.Errorf("%s beside %s is %s (%v), want %s", c.text, c.at, got.Format(time.RFC3339), err, c.want)
		}
	}
}
