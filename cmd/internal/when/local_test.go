package when

import (
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // the zones' rules do not depend on the machine
)

// In the nights in which clocks change, a local time means one instant, or
// people are asked which.
func TestNightsOfClockChange(t *testing.T) {
	for _, c := range []struct {
		zone, start, end, text string
		want                   string // an instant, or with ! what the error names
	}{
		{"Europe/Berlin", "2026-10-24T00:00:00Z", "2026-10-26T00:00:00Z", "2026-10-25 01:30", "2026-10-25T01:30:00+02:00"},
		{"Europe/Berlin", "2026-10-24T00:00:00Z", "2026-10-26T00:00:00Z", "2026-10-25 02:30", "!2026-10-25T02:30:00+02:00 or 2026-10-25T02:30:00+01:00"},
		{"Europe/Berlin", "2026-10-24T00:00:00Z", "2026-10-26T00:00:00Z", "2026-10-25T02:00:00.5", "!2026-10-25T02:00:00.5+02:00 or 2026-10-25T02:00:00.5+01:00"},
		{"Europe/Berlin", "2026-10-24T00:00:00Z", "2026-10-26T00:00:00Z", "2026-10-25 03:00", "2026-10-25T03:00:00+01:00"},
		{"Europe/Berlin", "2026-10-24T00:00:00Z", "2026-10-25T12:00:00Z", "02:30", "!came twice"},
		{"Europe/Berlin", "2026-10-24T00:00:00Z", "2026-10-25T12:00:00Z", "03:30", "2026-10-25T03:30:00+01:00"},
		{"Europe/Berlin", "2026-10-24T00:00:00Z", "2026-10-26T12:00:00Z", "02:30", "2026-10-26T02:30:00+01:00"},
		{"Europe/Berlin", "2026-10-23T00:00:00Z", "2026-10-24T23:00:00Z", "02:30", "2026-10-24T02:30:00+02:00"},
		{"Europe/Berlin", "2026-03-27T00:00:00Z", "2026-03-29T00:10:00Z", "02:30", "2026-03-28T02:30:00+01:00"},
		// Only one of the two was recorded.
		{"Europe/Berlin", "2026-10-24T00:00:00Z", "2026-10-25T00:45:00Z", "2026-10-25 02:30", "2026-10-25T02:30:00+02:00"},
		{"Europe/Berlin", "2026-10-25T01:00:00Z", "2026-10-25T09:00:00Z", "2026-10-25 02:30", "2026-10-25T02:30:00+01:00"},
		{"Europe/Berlin", "2026-10-24T00:00:00Z", "2026-10-25T00:45:00Z", "02:30", "2026-10-25T02:30:00+02:00"},
		{"Europe/Berlin", "2026-03-28T00:00:00Z", "2026-03-30T00:00:00Z", "2026-03-29 02:30", "!2026-03-29T03:30:00+02:00 or 2026-03-29T01:30:00+01:00"},
		{"Europe/Berlin", "2026-03-28T00:00:00Z", "2026-03-29T12:00:00Z", "02:30", "!never came"},
		{"Europe/Berlin", "2026-03-28T00:00:00Z", "2026-03-30T00:00:00Z", "2026-03-29 03:00", "2026-03-29T03:00:00+02:00"},
		// Days begin when they begin.
		{"Europe/Berlin", "2026-10-24T00:00:00Z", "2026-10-26T00:00:00Z", "2026-10-25", "2026-10-25T00:00:00+02:00"},
		{"America/Havana", "2026-10-30T00:00:00Z", "2026-11-03T00:00:00Z", "2026-11-01", "2026-11-01T00:00:00-04:00"},
		{"Africa/Cairo", "2026-04-20T00:00:00Z", "2026-04-30T00:00:00Z", "2026-04-24", "2026-04-24T01:00:00+03:00"},
		{"Australia/Lord_Howe", "2026-04-04T00:00:00Z", "2026-04-06T00:00:00Z", "2026-04-05 01:45", "!came twice"},
		{"Australia/Lord_Howe", "2026-04-04T00:00:00Z", "2026-04-06T00:00:00Z", "2026-04-05 01:15", "2026-04-05T01:15:00+11:00"},
		// A whole day that was left out.
		{"Pacific/Apia", "2011-12-28T00:00:00Z", "2012-01-02T00:00:00Z", "2011-12-31", "2011-12-31T00:00:00+14:00"},
	} {
		zone, err := time.LoadLocation(c.zone)
		if err != nil {
			t.Fatal(err)
		}
		at := func(s string) time.Time {
			x, err := time.Parse(time.RFC3339Nano, s)
			if err != nil {
				t.Fatal(err)
			}
			return x
		}
		t.Run(c.zone+" "+c.text, func(t *testing.T) {
			r := Reference{Now: at(c.end).Add(time.Hour), Zone: zone, Start: at(c.start), End: at(c.end)}
			got, err := r.Parse(c.text)
			if words, bad := strings.CutPrefix(c.want, "!"); bad {
				if err == nil || !strings.Contains(err.Error(), words) {
					t.Fatalf("%v, %v; want an error with %q", got, err, words)
				}
				return
			}
			if err != nil || !got.Equal(at(c.want)) {
				t.Errorf("%v, %v; want %s", got, err, c.want)
			}
		})
	}
}
