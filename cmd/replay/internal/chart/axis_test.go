package chart

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"tachograph/sample/metric"
)

func unitsOf(t *testing.T, text string) metric.Units {
	t.Helper()
	u, err := metric.ParseUnits(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestValues(t *testing.T) {
	for _, c := range []struct {
		low, high float64
		units     string
		rate      bool
		most      int
		want      string
	}{
		{0, 0.93, "", true, 2, "0 %, 50 %, 100 %"},
		{0, 0.93, "", true, 4, "0 %, 25 %, 50 %, 75 %, 100 %"},
		{0, 1.95, "", true, 3, "0 %, 100 %, 200 %"},
		{0, 1.95, "", true, 4, "0 %, 50 %, 100 %, 150 %, 200 %"},
		{0, 0.004, "", true, 2, "0 %, 0.2 %, 0.4 %"},
		{0, 97, "", false, 2, "0, 50, 100"},
		{0, 96.4, "percent", false, 2, "0 %, 50 %, 100 %"},
		{0, 12 << 20, "Kbyte", false, 3, "0 B, 5 GB, 10 GB, 15 GB"},
		{0, 1.28 * (1 << 20), "Kbyte", false, 3, "0 B, 512 MB, 1 GB, 1.5 GB"},
		{0, 1.1 * (1 << 30), "byte", false, 5, "0 B, 256 MB, 512 MB, 768 MB, 1 GB, 1.25 GB"},
		{0, 900 << 20, "byte", false, 3, "0 B, 512 MB, 1 GB"},
		{0, 100 << 20, "byte / sec", true, 2, "0 B/s, 50 MB/s, 100 MB/s"},
		{0, 3000, "byte / sec", true, 3, "0 B/s, 1 KB/s, 2 KB/s, 3 KB/s"},
		{22.9 * (1 << 30), 23.1 * (1 << 30), "byte", false, 2, "22.9 GB, 23 GB, 23.1 GB"},
		{0, 50, "sec", false, 3, "0 s, 30 s, 1m"},
		{0, 100, "sec", false, 4, "0 s, 30 s, 1m, 1m 30s, 2m"},
		{0, 3000, "sec", false, 4, "0 s, 15m, 30m, 45m, 1h"},
		{0, 3 * 86400, "sec", false, 3, "0 s, 1d, 2d, 3d"},
		{0, 40 * 86400, "sec", false, 3, "0 s, 20d, 40d"},
		{0, 0.3, "sec", false, 3, "0 s, 100 ms, 200 ms, 300 ms"},
		{0, 700, "microsec", false, 4, "0 s, 200 µs, 400 µs, 600 µs, 800 µs"},
		{0, 2500, "count / sec", true, 3, "0 /s, 1000 /s, 2000 /s, 3000 /s"},
		{0, 25000, "count", false, 3, "0, 10 k, 20 k, 30 k"},
		{41, 47.5, "C", false, 4, "40 °C, 42 °C, 44 °C, 46 °C, 48 °C"},
		{-3, 4, "C", false, 4, "-4 °C, -2 °C, 0 °C, 2 °C, 4 °C"},
		{0, 1500, "mW", false, 3, "0 W, 0.5 W, 1 W, 1.5 W"},
		{7, 7, "", false, 4, "0, 2, 4, 6, 8"},
		{0, 0, "byte", false, 1, "0 B, 1 B"},
		{math.NaN(), 1, "", false, 1, "0, 1"},
		{-math.MaxFloat64, math.MaxFloat64, "", false, 3, ""},
	} {
		t.Run(fmt.Sprintf("%g to %g %s", c.low, c.high, c.units), func(t *testing.T) {
			a := Values(c.low, c.high, unitsOf(t, c.units), c.rate, c.most)
			var words []string
			for _, tick := range a.Ticks {
				words = append(words, tick.Label)
			}
			if got := strings.Join(words, ", "); got != c.want && c.want != "" {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

func FuzzValues(f *testing.F) {
	for i, u := range []string{"", "byte", "Kbyte / sec", "sec", "nanosec", "count", "percent", "mW"} {
		f.Add(float64(i), float64(i)*1e9, u, i%2 == 0, i)
		f.Add(-math.MaxFloat64, math.MaxFloat64, u, true, 3)
		f.Add(math.SmallestNonzeroFloat64, 2*math.SmallestNonzeroFloat64, u, false, 3)
		f.Add(1e18, 1e18+1024, u, false, 3)
		f.Add(-16.0, 3.0864194938271604e+06, u, false, 0) // a step so long that all is a hair of it
	}
	f.Fuzz(func(t *testing.T, low, high float64, units string, rate bool, most int) {
		u, err := metric.ParseUnits(units)
		if err != nil {
			return
		}
		most = most&15 + 1
		a := Values(low, high, u, rate, most)
		if !(a.Low < a.High) || math.IsInf(a.Low, 0) || math.IsInf(a.High, 0) || len(a.Ticks) < 2 || len(a.Ticks) > most+1 {
			t.Fatalf("%v to %v with %d ticks: %v", a.Low, a.High, most, a.Ticks)
		}
		if low < high && !math.IsInf(low, 0) && !math.IsInf(high, 0) {
			slack := 1e-6 * math.Max(math.Abs(low), math.Abs(high))
			if a.Low-low > slack || high-a.High > slack {
				t.Fatalf("%v to %v does not hold %v to %v", a.Low, a.High, low, high)
			}
		}
	})
}

func TestTimes(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	howe, err := time.LoadLocation("Australia/Lord_Howe")
	if err != nil {
		t.Fatal(err)
	}
	cairo, err := time.LoadLocation("Africa/Cairo")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		from, to string
		zone     *time.Location
		most     int
		want     string
	}{
		{"2026-11-20T03:00:00Z", "2026-11-20T03:20:00Z", time.UTC, 5, "03:00|2026-11-20 03:05 03:10 03:15 03:20"},
		{"2026-11-20T03:01:07Z", "2026-11-20T03:19:30Z", time.UTC, 8, "03:05|2026-11-20 03:10 03:15"},
		{"2026-11-20T21:00:00Z", "2026-11-21T05:00:00Z", time.UTC, 5, "22:00|2026-11-20 00:00|2026-11-21 02:00 04:00"},
		{"2026-11-20T03:00:00Z", "2026-11-20T03:00:20Z", time.UTC, 5, "03:00:00|2026-11-20 03:00:05 03:00:10 03:00:15 03:00:20"},
		{"2026-11-20T03:00:00Z", "2026-11-20T03:00:02Z", time.UTC, 5, "03:00:00.000|2026-11-20 03:00:00.500 03:00:01.000 03:00:01.500 03:00:02.000"},
		{"2026-10-24T22:00:00Z", "2026-10-25T04:00:00Z", berlin, 8, "00:00|2026-10-25 01:00 02:00 02:00|CET 03:00 04:00 05:00"},
		{"2026-03-28T23:00:00Z", "2026-03-29T04:00:00Z", berlin, 8, "00:00|2026-03-29 01:00 03:00|CEST 04:00 05:00 06:00"},
		{"2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z", berlin, 5, "00:00|2026-10-25 06:00|CET 12:00 18:00 00:00|2026-10-26"},
		{"2026-04-04T14:00:00Z", "2026-04-04T16:30:00Z", howe, 12, "01:00|2026-04-05 01:15 01:30 01:45 01:30|+1030 01:45 02:00 02:15 02:30 02:45 03:00"},
		{"2026-04-22T12:00:00Z", "2026-04-26T12:00:00Z", cairo, 5, "04-23|2026 04-24 04-25 04-26"},
		{"2026-11-01T00:00:00Z", "2026-11-30T00:00:00Z", time.UTC, 7, "11-01|2026 11-06 11-11 11-16 11-21 11-26"},
		{"2026-11-20T12:00:00Z", "2027-01-20T12:00:00Z", time.UTC, 8, "11-21|2026 12-01 12-11 12-21 01-01|2027 01-11"},
		{"2026-01-15T00:00:00Z", "2027-01-15T00:00:00Z", time.UTC, 5, "2026-04 2026-07 2026-10 2027-01"},
		{"1700-01-01T00:00:00Z", "2250-01-01T00:00:00Z", time.UTC, 6, "1700 1800 1900 2000 2100 2200"},
		{"2026-11-20T03:00:00Z", "2026-11-20T03:00:00Z", time.UTC, 3, "03:00:00.000|2026-11-20"},
	} {
		t.Run(c.from+" to "+c.to, func(t *testing.T) {
			from, err1 := time.Parse(time.RFC3339, c.from)
			to, err2 := time.Parse(time.RFC3339, c.to)
			if err1 != nil || err2 != nil {
				t.Fatal(err1, err2)
			}
			var words []string
			for _, tick := range Times(from.UnixNano(), to.UnixNano(), c.zone, c.most) {
				text := tick.Label
				if tick.Below != "" {
					text += "|" + tick.Below
				}
				words = append(words, text)
			}
			if got := strings.Join(words, " "); got != c.want {
				t.Errorf("\n%s, want\n%s", got, c.want)
			}
		})
	}
}

func FuzzTimes(f *testing.F) {
	f.Add(int64(0), int64(1e18), "Europe/Berlin", 5)
	f.Add(int64(math.MinInt64), int64(math.MaxInt64), "Pacific/Apia", 3)
	f.Add(int64(1e18), int64(1e18), "Africa/Cairo", 1)
	f.Fuzz(func(t *testing.T, from, to int64, name string, most int) {
		zone, err := time.LoadLocation(name)
		if err != nil {
			return
		}
		most = most & 31
		list := Times(from, to, zone, most)
		if len(list) > most {
			t.Fatalf("%d ticks of %d", len(list), most)
		}
		for i, tick := range list {
			if tick.At < from || tick.At > to || i > 0 && tick.At <= list[i-1].At {
				t.Fatalf("tick %d of %d to %d: %d", i, from, to, tick.At)
			}
		}
	})
}
