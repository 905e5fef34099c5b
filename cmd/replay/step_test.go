package main

import (
	"strings"
	"testing"

	"tachograph/cmd/internal/cli"
)

// Steps of whole days are cut at midnight of the zone, also in the night in
// which clocks are set back and a day has 25 hours.
func TestStepsOfDays(t *testing.T) {
	t.Parallel()
	const night = "testdata/berlin.txt" // 2026-10-24 02:00 to 2026-10-26 09:00, 10 KB written a second
	for _, c := range []struct {
		name, line, want string
	}{
		{"counter", "rates disk.all.write_bytes --step 1d", `
2026-10-25T00:00:00.000000000+02:00,disk.all.write_bytes,,10
2026-10-26T00:00:00.000000000+01:00,disk.all.write_bytes,,10
2026-10-27T00:00:00.000000000+01:00,disk.all.write_bytes,,10
`},
		{"level from the middle of a day", "values mem.util.used --step 1d --from 2026-10-24T20:00 --to 2026-10-25T23:00", `
2026-10-25T00:00:00.000000000+02:00,mem.util.used,,4000000
2026-10-25T23:00:00.000000000+01:00,mem.util.used,,4000000
`},
		{"in another zone", "rates disk.all.write_bytes --step 1d --tz America/New_York", `
2026-10-24T00:00:00.000000000-04:00,disk.all.write_bytes,,10
2026-10-25T00:00:00.000000000-04:00,disk.all.write_bytes,,10
2026-10-26T00:00:00.000000000-04:00,disk.all.write_bytes,,10
2026-10-27T00:00:00.000000000-04:00,disk.all.write_bytes,,10
`},
		{"week", "values mem.util.used --step 1w", `
2026-10-26T00:00:00.000000000+01:00,mem.util.used,,4000000
2026-11-02T00:00:00.000000000+01:00,mem.util.used,,4000000
`},
		{"expression", "rates 'delta(disk.all.write_bytes) / 1MB' --step 1d --from 2026-10-24 --units ''", `
2026-10-25T00:00:00.000000000+02:00,delta(disk.all.write_bytes) / 1MB,,843.75
2026-10-26T00:00:00.000000000+01:00,delta(disk.all.write_bytes) / 1MB,,878.90625
2026-10-27T00:00:00.000000000+01:00,delta(disk.all.write_bytes) / 1MB,,843.75
`},
		{"hours are as they were", "values mem.util.used --step 12h --from 2026-10-25T12:00 --to 2026-10-26T06:00", `
2026-10-26T00:00:00.000000000+01:00,mem.util.used,,4000000
2026-10-26T06:00:00.000000000+01:00,mem.util.used,,4000000
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, errs, status := replayAt(testNow, append(words(c.line), "--archive", night, "--format", "csv")...)
			_, got, _ := strings.Cut(out, "\n")
			if status != cli.Yes || "\n"+got != c.want {
				t.Errorf("status %d %s\ngot %s\nwant%s", status, errs, got, c.want)
			}
		})
	}
}

func TestRangesOfDays(t *testing.T) {
	t.Parallel()
	for _, metric := range []string{"disk.all.write_bytes", "'mem.util.used / 1'"} {
		t.Run(metric, func(t *testing.T) {
			out, errs, status := replayAt(testNow, append(words("ranges "+metric+" --step 1d --format csv --archive testdata/berlin.txt"), "--quick")...)
			if status != cli.Yes {
				t.Fatal(errs)
			}
			var got []string
			for line := range strings.Lines(out) {
				f := strings.Split(line, ",")
				got = append(got, strings.Join(f[2:5], " "))
			}
			want := []string{"from to count",
				"2026-10-24T00:00:00.000000000+02:00 2026-10-24T23:59:59.999999999+02:00 132",
				"2026-10-25T00:00:00.000000000+02:00 2026-10-25T23:59:59.999999999+01:00 150",
				"2026-10-26T00:00:00.000000000+01:00 2026-10-26T23:59:59.999999999+01:00 55"}
			if strings.Join(got, "\n") != strings.Join(want, "\n") {
				t.Errorf("%s:\n%s", metric, strings.Join(got, "\n"))
			}
		})
	}
}
