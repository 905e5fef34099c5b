package config

import (
	"testing"
	"time"
)

func TestNextRotation(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ what, expr, began, now, want string }{
		{"midnight", "0 0 * * *", "2026-11-20T13:00:00+01:00", "2026-11-20T14:00:00+01:00", "2026-11-21T00:00:00+01:00"},
		{"cut at midnight itself", "0 0 * * *", "2026-11-21T00:00:00+01:00", "2026-11-21T00:00:01+01:00", "2026-11-22T00:00:00+01:00"},
		{"missed in sleep", "0 0 * * *", "2026-11-20T13:00:00+01:00", "2026-11-23T09:00:00+01:00", "2026-11-21T00:00:00+01:00"},
		{"day of 23 hours", "0 0 * * *", "2026-03-29T00:00:00+01:00", "2026-03-29T01:00:00+01:00", "2026-03-30T00:00:00+02:00"},
		{"day of 25 hours", "0 0 * * *", "2026-10-25T00:00:00+02:00", "2026-10-25T01:00:00+02:00", "2026-10-26T00:00:00+01:00"},
		{"the hour that does not exist", "30 2 * * *", "2026-03-28T12:00:00+01:00", "2026-03-28T12:00:00+01:00", "2026-03-29T03:30:00+02:00"},
		{"the hour that comes twice", "30 2 * * *", "2026-10-25T00:00:00+02:00", "2026-10-25T00:00:01+02:00", "2026-10-25T02:30:00+02:00"},
		{"hourly through the hour that comes twice", "0 * * * *", "2026-10-25T02:00:00+02:00", "2026-10-25T02:10:00+02:00", "2026-10-25T02:00:00+01:00"},
		{"after the hour that comes twice", "30 2 * * *", "2026-10-25T02:30:00+02:00", "2026-10-25T02:30:01+02:00", "2026-10-25T02:30:00+01:00"},
		{"clock set back an hour", "0 0 * * *", "2026-11-21T00:00:05+01:00", "2026-11-20T23:00:00+01:00", "2026-11-21T00:00:00+01:00"},
		{"clock set back a year", "0 0 * * *", "2026-11-21T00:00:05+01:00", "2025-11-20T23:00:00+01:00", "2025-11-21T00:00:00+01:00"},
		{"every six hours", "@every 6h", "2026-11-20T13:00:00+01:00", "2026-11-20T14:00:00+01:00", "2026-11-20T19:00:00+01:00"},
	} {
		t.Run(c.what, func(t *testing.T) {
			s, err := ParseSchedule(c.expr)
			if err != nil {
				t.Fatal(err)
			}
			at := func(text string) time.Time {
				v, err := time.Parse(time.RFC3339, text)
				if err != nil {
					t.Fatal(err)
				}
				return v
			}
			if got := NextRotation(s, at(c.began), at(c.now), berlin); !got.Equal(at(c.want)) {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
	if _, err := ParseSchedule("every now and then"); err == nil {
		t.Error("a bad expression was accepted")
	}
}

// If each archive begins when the one before was cut, a schedule cuts once a day, also where
// the year's clock changes.
func TestRotationOverAYear(t *testing.T) {
	for _, zone := range []string{"Europe/Berlin", "America/Sao_Paulo", "Australia/Lord_Howe", "Africa/Cairo", "UTC"} {
		loc, err := time.LoadLocation(zone)
		if err != nil {
			t.Fatal(err)
		}
		s, err := ParseSchedule("0 0 * * *")
		if err != nil {
			t.Fatal(err)
		}
		at := time.Date(2026, 1, 1, 12, 0, 0, 0, loc)
		cuts := 0
		for end := at.AddDate(1, 0, 0); ; cuts++ {
			next := NextRotation(s, at, at, loc)
			if next.Sub(at) > 48*time.Hour || !next.After(at) {
				t.Fatalf("%s: %s after %s", zone, next, at)
			}
			if at = next; at.After(end) {
				break
			}
		}
		if cuts != 365 {
			t.Errorf("%s: %d cuts in a year", zone, cuts)
		}
	}
}
