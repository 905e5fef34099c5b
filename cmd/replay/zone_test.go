package main

import (
	"strings"
	"testing"
)

// Times are read and shown in the zone of the machine that was recorded,
// wherever they are asked for.
func TestZones(t *testing.T) {
	t.Setenv("TZ", "Asia/Tokyo")
	for _, c := range []struct {
		name string
		args []string
		want []string
	}{
		{"archive's", []string{"at", "04:20", "--archive", "testdata/berlin.txt"}, []string{"at 2026-10-26 04:20:00 CET"}},
		{"archive's, in csv", []string{"values", "mem.util.used", "--archive", "testdata/berlin.txt", "--from", "04:20", "--to", "04:20", "--format", "csv"},
			[]string{"2026-10-26T04:20:00.000000000+01:00"}},
		{"utc", []string{"at", "04:20", "--archive", "testdata/berlin.txt", "--utc"}, []string{"at 2026-10-26 04:20:00 UTC"}},
		{"named", []string{"at", "2026-10-24 04:20", "--archive", "testdata/berlin.txt", "--tz", "America/New_York"}, []string{"at 2026-10-24 04:20:00 EDT"}},
		{"offset", []string{"at", "2026-10-24 06:20", "--archive", "testdata/berlin.txt", "--tz", "+05:30"}, []string{"at 2026-10-24 06:20:00 +05:30"}},
		{"machines in two zones", []string{"summary", "testdata/berlin.txt", "testdata/fleet.txt", "--format", "csv"}, []string{"00Z,"}},
		{"one of them", []string{"events", "testdata/berlin.txt", "testdata/fleet.txt", "--host", "berlin"}, []string{"2026-10-24 02:00:00"}},
		{"a boot", []string{"at", "last boot+10m", "--archive", "testdata/berlin.txt"}, []string{"at 2026-10-24 02:10:00 CEST"}},
		{"none", []string{"info", "testdata/berlin.txt", "--tz", "Europe/Bonn"}, []string{"--tz Europe/Bonn: there is no such zone"}},
		{"two", []string{"info", "testdata/berlin.txt", "--tz", "Europe/Berlin", "--utc"}, []string{"name two zones"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, errs, _ := replayAt(testNow, c.args...)
			for _, w := range c.want {
				if !strings.Contains(out+errs, w) {
					t.Errorf("%q is missing in\n%s%s", w, out, errs)
				}
			}
		})
	}
}
