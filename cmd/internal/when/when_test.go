package when

import (
	"testing"
	"time"
)

var berlin = time.FixedZone("CET", 3600)

func reference() Reference {
	at := func(s string) time.Time {
		t, err := time.Parse(time.RFC3339, s)
		if err != nil {
			panic(err)
		}
		return t
	}
	return Reference{Now: at("2026-11-20T10:30:00+01:00"), Zone: berlin, Start: at("2026-11-18T00:00:00+01:00"), End: at("2026-11-20T10:29:59+01:00"),
		Last: func(kind string) time.Time {
			if kind != "boot" {
				return time.Time{}
			}
			return at("2026-11-19T23:00:00+01:00")
		}}
}

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"now":                            "2026-11-20T10:30:00+01:00",
		"now-1m":                         "2026-11-20T10:29:00+01:00",
		"-2h":                            "2026-11-20T08:30:00+01:00",
		"-1d":                            "2026-11-19T10:30:00+01:00",
		"-1d12h":                         "2026-11-18T22:30:00+01:00",
		"start":                          "2026-11-18T00:00:00+01:00",
		"start+90s":                      "2026-11-18T00:01:30+01:00",
		"end-10m":                        "2026-11-20T10:19:59+01:00",
		"@1795000000":                    "2026-11-18T11:06:40Z",
		"@1795000000.5":                  "2026-11-18T11:06:40.5Z",
		"2026-11-20":                     "2026-11-20T00:00:00+01:00",
		"2026-11-20 03:12":               "2026-11-20T03:12:00+01:00",
		"2026-11-20T03:12:05":            "2026-11-20T03:12:05+01:00",
		"2026-11-20 03:12:05.25":         "2026-11-20T03:12:05.25+01:00",
		"2026-11-20T03:12:05Z":           "2026-11-20T03:12:05Z",
		"2026-11-20T03:12:05.123456789Z": "2026-11-20T03:12:05.123456789Z",
		"2026-11-20 03:12:05+05:00":      "2026-11-20T03:12:05+05:00",
		"03:12":                          "2026-11-20T03:12:00+01:00",
		"03:12:05":                       "2026-11-20T03:12:05+01:00",
		"22:00":                          "2026-11-19T22:00:00+01:00",
		"NOW - 1m":                       "2026-11-20T10:29:00+01:00",
		"last boot":                      "2026-11-19T23:00:00+01:00",
		"last boot+5m":                   "2026-11-19T23:05:00+01:00",
		"last boot - 5m":                 "2026-11-19T22:55:00+01:00",
		"3:12am":                         "2026-11-20T03:12:00+01:00",
		"3:12 AM":                        "2026-11-20T03:12:00+01:00",
		"11pm":                           "2026-11-19T23:00:00+01:00",
		"12am":                           "2026-11-20T00:00:00+01:00",
		"noon":                           "2026-11-19T12:00:00+01:00",
		"midnight":                       "2026-11-20T00:00:00+01:00",
		"today":                          "2026-11-20T00:00:00+01:00",
		"yesterday":                      "2026-11-19T00:00:00+01:00",
		"yesterday 03:12":                "2026-11-19T03:12:00+01:00",
		"Yesterday at 3:12 pm":           "2026-11-19T15:12:00+01:00",
		"3:12pm yesterday":               "2026-11-19T15:12:00+01:00",
		"noon, wednesday":                "2026-11-18T12:00:00+01:00",
		"thursday 14:00":                 "2026-11-19T14:00:00+01:00",
		"friday 09:00":                   "2026-11-20T09:00:00+01:00",
		"friday 14:00":                   "2026-11-20T14:00:00+01:00", // the one before was not recorded
		"fri":                            "2026-11-20T00:00:00+01:00",
		"last friday":                    "2026-11-13T00:00:00+01:00",
		"mon 14:00":                      "2026-11-16T14:00:00+01:00",
		"2026-11-20 3:12am":              "2026-11-20T03:12:00+01:00",
		"19 Nov 14:00":                   "2026-11-19T14:00:00+01:00",
		"november 19 2pm":                "2026-11-19T14:00:00+01:00",
		"dec 24":                         "2025-12-24T00:00:00+01:00",
		"5m ago":                         "2026-11-20T10:25:00+01:00",
		"20 minutes ago":                 "2026-11-20T10:10:00+01:00",
		"an hour ago":                    "2026-11-20T09:30:00+01:00",
		"2 days ago":                     "2026-11-18T10:30:00+01:00",
		"2 days ago 14:00":               "2026-11-18T14:00:00+01:00",
	} {
		t.Run(text, func(t *testing.T) {
			got, err := reference().Parse(text)
			w, _ := time.Parse(time.RFC3339Nano, want)
			if err != nil || !got.Equal(w) {
				t.Errorf("Parse(%q) = %v, %v; want %v", text, got, err, want)
			}
		})
	}
	for _, text := range []string{"", "someday", "last", "last panic", "last gap", "13am", "ago", "5 ago", "x days ago", "yesterday yesterday", "monday 25:00", "mo", "25:00", "-", "-2", "+5m", "@", "@x", "@1.0000000001", "start*2", "2026-13-01", "now+", "nowish"} {
		t.Run(text, func(t *testing.T) {
			if got, err := reference().Parse(text); err == nil {
				t.Errorf("Parse(%q) = %v, want an error", text, got)
			}
		})
	}
}

// A time of day outside of what the archive covers is one of its last day, so
// that the answer says what it does cover.
func TestClockOutsideTheArchive(t *testing.T) {
	r := reference()
	r.Start = r.End.Add(-time.Hour)
	got, err := r.Parse("22:00")
	if want := time.Date(2026, 11, 20, 22, 0, 0, 0, berlin); err != nil || !got.Equal(want) {
		t.Errorf("22:00 is %v, %v; want %v", got, err, want)
	}
}

func TestEmptyArchive(t *testing.T) {
	r := Reference{Now: reference().Now, Zone: berlin}
	if _, err := r.Parse("start"); err == nil {
		t.Error("the start of an empty archive is a time")
	}
	if got, err := r.Parse("11:00"); err != nil || !got.Equal(time.Date(2026, 11, 19, 11, 0, 0, 0, berlin)) {
		t.Errorf("11:00 is %v, %v", got, err)
	}
}

func TestDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"30s": 30 * time.Second, "1h30m": 90 * time.Minute, "7d": 168 * time.Hour, "2w": 336 * time.Hour, "1d12h": 36 * time.Hour, "0.5d": 12 * time.Hour,
	} {
		t.Run(text, func(t *testing.T) {
			if got, err := Duration(text); err != nil || got != want {
				t.Errorf("Duration(%q) = %v, %v; want %v", text, got, err, want)
			}
		})
	}
	for _, text := range []string{"", "5", "-5m", "d", "1x", "1e9w"} {
		t.Run(text, func(t *testing.T) {
			if got, err := Duration(text); err == nil {
				t.Errorf("Duration(%q) = %v, want an error", text, got)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"now", "-2h", "@12.5", "2026-11-20 03:12", "03:12", "start+1d", "end-1w2d3h", "last boot-5m", "yesterday at 3:12 am", "noon, last monday", "2 days ago 14:00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		at, err := reference().Parse(s)
		if err == nil && at.IsZero() {
			t.Errorf("Parse(%q) gives no time and no error", s)
		}
	})
}
