package query_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tachograph/store/query"
	"tachograph/store/query/querytest"
)

// A service restarted if all its processes were replaced; one that kept a process, a session and
// a machine that was booted did not.
func TestRestarts(t *testing.T) {
	const head = `start 2026-11-20T03:00:00Z
host m id=1
interval process 5s
metric proc.psinfo.utime u64 counter process process nanosec
metric proc.owner.service string discrete process process
`
	begin := time.Date(2026, 11, 20, 3, 0, 0, 0, time.UTC).UnixNano()
	at := func(minutes int64) int64 { return begin + minutes*int64(time.Minute) }
	for _, c := range []struct {
		name     string
		owner    string
		alive    [2]string // keys of the processes until and after the twelfth minute
		boots    bool
		restarts []string
	}{
		{"replaced", "service=web.service", [2]string{"10 11", "20 21"}, false, []string{"web.service"}},
		{"one stayed", "service=web.service", [2]string{"10 11", "10 21"}, false, nil},
		{"gone", "service=web.service", [2]string{"10 11", ""}, false, nil},
		{"new", "service=web.service", [2]string{"", "20"}, false, nil},
		{"a container", "service=docker-1.scope container=web", [2]string{"10", "20"}, false, []string{"container web"}},
		{"a session", "session=pts/4", [2]string{"10", "20"}, false, nil},
		{"a boot", "service=web.service", [2]string{"10", "20"}, true, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var b strings.Builder
			b.WriteString(head + "instance process 1 000001 other pid=1\n")
			for _, key := range []string{"10", "11", "20", "21"} {
				fmt.Fprintf(&b, "instance process %s 0000%s worker pid=%s %s\n", key, key, key, c.owner)
			}
			b.WriteString("boot b1 -1h\n")
			for i, span := range []string{"0s 12m", "12m5s 20m"} {
				if i == 1 && c.boots {
					b.WriteString("boot b2 12m1s\n")
				}
				fmt.Fprintf(&b, "every 5s %s process\n", span)
				for _, key := range append([]string{"1"}, strings.Fields(c.alive[i])...) {
					fmt.Fprintf(&b, "  proc.psinfo.utime[%s] rate=1000\n", key)
				}
			}
			parts, err := querytest.Parse(strings.NewReader(b.String()))
			if err != nil {
				t.Fatal(err)
			}
			changes, err := query.Diff(querytest.New(parts...), query.DiffRequest{Host: "1", A: query.Window{From: at(0), To: at(10)}, B: query.Window{From: at(10), To: at(20)}})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, change := range changes {
				if change.Kind == query.Restarted {
					got = append(got, change.Subject)
				}
			}
			if !slices.Equal(got, c.restarts) {
				t.Errorf("%q restarted, want %q", got, c.restarts)
			}
		})
	}
}
